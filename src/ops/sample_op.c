/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft SampleOp: returns its input. */
#include "ops/class_alias.h"

static const alias_spec SPEC = {"", "Identity", 13, 0};

const op_def OP_sample_op[] = {
    ALIAS_ROW("SampleOp", 1, 1, 1, NULL, "", &SPEC, "T = number; X:T -> Y:T"),
    {0},
};
