/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft.nchwc Conv: a convolution of a blocked image, the addition of a tensor, and an
 * activation. The first convolution of a network takes a row-major image. See class_nchwc.h. */
#include "ops/class_nchwc.h"

static const op_attr_def ATTRS[] = {
    {"activation", OP_ATTR_STRING, false, NULL},
    {"activation_params", OP_ATTR_FLOATS, false, NULL},
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    NCHWC_BLOCK_ATTR,
    {"dilations", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"group", OP_ATTR_INT, false, "1", NULL, "1.."},
    {"kernel_shape", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {NULL},
};
static const nchwc_spec SPEC = {"com.microsoft", "FusedConv", 1, true};

const op_def OP_nchwc_conv[] = {
    {"Conv", NCHWC_DOMAIN, 1, 0, 2, 4, 1, 1, OP_SAME_TYPES, ATTRS, "float32", nchwc_infer,
     nchwc_eval, NULL, 0, &SPEC, .signature = "T = float32; X:T, W:T, ?B:T, ?Sum:T -> Y:T"},
    {NULL},
};
