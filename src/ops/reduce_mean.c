/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceMean: the mean over axes; integers truncate towards zero. See class_reduce.h. */
#include "ops/class_reduce.h"

const op_def OP_reduce_mean[] = {
    REDUCE_ROWS("ReduceMean", REDUCE_MEAN),
    {NULL},
};
