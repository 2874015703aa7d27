/* SPDX-License-Identifier: Apache-2.0 */
/* pgy NormalisedMatMul, which the engine's passes make: FusedMatMul of pgy for rows A that are
 * normalised before: (A - mean) / sqrt(variance + epsilon) * scale + shift. `root` = 1 takes no
 * mean away, as RMSNormalization. */
#include <math.h>
#include <string.h>

#include "ops/class_norm.h"

enum { A, B, BIAS, RESIDUAL, SCALE, SHIFT, INPUTS };

static const op_attr_def ATTRS[] = {
    {"activation", OP_ATTR_STRING, false, NULL, "Relu Gelu FastGelu Silu Sigmoid Tanh"},
    {"alpha", OP_ATTR_FLOAT, false, "1"},
    {"epsilon", OP_ATTR_FLOAT, false, "1e-5"},
    {"root", OP_ATTR_INT, false, "0"},
    {"transB", OP_ATTR_INT, false, "0"},
    {NULL},
};

static const op_def *of_rows(void)
{
    return op_find("pgy", "FusedMatMul", 1);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *a = &c->inputs[A];
    pgy_status st = of_rows()->infer(c, err);
    for (size_t i = SCALE; !st && i <= SHIFT; i++) {
        if (!op_has_input(c, i)) continue;
        st = rank_check(c, i, 1, 1, err);
        if (!st && a->rank > 0)
            st = dim_check(c, i, 0, a->dims[a->rank - 1], "the length of a row", err);
    }
    return st;
}

static void normalise(double *y, const op_eval *c, size_t length)
{
    const double *x = in_f64(c, A), *scale = in_f64(c, SCALE), *shift = in_f64(c, SHIFT);
    const double epsilon = op_attr_float(c->node, "epsilon", 1e-5);
    const bool root = op_attr_int(c->node, "root", 0) != 0;
    for (size_t at = 0; at < in_count(c, A); at += length) {
        norm_stats s = norm_of(x + at, length);
        if (root) s = (norm_stats){.variance = s.variance + s.mean * s.mean};
        const double factor = 1 / sqrt(s.variance + epsilon);
        for (size_t j = 0; j < length; j++)
            y[at + j] = (x[at + j] - s.mean) * factor * scale[j] + (shift ? shift[j] : 0);
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    op_tensor inputs[INPUTS] = {{0}};
    op_eval inner = *c;
    pgy_tensor *rows = NULL;
    pgy_status st = inputs_check(c, "FFffFf", err);
    if (!st) st = pgy_tensor_create(&rows, PGY_F64, in_rank(c, A), in_shape(c, A), err);
    if (st) return st;
    if (in_count(c, A))
        normalise(pgy_tensor_data(rows), c, (size_t)in_shape(c, A)[in_rank(c, A) - 1]);
    memcpy(inputs, c->inputs,
           (c->node->input_count < INPUTS ? c->node->input_count : INPUTS) * sizeof *inputs);
    inputs[A].value = rows;
    inner.inputs = inputs;
    st = of_rows()->eval(&inner, err);
    pgy_tensor_release(rows);
    return st;
}

const op_def OP_pgy_normalised_mat_mul[] = {
    {"NormalisedMatMul", "pgy", 1, 0, 5, 6, 1, 1, OP_SAME_TYPES, ATTRS, TYPES_F4, infer, eval, NULL,
     .signature = "T = float16 float32 float64 bfloat16; A:T, B:T, ?bias:T, ?residual:T, scale:T, "
                  "?shift:T -> Y:T"},
    {NULL},
};
