/* SPDX-License-Identifier: Apache-2.0 */
/* Scaler: (x - offset) * scale, with one number for all features or one per feature. */
#include "base/alloc.h"
#include "ops/class_scores.h"

static const op_attr_def ATTRS[] = {
    {"offset", OP_ATTR_FLOATS, false, NULL},
    {"scale", OP_ATTR_FLOATS, false, NULL},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    size_t offsets, scales;
    const op_value *x = &c->inputs[0];
    op_attr_floats(c->node, "offset", &offsets);
    op_attr_floats(c->node, "scale", &scales);
    if (!scales || offsets != scales)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attributes offset and scale have %zu and %zu numbers, but must have "
                        "equally many, at least one",
                        offsets, scales);
    pgy_status st = rank_check(c, 0, 1, PGY_MAX_RANK, err);
    if (!st && scales > 1 && x->rank > 0)
        st = dim_check(c, 0, x->rank > 1, dim_const((int64_t)scales), "the length of scale", err);
    if (!st) op_set_output(c, 0, PGY_F32, x->rank, x->dims);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    size_t count;
    const float *offset = op_attr_floats(c->node, "offset", &count);
    const float *scale = op_attr_floats(c->node, "scale", &count);
    const double *x;
    double *copy = NULL;
    pgy_status st = inputs_check(c, "!", err);
    if (!st) st = scores_input(&x, &copy, c, PGY_DTYPE_NONE, err);
    for (size_t i = 0; !st && i < in_count(c, 0); i++)
        out_f64(c, 0)[i] = (x[i] - (double)offset[i % count]) * (double)scale[i % count];
    mem_free(copy);
    return st;
}

const op_def OP_scaler[] = {
    {"Scaler", "ai.onnx.ml", 1, 0, 1, 1, 1, 1, 0, ATTRS, SCORES_TYPES, infer, eval, NULL,
     .signature = "T = " SCORES_TYPES "; X:T -> Y:float32"},
    {NULL},
};
