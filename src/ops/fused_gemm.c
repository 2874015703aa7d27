/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft FusedGemm: Gemm and an activation. */
#include "ops/class_activation.h"

static const op_attr_def ATTRS[] = {
    {"activation", OP_ATTR_STRING, false, NULL},
    {"activation_alpha", OP_ATTR_FLOAT, false, NULL},
    {"activation_beta", OP_ATTR_FLOAT, false, NULL},
    {"activation_gamma", OP_ATTR_FLOAT, false, NULL},
    {"alpha", OP_ATTR_FLOAT, false, "1"},
    {"beta", OP_ATTR_FLOAT, false, "1"},
    {"transA", OP_ATTR_INT, false, "0"},
    {"transB", OP_ATTR_INT, false, "0"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    activation a;
    const pgy_status st = activation_read(&a, c->node, err);
    return st ? st : op_find("", "Gemm", 13)->infer(c, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    activation a;
    pgy_status st = inputs_check(c, "FFf", err);
    if (!st) st = activation_read(&a, c->node, err);
    if (!st) st = op_find("", "Gemm", 13)->eval(c, err);
    if (!st) activation_apply(&a, out_f64(c, 0), out_count(c, 0));
    return st;
}

static double flops(const op_infer *c)
{
    return op_find("", "Gemm", 13)->flops(c);
}

const op_def OP_fused_gemm[] = {
    {"FusedGemm", "com.microsoft", 1, 0, 2, 3, 1, 1, OP_SAME_TYPES, ATTRS, TYPES_F4, infer, eval,
     flops,
     .signature = "T = float16 float32 float64 bfloat16 int32 int64 uint32 uint64; A:T, B:T, "
                  "?C:T -> Y:T"},
    {NULL},
};
