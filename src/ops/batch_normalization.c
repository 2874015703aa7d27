/* SPDX-License-Identifier: Apache-2.0 */
/* BatchNormalization: (x - mean) / sqrt(var + epsilon) * scale + bias per channel. In training mean
 * and population variance come from the batch, and the running ones are outputs. Since version 14
 * training_mode selects training. Before, a node that names more outputs than the first trains, and
 * the last two outputs are the batch's mean and variance. */
#include <math.h>

#include "ops/class_norm.h"

enum { X, SCALE, BIAS, MEAN, VARIANCE };

static const op_attr_def ATTRS_7[] = {
    {"epsilon", OP_ATTR_FLOAT, false, "1e-5"},
    {"momentum", OP_ATTR_FLOAT, false, "0.9"},
    {"spatial", OP_ATTR_INT, false, "1"},
    {NULL},
};

static const op_attr_def ATTRS_9[] = {
    {"epsilon", OP_ATTR_FLOAT, false, "1e-5"},
    {"momentum", OP_ATTR_FLOAT, false, "0.9"},
    {NULL},
};

static const op_attr_def ATTRS_14[] = {
    {"epsilon", OP_ATTR_FLOAT, false, "1e-5"},
    {"momentum", OP_ATTR_FLOAT, false, "0.9"},
    {"training_mode", OP_ATTR_INT, false, "0"},
    {NULL},
};

/* False for version 7 with spatial = 0, where every position of an image has its own mean and
 * variance. */
static bool is_spatial(const op_node *n)
{
    return op_attr_int(n, "spatial", 1) != 0;
}

static pgy_status check_parameters(op_infer *c, pgy_error *err)
{
    dim channels = c->inputs[X].rank > 1 ? c->inputs[X].dims[1] : dim_const(1);
    for (size_t i = SCALE; i <= VARIANCE; i++) {
        pgy_status st = rank_check(c, i, 1, 1, err);
        if (!st) st = dim_check(c, i, 0, channels, "the number of channels", err);
        if (st) return st;
    }
    return PGY_OK;
}

static bool is_training(const op_node *n, const bool *wanted)
{
    if (n->def->since >= 14) return op_attr_int(n, "training_mode", 0) != 0;
    for (size_t i = 1; i < n->output_count; i++)
        if (wanted[i]) return true;
    return false;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const bool trains = is_training(c->node, c->wanted);
    pgy_status st = rank_check(c, X, 1, PGY_MAX_RANK, err);
    if (!st && rank_known(c, X) && is_spatial(c->node)) st = check_parameters(c, err);
    if (st) return st;
    op_set_like(c, 0, X);
    for (size_t i = 1; i < c->node->output_count; i++) {
        if (c->wanted[i] && !trains)
            return op_error(c->node, err, PGY_E_UNSUPPORTED,
                            "output %zu is used, but is computed only with training_mode = 1", i);
        op_set_like(c, i, i % 2 ? MEAN : VARIANCE);
        dim *channels = op_dims(c, 1);
        if (!channels) return rule_no_memory(c->node, err);
        if (c->outputs[i].rank != 1 || !is_spatial(c->node)) continue;
        *channels = dim_joined(c, X, 1, *c->outputs[i].dims);
        for (size_t k = SCALE; k <= VARIANCE; k++) *channels = dim_joined(c, k, 0, *channels);
        op_set_output(c, i, c->outputs[i].dtype, 1, channels);
    }
    return PGY_OK;
}

typedef struct norm {
    const op_eval *c;
    size_t channels, plane; /* plane: number of positions in an image */
    double epsilon;
} norm;

static void normalize(double *y, const double *x, size_t count, double mean, double variance,
                      double scale, double bias, double epsilon)
{
    double factor = scale / sqrt(variance + epsilon);
    for (size_t i = 0; i < count; i++) y[i] = (x[i] - mean) * factor + bias;
}

static void infer_planes(size_t begin, size_t end, void *user)
{
    const norm *n = user;
    for (size_t i = begin; i < end; i++) {
        size_t ch = i % n->channels;
        normalize(out_f64(n->c, 0) + i * n->plane, in_f64(n->c, X) + i * n->plane, n->plane,
                  in_f64(n->c, MEAN)[ch], in_f64(n->c, VARIANCE)[ch], in_f64(n->c, SCALE)[ch],
                  in_f64(n->c, BIAS)[ch], n->epsilon);
    }
}

static norm_stats batch_stats(const norm *n, size_t channel)
{
    size_t image = n->channels * n->plane, count = in_count(n->c, X);
    const double *x = in_f64(n->c, X) + channel * n->plane;
    double items = (double)(count / n->channels), sum = 0, squares = 0;
    for (size_t at = 0; at < count; at += image) sum += row_sum(x + at, n->plane);
    double mean = sum / items;
    for (size_t at = 0; at < count; at += image) squares += row_sum_squares(x + at, n->plane, mean);
    return (norm_stats){mean, squares / items};
}

static void train_channels(size_t begin, size_t end, void *user)
{
    const norm *n = user;
    size_t image = n->channels * n->plane, count = in_count(n->c, X);
    double momentum = op_attr_float(n->c->node, "momentum", 0.9);
    for (size_t ch = begin; ch < end; ch++) {
        norm_stats s = batch_stats(n, ch);
        for (size_t at = ch * n->plane; at < count; at += image)
            normalize(out_f64(n->c, 0) + at, in_f64(n->c, X) + at, n->plane, s.mean, s.variance,
                      in_f64(n->c, SCALE)[ch], in_f64(n->c, BIAS)[ch], n->epsilon);
        if (out_f64(n->c, 1))
            out_f64(n->c, 1)[ch] = in_f64(n->c, MEAN)[ch] * momentum + s.mean * (1 - momentum);
        if (out_f64(n->c, 2))
            out_f64(n->c, 2)[ch] =
                in_f64(n->c, VARIANCE)[ch] * momentum + s.variance * (1 - momentum);
        if (out_f64(n->c, 3)) out_f64(n->c, 3)[ch] = s.mean;
        if (out_f64(n->c, 4)) out_f64(n->c, 4)[ch] = s.variance;
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "FFFFF", err);
    if (st) return st;
    const int64_t *shape = in_shape(c, X);
    size_t rank = in_rank(c, X);
    axis_view v = axis_view_of(shape, rank, 1, 2);
    norm n = {c, v.length, v.inner, op_attr_float(c->node, "epsilon", 1e-5)};
    if (!is_spatial(c->node)) n = (norm){c, v.length * v.inner, 1, n.epsilon};
    for (size_t i = SCALE; i <= VARIANCE; i++)
        if (in_count(c, i) != n.channels)
            return op_error(c->node, err, PGY_E_SHAPE,
                            "input %zu has %zu elements, but %zu are needed", i, in_count(c, i),
                            n.channels);
    if (!n.channels) return PGY_OK;
    if (is_training(c->node, c->wanted)) /* statistics of an empty batch are NaN */
        rows_run(n.channels, in_count(c, X) / n.channels * 4, train_channels, &n);
    else if (in_count(c, X))
        rows_run(v.outer * n.channels, n.plane, infer_planes, &n);
    return PGY_OK;
}

#define ROW(version, outputs, attrs, words)                                                    \
    {                                                                                          \
        "BatchNormalization", "", version, 0, 5, 5, 1, outputs, OP_FILLS, attrs, words, infer, \
            eval, norm_flops                                                                   \
    }
const op_def OP_batch_normalization[] = {
    ROW(7, 5, ATTRS_7, TYPES_F3),
    ROW(9, 5, ATTRS_9, TYPES_F3),
    ROW(14, 3, ATTRS_14, TYPES_F4),
    ROW(15, 3, ATTRS_14, TYPES_F4),
    {NULL},
};
