/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft FusedMatMulActivation: FusedMatMul and an activation. */
#include "ops/class_activation.h"

static const op_attr_def ATTRS[] = {
    {"activation", OP_ATTR_STRING, true, NULL},
    {"activation_alpha", OP_ATTR_FLOAT, false, NULL},
    {"activation_axis", OP_ATTR_INT, false, NULL},
    {"activation_beta", OP_ATTR_FLOAT, false, NULL},
    {"activation_gamma", OP_ATTR_FLOAT, false, NULL},
    {"alpha", OP_ATTR_FLOAT, false, "1"},
    {"transA", OP_ATTR_INT, false, "0"},
    {"transB", OP_ATTR_INT, false, "0"},
    {"transBatchA", OP_ATTR_INT, false, "0"},
    {"transBatchB", OP_ATTR_INT, false, "0"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    activation a;
    const pgy_status st = activation_read(&a, c->node, err);
    return st ? st : op_find("com.microsoft", "FusedMatMul", 1)->infer(c, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    activation a;
    pgy_status st = activation_read(&a, c->node, err);
    if (!st) st = op_find("com.microsoft", "FusedMatMul", 1)->eval(c, err);
    if (!st) activation_apply(&a, out_f64(c, 0), out_count(c, 0));
    return st;
}

const op_def OP_fused_mat_mul_activation[] = {
    {"FusedMatMulActivation", "com.microsoft", 1, 0, 2, 2, 1, 1, OP_SAME_TYPES, ATTRS, TYPES_F4,
     infer, eval, NULL, .signature = "T = float16 float32 float64 bfloat16; A:T, B:T -> Y:T"},
    {NULL},
};
