/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceMax: the largest value over axes; NaN wins. See class_reduce.h. */
#include "ops/class_reduce.h"

const op_def OP_reduce_max[] = {
    REDUCE_ROW_ATTR("ReduceMax", REDUCE_MAX, 1, TYPES_W3),
    REDUCE_ROW_ATTR("ReduceMax", REDUCE_MAX, 11, TYPES_W3),
    REDUCE_ROW_ATTR("ReduceMax", REDUCE_MAX, 12, TYPES_W3 " uint8 int8"),
    REDUCE_ROW_ATTR("ReduceMax", REDUCE_MAX, 13, TYPES_W4 " uint8 int8"),
    REDUCE_ROW("ReduceMax", REDUCE_MAX, 18, TYPES_W4 " uint8 int8"),
    REDUCE_ROW("ReduceMax", REDUCE_MAX, 20, TYPES_W4 " uint8 int8 bool"),
    {NULL},
};
