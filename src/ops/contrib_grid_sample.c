/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft GridSample: the standard operator of version 16. */
#include "ops/class_alias.h"

static const op_attr_def ATTRS[] = {
    {"align_corners", OP_ATTR_INT, false, "0"},
    {"mode", OP_ATTR_STRING, false, "bilinear"},
    {"padding_mode", OP_ATTR_STRING, false, "zeros"},
    {0},
};
static const alias_spec SPEC = {"", "GridSample", 16, 0};

const op_def OP_contrib_grid_sample[] = {
    ALIAS_ROW("GridSample", 2, 2, 1, ATTRS, TYPES_F4, &SPEC,
              "T = float16 float32 float64 bfloat16; X:T, Grid:T -> Y:T"),
    {0},
};
