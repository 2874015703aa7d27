/* SPDX-License-Identifier: Apache-2.0 */
/* The negative log-likelihood of given classes: minus the class's log-probability times its weight.
 * "mean" divides by the sum of the weights; indices equal to ignore_index count nowhere. */
#include "ops/class_loss.h"

#include <math.h>

#include "ops/class_rows.h"

enum { SCORES, LABELS, WEIGHTS };

const op_attr_def loss_attrs[] = {
    {"ignore_index", OP_ATTR_INT, false, NULL},
    {"reduction", OP_ATTR_STRING, false, "mean", "none sum mean"},
    {NULL},
};

static pgy_status check_reduction(const op_node *n, pgy_error *err)
{
    static const char *const NAMES[] = {"none", "sum", "mean"};
    for (size_t i = 0; i < 3; i++)
        if (op_attr_is(n, "reduction", NAMES[i], "mean")) return PGY_OK;
    return op_error(n, err, PGY_E_ARGUMENT, "attribute reduction must be none, sum or mean");
}

/* Infers the shape of one loss per label. */
static pgy_status infer_each(op_infer *c, pgy_error *err)
{
    const op_value *labels = &c->inputs[LABELS];
    dim *dims = rule_copy_dims(c, labels);
    if (!dims) return rule_no_memory(c->node, err);
    for (int32_t d = 0; d < labels->rank; d++)
        dims[d] = dim_joined(c, SCORES, d ? (size_t)d + 1 : 0, dims[d]);
    op_set_output(c, 0, c->inputs[SCORES].dtype, labels->rank, dims);
    return PGY_OK;
}

pgy_status loss_infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[SCORES], *labels = &c->inputs[LABELS];
    pgy_status st = check_reduction(c->node, err);
    if (!st) st = rank_check(c, SCORES, 2, PGY_MAX_RANK, err);
    if (!st && x->rank >= 0) st = rank_check(c, LABELS, x->rank - 1, x->rank - 1, err);
    if (!st) st = rank_check(c, WEIGHTS, 1, 1, err);
    if (!st && x->rank >= 0)
        st = dim_check(c, WEIGHTS, 0, x->dims[1], "the number of classes", err);
    for (int32_t d = 0; !st && x->rank >= 0 && d < x->rank - 1; d++)
        st = dim_check(c, LABELS, (size_t)d, x->dims[d ? d + 1 : 0],
                       "the same dimension of the scores", err);
    if (st) return st;
    if (!op_attr_is(c->node, "reduction", "none", "mean"))
        op_set_output(c, 0, x->dtype, 0, x->dims);
    else if (labels->rank >= 0)
        return infer_each(c, err);
    else
        op_set_unknown(c, 0, x->dtype, x->rank < 0 ? -1 : x->rank - 1,
                       "the shape of the labels is not known");
    return PGY_OK;
}

static pgy_status check_labels(const op_eval *c, size_t classes, bool ignores, int64_t ignored,
                               pgy_error *err)
{
    const int64_t *labels = in_i64(c, LABELS);
    for (size_t i = 0; i < in_count(c, LABELS); i++)
        if ((labels[i] < 0 || (uint64_t)labels[i] >= classes) && !(ignores && labels[i] == ignored))
            return op_error(c->node, err, PGY_E_ARGUMENT,
                            "input 1 has class %lld, but there are only %zu classes",
                            (long long)labels[i], classes);
    return PGY_OK;
}

pgy_status loss_run(op_eval *c, const double *log_prob, pgy_error *err)
{
    const axis_view v = axis_view_of(in_shape(c, SCORES), in_rank(c, SCORES), 1, 2);
    const bool ignores = op_attr_find(c->node, "ignore_index") != NULL;
    const int64_t ignored = op_attr_int(c->node, "ignore_index", 0);
    const bool each = op_attr_is(c->node, "reduction", "none", "mean");
    const int64_t *labels = in_i64(c, LABELS);
    const double *weights = in_f64(c, WEIGHTS);
    double *y = out_f64(c, 0), sum = 0, total = 0;
    const pgy_status st = check_labels(c, v.length, ignores, ignored, err);
    if (st) return st;
    for (size_t i = 0; i < v.outer * v.inner; i++) {
        const bool counts = !(ignores && labels[i] == ignored);
        const double weight = !counts ? 0 : weights ? weights[labels[i]] : 1;
        const size_t at =
            counts ? (i / v.inner * v.length + (size_t)labels[i]) * v.inner + i % v.inner : 0;
        const double loss = counts ? -log_prob[at] * weight : 0;
        if (each) y[i] = loss;
        sum += loss;
        total += weight;
    }
    if (!each) y[0] = op_attr_is(c->node, "reduction", "sum", "mean") ? sum : sum / total;
    return PGY_OK;
}
