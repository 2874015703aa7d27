/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft Trilu: the standard operator. */
#include "ops/class_alias.h"

static const op_attr_def ATTRS[] = {
    {"upper", OP_ATTR_INT, false, "1"},
    {0},
};
static const alias_spec SPEC = {"", "Trilu", 14, 0};

const op_def OP_contrib_trilu[] = {
    ALIAS_ROW("Trilu", 1, 2, 1, ATTRS, "", &SPEC, "T = all; X:T, ?k:int64 -> Y:T"),
    {0},
};
