/* SPDX-License-Identifier: Apache-2.0 */
/* Query, key and value of an Attention stay side by side in one tensor, which PackedAttention of
 * domain pgy reads in place. They are slices of one tensor, or, for CUDA devices, products of one
 * tensor, which become a single product. */
#include <string.h>

#include "base/alloc.h"
#include "engine/passes/pass.h"
#include "engine/passes/side_by_side.h"
#include "transform/pattern.h"

static const char FUSED[] = "pgy:FusedMatMul";

enum { PARTS = SIDE_BY_SIDE, MASK = 3, B = 1, BIAS = 2, MOST_SIZE = 256 };

/* Has the Attention only what PackedAttention knows? */
static bool is_plain(const pgy_node *n)
{
    static const char *const KNOWN[] = {"q_num_heads", "kv_num_heads", "scale", "softcap",
                                        "is_causal"};
    if (!pattern_is(n, "Attention") || n->input_count < PARTS || n->output_count != 1) return false;
    for (size_t i = MASK + 1; i < n->input_count; i++)
        if (n->inputs[i]) return false;
    for (size_t i = 0; i < n->attribute_count; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof KNOWN / sizeof *KNOWN; k++)
            known |= strcmp(n->attributes[i]->name, KNOWN[k]) == 0;
        if (!known) return false;
    }
    return true;
}

/* Are the widths those of heads of one size? */
static bool has_widths(const pgy_node *n)
{
    const int64_t q = pattern_int(n, "q_num_heads", 0), kv = pattern_int(n, "kv_num_heads", 0);
    for (size_t i = 0; i < PARTS; i++)
        if (pattern_rank(n->inputs[i]) != 3 || pattern_size(n->inputs[i], 2) < 1 ||
            pattern_dtype(n->inputs[i]) != pattern_dtype(n->inputs[0]) ||
            !pattern_is_inner(n->inputs[i]))
            return false;
    const int64_t width = pattern_size(n->inputs[0], 2), own = pattern_size(n->inputs[1], 2);
    return q > 0 && kv > 0 && width % q == 0 && width / q <= MOST_SIZE && width / q % 8 == 0 &&
           own == width / q * kv && pattern_size(n->inputs[2], 2) == own;
}

static bool put(pattern *p, pgy_node *n, pgy_value *packed)
{
    static const char *const INTS[] = {"q_num_heads", "kv_num_heads", "is_causal"};
    pgy_value *inputs[] = {packed, pattern_input(n, MASK)};
    pgy_node *made = pattern_put(p, n, "pgy:PackedAttention", inputs, inputs[1] ? 2 : 1);
    for (size_t i = 0; i < sizeof INTS / sizeof *INTS; i++) pattern_copy(p, made, n, INTS[i]);
    pattern_copy(p, made, n, "scale");
    pattern_copy(p, made, n, "softcap");
    return true;
}

/* ---- Slices --------------------------------------------------------------------------------- */

static bool take_slices(pattern *p, pgy_node *n)
{
    if (!is_plain(n) || !has_widths(n)) return false;
    pgy_value *whole = find_side_by_side(p, n->inputs);
    return whole && put(p, n, whole);
}

/* The host has kernels for float32 and 16 bits. */
static bool take_slices_on_host(pattern *p, pgy_node *n)
{
    if (!is_plain(n)) return false;
    const pgy_dtype t = pattern_dtype(n->inputs[0]);
    const pgy_value *mask = pattern_input(n, MASK);
    const pgy_dtype m = mask ? pattern_dtype(mask) : PGY_BOOL;
    const bool known = t == PGY_F32 || t == PGY_F16 || t == PGY_BF16;
    return known && (m == PGY_BOOL || m == PGY_F32 || m == t) && take_slices(p, n);
}

/* ---- Products ------------------------------------------------------------------------------- */

typedef struct parts {
    const pgy_node *from[PARTS];
    pgy_tensor *b[PARTS], *bias[PARTS];
    int64_t rows, widths[PARTS], width; /* of the matrices; width: of all together */
    bool turned;
} parts;

static bool is_part(const parts *q, size_t i)
{
    const pgy_node *n = q->from[i], *first = q->from[0];
    return (pattern_is(n, "MatMul") || pattern_is(n, FUSED)) && n->inputs[0] == first->inputs[0] &&
           pattern_rank(n->inputs[B]) == 2 && pattern_rank(n->inputs[0]) == 3 &&
           !pattern_input(n, 3) && !node_attribute(n, "activation") &&
           !pattern_int(n, "transA", 0) && pattern_float(n, "alpha", 1) == 1 &&
           (pattern_int(n, "transB", 0) != 0) == q->turned &&
           !pattern_input(n, BIAS) == !pattern_input(first, BIAS);
}

static bool read_parts(parts *q, pattern *p, const pgy_node *n)
{
    for (size_t i = 0; i < PARTS; i++) q->from[i] = n->inputs[i]->producer;
    q->turned = pattern_int(q->from[0], "transB", 0) != 0;
    for (size_t i = 0; i < PARTS; i++) {
        if (!is_part(q, i)) return false;
        q->widths[i] = pattern_size(n->inputs[i], 2);
        q->width += q->widths[i];
        q->b[i] = pattern_floats(p, q->from[i]->inputs[B]);
        pgy_value *bias = pattern_input(q->from[i], BIAS);
        if (bias) q->bias[i] = pattern_floats(p, bias);
        if (!q->b[i] || (bias && !q->bias[i])) return false;
    }
    q->rows = pattern_size(q->from[0]->inputs[B], q->turned ? 1 : 0);
    return q->rows > 0;
}

/* The matrices side by side, each with its own width; turned ones lie one behind the other. */
static void join(double *to, const parts *q, pgy_tensor *const *from, int64_t rows)
{
    int64_t column = 0;
    for (size_t i = 0; i < PARTS; column += q->widths[i++])
        for (int64_t r = 0; r < rows; r++)
            memcpy(to + r * q->width + column,
                   (const double *)pgy_tensor_data(from[i]) + r * q->widths[i],
                   (size_t)q->widths[i] * sizeof *to);
}

static void stack(double *to, const parts *q)
{
    for (size_t i = 0; i < PARTS; to += q->widths[i++] * q->rows)
        memcpy(to, pgy_tensor_data(q->b[i]), (size_t)(q->widths[i] * q->rows) * sizeof *to);
}

static pgy_value *make_weight(pattern *p, const parts *q, size_t input)
{
    pgy_value *like = q->from[0]->inputs[input];
    const int64_t matrix[] = {q->turned ? q->width : q->rows, q->turned ? q->rows : q->width};
    const bool bias = input == BIAS;
    double *values = mem_alloc((size_t)(q->width * (bias ? 1 : q->rows)) * sizeof *values);
    if (!values) {
        p->status = graph_no_memory(p->err);
        return NULL;
    }
    if (bias)
        join(values, q, q->bias, 1);
    else if (q->turned)
        stack(values, q);
    else
        join(values, q, q->b, q->rows);
    pgy_value *made = pattern_weight(p, q->from[0]->graph, like->name, pattern_dtype(like),
                                     bias ? 1 : 2, bias ? &q->width : matrix, values);
    mem_free(values);
    return made;
}

static bool join_products(pattern *p, pgy_node *n, const parts *q)
{
    pgy_value *inputs[3] = {q->from[0]->inputs[0], make_weight(p, q, B), NULL};
    if (q->bias[0]) inputs[BIAS] = make_weight(p, q, BIAS);
    pgy_value *packed = pattern_make(p, n, n->inputs[0]->name, FUSED, inputs, q->bias[0] ? 3 : 2);
    if (!packed) return false;
    if (q->turned) pattern_set_int(p, packed->producer, "transB", 1);
    return put(p, n, packed);
}

static bool take_products(pattern *p, pgy_node *n)
{
    parts q = {{0}};
    if (!is_plain(n) || !has_widths(n)) return false;
    const bool done = read_parts(&q, p, n) && join_products(p, n, &q);
    for (size_t i = 0; i < PARTS; i++) {
        pgy_tensor_release(q.b[i]);
        pgy_tensor_release(q.bias[i]);
    }
    return done;
}

static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {take_slices, take_products, NULL};
    static const pattern_rule ON_HOST[] = {take_slices_on_host, NULL};
    return pattern_run(g, "pack_attention", pass_is_for_cuda(target) ? RULES : ON_HOST, changes,
                       err);
}

const pass PASS_pack_attention = {.name = "pack_attention",
                                  .summary = "query, key and value side by side in one tensor",
                                  .run_for = run};
