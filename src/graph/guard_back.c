/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/guard_walk.h"

#include <math.h>

#include "tensor/convert.h"

enum { MAX_ELEMENTS = 1 << 20 };

/* How an operator passes a guard (a constant that keeps a divisor from 0) from an input to its
 * result. */
typedef enum carrying {
    MOVES = 1, /* elements stay unchanged */
    BOUNDS,    /* the guard is one of several numbers from which an element is chosen, as in Max */
    ADDS,
    SCALES,
    ROOT,
} carrying;

typedef struct carrier {
    const char *op_type;
    carrying how;
    /* bit i: a guard may come from input i; bit 31 also stands for all later inputs */
    uint32_t inputs;
} carrier;

static const carrier CARRIERS[] = {
    {"Identity", MOVES, 1},      {"Cast", MOVES, 1},        {"Reshape", MOVES, 1},
    {"Unsqueeze", MOVES, 1},     {"Squeeze", MOVES, 1},     {"Flatten", MOVES, 1},
    {"Expand", MOVES, 1},        {"Tile", MOVES, 1},        {"Transpose", MOVES, 1},
    {"Slice", MOVES, 1},         {"Gather", MOVES, 1},      {"Split", MOVES, 1},
    {"ReduceMax", MOVES, 1},     {"ReduceMin", MOVES, 1},   {"Concat", BOUNDS, UINT32_MAX},
    {"Max", BOUNDS, UINT32_MAX}, {"Clip", BOUNDS, 7},       {"Min", BOUNDS, UINT32_MAX},
    {"Where", BOUNDS, 6},        {"Add", ADDS, 3},          {"Sub", ADDS, 3},
    {"Sum", ADDS, UINT32_MAX},   {"Mul", SCALES, 3},        {"Div", SCALES, 1},
    {"ReduceSum", SCALES, 1},    {"ReduceMean", SCALES, 1}, {"Abs", SCALES, 1},
    {"Neg", SCALES, 1},          {"Sqrt", ROOT, 1},
};

/* Operators that are followed back when they compute the condition of a Where that selects a guard.
 */
static const char *const CONDITIONS[] = {"Less",   "LessOrEqual", "Greater", "GreaterOrEqual",
                                         "Equal",  "And",         "Or",      "Not",
                                         "Expand", "Unsqueeze",   "Reshape"};

#define IN_LIST(n, list) is_in(n, list, sizeof list / sizeof *list)
static bool is_in(const pgy_node *n, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (node_is(n, list[i])) return true;
    return false;
}

static const carrier *carrier_of(const pgy_node *n)
{
    for (size_t i = 0; i < sizeof CARRIERS / sizeof *CARRIERS; i++)
        if (node_is(n, CARRIERS[i].op_type)) return &CARRIERS[i];
    return NULL;
}

bool guard_moves(const pgy_node *n)
{
    const carrier *c = carrier_of(n);
    return c && c->how == MOVES;
}

void guard_set(guard_walk *w, const pgy_node *n, unsigned bit)
{
    uint8_t *bits = guard_bits_at(&w->found->nodes, node_id(n));
    if (bits)
        *bits |= (uint8_t)(w->half == PGY_F16 ? bit : 2 * bit);
    else
        w->status = graph_no_memory(w->err);
}

static void mark_number(guard_walk *w, pgy_value *v)
{
    if (!id_marks_set(&w->found->numbers, value_id(v))) w->status = graph_no_memory(w->err);
}

/* ---- Numbers -------------------------------------------------------------------------------- */

static double rounded(pgy_dtype half, double x)
{
    return half == PGY_F16 ? (double)f16_to_f32(f16_from_f64(x))
                           : (double)bf16_to_f32(bf16_from_f64(x));
}

static double largest(pgy_dtype half)
{
    return half == PGY_F16 ? 65504.0 : 0x1.fep127;
}

bool guard_is_too_small(const guard_walk *w, double c, guard_place p)
{
    if (!isfinite(c) || c == p.pole) return false;
    const double distance = fabs(rounded(w->half, c) - rounded(w->half, p.pole));
    if (distance == 0 || rounded(w->half, pow(distance, p.power)) == 0) return true;
    return p.inverts && pow(distance, -p.power) > largest(w->half);
}

/* ---- Constants ------------------------------------------------------------------------------ */

static const pgy_onnx_tensor *stored(const pgy_value *v)
{
    if (v->initializer) return v->initializer;
    const pgy_node *n = v->producer;
    if (!n || !node_is(n, "ConstantOfShape")) return n ? node_constant(n) : NULL;
    const pgy_onnx_attribute *value = node_attribute(n, "value");
    return value ? value->t : NULL;
}

bool guard_is_constant(const pgy_value *v)
{
    return v->initializer ||
           (v->producer && v->producer->input_count == 0 && node_is(v->producer, "Constant")) ||
           stored(v);
}

static bool is_short(const pgy_onnx_tensor *t, uint64_t most)
{
    uint64_t count = 1;
    for (size_t i = 0; t && i < t->dim_count; i++) {
        if (t->dims[i] < 0 || (uint64_t)t->dims[i] > most) return false;
        count *= (uint64_t)t->dims[i];
        if (count > most) return false;
    }
    return true;
}

/* Reads v in float64. *out stays NULL if v is no constant of at most `most` floats, or cannot be
 * read; consumers that need it report the failure. */
static void read_constant(guard_walk *w, pgy_tensor **out, const pgy_value *v, uint64_t most)
{
    pgy_tensor *came = NULL;
    pgy_error unreadable = {0};
    const pgy_onnx_tensor *t = stored(v);
    if (w->status || !guard_is_constant(v) || !is_short(t, most) ||
        (v->dtype != PGY_F32 && v->dtype != PGY_F64))
        return;
    pgy_status st = t ? pgy_onnx_tensor_load(&came, v->graph->model, t, &unreadable)
                      : pgy_graph_value_data(&came, (pgy_value *)v, &unreadable);
    if (!st) st = pgy_tensor_cast(out, pgy_tensor_view(came), PGY_F64, &unreadable);
    if (st == PGY_E_MEMORY) w->status = graph_no_memory(w->err);
    pgy_tensor_release(came);
}

bool guard_found(guard_walk *w, const char *name, double number)
{
    w->name = name;
    w->number = number;
    return true;
}

/* One element that is too small suffices if v itself is the divisor. A constant that is combined
 * with other numbers guards only if each of its elements is too small or the pole. */
static bool constant_guards(guard_walk *w, pgy_value *v, guard_place p)
{
    pgy_tensor *t = NULL;
    double number = 0;
    read_constant(w, &t, v, MAX_ELEMENTS);
    if (!t) return false;
    size_t small = 0, others = 0;
    const double *x = pgy_tensor_data(t);
    for (size_t i = 0; i < pgy_tensor_count(t); i++) {
        if (!guard_is_too_small(w, x[i], p)) {
            others += x[i] != p.pole;
            continue;
        }
        small++;
        number = x[i];
    }
    pgy_tensor_release(t);
    if (!small || (p.mixed && others)) return false;
    mark_number(w, v);
    return guard_found(w, v->name, number);
}

bool guard_scalar(guard_walk *w, double *out, pgy_value *v)
{
    pgy_tensor *t = NULL;
    if (!v) return false;
    read_constant(w, &t, v, 1);
    const bool one = t && pgy_tensor_count(t) == 1;
    if (one) *out = *(const double *)pgy_tensor_data(t);
    pgy_tensor_release(t);
    return one;
}

/* ---- The way back --------------------------------------------------------------------------- */

/* Keeps the comparisons behind a Where's condition in float32: they may compare with the guard
 * itself. */
static void keep_condition(guard_walk *w, pgy_value *v)
{
    const pgy_node *n = v ? v->producer : NULL;
    if (v && guard_is_constant(v)) mark_number(w, v);
    if (!n || !IN_LIST(n, CONDITIONS) || --w->budget < 0) return;
    guard_set(w, n, GUARD_KEEPS);
    for (size_t i = 0; i < n->input_count; i++) keep_condition(w, n->inputs[i]);
}

void guard_keep(guard_walk *w, const pgy_node *n)
{
    guard_set(w, n, GUARD_KEEPS);
    if (node_is(n, "Where")) keep_condition(w, n->inputs[0]);
}

/* Keeps x - mean(x) in float32 if it computes v: a variance is the mean square of this difference.
 */
static void keep_centring(guard_walk *w, const pgy_value *v)
{
    const pgy_node *n = v->producer;
    if (!n || !node_is(n, "Sub") || n->input_count < 2 || !n->inputs[1]) return;
    const pgy_node *mean = n->inputs[1]->producer;
    if (!mean || !node_is(mean, "ReduceMean") || mean->inputs[0] != n->inputs[0]) return;
    guard_keep(w, n);
    guard_keep(w, mean);
}

static bool is_square(guard_walk *w, const pgy_node *n)
{
    double exponent = 0;
    return n->input_count > 1 &&
           ((node_is(n, "Mul") && n->inputs[0] == n->inputs[1]) ||
            (node_is(n, "Pow") && guard_scalar(w, &exponent, n->inputs[1]) && exponent == 2));
}

/* Keeps the nodes in float32 that compute v: a norm or variance to which the guard is added, or
 * which it bounds. The divisor is v ^ power. */
static void keep_measure(guard_walk *w, const pgy_value *v, double power)
{
    static const char *const SUMS[] = {"ReduceMean", "ReduceSum", "Sqrt"};
    static const char *const NORMS[] = {"ReduceL2", "ReduceL1", "ReduceSumSquare"};
    const pgy_node *n = v ? v->producer : NULL;
    if (!n || !n->input_count || !n->inputs[0] || --w->budget < 0) return;
    const bool square = is_square(w, n);
    if (square || IN_LIST(n, NORMS)) {
        guard_keep(w, n);
        keep_centring(w, n->inputs[0]);
        if (square || node_is(n, "ReduceSumSquare")) power *= 2;
        if (power == 1) w->measured = n->inputs[0];
    } else if (guard_moves(n) || IN_LIST(n, SUMS)) {
        guard_keep(w, n);
        keep_measure(w, n->inputs[0], node_is(n, "Sqrt") ? power / 2 : power);
    }
}

/* Is a bound of a Clip a guard? Old opsets have the bounds as attributes. */
static bool attribute_guards(guard_walk *w, const pgy_node *n, guard_place p)
{
    static const char *const NAMES[] = {"min", "max"};
    for (size_t i = 0; i < 2; i++) {
        const pgy_onnx_attribute *a = node_attribute(n, NAMES[i]);
        if (a && guard_is_too_small(w, (double)a->f, p))
            return guard_found(w, node_label(n), (double)a->f);
    }
    return false;
}

/* Searches both terms of a sum or difference. A constant term k shifts the pole of the other term
 * by k. */
static bool sum_guards(guard_walk *w, pgy_node *n, guard_place p)
{
    const bool minus = node_is(n, "Sub");
    double k = 0;
    size_t constant = 0;
    while (constant < 2 && !guard_scalar(w, &k, n->inputs[constant])) constant++;
    p.mixed = true;
    if (constant < 2) {
        guard_place other = p;
        if (constant_guards(w, n->inputs[constant], p)) {
            keep_measure(w, n->inputs[!constant], p.power);
            return true;
        }
        other.pole = !minus ? p.pole - k : constant ? p.pole + k : k - p.pole;
        return guard_back(w, n->inputs[!constant], other);
    }
    const bool first = p.pole == 0 && guard_back(w, n->inputs[0], p);
    return (p.pole == 0 && guard_back(w, n->inputs[1], p)) || first;
}

/* Searches the inputs, constants first: if one of them is a guard, the others need not be searched.
 */
static bool inputs_guard(guard_walk *w, const pgy_node *n, uint32_t inputs, guard_place p)
{
    bool any = node_is(n, "Clip") && attribute_guards(w, n, p);
    for (int constants = 1; constants >= 0 && !any; constants--)
        for (size_t i = 0; i < n->input_count; i++)
            if (n->inputs[i] && inputs >> (i < 31 ? i : 31) & 1 &&
                guard_is_constant(n->inputs[i]) == (bool)constants)
                any |= guard_back(w, n->inputs[i], p);
    for (size_t i = 0; any && p.mixed && i < n->input_count; i++)
        if (n->inputs[i] && inputs >> (i < 31 ? i : 31) & 1) keep_measure(w, n->inputs[i], p.power);
    return any;
}

static bool power_guards(guard_walk *w, const pgy_node *n, guard_place p)
{
    double exponent = 0;
    if (n->input_count < 2 || !guard_scalar(w, &exponent, n->inputs[1]) || exponent <= 0)
        return false;
    p.power *= exponent;
    return p.pole == 0 && guard_back(w, n->inputs[0], p);
}

static bool node_guards(guard_walk *w, pgy_node *n, guard_place p)
{
    if (node_is(n, "Pow")) return power_guards(w, n, p);
    const carrier *c = carrier_of(n);
    if (!c) return false;
    const carrying how = c->how;
    if (how == ADDS && n->input_count == 2) return sum_guards(w, n, p);
    if (how != MOVES && how != BOUNDS && p.pole != 0) return false;
    if (how != MOVES && how != ROOT) p.mixed = true;
    if (how == ROOT) p.power /= 2;
    /* A constant factor does not keep the divisor from 0. It matters only if 16 bits round it to 0.
     */
    if (how == SCALES) p.inverts = false;
    return inputs_guard(w, n, c->inputs, p);
}

bool guard_back(guard_walk *w, pgy_value *v, guard_place p)
{
    pgy_node *n = v ? v->producer : NULL;
    if (w->status || !v) return false;
    const bool constant = constant_guards(w, v, p);
    const bool made = n && node_is(n, "ConstantOfShape");
    /* a 16-bit ConstantOfShape would round the guard to 0 */
    if (constant && made) guard_keep(w, n);
    if (constant || !n || made || --w->budget < 0 || !node_guards(w, n, p)) return constant;
    guard_keep(w, n);
    return true;
}
