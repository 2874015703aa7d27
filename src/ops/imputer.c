/* SPDX-License-Identifier: Apache-2.0 */
/* Imputer: replaces elements that equal a given value, which may be NaN, by one number or by the
 * number of their column. */
#include <inttypes.h>
#include <math.h>

#include "ops/class_check.h"

static const op_attr_def ATTRS[] = {
    {"imputed_value_floats", OP_ATTR_FLOATS, false, NULL},
    {"imputed_value_int64s", OP_ATTR_INTS, false, NULL},
    {"replaced_value_float", OP_ATTR_FLOAT, false, "0"},
    {"replaced_value_int64", OP_ATTR_INT, false, "0"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const bool floats = x->dtype == PGY_F32 || x->dtype == PGY_F64;
    size_t float_count, int_count;
    op_attr_floats(c->node, "imputed_value_floats", &float_count);
    op_attr_ints(c->node, "imputed_value_int64s", &int_count);
    const size_t count = floats ? float_count : int_count;
    if (x->dtype && (!count || (float_count && int_count)))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "input 0 has type %s, so attribute %s must have values and %s must not",
                        pgy_dtype_name(x->dtype),
                        floats ? "imputed_value_floats" : "imputed_value_int64s",
                        floats ? "imputed_value_int64s" : "imputed_value_floats");
    pgy_status st = rank_check(c, 0, 1, PGY_MAX_RANK, err);
    if (!st && count > 1 && x->rank > 0)
        st = dim_check(c, 0, x->rank > 1, dim_const((int64_t)count), "the number of imputed values",
                       err);
    if (!st) op_set_like(c, 0, 0);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "!", err);
    if (st) return st;
    size_t floats, ints;
    const float *imputed = op_attr_floats(c->node, "imputed_value_floats", &floats);
    const int64_t *imputed_ints = op_attr_ints(c->node, "imputed_value_int64s", &ints);
    const double replaced = op_attr_float(c->node, "replaced_value_float", 0);
    const int64_t replaced_int = op_attr_int(c->node, "replaced_value_int64", 0);
    if (pgy_tensor_dtype(c->inputs[0].value) == PGY_F64) {
        for (size_t i = 0; i < in_count(c, 0); i++) {
            const double x = in_f64(c, 0)[i];
            const bool missing = x == replaced || (isnan(x) && isnan(replaced));
            out_f64(c, 0)[i] = missing ? (double)imputed[i % floats] : x;
        }
        return PGY_OK;
    }
    for (size_t i = 0; i < in_count(c, 0); i++) {
        const int64_t x = in_i64(c, 0)[i];
        out_i64(c, 0)[i] = x == replaced_int ? imputed_ints[i % ints] : x;
    }
    return PGY_OK;
}

const op_def OP_imputer[] = {
    {"Imputer", "ai.onnx.ml", 1, 0, 1, 1, 1, 1, 0, ATTRS, "float32 float64 int64 int32", infer,
     eval, rule_no_flops, .signature = "T = float32 float64 int64 int32; X:T -> Y:T"},
    {NULL},
};
