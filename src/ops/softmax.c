/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax: exp(x - max) / sum(exp(x - max)) along an axis. See class_softmax.h. */
#include "ops/class_softmax.h"

static pgy_status eval(op_eval *c, pgy_error *err)
{
    return softmax_run(c, softmax_exp, err);
}

const op_def OP_softmax[] = {SOFTMAX_ROWS("Softmax", eval), {NULL}};
