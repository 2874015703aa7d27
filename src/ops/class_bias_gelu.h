/* SPDX-License-Identifier: Apache-2.0 */
/* y = activation(x + bias), where the bias is optional and has one element per index of the last
 * axis. */
#ifndef OPS_CLASS_BIAS_GELU_H
#define OPS_CLASS_BIAS_GELU_H

#include "ops/class_activation.h"

/* Inputs: 0 and optionally 1, the bias, as long as the last axis of input 0. */
pgy_status bias_gelu_infer(op_infer *c, pgy_error *err);
pgy_status bias_gelu_run(op_eval *c, activation a, pgy_error *err) PGY_MUST_CHECK;

#endif
