/* SPDX-License-Identifier: Apache-2.0 */
/* RandomNormal: normal numbers in a given shape; see class_random.h. */
#include "ops/class_random.h"

static const op_attr_def ATTRS[] = {
    {"dtype", OP_ATTR_INT, false, "1"},  {"seed", OP_ATTR_FLOAT, false, NULL},
    {"mean", OP_ATTR_FLOAT, false, "0"}, {"scale", OP_ATTR_FLOAT, false, "1"},
    {"shape", OP_ATTR_INTS, true, NULL}, {0},
};

const op_def OP_random_normal[] = {
    RANDOM_ROW("RandomNormal", 1, 0, ATTRS, random_infer_shape, random_eval_normal),
    RANDOM_ROW("RandomNormal", 22, 0, ATTRS, random_infer_shape, random_eval_normal),
    {0},
};
