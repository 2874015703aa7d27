/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft EngramGate: for each branch of a token, a gate from the product of its normed key
 * and query weighs the token's value:
 *
 *     dot = sum(norm(key) * norm(query)) / sqrt(width)
 *     y = value * sigmoid(sign(dot) * sqrt(max(|dot|, 1e-6)))
 *
 * Output 1 is y, normed. A norm divides by the root of the mean square and multiplies by a scale.
 */
#include <math.h>

#include "ops/class_check.h"
#include "ops/class_rows.h"

enum { KEY, QUERY, VALUE, KEY_SCALE, QUERY_SCALE, OUT_SCALE };
enum { BATCH, TOKENS, BRANCHES, WIDTH };

static const op_attr_def ATTRS[] = {
    {"epsilon", OP_ATTR_FLOAT, false, "1e-5"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *key = &c->inputs[KEY];
    pgy_status st = rank_check(c, KEY, 4, 4, err);
    if (!st) st = rank_check(c, QUERY, 4, 4, err);
    if (!st) st = rank_check(c, VALUE, 3, 3, err);
    for (size_t i = KEY_SCALE; !st && i <= OUT_SCALE; i++) st = rank_check(c, i, 2, 2, err);
    for (size_t d = 0; !st && rank_known(c, KEY) && d < 4; d++) {
        st = dim_check(c, QUERY, d, key->dims[d], "the keys", err);
        if (!st && d != BRANCHES)
            st = dim_check(c, VALUE, d == WIDTH ? 2 : d, key->dims[d], "the keys", err);
        for (size_t i = KEY_SCALE; !st && d >= BRANCHES && i <= OUT_SCALE; i++)
            st = dim_check(c, i, d - BRANCHES, key->dims[d], "the keys", err);
    }
    if (!st && c->node->output_count > 1 && c->wanted[1] && !op_has_input(c, OUT_SCALE))
        st = op_error(c->node, err, PGY_E_ARGUMENT,
                      "output 1 (gated_value_normed) needs input 5 (conv_norm_scale)");
    op_set_like(c, 0, KEY);
    if (c->node->output_count > 1) op_set_like(c, 1, KEY);
    return st;
}

typedef struct gate {
    const op_eval *c;
    size_t branches, width;
    double epsilon;
    bool norms;
} gate;

static double norm_factor(const gate *g, const double *x)
{
    return 1 / sqrt(row_sum_squares(x, g->width, 0) / (double)g->width + g->epsilon);
}

static void run(size_t begin, size_t end, void *user)
{
    const gate *g = user;
    const size_t n = g->width;
    for (size_t r = begin; r < end; r++) {
        const double *k = in_f64(g->c, KEY) + r * n, *q = in_f64(g->c, QUERY) + r * n;
        const double *v = in_f64(g->c, VALUE) + r / g->branches * n;
        const size_t scale = r % g->branches * n;
        const double *ks = in_f64(g->c, KEY_SCALE) + scale, *qs = in_f64(g->c, QUERY_SCALE) + scale;
        const double factor = norm_factor(g, k) * norm_factor(g, q) / sqrt((double)n);
        double *y = out_f64(g->c, 0) + r * n, dot = 0;
        for (size_t i = 0; i < n; i++) dot += k[i] * ks[i] * q[i] * qs[i];
        dot *= factor;
        const double sign = dot > 0 ? 1 : dot < 0 ? -1 : dot;
        const double size = fabs(dot) < 1e-6 ? 1e-6 : fabs(dot);
        const double weight = 1 / (1 + exp(-sign * sqrt(size)));
        for (size_t i = 0; i < n; i++) y[i] = v[i] * weight;
        if (!g->norms) continue;
        const double *scales = in_f64(g->c, OUT_SCALE) + scale, root = norm_factor(g, y);
        for (size_t i = 0; i < n; i++) out_f64(g->c, 1)[r * n + i] = y[i] * root * scales[i];
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "FFFFFf", err);
    if (st || !out_count(c, 0)) return st;
    const int64_t *shape = in_shape(c, KEY);
    gate g = {.c = c,
              .branches = (size_t)shape[BRANCHES],
              .width = (size_t)shape[WIDTH],
              .epsilon = op_attr_float(c->node, "epsilon", 1e-5),
              .norms = c->node->output_count > 1 && c->wanted[1]};
    rows_run((size_t)(shape[BATCH] * shape[TOKENS]) * g.branches, 8 * g.width, run, &g);
    return PGY_OK;
}

#define TYPES "float32 float16 bfloat16"

const op_def OP_engram_gate[] = {
    {"EngramGate", "com.microsoft", 1, 0, 5, 6, 1, 2, 0, ATTRS, TYPES, infer, eval, NULL,
     .signature = "T = " TYPES "; key:T, query:T, value:T, key_norm_scale:T, query_norm_scale:T, "
                  "?conv_norm_scale:T -> output:T, ?gated_value_normed:T"},
    {NULL},
};
