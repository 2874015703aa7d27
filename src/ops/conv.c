/* SPDX-License-Identifier: Apache-2.0 */
/* Conv: see class_conv.h. */
#include "ops/class_conv.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    return conv_infer(c, 1, 2, c->inputs[0].dtype, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    conv_problem p;
    pgy_status st = inputs_check(c, "FWf", err);
    if (!st) st = conv_prepare(&p, c, 1, err);
    if (st) return st;
    p.x = in_f64(c, 0);
    conv_set_weights(&p, c, 1);
    p.bias = in_f64(c, 2);
    p.y = out_f64(c, 0);
    return conv_run(&p, err);
}

static double flops(const op_infer *c)
{
    return conv_flops(c, 1);
}

#define ROW(version, words)                                                                     \
    {                                                                                           \
        "Conv", "", version, 0, 2, 3, 1, 1, OP_SAME_TYPES | OP_FILLS, conv_attrs, words, infer, \
            eval, flops, .narrow_inputs = 1 << 1                                                \
    }
const op_def OP_conv[] = {ROW(1, TYPES_F3), ROW(11, TYPES_F3), ROW(22, TYPES_F4), {NULL}};
