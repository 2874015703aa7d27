/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceSum: the sum over axes; axes became an input in version 13. See class_reduce.h. */
#include "ops/class_reduce.h"

const op_def OP_reduce_sum[] = {
    REDUCE_ROW_ATTR("ReduceSum", REDUCE_SUM, 1, TYPES_W3),
    REDUCE_ROW_ATTR("ReduceSum", REDUCE_SUM, 11, TYPES_W3),
    REDUCE_ROW("ReduceSum", REDUCE_SUM, 13, TYPES_W4),
    {NULL},
};
