/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QLinearAveragePool: AveragePool of quantised tensors; see class_qlinear.h. */
#include "ops/class_qlinear.h"

static const op_attr_def ATTRS[] = {
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"ceil_mode", OP_ATTR_INT, false, "0"},
    {"channels_last", OP_ATTR_INT, false, "0"},
    {"count_include_pad", OP_ATTR_INT, false, "0"},
    {"kernel_shape", OP_ATTR_INTS, true, NULL, NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {0},
};
static const qlinear_spec SPEC = {"AveragePool", 11, 0, 1, 3};

const op_def OP_qlinear_average_pool[] = {
    QLINEAR_ROW("QLinearAveragePool", 4, 5, 0, ATTRS, &SPEC,
                "T = int8 uint8; X:T, x_scale:float32, ?x_zero_point:T, y_scale:float32, "
                "?y_zero_point:T -> Y:T"),
    {0},
};
