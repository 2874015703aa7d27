/* SPDX-License-Identifier: Apache-2.0 */
/* ThresholdedRelu: values up to alpha become zero; NaN too. */
#include "ops/class_unary.h"

#define NAME thresholded_relu_f64
#define F(x) ((x) > p[0] ? (x) : 0)
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = thresholded_relu_f64, .params = {"alpha"}};
static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, "1.0"},
    {0},
};

const op_def OP_thresholded_relu[] = {
    UNARY_ROW_ATTRS("ThresholdedRelu", 10, TYPES_F3, &SPEC, ATTRS),
    UNARY_ROW_ATTRS("ThresholdedRelu", 22, TYPES_F4, &SPEC, ATTRS),
    {0},
};
