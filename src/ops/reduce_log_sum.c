/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceLogSum: the logarithm of the sum over axes. See class_reduce.h. */
#include "ops/class_reduce.h"

const op_def OP_reduce_log_sum[] = {
    REDUCE_ROWS("ReduceLogSum", REDUCE_LOG_SUM),
    REDUCE_ROW("ReduceLogSum", REDUCE_LOG_SUM, 28, TYPES_F4),
    {NULL},
};
