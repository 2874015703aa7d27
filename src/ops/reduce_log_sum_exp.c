/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceLogSumExp: log(sum(exp(x))) over axes, shifted by the largest value. See class_reduce.h. */
#include "ops/class_reduce.h"

const op_def OP_reduce_log_sum_exp[] = {
    REDUCE_ROWS("ReduceLogSumExp", REDUCE_LOG_SUM_EXP),
    REDUCE_ROW("ReduceLogSumExp", REDUCE_LOG_SUM_EXP, 28, TYPES_F4),
    {NULL},
};
