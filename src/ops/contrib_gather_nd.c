/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft GatherND: the standard operator without batch axes. */
#include "ops/class_alias.h"

static const alias_spec SPEC = {"", "GatherND", 12, 0};

const op_def OP_contrib_gather_nd[] = {
    ALIAS_ROW("GatherND", 2, 2, 1, NULL, "", &SPEC,
              "T = all; I = int32 int64; data:T, indices:I -> output:T"),
    {0},
};
