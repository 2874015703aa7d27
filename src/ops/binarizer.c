/* SPDX-License-Identifier: Apache-2.0 */
/* Binarizer: 1 where an element is above the threshold, else 0. */
#include "ops/class_check.h"

static const op_attr_def ATTRS[] = {
    {"threshold", OP_ATTR_FLOAT, false, "0"},
    {NULL},
};

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const double threshold = op_attr_float(c->node, "threshold", 0);
    const pgy_status st = inputs_check(c, "!", err);
    if (st) return st;
    const size_t count = in_count(c, 0);
    if (pgy_tensor_dtype(c->inputs[0].value) == PGY_F64)
        for (size_t i = 0; i < count; i++) out_f64(c, 0)[i] = in_f64(c, 0)[i] > threshold;
    else
        for (size_t i = 0; i < count; i++) out_i64(c, 0)[i] = (double)in_i64(c, 0)[i] > threshold;
    return PGY_OK;
}

const op_def OP_binarizer[] = {
    {"Binarizer", "ai.onnx.ml", 1, 0, 1, 1, 1, 1, 0, ATTRS, "float32 float64 int64 int32",
     op_infer_same, eval, NULL, .signature = "T = float32 float64 int64 int32; X:T -> Y:T"},
    {NULL},
};
