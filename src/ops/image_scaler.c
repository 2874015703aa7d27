/* SPDX-License-Identifier: Apache-2.0 */
/* ImageScaler: scale * x plus a bias of the channel. An experimental operator of ONNX that models
 * before opset 10 may have. */
#include "ops/class_check.h"

static const op_attr_def ATTRS[] = {
    {"bias", OP_ATTR_FLOATS, true, NULL},
    {"scale", OP_ATTR_FLOAT, false, "1"},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    size_t count;
    op_attr_floats(c->node, "bias", &count);
    op_set_like(c, 0, 0);
    const pgy_status st = rank_check(c, 0, 4, 4, err);
    if (st || !rank_known(c, 0)) return st;
    return dim_check(c, 0, 1, dim_const((int64_t)count), "the number of biases", err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    size_t count;
    const float *bias = op_attr_floats(c->node, "bias", &count);
    const double scale = op_attr_float(c->node, "scale", 1);
    const pgy_status st = inputs_check(c, "F", err);
    if (st || !in_count(c, 0)) return st;
    const size_t plane = (size_t)(in_shape(c, 0)[2] * in_shape(c, 0)[3]);
    for (size_t i = 0; i < in_count(c, 0); i++)
        out_f64(c, 0)[i] = scale * in_f64(c, 0)[i] + (double)bias[i / plane % count];
    return PGY_OK;
}

const op_def OP_image_scaler[] = {
    {.name = "ImageScaler",
     .domain = "",
     .since = 1,
     .deprecated = 10,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .flags = OP_FILLS,
     .attrs = ATTRS,
     .types = TYPES_F3,
     .infer = infer,
     .eval = eval},
    {0},
};
