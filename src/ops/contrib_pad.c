/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft Pad: the standard operator of version 13. */
#include "ops/class_alias.h"

static const op_attr_def ATTRS[] = {
    {"mode", OP_ATTR_STRING, false, "constant"},
    {0},
};
static const alias_spec SPEC = {"", "Pad", 13, 0};

const op_def OP_contrib_pad[] = {
    ALIAS_ROW("Pad", 2, 3, 1, ATTRS, "", &SPEC,
              "T = all; data:T, pads:int64, ?value:T -> output:T"),
    {0},
};
