/* SPDX-License-Identifier: Apache-2.0 */
/* RandomUniform: uniform numbers in a given shape; see class_random.h. */
#include "ops/class_random.h"

static const op_attr_def ATTRS[] = {
    {"dtype", OP_ATTR_INT, false, "1"},  {"seed", OP_ATTR_FLOAT, false, NULL},
    {"low", OP_ATTR_FLOAT, false, "0"},  {"high", OP_ATTR_FLOAT, false, "1"},
    {"shape", OP_ATTR_INTS, true, NULL}, {0},
};

const op_def OP_random_uniform[] = {
    RANDOM_ROW("RandomUniform", 1, 0, ATTRS, random_infer_shape, random_eval_uniform),
    RANDOM_ROW("RandomUniform", 22, 0, ATTRS, random_infer_shape, random_eval_uniform),
    {0},
};
