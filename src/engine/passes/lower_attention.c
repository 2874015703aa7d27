/* SPDX-License-Identifier: Apache-2.0 */
/* Attention and QAttention of com.microsoft: the projection becomes a product, with the kernels
 * that products have, and the rest ProjectedAttention of domain pgy. */
#include "engine/passes/pass.h"
#include "transform/pattern.h"

enum { X, WEIGHTS, BIAS, MASK, PAST, SCORES };
enum { Q_X_SCALE = 3, Q_W_SCALE, Q_MASK, Q_X_ZERO, Q_W_ZERO, Q_PAST };

static bool fits(const pgy_node *n)
{
    return n->input_count > WEIGHTS && pattern_rank(n->inputs[X]) == 3 &&
           pattern_rank(n->inputs[WEIGHTS]) == 2 && pattern_size(n->inputs[WEIGHTS], 1) > 0 &&
           n->outputs[0] && !pattern_int(n, "do_rotary", 0) &&
           !pattern_int(n, "past_present_share_buffer", 0);
}

/* Puts the product of x and w, and attention over it, in the place of n. */
static bool put(pattern *p, pgy_node *n, pgy_value *x, pgy_value *w, pgy_value *const rest[3])
{
    static const char *const KEPT[] = {"mask_filter_value", "num_heads", "qkv_hidden_sizes",
                                       "scale", "unidirectional"};
    pgy_value *y = pattern_make(p, n, NULL, "MatMul", (pgy_value *const[]){x, w}, 2);
    if (y && pattern_input(n, BIAS))
        y = pattern_make(p, n, NULL, "Add", (pgy_value *const[]){y, n->inputs[BIAS]}, 2);
    pgy_value *const inputs[] = {y, rest[0], rest[1], rest[2]};
    if (!y) return false;
    pgy_node *made =
        pattern_put_outputs(p, n, "pgy:ProjectedAttention", inputs, 4, n->outputs, n->output_count);
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++) pattern_copy(p, made, n, KEPT[i]);
    return made != NULL;
}

static bool lower_floats(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "com.microsoft:Attention") || !fits(n)) return false;
    pgy_value *const rest[] = {pattern_input(n, MASK), pattern_input(n, PAST),
                               pattern_input(n, SCORES)};
    return put(p, n, n->inputs[X], n->inputs[WEIGHTS], rest);
}

/* Floats that stand for bytes, with one scale, or one for each column. */
static pgy_value *dequantise(pattern *p, pgy_node *n, size_t input, size_t scale, size_t zero)
{
    pgy_value *s = n->inputs[scale], *z = pattern_input(n, zero);
    const int64_t scales = pattern_rank(s) == 1 ? pattern_size(s, 0) : 1;
    pgy_value *const inputs[] = {n->inputs[input], s, z};
    pgy_value *y = pattern_make(p, n, NULL, "DequantizeLinear", inputs, z ? 3 : 2);
    if (y && scales > 1) pattern_set_int(p, y->producer, "axis", 1);
    return y;
}

/* Has v one element, or, if that is allowed, as many as there are columns? */
static bool is_scale(const pgy_value *v, int64_t columns)
{
    return !v || pattern_rank(v) == 0 ||
           (pattern_rank(v) == 1 && (pattern_size(v, 0) == 1 || pattern_size(v, 0) == columns));
}

static bool lower_bytes(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "com.microsoft:QAttention") || n->input_count <= Q_W_SCALE || !fits(n))
        return false;
    const int64_t columns = pattern_size(n->inputs[WEIGHTS], 1);
    pgy_value *w_scale = n->inputs[Q_W_SCALE], *w_zero = pattern_input(n, Q_W_ZERO);
    pgy_value *x_zero = pattern_input(n, Q_X_ZERO);
    if (!is_scale(n->inputs[Q_X_SCALE], 1) || !is_scale(x_zero, 1) || !is_scale(w_scale, columns) ||
        !is_scale(w_zero, columns) || (w_zero && !pattern_same_shape(w_scale, w_zero)) ||
        (x_zero && !pattern_same_shape(n->inputs[Q_X_SCALE], x_zero)))
        return false;
    pgy_value *x = dequantise(p, n, X, Q_X_SCALE, Q_X_ZERO);
    pgy_value *w = x ? dequantise(p, n, WEIGHTS, Q_W_SCALE, Q_W_ZERO) : NULL;
    pgy_value *const rest[] = {pattern_input(n, Q_MASK), pattern_input(n, Q_PAST), NULL};
    return w && put(p, n, x, w, rest);
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {lower_floats, lower_bytes, NULL};
    return pattern_run(g, "lower_attention", RULES, changes, err);
}

const pass PASS_lower_attention = {.name = "lower_attention",
                                   .summary = "Attention and QAttention of com.microsoft as a "
                                              "product and attention over it",
                                   .run = run};
