/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MatMulInteger16: MatMulInteger of 16-bit matrices, without zero points. */
#include "ops/class_alias.h"

static const alias_spec SPEC = {"", "MatMulInteger", 10, 0};

const op_def OP_mat_mul_integer16[] = {
    ALIAS_ROW("MatMulInteger16", 2, 2, 1, NULL, "int16 uint16", &SPEC,
              "A = int16 uint16; B = int16 uint16; C = int32 uint32; A:A, B:B -> Y:C"),
    {0},
};
