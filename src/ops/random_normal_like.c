/* SPDX-License-Identifier: Apache-2.0 */
/* RandomNormalLike: normal numbers in the shape of the input; see class_random.h. */
#include "ops/class_random.h"

static const op_attr_def ATTRS[] = {
    {"dtype", OP_ATTR_INT, false, NULL},
    {"seed", OP_ATTR_FLOAT, false, NULL},
    {"mean", OP_ATTR_FLOAT, false, "0"},
    {"scale", OP_ATTR_FLOAT, false, "1"},
    {0},
};

const op_def OP_random_normal_like[] = {
    RANDOM_ROW("RandomNormalLike", 1, 1, ATTRS, random_infer_like, random_eval_normal),
    RANDOM_ROW("RandomNormalLike", 22, 1, ATTRS, random_infer_like, random_eval_normal),
    {0},
};
