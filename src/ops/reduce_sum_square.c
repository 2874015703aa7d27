/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceSumSquare: the sum of squares over axes. See class_reduce.h. */
#include "ops/class_reduce.h"

const op_def OP_reduce_sum_square[] = {
    REDUCE_ROWS("ReduceSumSquare", REDUCE_SUM_SQUARE),
    {NULL},
};
