/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes between DequantizeLinear and QuantizeLinear run on 8-bit integers. Conv, products, sums,
 * Concat and means become integer operators; nodes that only move elements or take a maximum stay
 * the same operator; functions of one value become a table of 256 results. All rules start at the
 * QuantizeLinear. Before, that of a constant becomes one. */
#include <math.h>
#include <string.h>

#include "engine/passes/pass.h"
#include "engine/passes/pattern_quantized.h"
#include "evaluate/execute.h"

/* ---- Relu before the end -------------------------------------------------------------------- */

/* The node that makes the input of a QuantizeLinear, ignoring a Relu or Clip in between. */
typedef struct source {
    pgy_node *n;
    bool relu; /* there is a Relu: results must not be below the zero point */
} source;

/* Is n a Relu or Clip that QuantizeLinear `end` can replace? It may clip what 8 bits cannot hold
 * anyway and, if *below is set, numbers below 0. */
static bool is_relu(pattern *p, const pgy_node *n, const quantized *end, bool *below)
{
    double low = -INFINITY, high = INFINITY;
    *below = false;
    if (pattern_is(n, "Relu")) {
        low = 0;
    } else {
        if (!pattern_is(n, "Clip")) return false;
        if (pattern_input(n, 1) && !pattern_scalar(p, n->inputs[1], &low)) return false;
        if (pattern_input(n, 2) && !pattern_scalar(p, n->inputs[2], &high)) return false;
    }
    /* A limit that differs from the largest step only by rounding still rounds to that step. */
    if (high < quantized_high(end) * (1 - 1e-6)) return false;
    if (low <= quantized_low(end)) return true;
    *below = true;
    return low == 0;
}

/* Finds the node of this operator that is quantised, also through a Relu if the operator supports
 * it. */
static bool find_source(pattern *p, const quantized *end, const char *op, bool with_relu,
                        source *out)
{
    pgy_value *v = end->x;
    *out = (source){0};
    if (!pattern_is_inner(v)) return false;
    if (is_relu(p, v->producer, end, &out->relu) && (with_relu || !out->relu)) {
        v = v->producer->inputs[0];
    } else {
        out->relu = false;
    }
    out->n = pattern_inner(v, op);
    return out->n != NULL;
}

/* ---- Convolutions and products -------------------------------------------------------------- */

/* Number of products that a convolution sums for one output element. */
static size_t conv_depth(const pgy_value *w)
{
    size_t depth = 1;
    for (int32_t d = 1; d < pattern_rank(w); d++) {
        if (pattern_size(w, d) < 1) return SIZE_MAX;
        depth *= (size_t)pattern_size(w, d);
    }
    return depth;
}

static bool fuse_conv(pattern *p, pgy_node *n)
{
    static const char *const KEPT[] = {"auto_pad",     "dilations", "group",
                                       "kernel_shape", "pads",      "strides"};
    quantized end, x, w;
    source s;
    pgy_value *inputs[9] = {NULL};
    if (!quantized_read_end(p, n, &end) || !find_source(p, &end, "Conv", true, &s)) return false;
    if (!quantized_read(p, s.n->inputs[0], &x) || !quantized_read_weights(p, s.n->inputs[1], 0, &w))
        return false;
    const size_t depth = conv_depth(w.x);
    const int64_t channels = pattern_size(w.x, 0);
    if (depth > 32768 || channels < 1 || !quantized_suits_window(s.n, w.x)) return false;
    if (pattern_input(s.n, 2)) {
        inputs[8] = quantized_bias(p, n->graph, s.n->inputs[2], &x, &w, (size_t)channels, depth, 1);
        if (!inputs[8]) return false;
    }
    quantized_put(p, n->graph, inputs, &x);
    quantized_put(p, n->graph, inputs + 3, &w);
    inputs[6] = end.scale;
    inputs[7] = quantized_zero(p, n->graph, &end);
    pgy_node *made = pattern_put(p, n, s.relu ? "pgy:QLinearConv" : "QLinearConv", inputs, 9);
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++) pattern_copy(p, made, s.n, KEPT[i]);
    if (s.relu) pattern_set_text(p, made, "activation", "Relu");
    return true;
}

static bool fuse_matmul(pattern *p, pgy_node *n)
{
    quantized end, a, b;
    source s;
    pgy_value *inputs[8];
    if (!quantized_read_end(p, n, &end) || !find_source(p, &end, "MatMul", false, &s)) return false;
    if (!quantized_read(p, s.n->inputs[0], &a)) return false;
    if (!quantized_read(p, s.n->inputs[1], &b) &&
        (!quantized_read_weights(p, s.n->inputs[1], -1, &b) || pattern_rank(b.x) != 2))
        return false;
    const int64_t depth = pattern_size(a.x, -1);
    if (depth < 1 || depth > 32768) return false;
    quantized_put(p, n->graph, inputs, &a);
    quantized_put(p, n->graph, inputs + 3, &b);
    inputs[6] = end.scale;
    inputs[7] = quantized_zero(p, n->graph, &end);
    (void)pattern_put(p, n, "QLinearMatMul", inputs, 8);
    return true;
}

static bool fuse_gemm(pattern *p, pgy_node *n)
{
    quantized end, a, b;
    source s;
    pgy_value *inputs[9] = {NULL};
    if (!quantized_read_end(p, n, &end) || !find_source(p, &end, "Gemm", false, &s)) return false;
    const bool turn_b = pattern_int(s.n, "transB", 0) != 0;
    if (!quantized_read(p, s.n->inputs[0], &a) ||
        !quantized_read_weights(p, s.n->inputs[1], turn_b ? 0 : 1, &b))
        return false;
    const int64_t columns = pattern_size(b.x, turn_b ? 0 : 1);
    const int64_t depth = pattern_size(b.x, turn_b ? 1 : 0);
    const double alpha = pattern_float(s.n, "alpha", 1);
    if (columns < 1 || depth < 1 || depth > 32768 || !(alpha > 0)) return false;
    pgy_value *c = pattern_input(s.n, 2);
    if (c && (pattern_float(s.n, "beta", 1) != 1 || pattern_size(c, -1) != columns)) return false;
    if (c) {
        inputs[6] = quantized_bias(p, n->graph, c, &a, &b, (size_t)columns, (size_t)depth, alpha);
        if (!inputs[6]) return false;
    }
    quantized_put(p, n->graph, inputs, &a);
    quantized_put(p, n->graph, inputs + 3, &b);
    inputs[7] = end.scale;
    inputs[8] = quantized_zero(p, n->graph, &end);
    pgy_node *made = pattern_put(p, n, "com.microsoft:QGemm", inputs, 9);
    pattern_copy(p, made, s.n, "alpha");
    pattern_copy(p, made, s.n, "transA");
    pattern_copy(p, made, s.n, "transB");
    return true;
}

/* ---- Sums, joins, means --------------------------------------------------------------------- */

/* The operator before a Relu: bytes below the zero point become the zero point by a table, which
 * gives the same as if they were no results of the sum. */
static void put_above_zero(pattern *p, pgy_node *n, const char *op, pgy_value **inputs,
                           const quantized *end)
{
    static const int64_t SHAPE[1] = {256};
    double table[256];
    for (int i = 0; i < 256; i++) {
        const double byte = end->type == PGY_I8 ? (int8_t)i : i, zero = (double)end->one_zero;
        table[i] = byte > zero ? byte : zero;
    }
    pgy_value *sum = pattern_make(p, n, "sum", op, inputs, 8);
    pgy_value *const map[] = {sum,
                              pattern_weight(p, n->graph, "table", end->type, 1, SHAPE, table)};
    if (sum) (void)pattern_put(p, n, "pgy:Lookup", map, 2);
}

static bool fuse_sum(pattern *p, pgy_node *n)
{
    static const char *const OPS[][2] = {{"Add", "com.microsoft:QLinearAdd"},
                                         {"Mul", "com.microsoft:QLinearMul"}};
    quantized end, a, b;
    source s;
    pgy_value *inputs[8];
    if (!quantized_read_end(p, n, &end)) return false;
    for (size_t i = 0; i < 2; i++) {
        if (!find_source(p, &end, OPS[i][0], true, &s)) continue;
        if (!quantized_read(p, s.n->inputs[0], &a) || !quantized_read(p, s.n->inputs[1], &b))
            return false;
        if (a.type != end.type || b.type != end.type) return false;
        quantized_put(p, n->graph, inputs, &a);
        quantized_put(p, n->graph, inputs + 3, &b);
        inputs[6] = end.scale;
        inputs[7] = quantized_zero(p, n->graph, &end);
        if (s.relu)
            put_above_zero(p, n, OPS[i][1], inputs, &end);
        else
            (void)pattern_put(p, n, OPS[i][1], inputs, 8);
        return true;
    }
    return false;
}

static bool fuse_concat(pattern *p, pgy_node *n)
{
    enum { MOST = 10 };
    quantized end, x[MOST];
    source s;
    pgy_value *inputs[2 + 3 * MOST];
    bool same = true;
    if (!quantized_read_end(p, n, &end) || !find_source(p, &end, "Concat", false, &s)) return false;
    const size_t count = s.n->input_count;
    if (count > MOST) return false;
    for (size_t i = 0; i < count; i++) {
        if (!quantized_read(p, s.n->inputs[i], &x[i]) || x[i].type != end.type) return false;
        if (!quantized_is_same(&x[i], &end)) same = false;
    }
    for (size_t i = 0; i < count; i++) {
        if (same)
            inputs[i] = x[i].x;
        else
            quantized_put(p, n->graph, inputs + 2 + 3 * i, &x[i]);
    }
    if (!same) {
        inputs[0] = end.scale;
        inputs[1] = quantized_zero(p, n->graph, &end);
    }
    pgy_node *made = pattern_put(p, n, same ? "Concat" : "com.microsoft:QLinearConcat", inputs,
                                 same ? count : 2 + 3 * count);
    pattern_copy(p, made, s.n, "axis");
    return true;
}

static bool fuse_mean(pattern *p, pgy_node *n)
{
    static const char *const KEPT[] = {"auto_pad",     "ceil_mode", "count_include_pad",
                                       "kernel_shape", "pads",      "strides"};
    quantized end, x;
    source s;
    pgy_value *inputs[5];
    if (!quantized_read_end(p, n, &end)) return false;
    const bool all = find_source(p, &end, "GlobalAveragePool", false, &s);
    if (!all &&
        (!find_source(p, &end, "AveragePool", false, &s) || node_attribute(s.n, "dilations")))
        return false;
    if (!quantized_read(p, s.n->inputs[0], &x) || x.type != end.type) return false;
    if (!all && !quantized_suits_window(s.n, x.x)) return false;
    quantized_put(p, n->graph, inputs, &x);
    inputs[3] = end.scale;
    inputs[4] = quantized_zero(p, n->graph, &end);
    pgy_node *made = pattern_put(
        p, n, all ? "com.microsoft:QLinearGlobalAveragePool" : "com.microsoft:QLinearAveragePool",
        inputs, 5);
    for (size_t i = 0; !all && i < sizeof KEPT / sizeof *KEPT; i++)
        pattern_copy(p, made, s.n, KEPT[i]);
    return true;
}

/* ---- What only moves values ----------------------------------------------------------------- */

/* Are the elements of output 0 copies of elements of input 0, or maxima of them? */
static bool is_move(const pgy_node *n)
{
    static const char *const MOVES[] = {
        "Reshape", "Transpose", "Squeeze", "Unsqueeze",    "Flatten",      "Identity", "Slice",
        "Gather",  "Tile",      "Expand",  "DepthToSpace", "SpaceToDepth", "MaxPool"};
    if (n->subgraph_count || (n->output_count > 1 && n->outputs[1])) return false;
    if (pattern_is(n, "MaxPool") && !quantized_suits_window(n, n->inputs[0])) return false;
    for (size_t i = 0; i < sizeof MOVES / sizeof *MOVES; i++)
        if (pattern_is(n, MOVES[i])) return true;
    return false;
}

/* Makes a copy of node `move` that reads x and writes y. */
static pgy_node *move_bytes(pattern *p, pgy_node *before, const pgy_node *move, pgy_value *x,
                            pgy_value *y)
{
    pgy_value *inputs[8] = {x};
    for (size_t i = 1; i < move->input_count; i++) inputs[i] = move->inputs[i];
    pgy_node *made = y ? pattern_add(p, before, move->op_type, inputs, move->input_count, y)
                       : pattern_put(p, before, move->op_type, inputs, move->input_count);
    if (made) quantized_copy(p, made, move);
    return made;
}

static bool pass_move(pattern *p, pgy_node *n)
{
    quantized end, x;
    if (!quantized_read_end(p, n, &end) || !pattern_is_inner(end.x)) return false;
    pgy_node *move = end.x->producer;
    if (!is_move(move) || move->input_count > 8) return false;
    if (quantized_read(p, move->inputs[0], &x)) {
        if (!quantized_is_same(&x, &end)) return false;
        (void)move_bytes(p, n, move, x.x, NULL);
        return true;
    }
    /* Quantise before the move, so that the move has only 8-bit elements to copy. */
    if (!pattern_is_inner(move->inputs[0]) || pattern_dtype(move->inputs[0]) != PGY_F32)
        return false;
    pgy_value *const inputs[] = {move->inputs[0], end.scale, quantized_zero(p, n->graph, &end)};
    pgy_value *v = pattern_make(p, n, "quantized", "QuantizeLinear", inputs, 3);
    if (v) (void)move_bytes(p, n, move, v, NULL);
    return true;
}

/* ---- Tables --------------------------------------------------------------------------------- */

enum { VALUES = 256, MAX_CHAIN = 8 };

/* Does output 0 depend, element by element, on input *data alone? */
static bool is_function(pattern *p, const pgy_node *n, size_t *data)
{
    static const char *const OPS[] = {"Relu",
                                      "LeakyRelu",
                                      "Sigmoid",
                                      "Tanh",
                                      "HardSwish",
                                      "HardSigmoid",
                                      "Elu",
                                      "Selu",
                                      "Gelu",
                                      "Softplus",
                                      "Softsign",
                                      "Mish",
                                      "Exp",
                                      "Log",
                                      "Sqrt",
                                      "Abs",
                                      "Neg",
                                      "Erf",
                                      "Reciprocal",
                                      "Floor",
                                      "Ceil",
                                      "Round",
                                      "Celu",
                                      "ThresholdedRelu",
                                      "Clip",
                                      "Add",
                                      "Sub",
                                      "Mul",
                                      "Div",
                                      "Pow",
                                      "Swish",
                                      "com.microsoft:QuickGelu",
                                      "com.microsoft:FastGelu"};
    double constant;
    bool listed = false;
    for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++) listed |= pattern_is(n, OPS[i]);
    if (!listed || n->output_count != 1 || n->input_count > 3) return false;
    *data = n->input_count == 2 && pattern_is_constant(p, n->inputs[0]) ? 1 : 0;
    for (size_t i = 0; i < n->input_count; i++)
        if (i != *data && n->inputs[i] && !pattern_scalar(p, n->inputs[i], &constant)) return false;
    return n->inputs[*data] && pattern_same_shape(n->inputs[*data], n->outputs[0]);
}

/* Applies the node to x; input and result hold float64. */
static bool apply(pattern *p, pgy_node *n, size_t data, op_tensor *x)
{
    const execute_limits limits = {0};
    op_tensor in[3] = {{0}}, out = {0};
    pgy_tensor *stored;
    bool fine = true;
    for (size_t i = 0; i < n->input_count; i++) {
        if (i == data || !n->inputs[i]) continue;
        stored = NULL;
        fine = fine && fold_constant(&stored, &p->f, n->inputs[i], NULL) == PGY_OK && stored &&
               op_to_storage(&in[i].value, stored, NULL) == PGY_OK;
        in[i].dtype = PGY_F32;
        pgy_tensor_release(stored);
    }
    in[data] = *x;
    if (fine) fine = execute_node(n, in, NULL, &out, true, &limits, NULL) == PGY_OK;
    for (size_t i = 0; i < 3; i++)
        if (i != data) op_tensor_release(&in[i]);
    if (!fine || !out.value || pgy_tensor_count(out.value) != VALUES) {
        op_tensor_release(&out);
        return false;
    }
    op_tensor_release(x);
    *x = out;
    return true;
}

static bool fill_table(pattern *p, double *table, const quantized *x, const quantized *end,
                       pgy_node *const *chain, const size_t *data, size_t count)
{
    static const int64_t SHAPE[1] = {VALUES};
    op_tensor v = {.dtype = PGY_F32};
    const double low = end->type == PGY_I8 ? -128 : 0, high = low + 255;
    bool fine = pgy_tensor_create(&v.value, PGY_F64, 1, SHAPE, NULL) == PGY_OK;
    for (int i = 0; fine && i < VALUES; i++) {
        const int64_t byte = x->type == PGY_I8 ? (int8_t)i : i;
        op_f64(v.value)[i] = (double)(float)((double)(byte - x->one_zero) * x->one_scale);
    }
    for (size_t i = count; fine && i-- > 0;) fine = apply(p, chain[i], data[i], &v);
    for (int i = 0; fine && i < VALUES; i++) {
        const double y =
            nearbyint((double)(float)(op_f64(v.value)[i] / end->one_scale)) + (double)end->one_zero;
        table[i] = y > low ? y < high ? y : high : low;
    }
    op_tensor_release(&v);
    return fine;
}

static bool fuse_function(pattern *p, pgy_node *n)
{
    static const int64_t SHAPE[1] = {VALUES};
    pgy_node *chain[MAX_CHAIN];
    size_t data[MAX_CHAIN], count = 0;
    double table[VALUES];
    quantized end, x;
    if (!quantized_read_end(p, n, &end)) return false;
    pgy_value *v = end.x;
    while (!quantized_read(p, v, &x)) {
        if (count == MAX_CHAIN || !pattern_is_inner(v)) return false;
        chain[count] = v->producer;
        if (!is_function(p, v->producer, &data[count])) return false;
        v = v->producer->inputs[data[count++]];
    }
    if (!count && quantized_is_same(&x, &end)) {
        (void)pattern_put(p, n, "Identity", &x.x, 1);
        return true;
    }
    if (!fill_table(p, table, &x, &end, chain, data, count)) return false;
    pgy_value *inputs[2] = {x.x, pattern_weight(p, n->graph, "table", end.type, 1, SHAPE, table)};
    (void)pattern_put(p, n, "pgy:Lookup", inputs, 2);
    return true;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse_conv, fuse_matmul,   fuse_gemm,
                                         fuse_sum,  fuse_concat,   fuse_mean,
                                         pass_move, fuse_function, NULL};
    static const pattern_rule FOLD[] = {quantized_fold, NULL};
    size_t folded = 0;
    /* First, because a constant may be that of a rule that ran for an earlier node. */
    pgy_status st = pattern_run(g, "fuse_quantized", FOLD, &folded, err);
    if (!st) st = pattern_run(g, "fuse_quantized", RULES, changes, err);
    *changes += folded;
    return st;
}

const pass PASS_fuse_quantized = {.name = "fuse_quantized",
                                  .summary = "quantised operators on bytes instead of floats",
                                  .run = run};
