/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QLinearGlobalAveragePool: GlobalAveragePool of quantised tensors; see
 * class_qlinear.h. */
#include "ops/class_qlinear.h"

static const op_attr_def ATTRS[] = {
    {"channels_last", OP_ATTR_INT, false, "0"},
    {0},
};
static const qlinear_spec SPEC = {"GlobalAveragePool", 1, 0, 1, 3};

const op_def OP_qlinear_global_average_pool[] = {
    QLINEAR_ROW("QLinearGlobalAveragePool", 5, 5, 0, ATTRS, &SPEC,
                "T = int8 uint8; X:T, x_scale:float32, x_zero_point:T, y_scale:float32, "
                "y_zero_point:T -> Y:T"),
    {0},
};
