/* SPDX-License-Identifier: Apache-2.0 */
/* Features, transforms of scores and labels of the operators of ai.onnx.ml. */
#include "ops/class_scores.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

scores_transform scores_transform_of(const op_node *n)
{
    static const char *const NAMES[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    size_t i = 0;
    while (i < SCORES_PROBIT && !op_attr_is(n, "post_transform", NAMES[i], "NONE")) i++;
    return (scores_transform)i;
}

double scores_logistic(double x)
{
    const double v = 1 / (1 + exp(-fabs(x)));
    return x < 0 ? 1 - v : v;
}

/* ONNX Runtime and ONNX's reference use this approximation, which is 0.004 off at worst. */
static double probit(double p)
{
    const double x = 2 * p - 1, l = log((1 - x) * (1 + x));
    const double v = 2 / (3.14159 * 0.147) + l / 2;
    return copysign(sqrt(2.0) * sqrt(sqrt(v * v - l / 0.147) - v), x < 0 ? -1 : 1);
}

/* SOFTMAX_ZERO leaves out scores near 0, which stay near 0. */
static void softmax(double *y, size_t count, bool leave_zeros)
{
    double top = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++) top = y[i] > top ? y[i] : top;
    for (size_t i = 0; i < count; i++) {
        if (leave_zeros && !(y[i] > 1e-7 || y[i] < -1e-7)) {
            y[i] *= exp(-top);
            continue;
        }
        y[i] = exp(y[i] - top);
        sum += y[i];
    }
    for (size_t i = 0; i < count; i++) y[i] /= sum;
}

void scores_apply(double *y, size_t count, scores_transform how)
{
    if (how == SCORES_SOFTMAX || how == SCORES_SOFTMAX_ZERO)
        softmax(y, count, how == SCORES_SOFTMAX_ZERO);
    for (size_t i = 0; how == SCORES_LOGISTIC && i < count; i++) y[i] = scores_logistic(y[i]);
    for (size_t i = 0; how == SCORES_PROBIT && i < count; i++) y[i] = probit(y[i]);
}

void scores_apply_single(double *y, scores_transform how, scores_pair pair)
{
    const double s = y[0];
    if (how == SCORES_PROBIT) {
        y[0] = probit(s);
        if (pair != SCORES_SINGLE) y[1] = 0;
    } else if (pair != SCORES_SINGLE) {
        const bool logistic = how == SCORES_LOGISTIC;
        const double other = pair == SCORES_COMPLEMENT ? 1 - s : -s;
        y[0] = logistic ? scores_logistic(-s) : other;
        y[1] = logistic ? scores_logistic(s) : s;
    }
}

pgy_status scores_rows(size_t *rows, size_t *features, const op_eval *c, pgy_error *err)
{
    const size_t rank = in_rank(c, 0);
    if (rank < 1 || rank > 2)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input 0 has %zu dimensions, but must have one or two", rank);
    *rows = rank == 2 ? (size_t)in_shape(c, 0)[0] : 1;
    *features = (size_t)in_shape(c, 0)[rank - 1];
    return PGY_OK;
}

pgy_status scores_input(const double **x, double **copy, const op_eval *c, pgy_dtype narrow,
                        pgy_error *err)
{
    const size_t count = in_count(c, 0);
    const bool integer = pgy_tensor_dtype(c->inputs[0].value) == PGY_I64;
    const double *floats = in_f64(c, 0);
    const int64_t *ints = in_i64(c, 0);
    *x = floats;
    *copy = NULL;
    if (!integer && (!narrow || c->inputs[0].dtype != narrow)) return PGY_OK;
    pgy_status st = workspace_alloc((void **)copy, c, count, sizeof **copy, err);
    if (st) return st;
    for (size_t i = 0; i < count; i++)
        (*copy)[i] = (double)(integer ? (float)ints[i] : (float)floats[i]);
    *x = *copy;
    return PGY_OK;
}

pgy_status scores_infer_rows(op_infer *c, dim *rows, dim *features, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const pgy_status st = rank_check(c, 0, 1, 2, err);
    if (st) return st;
    *rows = x->rank == 2   ? x->dims[0]
            : x->rank == 1 ? dim_const(1)
                           : dim_unknown(c->dims, "the rank of the input is not known");
    *features = x->rank > 0 ? x->dims[x->rank - 1]
                            : dim_unknown(c->dims, "the rank of the input is not known");
    return PGY_OK;
}

pgy_status scores_infer_matrix(op_infer *c, size_t i, pgy_dtype dtype, dim rows, dim columns,
                               pgy_error *err)
{
    dim *dims = op_dims(c, 2);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = rows;
    dims[1] = columns;
    output_set(c, i, dtype, 2, dims);
    return PGY_OK;
}

scores_labels scores_labels_of(const op_node *n, const char *texts, const char *ints)
{
    const op_attr *a = op_attr_find(n, texts), *b = op_attr_find(n, ints);
    if (a && a->count) return (scores_labels){a->strings, NULL, a->count};
    return b && b->count ? (scores_labels){NULL, b->ints, b->count} : (scores_labels){0};
}

pgy_status scores_infer_labels(op_infer *c, const scores_labels *l, dim rows, pgy_error *err)
{
    dim *dims = op_dims(c, 1);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = rows;
    output_set(c, 0, l->texts ? PGY_STRING : PGY_I64, 1, dims);
    return PGY_OK;
}

pgy_status scores_put_label(op_eval *c, size_t row, const scores_labels *l, size_t k,
                            pgy_error *err)
{
    if (!l->texts) {
        out_i64(c, 0)[row] = l->ints && k < l->count ? l->ints[k] : (int64_t)k;
        return PGY_OK;
    }
    const span text = k < l->count ? l->texts[k] : span_of(k ? "1" : "0");
    return pgy_tensor_set_string(c->outputs[0].value, row, text.data, text.size, err);
}
