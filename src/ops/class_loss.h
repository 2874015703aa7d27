/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of class scores [N, C, ...] against class indices [N, ...], with weights [C]. */
#ifndef OPS_CLASS_LOSS_H
#define OPS_CLASS_LOSS_H

#include "ops/class_check.h"

extern const op_attr_def loss_attrs[];

/* Output 0: one loss for each index (reduction "none") or a scalar. */
pgy_status loss_infer(op_infer *c, pgy_error *err) PGY_MUST_CHECK;
/* Computes output 0 from log-probabilities in the shape of input 0. */
pgy_status loss_run(op_eval *c, const double *log_prob, pgy_error *err) PGY_MUST_CHECK;

#endif
