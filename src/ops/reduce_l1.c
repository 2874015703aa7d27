/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceL1: the sum of absolute values over axes. See class_reduce.h. */
#include "ops/class_reduce.h"

const op_def OP_reduce_l1[] = {
    REDUCE_ROWS("ReduceL1", REDUCE_L1),
    {NULL},
};
