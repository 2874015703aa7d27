/* SPDX-License-Identifier: Apache-2.0 */
/* Attention: softmax(scale Q K' + bias) V per batch entry and head. Inputs are [batch, heads,
 * length, size] or [batch, length, heads * size]; cached keys and values come before K and V;
 * several query heads may share one head of K and V. The bias combines the mask, the causal
 * triangle, the sliding window and the padding of the cache. Domain pgy has the engine's own: a
 * mask with one column is for all keys, as the Add broadcasts it that the engine has replaced. */
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "ops/class_softmax.h"
#include "ops/gemm.h"

enum { Q, K, V, MASK, PAST_K, PAST_V, LENGTHS };

#define COMMON                                                                                     \
    {"is_causal", OP_ATTR_INT, false, "0"}, {"kv_num_heads", OP_ATTR_INT, false, NULL},            \
        {"q_num_heads", OP_ATTR_INT, false, NULL},                                                 \
        {"qk_matmul_output_mode", OP_ATTR_INT, false, "0"}, {"scale", OP_ATTR_FLOAT, false, NULL}, \
        {"softcap", OP_ATTR_FLOAT, false, "0"},                                                    \
    {                                                                                              \
        "softmax_precision", OP_ATTR_INT, false, NULL                                              \
    }
static const op_attr_def ATTRS_23[] = {COMMON, {NULL}};
static const op_attr_def ATTRS_25[] = {
    COMMON,
    {"left_window_size", OP_ATTR_INT, false, "-1", NULL, "-1.."},
    {"right_window_size", OP_ATTR_INT, false, "-1", NULL, "-1.."},
    {NULL},
};

/* ---- Shape ---------------------------------------------------------------------------------- */

/* The dims of Q, K or V: number of heads, sequence length, and size of one head. */
typedef struct head_dims {
    dim heads, length, size;
} head_dims;

static pgy_status read_dims(head_dims *h, op_infer *c, size_t input, pgy_error *err)
{
    const op_value *v = &c->inputs[input];
    const char *attr = input == Q ? "q_num_heads" : "kv_num_heads";
    int64_t heads = op_attr_int(c->node, attr, 0);
    if (v->rank == 4) {
        *h = (head_dims){v->dims[1], v->dims[2], v->dims[3]};
        return PGY_OK;
    }
    if (heads < 1)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute %s is %" PRId64
                        "; inputs of rank 3 need a positive number of heads",
                        attr, heads);
    if (dim_is_const(v->dims[2]) && v->dims[2].value % heads)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "attribute %s is %" PRId64 ", which does not divide the width %" PRId64,
                        attr, heads, v->dims[2].value);
    *h = (head_dims){dim_const(heads), v->dims[1],
                     dim_div_floor(c->dims, v->dims[2], dim_const(heads))};
    return PGY_OK;
}

static pgy_status differ(const op_infer *c, dim a, dim b, const char *what, pgy_error *err)
{
    if (!dim_differ(a, b)) return PGY_OK;
    str s = {0}, t = {0};
    dim_print(&s, a);
    dim_print(&t, b);
    pgy_status st = op_error(c->node, err, PGY_E_SHAPE, "the %s differ: %s and %s", what,
                             str_text(&s), str_text(&t));
    str_deinit(&s);
    str_deinit(&t);
    return st;
}

static pgy_status check_past(op_infer *c, size_t input, const head_dims *h, pgy_error *err)
{
    pgy_status st = rank_check(c, input, 4, 4, err);
    if (!st) st = dim_check(c, input, 0, c->inputs[Q].dims[0], "the batch", err);
    if (!st) st = dim_check(c, input, 1, h->heads, "the number of heads", err);
    return st ? st : dim_check(c, input, 3, h->size, "the size of a head", err);
}

static pgy_status check_all(op_infer *c, const head_dims *q, const head_dims *k, const head_dims *v,
                            pgy_error *err)
{
    pgy_status st = differ(c, q->size, k->size, "head sizes of Q and K", err);
    if (!st) st = differ(c, k->length, v->length, "lengths of K and V", err);
    if (!st) st = differ(c, k->heads, v->heads, "heads of K and V", err);
    for (size_t i = K; !st && i <= V; i++)
        st = dim_check(c, i, 0, c->inputs[Q].dims[0], "the batch", err);
    if (!st) st = check_past(c, PAST_K, k, err);
    if (!st) st = check_past(c, PAST_V, v, err);
    if (st) return st;
    if (op_has_input(c, PAST_K) != op_has_input(c, PAST_V))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "past_key and past_value must both be given or both be omitted");
    if (rank_known(c, PAST_K) && rank_known(c, PAST_V))
        st = differ(c, c->inputs[PAST_K].dims[2], c->inputs[PAST_V].dims[2],
                    "lengths of past_key and past_value", err);
    if (!st && dim_is_const(q->heads) && dim_is_const(k->heads) &&
        (!k->heads.value || q->heads.value % k->heads.value))
        st = op_error(c->node, err, PGY_E_SHAPE,
                      "%" PRId64 " query heads cannot share %" PRId64 " heads", q->heads.value,
                      k->heads.value);
    if (!st) st = rank_check(c, MASK, 1, 4, err);
    if (!st) st = rank_check(c, LENGTHS, 1, 1, err);
    return st ? st : dim_check(c, LENGTHS, 0, c->inputs[Q].dims[0], "the batch", err);
}

/* Sets a and b, which must be equal, to the more exact of the two. */
static void join(dim *a, dim *b)
{
    if (op_unify(a, *a, *b)) *b = *a;
}

static void join_all(op_infer *c, head_dims *q, head_dims *k, head_dims *v)
{
    join(&q->size, &k->size);
    join(&k->length, &v->length);
    join(&k->heads, &v->heads);
    k->heads = v->heads = dim_joined(c, PAST_K, 1, dim_joined(c, PAST_V, 1, k->heads));
    k->size = q->size = dim_joined(c, PAST_K, 3, k->size);
    v->size = dim_joined(c, PAST_V, 3, v->size);
}

static void set_outputs(op_infer *c, const head_dims *q, const head_dims *k, const head_dims *v,
                        dim *out)
{
    const op_value *query = &c->inputs[Q];
    dim batch = query->dims[0], total = k->length;
    for (size_t i = K; i <= PAST_V; i++)
        if (i != MASK) batch = dim_joined(c, i, 0, batch);
    if (op_has_input(c, PAST_K))
        total = rank_known(c, PAST_K)
                    ? dim_add(c->dims, total, dim_joined(c, PAST_V, 2, c->inputs[PAST_K].dims[2]))
                    : dim_unknown(c->dims, "the shape of the cache is not known");
    memcpy(out, (dim[]){batch, q->heads, q->length, v->size}, 4 * sizeof *out);
    if (query->rank == 3)
        memcpy(out, (dim[]){batch, q->length, dim_mul(c->dims, q->heads, v->size)},
               3 * sizeof *out);
    memcpy(out + 4, (dim[]){batch, k->heads, total, k->size}, 4 * sizeof *out);
    memcpy(out + 8, (dim[]){batch, v->heads, total, v->size}, 4 * sizeof *out);
    memcpy(out + 12, (dim[]){batch, q->heads, q->length, total}, 4 * sizeof *out);
    output_set(c, 0, query->dtype, query->rank, out);
    output_set(c, 1, c->inputs[K].dtype, 4, out + 4);
    output_set(c, 2, c->inputs[V].dtype, 4, out + 8);
    output_set(c, 3, query->dtype, 4, out + 12);
}

static bool is_own(const op_node *n)
{
    return strcmp(n->def->domain, "pgy") == 0;
}

/* Checks that the mask broadcasts to the scores [batch, heads, rows, keys]. Its last axis may be
 * shorter, except in domain pgy; keys beyond it are masked. */
static pgy_status check_mask(const op_infer *c, const dim *scores, pgy_error *err)
{
    if (!rank_known(c, MASK)) return PGY_OK;
    const op_value *mask = &c->inputs[MASK];
    for (int32_t behind = 1; behind <= mask->rank; behind++) {
        const int32_t axis = mask->rank - behind;
        const dim has = mask->dims[axis], wanted = scores[4 - behind];
        const bool more = dim_is_const(has) && dim_is_const(wanted) && has.value > wanted.value;
        const bool fits = !dim_differ(has, wanted) || !dim_differ(has, dim_const(1));
        if (behind == 1 && !is_own(c->node) ? !more : fits) continue;
        str s = {0}, t = {0};
        dim_print(&s, has);
        dim_print(&t, wanted);
        const pgy_status st =
            op_error(c->node, err, PGY_E_SHAPE,
                     "dimension %d of input 3 (attn_mask) is %s, but the attention scores have %s",
                     axis, str_text(&s), str_text(&t));
        str_deinit(&s);
        str_deinit(&t);
        return st;
    }
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    head_dims h[3];
    if (op_attr_int(c->node, "nb_rank", 1) > 1) /* of TensorRT, for ranks that share the keys */
        return op_error(c->node, err, PGY_E_UNSUPPORTED,
                        "nb_rank is %lld, but attention across several ranks is not supported",
                        (long long)op_attr_int(c->node, "nb_rank", 1));
    pgy_status st = rank_check(c, Q, 3, 4, err);
    for (size_t i = K; !st && rank_known(c, Q) && i <= V; i++)
        st = rank_check(c, i, c->inputs[Q].rank, c->inputs[Q].rank, err);
    if (st) return st;
    if (!rank_known(c, Q) || !rank_known(c, K) || !rank_known(c, V)) {
        for (size_t i = 0; i < c->node->output_count; i++)
            op_set_unknown(c, i, c->inputs[i == 2 ? V : Q].dtype, i ? 4 : c->inputs[Q].rank,
                           "the shape of an input is not known");
        return PGY_OK;
    }
    for (size_t i = Q; !st && i <= V; i++) st = read_dims(&h[i], c, i, err);
    if (!st) st = check_all(c, &h[Q], &h[K], &h[V], err);
    if (st) return st;
    join_all(c, &h[Q], &h[K], &h[V]);
    dim *out = op_dims(c, 16);
    if (!out) return rule_no_memory(c->node, err);
    set_outputs(c, &h[Q], &h[K], &h[V], out);
    return check_mask(c, out + 12, err);
}

/* ---- Evaluation ----------------------------------------------------------------------------- */

typedef struct attention {
    const op_eval *c;
    /* rows: queries per head; total: keys, cached ones included; past: cached keys */
    size_t batch, heads, kv_heads, rows, total, past;
    size_t size, v_size;
    bool flat, causal;
    int64_t left, right, mode;
    double scale, cap;
    /* [batch, kv_heads, total, size]: the cached ones, then those of the input */
    double *keys, *values;
    const double *query; /* Q; in model precision Q times the root of the scale */
    size_t mask[4], mask_columns;
    /* types to which operations round in model precision; NONE otherwise */
    pgy_dtype type, softmax_type;
    atomic_bool failed;
} attention;

/* Copies cached keys (or values) and then the new ones to `to`. */
static void assemble(const attention *a, double *to, size_t input, size_t past, size_t size)
{
    size_t fresh = a->total - a->past;
    const double *x = in_f64(a->c, input), *old = in_f64(a->c, past);
    if (!a->total || !size) return; /* there may be any number of heads */
    for (size_t i = 0; i < a->batch * a->kv_heads; i++) {
        size_t b = i / a->kv_heads, head = i % a->kv_heads;
        double *row = to + i * a->total * size;
        if (a->past) memcpy(row, old + i * a->past * size, a->past * size * sizeof *row);
        row += a->past * size;
        for (size_t t = 0; t < fresh && size; t++) {
            size_t from = a->flat ? (b * fresh + t) * a->kv_heads + head : i * fresh + t;
            memcpy(row + t * size, x + from * size, size * sizeof *row);
        }
    }
}

static double mask_value(const attention *a, size_t b, size_t head, size_t row, size_t col)
{
    const void *mask = in_data(a->c, MASK);
    if (!mask) return 0;
    if (col >= a->mask_columns) return -INFINITY;
    size_t at = b * a->mask[0] + head * a->mask[1] + row * a->mask[2] + col * a->mask[3];
    if (pgy_tensor_dtype(a->c->inputs[MASK].value) == PGY_BOOL)
        return ((const uint8_t *)mask)[at] ? 0 : -INFINITY;
    return ((const double *)mask)[at];
}

static double bias(const attention *a, size_t b, size_t head, size_t row, size_t col)
{
    const int64_t *lengths = in_i64(a->c, LENGTHS);
    int64_t offset = (int64_t)a->past;
    if (!in_data(a->c, PAST_K) && lengths) offset = lengths[b] - (int64_t)a->rows;
    int64_t ahead =
        (int64_t)col - ((int64_t)row + offset); /* how far the key lies ahead of the query */
    if (a->causal && ahead > 0) return -INFINITY;
    if ((a->left >= 0 && -ahead > a->left) || (a->right >= 0 && ahead > a->right)) return -INFINITY;
    if (lengths && (int64_t)col >= lengths[b]) return -INFINITY;
    return mask_value(a, b, head, row, col);
}

static void softmax(const attention *a, double *x, bool closed)
{
    if (!closed) softmax_exp(x, x, a->total, 1, a->softmax_type);
    for (size_t i = 0; i < a->total && closed; i++) x[i] = 0;
    for (size_t i = 0; i < a->total && a->type; i++)
        x[i] = softmax_round(a->type, softmax_round(a->softmax_type, x[i]));
}

static double capped(const attention *a, double x)
{
    if (!a->type) return a->cap * tanh(x / a->cap);
    const double cap = softmax_round(a->type, a->cap);
    const double bent = softmax_round(a->type, tanh(softmax_round(a->type, x / cap)));
    return softmax_round(a->type, cap * bent);
}

static void expose(const attention *a, size_t index, size_t row, const double *scores,
                   int64_t stage)
{
    double *to = out_f64(a->c, 3);
    if (to && a->mode == stage)
        memcpy(to + (index * a->rows + row) * a->total, scores, a->total * sizeof *to);
}

static void finish_row(const attention *a, size_t index, size_t row, double *x)
{
    size_t b = index / a->heads, head = index % a->heads;
    bool closed = true;
    for (size_t i = 0; i < a->total; i++)
        x[i] = a->type ? softmax_round(a->type, x[i]) : x[i] * a->scale;
    expose(a, index, row, x, 0);
    for (size_t i = 0; a->cap > 0 && i < a->total; i++) x[i] = capped(a, x[i]);
    expose(a, index, row, x, 1);
    for (size_t i = 0; i < a->total; i++) {
        double v = bias(a, b, head, row, i);
        if (v != -INFINITY) closed = false;
        x[i] = softmax_round(a->type, x[i] + v);
    }
    expose(a, index, row, x, 2);
    softmax(a, x, closed);
    expose(a, index, row, x, 3);
}

static pgy_status run_head(const attention *a, size_t index)
{
    size_t b = index / a->heads, head = index % a->heads,
           group = b * a->kv_heads + head / (a->heads / a->kv_heads);
    size_t q_row = a->flat ? a->heads * a->size : a->size,
           y_row = a->flat ? a->heads * a->v_size : a->v_size;
    size_t place = a->flat ? b * a->rows * a->heads + head
                           : index * a->rows; /* the first row, in head sizes */
    double *scores = mem_alloc((a->rows * a->total + 1) * sizeof *scores);
    if (!scores) return PGY_E_MEMORY;
    gemm_matrix query = {a->query + place * a->size, (int64_t)q_row, 1};
    gemm_matrix keys = {a->keys + group * a->total * a->size, 1, (int64_t)a->size};
    pgy_status st =
        gemm_f64(a->rows, a->total, a->size, query, keys, scores, a->total, false, NULL);
    for (size_t row = 0; !st && row < a->rows; row++)
        finish_row(a, index, row, scores + row * a->total);
    gemm_matrix weights = {scores, (int64_t)a->total, 1};
    gemm_matrix values = {a->values + group * a->total * a->v_size, (int64_t)a->v_size, 1};
    if (!st)
        st = gemm_f64(a->rows, a->v_size, a->total, weights, values,
                      out_f64(a->c, 0) + place * a->v_size, y_row, false, NULL);
    mem_free(scores);
    return st;
}

static void head_task(size_t index, void *user)
{
    attention *a = user;
    if (run_head(a, index)) atomic_store(&a->failed, true);
}

static pgy_status prepare_mask(attention *a, pgy_error *err)
{
    const op_eval *c = a->c;
    const int64_t *shape = in_shape(c, MASK);
    size_t rank = in_rank(c, MASK), stride = 1;
    if (!shape) return PGY_OK;
    pgy_dtype held = pgy_tensor_dtype(c->inputs[MASK].value);
    if (held != PGY_F64 && held != PGY_BOOL)
        return op_error(c->node, err, PGY_E_TYPE,
                        "input 3 (attn_mask) is %s, but must be bool or a float type",
                        pgy_dtype_name(c->inputs[MASK].dtype));
    for (size_t behind = 1; behind <= rank; behind++) {
        size_t extent = (size_t)shape[rank - behind], at = 4 - behind;
        a->mask[at] = extent == 1 ? 0 : stride;
        stride *= extent;
    }
    a->mask_columns = is_own(c->node) ? a->total : (size_t)shape[rank - 1];
    return PGY_OK;
}

static pgy_status check_lengths(const attention *a, pgy_error *err)
{
    const int64_t *lengths = in_i64(a->c, LENGTHS);
    for (size_t b = 0; lengths && b < a->batch; b++)
        if (lengths[b] < 0 || (uint64_t)lengths[b] > a->total)
            return op_error(a->c->node, err, PGY_E_SHAPE,
                            "nonpad_kv_seqlen has the value %" PRId64 ", which is not in [0, %zu]",
                            lengths[b], a->total);
    return PGY_OK;
}

static pgy_status prepare(attention *a, const op_eval *c, pgy_error *err)
{
    const int64_t *q = in_shape(c, Q), *k = in_shape(c, K), *v = in_shape(c, V);
    *a = (attention){.c = c, .flat = in_rank(c, Q) == 3, .batch = (size_t)q[0]};
    a->heads = (size_t)(a->flat ? op_attr_int(c->node, "q_num_heads", 1) : q[1]);
    a->kv_heads = (size_t)(a->flat ? op_attr_int(c->node, "kv_num_heads", 1) : k[1]);
    a->rows = (size_t)q[a->flat ? 1 : 2];
    a->size = a->flat ? (size_t)q[2] / a->heads : (size_t)q[3];
    a->v_size = a->flat ? (size_t)v[2] / a->kv_heads : (size_t)v[3];
    a->past = in_shape(c, PAST_K) ? (size_t)in_shape(c, PAST_K)[2] : 0;
    a->total = a->past + (size_t)k[a->flat ? 1 : 2];
    a->causal = op_attr_int(c->node, "is_causal", 0) != 0;
    a->left = op_attr_int(c->node, "left_window_size", -1);
    a->right = op_attr_int(c->node, "right_window_size", -1);
    a->mode = op_attr_int(c->node, "qk_matmul_output_mode", 0);
    a->scale = op_attr_find(c->node, "scale") ? op_attr_float(c->node, "scale", 1)
                                              : 1 / sqrt((double)a->size);
    a->cap = op_attr_float(c->node, "softcap", 0);
    if (a->mode < 0 || a->mode > 3)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute qk_matmul_output_mode is %" PRId64 ", but must be 0 to 3",
                        a->mode);
    a->type = softmax_type(c, Q);
    const op_attr *precision = op_attr_find(c->node, "softmax_precision");
    if (a->type) a->softmax_type = precision ? pgy_dtype_from_onnx((int)precision->i) : a->type;
    pgy_status st = check_lengths(a, err);
    return st ? st : prepare_mask(a, err);
}

/* In model precision, multiplies Q and K by the root of the scale before their product, as ONNX's
 * function body does. */
static pgy_status scale_inputs(attention *a, double **own, pgy_error *err)
{
    const double factor = softmax_round(a->type, sqrt(a->scale));
    const double *q = in_f64(a->c, Q);
    const size_t count = in_count(a->c, Q), keys = a->batch * a->kv_heads * a->total * a->size;
    a->query = q;
    if (!a->type) return PGY_OK;
    const pgy_status st = workspace_alloc((void **)own, a->c, count, sizeof **own, err);
    if (st) return st;
    a->query = *own;
    for (size_t i = 0; i < count; i++) (*own)[i] = softmax_round(a->type, q[i] * factor);
    for (size_t i = 0; i < keys; i++) a->keys[i] = softmax_round(a->type, a->keys[i] * factor);
    return PGY_OK;
}

/* Without any, the number of heads says nothing about the work. */
static bool has_results(const attention *a)
{
    return a->rows && (a->v_size || (a->total && out_f64(a->c, 3)));
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    attention a = {0};
    double *own = NULL;
    pgy_status st = inputs_check(c, "FFF*ffi", err);
    if (!st) st = prepare(&a, c, err);
    if (st) return st;
    if (!a.batch || !a.heads || !a.kv_heads) return PGY_OK;
    size_t rows = a.batch * a.kv_heads * a.total, product = 0;
    if (!size_mul(&product, a.rows, a.total) || !size_mul(&product, product + 1, sizeof(double)))
        return op_error(c->node, err, PGY_E_MEMORY,
                        "the attention scores are too large for memory");
    st = workspace_alloc((void **)&a.keys, c, rows * a.size, sizeof *a.keys, err);
    if (!st) st = workspace_alloc((void **)&a.values, c, rows * a.v_size, sizeof *a.values, err);
    if (st) goto done;
    assemble(&a, a.keys, K, PAST_K, a.size);
    assemble(&a, a.values, V, PAST_V, a.v_size);
    if (out_f64(c, 1)) memcpy(out_f64(c, 1), a.keys, rows * a.size * sizeof *a.keys);
    if (out_f64(c, 2)) memcpy(out_f64(c, 2), a.values, rows * a.v_size * sizeof *a.values);
    st = scale_inputs(&a, &own, err);
    if (!st && has_results(&a)) parallel_for_until_cancelled(a.batch * a.heads, head_task, &a);
    if (atomic_load(&a.failed)) st = rule_no_memory(c->node, err);
done:
    mem_free(own);
    mem_free(a.keys);
    mem_free(a.values);
    return st;
}

static double flops(const op_infer *c)
{
    const op_value *q = &c->inputs[Q], *k = &c->inputs[K];
    if (q->rank < 3 || k->rank != q->rank) return 0;
    double keys = (double)k->dims[q->rank - 2].value +
                  (op_has_input(c, PAST_K) ? (double)c->inputs[PAST_K].dims[2].value : 0);
    return 4 * dims_product(q) * keys;
}

static const char OWN[] =
    "T1 = float16 float32 float64 bfloat16; T2 = float16 float32 float64 bfloat16; U = bool "
    "float16 float32 float64 bfloat16; I = int64; Q:T1, K:T1, V:T2, ?attn_mask:U, ?past_key:T1, "
    "?past_value:T2, ?nonpad_kv_seqlen:I -> Y:T1, ?present_key:T1, ?present_value:T2, "
    "?qk_matmul_output:T1";

#define ROW(domain, version, most, attrs, text)                                                 \
    {                                                                                           \
        "Attention", domain, version, 0, 3, most, 1, 4, 0, attrs, TYPES_F4, infer, eval, flops, \
            .signature = text                                                                   \
    }
const op_def OP_attention[] = {ROW("", 23, 6, ATTRS_23, NULL),
                               ROW("", 24, 7, ATTRS_23, NULL),
                               ROW("", 25, 7, ATTRS_25, NULL),
                               ROW("pgy", 1, 7, ATTRS_25, OWN),
                               {NULL}};
