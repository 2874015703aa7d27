/* SPDX-License-Identifier: Apache-2.0 */
/* FlexAttention: softmax(score_mod(scale Q K')) V per batch entry and head, where the node's graphs
 * may change the scores before the softmax and the probabilities after it. Both graphs get all
 * heads at once, so one tensor holds all scores. Rows whose scores are all -inf give NaN, as
 * Softmax does. */
#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "ops/class_check.h"
#include "ops/class_loop.h"
#include "ops/class_rows.h"
#include "ops/gemm.h"

enum { Q, K, V };

static const op_attr_def ATTRS[] = {
    {"prob_mod", OP_ATTR_GRAPH, false, NULL},
    {"score_mod", OP_ATTR_GRAPH, false, NULL},
    {"softmax_precision", OP_ATTR_INT, false, NULL},
    {"scale", OP_ATTR_FLOAT, false, NULL},
    {NULL},
};

/* The type of the scores that the graphs get. */
static pgy_status score_type(pgy_dtype *out, const op_node *n, pgy_dtype query, pgy_error *err)
{
    const op_attr *a = op_attr_find(n, "softmax_precision");
    *out = a ? pgy_dtype_from_onnx((int)a->i) : query == PGY_F64 ? PGY_F64 : PGY_F32;
    if (op_type_in(TYPES_F4, *out) && *out) return PGY_OK;
    return op_error(n, err, PGY_E_ARGUMENT,
                    "attribute softmax_precision is %" PRId64 ", which is not a float type", a->i);
}

/* ---- Shape ---------------------------------------------------------------------------------- */

static pgy_status check_shapes(op_infer *c, pgy_error *err)
{
    const op_value *q = &c->inputs[Q], *k = &c->inputs[K];
    pgy_status st = PGY_OK;
    for (size_t i = K; !st && i <= V; i++) {
        if (rank_known(c, Q)) st = dim_check(c, i, 0, q->dims[0], "the batch of Q", err);
        if (!st && i == V && rank_known(c, K)) {
            st = dim_check(c, V, 1, k->dims[1], "the number of heads of K", err);
            if (!st) st = dim_check(c, V, 2, k->dims[2], "the length of K", err);
        }
    }
    if (st || !rank_known(c, Q) || !rank_known(c, K)) return st;
    st = dim_check(c, K, 3, q->dims[3], "the head size of Q", err);
    if (st || !dim_is_const(q->dims[1]) || !dim_is_const(k->dims[1])) return st;
    const int64_t heads = q->dims[1].value, kv_heads = k->dims[1].value;
    if (kv_heads > 0 ? heads % kv_heads : heads)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "%" PRId64 " query heads cannot share %" PRId64 " heads", heads, kv_heads);
    return PGY_OK;
}

/* Checks that a graph's output has the shape of its input. A host that runs graphs need not know
 * the sizes; `modify` checks the results themselves there. */
static pgy_status check_graph(op_infer *c, const char *attr, const op_value *scores, pgy_error *err)
{
    op_value out;
    bool known;
    if (c->host && c->host->run_graph) return PGY_OK;
    const pgy_status st = loop_infer_graph(c, attr, scores, 1, &out, 1, &known, err);
    if (st || !known || out.rank < 0) return st;
    bool same = out.rank == scores->rank;
    for (int32_t i = 0; same && i < out.rank; i++) same = !dim_differ(out.dims[i], scores->dims[i]);
    if (same) return PGY_OK;
    str given = {0}, wanted = {0};
    op_print_shape(&given, out.rank, out.dims);
    op_print_shape(&wanted, scores->rank, scores->dims);
    const pgy_status bad = op_error(c->node, err, PGY_E_SHAPE,
                                    "the result of graph '%s' has shape %s, but must have %s", attr,
                                    str_text(&given), str_text(&wanted));
    str_deinit(&given);
    str_deinit(&wanted);
    return bad;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *q = &c->inputs[Q], *k = &c->inputs[K], *v = &c->inputs[V];
    pgy_dtype type;
    pgy_status st = score_type(&type, c->node, q->dtype, err);
    for (size_t i = Q; !st && i <= V; i++) st = rank_check(c, i, 4, 4, err);
    if (!st) st = check_shapes(c, err);
    if (st) return st;
    dim *dims = op_dims(c, 8);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t i = 0; i < 8; i++) {
        const op_value *from = i == 3 ? v : i == 7 ? k : q;
        dims[i] = from->rank == 4 ? from->dims[i < 4    ? i
                                               : i == 7 ? 2
                                                        : i - 4]
                                  : dim_unknown(c->dims, "the shape of an input is not known");
    }
    op_set_output(c, 0, q->dtype, 4, dims);
    const op_value scores = {.dtype = type, .rank = 4, .dims = dims + 4};
    st = check_graph(c, "score_mod", &scores, err);
    return st ? st : check_graph(c, "prob_mod", &scores, err);
}

/* ---- Evaluation ----------------------------------------------------------------------------- */

typedef struct sizes {
    size_t batch, heads, kv_heads, rows, keys, size, v_size;
} sizes;

static sizes read_sizes(const op_eval *c)
{
    const int64_t *q = in_shape(c, Q), *k = in_shape(c, K), *v = in_shape(c, V);
    return (sizes){(size_t)q[0], (size_t)q[1], (size_t)k[1], (size_t)q[2],
                   (size_t)k[2], (size_t)q[3], (size_t)v[3]};
}

/* Offset, in heads, of the head of K and V that serves query head `index` over all batch
 * entries. */
static size_t group_of(const sizes *s, size_t index)
{
    const size_t head = index % s->heads;
    return index / s->heads * s->kv_heads + head / (s->heads / s->kv_heads);
}

static void free_scores(void *data, void *user)
{
    (void)user;
    mem_free(data);
}

static pgy_status new_scores(op_tensor *out, const op_eval *c, const sizes *s, pgy_dtype type,
                             pgy_error *err)
{
    const int64_t shape[] = {(int64_t)s->batch, (int64_t)s->heads, (int64_t)s->rows,
                             (int64_t)s->keys};
    size_t count;
    void *data;
    *out = (op_tensor){.dtype = type};
    pgy_status st = pgy_shape_count(&count, 4, shape, err);
    if (!st) st = workspace_alloc(&data, c, count, sizeof(double), err);
    if (st) return st;
    st = pgy_tensor_wrap(&out->value, data, PGY_F64, 4, shape, free_scores, NULL, err);
    if (st) mem_free(data);
    return st;
}

static pgy_status score(const op_eval *c, const sizes *s, const op_tensor *out, pgy_error *err)
{
    const double scale = op_attr_find(c->node, "scale") ? op_attr_float(c->node, "scale", 1)
                                                        : 1 / sqrt((double)s->size);
    double *scores = op_f64(out->value);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < s->batch * s->heads; i++) {
        const gemm_matrix q = {in_f64(c, Q) + i * s->rows * s->size, (int64_t)s->size, 1};
        const gemm_matrix k = {in_f64(c, K) + group_of(s, i) * s->keys * s->size, 1,
                               (int64_t)s->size};
        st = gemm_f64(s->rows, s->keys, s->size, q, k, scores + i * s->rows * s->keys, s->keys,
                      false, err);
    }
    for (size_t i = 0, n = pgy_tensor_count(out->value); i < n; i++) scores[i] *= scale;
    return st;
}

static bool same_as_scores(const op_tensor *t, const sizes *s)
{
    const size_t wanted[] = {s->batch, s->heads, s->rows, s->keys};
    if (!t->value || pgy_tensor_dtype(t->value) != PGY_F64 || pgy_tensor_rank(t->value) != 4)
        return false;
    for (size_t i = 0; i < 4; i++)
        if ((size_t)pgy_tensor_shape(t->value)[i] != wanted[i]) return false;
    return true;
}

/* Replaces *t by the graph's result; does nothing without the graph. */
static pgy_status modify(op_tensor *t, const op_eval *c, const char *attr, const sizes *s,
                         pgy_error *err)
{
    op_tensor out = {0};
    op_conform(t->value, t->dtype, c->host && c->host->model_precision);
    if (!op_attr_find(c->node, attr)) return PGY_OK;
    pgy_status st = loop_run_graph(c, attr, t, 1, &out, 1, err);
    if (!st && !same_as_scores(&out, s))
        st = op_error(
            c->node, err, PGY_E_SHAPE,
            "the result of graph '%s' must be a float tensor of the same shape as its input", attr);
    if (st) {
        op_tensor_release(&out);
        return st;
    }
    op_tensor_release(t);
    *t = (op_tensor){.dtype = t->dtype, .value = out.value};
    return PGY_OK;
}

typedef struct rows_job {
    const double *scores;
    double *probs;
    size_t keys;
} rows_job;

static void softmax_rows(size_t begin, size_t end, void *user)
{
    const rows_job *job = user;
    for (size_t row = begin; row < end; row++) {
        const double *x = job->scores + row * job->keys;
        double *y = job->probs + row * job->keys, top = -INFINITY, sum = 0;
        for (size_t i = 0; i < job->keys; i++) top = x[i] > top || isnan(x[i]) ? x[i] : top;
        for (size_t i = 0; i < job->keys; i++) {
            y[i] = exp(x[i] - top);
            sum += y[i];
        }
        for (size_t i = 0; i < job->keys; i++) y[i] /= sum;
    }
}

static pgy_status weigh(op_eval *c, const sizes *s, const op_tensor *probs, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < s->batch * s->heads; i++) {
        const gemm_matrix p = {op_f64(probs->value) + i * s->rows * s->keys, (int64_t)s->keys, 1};
        const gemm_matrix v = {in_f64(c, V) + group_of(s, i) * s->keys * s->v_size,
                               (int64_t)s->v_size, 1};
        st = gemm_f64(s->rows, s->v_size, s->keys, p, v, out_f64(c, 0) + i * s->rows * s->v_size,
                      s->v_size, false, err);
    }
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_dtype type;
    op_tensor scores = {0}, probs = {0};
    pgy_status st = inputs_check(c, "FFF", err);
    if (!st) st = score_type(&type, c->node, c->inputs[Q].dtype, err);
    if (st) return st;
    const sizes s = read_sizes(c);
    st = new_scores(&scores, c, &s, type, err);
    if (!st) st = score(c, &s, &scores, err);
    if (!st) st = modify(&scores, c, "score_mod", &s, err);
    if (!st) st = new_scores(&probs, c, &s, type, err);
    if (st) goto done;
    rows_job job = {op_f64(scores.value), op_f64(probs.value), s.keys};
    rows_run(s.batch * s.heads * s.rows, s.keys * 16, softmax_rows, &job);
    op_tensor_release(&scores);
    st = modify(&probs, c, "prob_mod", &s, err);
    if (!st) st = weigh(c, &s, &probs, err);
done:
    op_tensor_release(&scores);
    op_tensor_release(&probs);
    return st;
}

static double flops(const op_infer *c)
{
    const op_value *q = &c->inputs[Q], *k = &c->inputs[K];
    return q->rank == 4 && k->rank == 4 ? 4 * dims_product(q) * (double)k->dims[2].value : 0;
}

const op_def OP_flex_attention[] = {
    {"FlexAttention", "ai.onnx.preview", 1, 0, 3, 3, 1, 1, OP_SAME_TYPES | OP_HAS_GRAPHS, ATTRS,
     TYPES_F4, infer, eval, flops,
     .signature = "T = float16 float32 float64 bfloat16; Q:T, K:T, V:T -> Y:T"},
    {NULL},
};
