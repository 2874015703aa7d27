/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft TransposeMatMul: the former name of FusedMatMul. */
#include "ops/class_alias.h"

static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, "1"},
    {"transA", OP_ATTR_INT, false, "0"},
    {"transB", OP_ATTR_INT, false, "0"},
    {0},
};
static const alias_spec SPEC = {"com.microsoft", "FusedMatMul", 1, 0};

const op_def OP_transpose_mat_mul[] = {
    ALIAS_ROW("TransposeMatMul", 2, 2, 1, ATTRS, TYPES_F4, &SPEC,
              "T = float16 float32 float64 bfloat16; A:T, B:T -> Y:T"),
    {0},
};
