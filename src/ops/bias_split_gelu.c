/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft BiasSplitGelu: of x + bias, the first half of the last axis times the Gelu of the
 * second. */
#include "ops/class_bias_gelu.h"
#include "ops/class_rows.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const pgy_status st = bias_gelu_infer(c, err);
    if (st || x->rank < 1) return st;
    const dim width = x->dims[x->rank - 1];
    if (dim_is_const(width) && width.value % 2)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the last axis has %lld elements, but must have an even number to be split",
                        (long long)width.value);
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    dims[x->rank - 1] = dim_div_floor(c->dims, width, dim_const(2));
    op_set_output(c, 0, x->dtype, x->rank, dims);
    return PGY_OK;
}

static void run(size_t begin, size_t end, void *user)
{
    const op_eval *c = user;
    const double *bias = in_f64(c, 1);
    const size_t half = in_count(c, 1) / 2;
    for (size_t r = begin; r < end; r++) {
        const double *x = in_f64(c, 0) + 2 * r * half;
        double *y = out_f64(c, 0) + r * half;
        for (size_t i = 0; i < half; i++)
            y[i] = (x[i] + bias[i]) * activation_gelu(x[half + i] + bias[half + i]);
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "FF", err);
    const size_t width = in_count(c, 1);
    if (!st && width) rows_run(in_count(c, 0) / width, width * 16, run, c);
    return st;
}

const op_def OP_bias_split_gelu[] = {
    {"BiasSplitGelu", "com.microsoft", 1, 0, 2, 2, 1, 1, OP_SAME_TYPES, NULL, TYPES_F4, infer, eval,
     NULL, .signature = "T = float16 float32 float64 bfloat16; X:T, bias:T -> Y:T"},
    {NULL},
};
