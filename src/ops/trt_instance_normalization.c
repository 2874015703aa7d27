/* SPDX-License-Identifier: Apache-2.0 */
/* TensorRT's plug-in InstanceNormalization_TRT under its own name: the standard operator. */
#include "ops/class_alias.h"

static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, NULL},
    {"epsilon", OP_ATTR_FLOAT, false, "1e-5"},
    {"plugin_namespace", OP_ATTR_STRING, false, ""},
    {"plugin_version", OP_ATTR_STRING, false, "1"},
    {"relu", OP_ATTR_INT, false, "0"},
    {0},
};
static const alias_spec SPEC = {"", "InstanceNormalization", 22, 0};

/* With `relu`, negative results are multiplied by alpha, which defaults to 0. */
static pgy_status eval(op_eval *c, pgy_error *err)
{
    const double alpha = op_attr_float(c->node, "alpha", 0);
    const pgy_status st = alias_eval(c, err);
    if (st || !op_attr_int(c->node, "relu", 0)) return st;
    double *y = op_f64(c->outputs[0].value);
    for (size_t i = 0; i < pgy_tensor_count(c->outputs[0].value); i++)
        if (y[i] < 0) y[i] *= alpha;
    return PGY_OK;
}

#define ROW(space)                                                                  \
    {                                                                               \
        "InstanceNormalization_TRT", space, 1, 0, 3, 3, 1, 1, OP_SAME_TYPES, ATTRS, \
            "float16 float32", alias_infer, eval, NULL, 0, &SPEC,                   \
            "T = float16 float32; input:T, scale:T, B:T -> output:T"                \
    }
const op_def OP_trt_instance_normalization[] = {
    ROW(""), ROW("TRT"), ROW("trt"), ROW("trt.plugins"), {NULL},
};
