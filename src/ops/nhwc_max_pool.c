/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft NhwcMaxPool: MaxPool with the channels last; see class_nhwc.h. */
#include "ops/class_nhwc.h"

static const op_attr_def ATTRS[] = {
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET"},
    {"ceil_mode", OP_ATTR_INT, false, "0"},
    {"dilations", OP_ATTR_INTS, false, NULL},
    {"kernel_shape", OP_ATTR_INTS, true, NULL},
    {"pads", OP_ATTR_INTS, false, NULL},
    {"strides", OP_ATTR_INTS, false, NULL},
    {NULL},
};
static const nhwc_spec SPEC = {"", "MaxPool", 22, 0};

const op_def OP_nhwc_max_pool[] = {
    {"NhwcMaxPool", "com.microsoft", 1, 0, 1, 1, 1, 1, 0, ATTRS, "int8 uint8 " TYPES_F4, nhwc_infer,
     nhwc_eval, NULL, 0, &SPEC,
     .signature = "T = float16 float32 float64 bfloat16 int8 uint8; x:T -> y:T"},
    {NULL},
};
