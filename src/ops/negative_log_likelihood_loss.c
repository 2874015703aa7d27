/* SPDX-License-Identifier: Apache-2.0 */
/* NegativeLogLikelihoodLoss: from log-probabilities and class indices. */
#include "ops/class_loss.h"

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "FIf", err);
    return st ? st : loss_run(c, in_f64(c, 0), err);
}

#define ROW(version, words)                                                                        \
    {                                                                                              \
        "NegativeLogLikelihoodLoss", "", version, 0, 2, 3, 1, 1, 0, loss_attrs, words, loss_infer, \
            eval, NULL                                                                             \
    }
const op_def OP_negative_log_likelihood_loss[] = {
    ROW(12, TYPES_F3), ROW(13, TYPES_F3), ROW(22, TYPES_F4), {NULL}};
