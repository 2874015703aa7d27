/* SPDX-License-Identifier: Apache-2.0 */
/* pgy QLinearConv, which the engine's passes make: ONNX's QLinearConv with a Relu before the output
 * is quantised, so no result is below the zero point; with attribute channels_last on images that
 * have them there. */
#include "ops/class_nhwc.h"

enum { Y_ZERO = 7 };

static const op_attr_def ATTRS[] = {
    {"activation", OP_ATTR_STRING, false, NULL, "Relu"},
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"channels_last", OP_ATTR_INT, false, "0", NULL, "0..1"},
    {"dilations", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"group", OP_ATTR_INT, false, "1", NULL, "1.."},
    {"kernel_shape", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {0},
};

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = qlinear_conv_eval(c, err);
    if (st || !op_attr_is(c->node, "activation", "Relu", "")) return st;
    const int64_t zero = in_i64(c, Y_ZERO)[0];
    int64_t *y = out_i64(c, 0);
    for (size_t i = 0; i < out_count(c, 0); i++) y[i] = y[i] > zero ? y[i] : zero;
    return PGY_OK;
}

const op_def OP_pgy_qlinear_conv[] = {
    {"QLinearConv", "pgy", 1, 0, 8, 9, 1, 1, 0, ATTRS, "int8 uint8", qlinear_conv_infer, eval, NULL,
     .signature = "T1 = int8 uint8; T2 = int8 uint8; T3 = int8 uint8; T4 = int32; x:T1, "
                  "x_scale:float32, x_zero_point:T1, w:T2, w_scale:float32, w_zero_point:T2, "
                  "y_scale:float32, y_zero_point:T3, ?B:T4 -> y:T3"},
    {NULL},
};
