/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft SkipLayerNormalization and SkipSimplifiedLayerNormalization: input + skip (+ bias),
 * normalised over the last axis and scaled. The first also shifts; the second divides by the root
 * of the mean square without subtracting a mean. The sum is output 3. */
#include <math.h>

#include "ops/class_norm.h"

enum { FULL, SIMPLIFIED };
enum { X, SKIP, GAMMA, BETA };

static const op_attr_def ATTRS[] = {
    {"epsilon", OP_ATTR_FLOAT, false, "1e-12"},
    {NULL},
};

/* Index of the input with the bias, which differs between the two operators. */
static size_t bias_input(const op_node *n)
{
    return n->def->user == FULL ? 4 : 3;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[X];
    pgy_status st = rank_check(c, X, 2, 3, err);
    if (st) return st;
    op_set_like(c, 0, X);
    if (c->node->output_count > 3) op_set_like(c, 3, X);
    for (size_t i = 1; i < c->node->output_count && i < 3; i++) {
        dim *dims = x->rank < 0 ? NULL : rule_copy_dims(c, x);
        if (dims) dims[x->rank - 1] = dim_const(1);
        op_set_output(c, i, PGY_F32, dims ? x->rank : -1, dims);
    }
    for (size_t i = GAMMA; !st && x->rank > 0 && i < c->node->input_count; i++) {
        st = rank_check(c, i, 1, 1, err);
        if (!st) st = dim_check(c, i, 0, x->dims[x->rank - 1], "the last axis", err);
    }
    return st;
}

typedef struct layer {
    const op_eval *c;
    size_t width, skip_count;
    double epsilon;
    const double *bias, *beta;
    bool simplified;
} layer;

static void run(size_t begin, size_t end, void *user)
{
    const layer *l = user;
    for (size_t r = begin; r < end; r++) {
        const double *x = in_f64(l->c, X) + r * l->width, *gamma = in_f64(l->c, GAMMA);
        const double *skip = in_f64(l->c, SKIP) + r * l->width % l->skip_count;
        double *y = out_f64(l->c, 0) + r * l->width;
        for (size_t j = 0; j < l->width; j++) y[j] = x[j] + skip[j] + (l->bias ? l->bias[j] : 0);
        if (out_f64(l->c, 3))
            for (size_t j = 0; j < l->width; j++) out_f64(l->c, 3)[r * l->width + j] = y[j];
        norm_stats s = {0, row_sum_squares(y, l->width, 0) / (double)l->width};
        if (!l->simplified) s = norm_of(y, l->width);
        const double factor = 1 / sqrt(s.variance + l->epsilon);
        if (out_f64(l->c, 1)) out_f64(l->c, 1)[r] = s.mean;
        if (out_f64(l->c, 2)) out_f64(l->c, 2)[r] = factor;
        for (size_t j = 0; j < l->width; j++)
            y[j] = (y[j] - s.mean) * factor * gamma[j] + (l->beta ? l->beta[j] : 0);
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "FFFff", err);
    if (st) return st;
    layer l = {.c = c,
               .width = (size_t)in_shape(c, X)[in_rank(c, X) - 1],
               .skip_count = in_count(c, SKIP),
               .epsilon = op_attr_float(c->node, "epsilon", 1e-12),
               .bias = in_f64(c, bias_input(c->node)),
               .beta = c->node->def->user == FULL ? in_f64(c, BETA) : NULL,
               .simplified = c->node->def->user == SIMPLIFIED};
    if (!in_count(c, X)) return PGY_OK;
    /* The skip may lack the batch axis or have size 1 there; it is broadcast then. */
    if (!l.skip_count || in_count(c, X) % l.skip_count || l.skip_count % l.width)
        return op_error(
            c->node, err, PGY_E_SHAPE,
            "the skip has %zu elements, which does not fit the %zu elements of the input",
            l.skip_count, in_count(c, X));
    rows_run(in_count(c, X) / l.width, l.width * 6, run, &l);
    return PGY_OK;
}

#define ROW(op, inputs, which, text)                                                             \
    {                                                                                            \
        op, "com.microsoft", 1, 0, 3, inputs, 1, 4, 0, ATTRS, TYPES_F4, infer, eval, norm_flops, \
            which, NULL, .signature = text                                                       \
    }
#define TYPES "T = float16 float32 float64 bfloat16; U = float32; "
#define RESULTS "output:T, ?mean:U, ?inv_std_var:U, ?input_skip_bias_sum:T"
const op_def OP_skip_layer_normalization[] = {
    ROW("SkipLayerNormalization", 5, FULL,
        TYPES "input:T, skip:T, gamma:T, ?beta:T, ?bias:T -> " RESULTS),
    ROW("SkipSimplifiedLayerNormalization", 4, SIMPLIFIED,
        TYPES "input:T, skip:T, gamma:T, ?bias:T -> " RESULTS),
    {NULL},
};
