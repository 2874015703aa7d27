/* SPDX-License-Identifier: Apache-2.0 */
/* Channels-last images for operators that are defined for channels in axis 1. */
#ifndef OPS_CLASS_NHWC_H
#define OPS_CLASS_NHWC_H

#include "ops/class_check.h"

/* Dims [N, spatial..., C] as [N, C, spatial...], and back. NULL: out of memory. */
dim *nhwc_to_nchw_dims(op_infer *c, const dim *dims, int32_t rank);
dim *nhwc_from_nchw_dims(op_infer *c, const dim *dims, int32_t rank);
/* A new tensor with the elements in the other order. */
pgy_status nhwc_to_nchw(pgy_tensor **out, const pgy_tensor *x, pgy_error *err) PGY_MUST_CHECK;
pgy_status nhwc_from_nchw(pgy_tensor **out, const pgy_tensor *x, pgy_error *err) PGY_MUST_CHECK;

/* An operator on channels-last images and the inner operator that computes it. op_def.user_data is
 * the nhwc_spec. */
typedef struct nhwc_spec {
    const char *domain, *inner;
    int64_t version;
    uint32_t inputs; /* bit i: input i has the channels last, too; input 0 always has */
} nhwc_spec;
pgy_status nhwc_infer(op_infer *c, pgy_error *err);
pgy_status nhwc_eval(op_eval *c, pgy_error *err);
/* QLinearConv, for nodes with attribute channels_last, too. */
pgy_status qlinear_conv_infer(op_infer *c, pgy_error *err);
pgy_status qlinear_conv_eval(op_eval *c, pgy_error *err);

#endif
