/* SPDX-License-Identifier: Apache-2.0 */
/* MeanVarianceNormalization: (x - mean) / (sqrt(mean(x^2) - mean^2) + 1e-9) over any set of axes.
 */
#include <math.h>

#include "base/alloc.h"
#include "ops/class_norm.h"

static const op_attr_def ATTRS[] = {{"axes", OP_ATTR_INTS, false, "[0, 2, 3]"}, {NULL}};
static const int64_t DEFAULT_AXES[] = {0, 2, 3};

static pgy_status find_axes(bool *reduced, const op_node *n, int32_t rank, pgy_error *err)
{
    size_t count = 0, list[PGY_MAX_RANK];
    const int64_t *axes = op_attr_ints(n, "axes", &count);
    if (!op_attr_find(n, "axes")) {
        axes = DEFAULT_AXES;
        count = 3;
    }
    pgy_status st = rule_axes(list, n, axes, count, rank, err);
    if (st) return st;
    for (int32_t i = 0; i < rank; i++) reduced[i] = false;
    for (size_t i = 0; i < count; i++) reduced[list[i]] = true;
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    bool reduced[PGY_MAX_RANK];
    if (rank_known(c, 0)) {
        pgy_status st = rule_check_rank(c->node, c->inputs[0].rank, err);
        if (!st) st = find_axes(reduced, c->node, c->inputs[0].rank, err);
        if (st) return st;
    }
    op_set_like(c, 0, 0);
    return PGY_OK;
}

/* The number of the mean and variance that normalise element `index`. */
static size_t set_of(const int64_t *shape, size_t rank, const bool *reduced, size_t index)
{
    size_t set = 0, scale = 1;
    for (size_t i = rank; i-- > 0; index /= (size_t)shape[i]) {
        if (reduced[i]) continue;
        set += index % (size_t)shape[i] * scale;
        scale *= (size_t)shape[i];
    }
    return set;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    bool reduced[PGY_MAX_RANK];
    double *mean = NULL, *spread = NULL;
    size_t rank = in_rank(c, 0), count = in_count(c, 0), sets = 1;
    const int64_t *shape = in_shape(c, 0);
    const double *x = in_f64(c, 0);
    pgy_status st = inputs_check(c, "F", err);
    if (!st) st = find_axes(reduced, c->node, (int32_t)rank, err);
    if (st || !count) return st;
    for (size_t i = 0; i < rank; i++)
        if (!reduced[i]) sets *= (size_t)shape[i];
    st = workspace_alloc((void **)&mean, c, sets, sizeof *mean, err);
    if (!st) st = workspace_alloc((void **)&spread, c, sets, sizeof *spread, err);
    if (st) goto done;
    double elements = (double)(count / sets);
    for (size_t i = 0; i < count; i++) mean[set_of(shape, rank, reduced, i)] += x[i] / elements;
    for (size_t i = 0; i < count; i++) {
        size_t set = set_of(shape, rank, reduced, i);
        spread[set] += (x[i] - mean[set]) * (x[i] - mean[set]) / elements;
    }
    for (size_t i = 0; i < count; i++) {
        size_t set = set_of(shape, rank, reduced, i);
        out_f64(c, 0)[i] = (x[i] - mean[set]) / (sqrt(spread[set]) + 1e-9);
    }
done:
    mem_free(mean);
    mem_free(spread);
    return st;
}

#define ROW(version, words)                                                                    \
    {                                                                                          \
        "MeanVarianceNormalization", "", version, 0, 1, 1, 1, 1, 0, ATTRS, words, infer, eval, \
            norm_flops                                                                         \
    }
const op_def OP_mean_variance_normalization[] = {ROW(9, TYPES_F3), ROW(13, TYPES_F4), {NULL}};
