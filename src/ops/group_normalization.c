/* SPDX-License-Identifier: Apache-2.0 */
/* GroupNormalization: groups of channels are brought to mean 0 and variance 1, then scaled and
 * shifted: per group in version 18, per channel from version 21 on. */
#include <inttypes.h>
#include <math.h>

#include "ops/class_norm.h"

static const op_attr_def ATTRS_18[] = {
    {"epsilon", OP_ATTR_FLOAT, false, "1e-5"},
    {"num_groups", OP_ATTR_INT, true, NULL, NULL, "1.."},
    {NULL},
};

static const op_attr_def ATTRS_21[] = {
    {"epsilon", OP_ATTR_FLOAT, false, "1e-5"},
    {"num_groups", OP_ATTR_INT, true, NULL, NULL, "1.."},
    {"stash_type", OP_ATTR_INT, false, "1"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    int64_t groups = op_attr_int(c->node, "num_groups", 0);
    pgy_status st = rank_check(c, 0, 2, PGY_MAX_RANK, err);
    if (st) return st;
    if (groups < 1)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute num_groups is %" PRId64 ", but must be positive", groups);
    for (size_t i = 1; !st && i < 3; i++) {
        st = rank_check(c, i, 1, 1, err);
        bool per_group = c->node->def->since < 21;
        if (!st && rank_known(c, 0))
            st = dim_check(c, i, 0, per_group ? dim_const(groups) : c->inputs[0].dims[1],
                           per_group ? "num_groups" : "the number of channels", err);
    }
    if (st) return st;
    if (rank_known(c, 0) && dim_is_const(c->inputs[0].dims[1]) &&
        c->inputs[0].dims[1].value % groups)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "attribute num_groups is %" PRId64 ", which does not divide the %" PRId64
                        " channels",
                        groups, c->inputs[0].dims[1].value);
    op_set_like(c, 0, 0);
    return PGY_OK;
}

typedef struct grouping {
    const op_eval *c;
    size_t groups, channels, plane; /* channels: of one group; plane: positions of an image */
    double epsilon;
    bool per_group;
} grouping;

static void run(size_t begin, size_t end, void *user)
{
    const grouping *g = user;
    size_t size = g->channels * g->plane;
    for (size_t i = begin; i < end; i++) {
        norm_stats s = norm_of(in_f64(g->c, 0) + i * size, size);
        double factor = 1 / sqrt(s.variance + g->epsilon);
        for (size_t ch = 0; ch < g->channels; ch++) {
            size_t group = i % g->groups, at = g->per_group ? group : group * g->channels + ch;
            const double *x = in_f64(g->c, 0) + i * size + ch * g->plane;
            double *y = out_f64(g->c, 0) + i * size + ch * g->plane;
            double scale = in_f64(g->c, 1)[at], bias = in_f64(g->c, 2)[at];
            for (size_t j = 0; j < g->plane; j++) y[j] = (x[j] - s.mean) * factor * scale + bias;
        }
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "FFF", err);
    if (st || !in_count(c, 0)) return st;
    axis_view v = axis_view_of(in_shape(c, 0), in_rank(c, 0), 1, 2);
    grouping g = {.c = c, .plane = v.inner, .epsilon = op_attr_float(c->node, "epsilon", 1e-5)};
    g.groups = (size_t)op_attr_int(c->node, "num_groups", 1);
    g.channels = v.length / g.groups;
    g.per_group = c->node->def->since < 21;
    rows_run(v.outer * g.groups, g.channels * g.plane * 3, run, &g);
    return PGY_OK;
}

#define ROW(version, gone, attrs)                                                            \
    {                                                                                        \
        "GroupNormalization", "", version, gone, 3, 3, 1, 1, OP_SAME_TYPES, attrs, TYPES_F4, \
            infer, eval, norm_flops                                                          \
    }
const op_def OP_group_normalization[] = {ROW(18, 18, ATTRS_18), ROW(21, 0, ATTRS_21), {NULL}};
