/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft.nchwc GlobalAveragePool: GlobalAveragePool of a blocked image; see
 * class_nchwc.h. */
#include "ops/class_nchwc.h"

static const op_attr_def ATTRS[] = {
    NCHWC_BLOCK_ATTR,
    {NULL},
};
static const nchwc_spec SPEC = {"", "GlobalAveragePool", 22, false};

const op_def OP_nchwc_global_average_pool[] = {
    {"GlobalAveragePool", NCHWC_DOMAIN, 1, 0, 1, 1, 1, 1, 0, ATTRS, "float32", nchwc_infer,
     nchwc_eval, NULL, 0, &SPEC, .signature = "T = float32; X:T -> Y:T"},
    {NULL},
};
