/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceMin: the smallest value over axes; NaN wins. See class_reduce.h. */
#include "ops/class_reduce.h"

const op_def OP_reduce_min[] = {
    REDUCE_ROW_ATTR("ReduceMin", REDUCE_MIN, 1, TYPES_W3),
    REDUCE_ROW_ATTR("ReduceMin", REDUCE_MIN, 11, TYPES_W3),
    REDUCE_ROW_ATTR("ReduceMin", REDUCE_MIN, 12, TYPES_W3 " uint8 int8"),
    REDUCE_ROW_ATTR("ReduceMin", REDUCE_MIN, 13, TYPES_W4 " uint8 int8"),
    REDUCE_ROW("ReduceMin", REDUCE_MIN, 18, TYPES_W4 " uint8 int8"),
    REDUCE_ROW("ReduceMin", REDUCE_MIN, 20, TYPES_W4 " uint8 int8 bool"),
    {NULL},
};
