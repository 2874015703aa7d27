/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution in double precision, shared by Conv, ConvInteger and QLinearConv (doubles hold
 * products of 8-bit integers exactly). */
#ifndef OPS_CLASS_CONV_H
#define OPS_CLASS_CONV_H

#include "ops/class_check.h"
#include "ops/class_window.h"

extern const op_attr_def conv_attrs[];

/* Shape rule: input 0 is x, input `weights` is w, input `bias` is b (checked where present). */
pgy_status conv_infer(op_infer *c, size_t weights, size_t bias, pgy_dtype dtype,
                      pgy_error *err) PGY_MUST_CHECK;
double conv_flops(const op_infer *c, size_t weights);

typedef struct conv_problem {
    window window;
    /* in_channels and out_channels are those of one group */
    size_t batch, groups, in_channels, out_channels;
    const double *x, *w, *bias; /* bias may be NULL */
    const float *w_single;      /* the weights as floats; if not NULL, w is not used */
    double *y;
} conv_problem;

/* Fills `p` from the node and its tensors, except the data pointers. */
pgy_status conv_prepare(conv_problem *p, const op_eval *c, size_t weights,
                        pgy_error *err) PGY_MUST_CHECK;
/* Sets `w` or `w_single` to the weights in input i, by the type that holds them. */
void conv_set_weights(conv_problem *p, const op_eval *c, size_t i);
pgy_status conv_run(const conv_problem *p, pgy_error *err) PGY_MUST_CHECK;
/* conv_run for problems with one input channel per group. */
pgy_status conv_run_depthwise(const conv_problem *p, pgy_error *err) PGY_MUST_CHECK;

#endif
