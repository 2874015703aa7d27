/* SPDX-License-Identifier: Apache-2.0 */
/* RandomUniformLike: uniform numbers in the shape of the input; see class_random.h. */
#include "ops/class_random.h"

static const op_attr_def ATTRS[] = {
    {"dtype", OP_ATTR_INT, false, NULL},
    {"seed", OP_ATTR_FLOAT, false, NULL},
    {"low", OP_ATTR_FLOAT, false, "0"},
    {"high", OP_ATTR_FLOAT, false, "1"},
    {0},
};

const op_def OP_random_uniform_like[] = {
    RANDOM_ROW("RandomUniformLike", 1, 1, ATTRS, random_infer_like, random_eval_uniform),
    RANDOM_ROW("RandomUniformLike", 22, 1, ATTRS, random_infer_like, random_eval_uniform),
    {0},
};
