/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft.nchwc AveragePool: AveragePool of a blocked image; see class_nchwc.h. */
#include "ops/class_nchwc.h"

static const op_attr_def ATTRS[] = {
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    NCHWC_BLOCK_ATTR,
    {"ceil_mode", OP_ATTR_INT, false, "0"},
    {"count_include_pad", OP_ATTR_INT, false, "0"},
    {"dilations", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"kernel_shape", OP_ATTR_INTS, true, NULL, NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {NULL},
};
static const nchwc_spec SPEC = {"", "AveragePool", 22, false};

const op_def OP_nchwc_average_pool[] = {
    {"AveragePool", NCHWC_DOMAIN, 1, 0, 1, 1, 1, 1, 0, ATTRS, "float32", nchwc_infer, nchwc_eval,
     NULL, 0, &SPEC, .signature = "T = float32; X:T -> Y:T"},
    {NULL},
};
