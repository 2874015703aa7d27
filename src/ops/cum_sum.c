/* SPDX-License-Identifier: Apache-2.0 */
/* CumSum: running sums along an axis. */
#include "ops/class_check.h"
#include "ops/class_running.h"

#define ROW(version, words)                                                           \
    {                                                                                 \
        "CumSum", "", version, 0, 2, 2, 1, 1, 0, RUNNING_ATTRS, words, running_infer, \
            running_eval, NULL, RUNNING_SUM                                           \
    }
const op_def OP_cum_sum[] = {ROW(11, TYPES_WIDE " float32 float64"), ROW(14, TYPES_W4), {NULL}};
