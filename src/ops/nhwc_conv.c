/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft NhwcConv: Conv with the channels last in image and weights, as the optimiser for
 * diffusion models writes it. */
#include "ops/class_conv.h"
#include "ops/class_nhwc.h"

static const nhwc_spec SPEC = {"", "Conv", 22, 1 << 1};

const op_def OP_nhwc_conv[] = {
    {"NhwcConv", "com.microsoft", 1, 0, 2, 3, 1, 1, OP_SAME_TYPES, conv_attrs, TYPES_F4, nhwc_infer,
     nhwc_eval, NULL, 0, &SPEC,
     .signature = "T = float16 float32 float64 bfloat16; X:T, W:T, ?B:T -> Y:T"},
    {NULL},
};
