/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft NhwcFusedConv: FusedConv with the channels last in the image and in the added
 * tensor; the weights have Conv's layout. */
#include "ops/class_nhwc.h"

static const op_attr_def ATTRS[] = {
    {"activation", OP_ATTR_STRING, false, NULL},
    {"activation_params", OP_ATTR_FLOATS, false, NULL},
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET"},
    {"dilations", OP_ATTR_INTS, false, NULL},
    {"group", OP_ATTR_INT, false, "1"},
    {"kernel_shape", OP_ATTR_INTS, false, NULL},
    {"pads", OP_ATTR_INTS, false, NULL},
    {"strides", OP_ATTR_INTS, false, NULL},
    {NULL},
};
static const nhwc_spec SPEC = {"com.microsoft", "FusedConv", 1, 1 << 3};

const op_def OP_nhwc_fused_conv[] = {
    {"NhwcFusedConv", "com.microsoft", 1, 0, 2, 4, 1, 1, OP_SAME_TYPES, ATTRS, TYPES_F4, nhwc_infer,
     nhwc_eval, NULL, 0, &SPEC,
     .signature = "T = float16 float32 float64 bfloat16; X:T, W:T, ?B:T, ?Z:T -> Y:T"},
    {NULL},
};
