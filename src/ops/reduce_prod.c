/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceProd: the product over axes. See class_reduce.h. */
#include "ops/class_reduce.h"

const op_def OP_reduce_prod[] = {
    REDUCE_ROWS("ReduceProd", REDUCE_PROD),
    {NULL},
};
