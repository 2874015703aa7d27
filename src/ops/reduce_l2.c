/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceL2: the root of the sum of squares over axes. See class_reduce.h. */
#include "ops/class_reduce.h"

const op_def OP_reduce_l2[] = {
    REDUCE_ROWS("ReduceL2", REDUCE_L2),
    {NULL},
};
