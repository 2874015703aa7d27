/* SPDX-License-Identifier: Apache-2.0 */
/* The cache is one array per key-value head: past keys, then the new keys after their rotary
 * embedding. One matrix product gives a head's scores, which are masked key by key; a second one
 * gives the output. */
#include "ops/class_group_attention.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "ops/class_heads.h"
#include "ops/gemm.h"

/* ---- Shape ---------------------------------------------------------------------------------- */

static pgy_status read_heads(int64_t *heads, int64_t *kv_heads, const op_node *n, pgy_error *err)
{
    *heads = op_attr_int(n, "num_heads", 0);
    *kv_heads = op_attr_int(n, "kv_num_heads", 0);
    if (*heads < 1 || *kv_heads < 1 || *heads > INT32_MAX || *heads % *kv_heads)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "%" PRId64 " query heads (num_heads) cannot share %" PRId64
                        " heads (kv_num_heads)",
                        *heads, *kv_heads);
    return PGY_OK;
}

static pgy_status check_ranks(const op_infer *c, const group_inputs *in, pgy_error *err)
{
    const struct {
        size_t input;
        int32_t rank;
    } RANKS[] = {{in->query, 3},      {in->key, 3}, {in->value, 3}, {in->past_key, 4},
                 {in->past_value, 4}, {in->cos, 2}, {in->sin, 2}};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < sizeof RANKS / sizeof *RANKS; i++)
        st = rank_check(c, RANKS[i].input, RANKS[i].rank, RANKS[i].rank, err);
    if (st) return st;
    if (op_has_input(c, in->key) != op_has_input(c, in->value) ||
        op_has_input(c, in->past_key) != op_has_input(c, in->past_value))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "key and value must both be given or both be omitted, and so must past_key "
                        "and past_value");
    return PGY_OK;
}

static dim present_length(op_infer *c, const group_inputs *in)
{
    const dim *total;
    size_t count;
    const bool past = op_has_input(c, in->past_key);
    if (past && !rank_known(c, in->past_key))
        return dim_unknown(c->dims, "the shape of the cache is not known");
    const dim before = past ? c->inputs[in->past_key].dims[2] : dim_const(0);
    if (in->shared) return before;
    if (!op_input_ints(c, in->total, &total, &count) || count != 1)
        return dim_unknown(c->dims, "the total sequence length is not known");
    return past ? dim_max(c->dims, before, total[0]) : total[0];
}

pgy_status group_attention_infer(op_infer *c, const group_inputs *in, pgy_error *err)
{
    const op_value *q = &c->inputs[in->query];
    int64_t heads, kv_heads;
    pgy_status st = read_heads(&heads, &kv_heads, c->node, err);
    if (!st) st = check_ranks(c, in, err);
    if (st) return st;
    if (q->rank < 0) {
        for (size_t i = 0; i < c->node->output_count; i++)
            op_set_unknown(c, i, q->dtype, i ? 4 : 3, "the shape of an input is not known");
        return PGY_OK;
    }
    const int64_t parts = op_has_input(c, in->key) ? heads : heads + 2 * kv_heads;
    if (dim_is_const(q->dims[2]) && q->dims[2].value % parts)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the query's width %" PRId64
                        " is not divisible by the number of its heads, %" PRId64,
                        q->dims[2].value, parts);
    const dim size = dim_div_floor(c->dims, q->dims[2], dim_const(parts));
    const dim length = present_length(c, in);
    if (rule_is_negative(length))
        return op_error(c->node, err, PGY_E_SHAPE, "the total sequence length is negative");
    dim *out = op_dims(c, 7);
    if (!out) return rule_no_memory(c->node, err);
    memcpy(out, (dim[]){q->dims[0], q->dims[1], dim_mul(c->dims, size, dim_const(heads))},
           3 * sizeof *out);
    memcpy(out + 3, (dim[]){q->dims[0], dim_const(kv_heads), length, size}, 4 * sizeof *out);
    op_set_output(c, 0, q->dtype, 3, out);
    for (size_t i = 1; i < 3; i++)
        output_set(c, i, op_has_input(c, in->past_key) ? c->inputs[in->past_key].dtype : q->dtype,
                   4, out + 3);
    return PGY_OK;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static pgy_status misfit(const op_eval *c, size_t input, const char *what, pgy_error *err)
{
    return op_error(c->node, err, PGY_E_SHAPE, "the shape of input %zu (%s) does not fit the query",
                    input, what);
}

static pgy_status check_caches(const group_attention *g, const group_inputs *in, pgy_error *err)
{
    const op_eval *c = g->c;
    const size_t width = g->kv_heads * g->size;
    for (size_t i = 0; i < 2; i++) {
        const size_t fresh = i ? in->value : in->key, past = i ? in->past_value : in->past_key;
        const int64_t *s = in_shape(c, fresh), *p = in_shape(c, past);
        if (s && ((size_t)s[0] != g->batch || (size_t)s[1] != g->rows || (size_t)s[2] != width))
            return misfit(c, fresh, i ? "value" : "key", err);
        if (p && ((size_t)p[0] != g->batch || (size_t)p[1] != g->kv_heads ||
                  p[2] != in_shape(c, in->past_key)[2] || (size_t)p[3] != g->size))
            return misfit(c, past, i ? "past_value" : "past_key", err);
    }
    return PGY_OK;
}

/* Reads how many keys each batch entry has, and how many of them come from the cache. */
static pgy_status read_lengths(group_attention *g, const group_inputs *in, pgy_error *err)
{
    const op_eval *c = g->c;
    const int64_t *given = in_i64(c, in->lengths), total = in_i64(c, in->total)[0];
    const size_t past = in_shape(c, in->past_key) ? (size_t)in_shape(c, in->past_key)[2] : 0;
    if (total < (int64_t)g->rows || total > INT32_MAX)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "total_sequence_length is %" PRId64 ", but there are %zu new tokens", total,
                        g->rows);
    g->total = (size_t)total;
    g->capacity = in->shared || past > g->total ? past : g->total;
    if (g->capacity < g->total || in_count(c, in->lengths) != g->batch)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "there are %zu sequence lengths of up to %zu tokens, but the batch is %zu "
                        "and the caches hold %zu tokens",
                        in_count(c, in->lengths), g->total, g->batch, g->capacity);
    for (size_t b = 0; b < g->batch; b++) {
        const int64_t length =
            given[b] >= 0 && given[b] < INT32_MAX ? given[b] + in->length_shift : -1;
        const bool first = g->rows == g->total;
        const int64_t before = first ? 0 : length - (int64_t)g->rows;
        if (length < 0 || length > total || before < 0 || before > (int64_t)past)
            return op_error(c->node, err, PGY_E_ARGUMENT,
                            "sequence length %" PRId64 " of batch entry %zu does not fit %zu new"
                            " tokens, %zu of the past and %zu in total",
                            given[b], b, g->rows, past, g->total);
        g->lengths[b] = (size_t)length;
        g->pasts[b] = (size_t)before;
    }
    return PGY_OK;
}

/* ---- Queries and caches ---------------------------------------------------------------------- */

typedef struct turner {
    const double *cos, *sin; /* tables of the rotary embedding; NULL: no rotation */
    const int64_t *ids;
    size_t half, places, given; /* rotated pairs; rows of the tables; number of given positions */
    bool interleaved;
} turner;

static pgy_status make_turner(turner *t, const group_attention *g, const group_inputs *in,
                              pgy_error *err)
{
    const op_eval *c = g->c;
    *t = (turner){0};
    if (!op_attr_int(c->node, "do_rotary", 0)) return PGY_OK;
    if (!in_f64(c, in->cos) || !in_f64(c, in->sin))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "do_rotary is set, but the tables of cosines and sines are missing");
    const int64_t *a = in_shape(c, in->cos), *b = in_shape(c, in->sin);
    if (a[0] != b[0] || a[1] != b[1] || (uint64_t)a[1] > g->size / 2)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the tables of cosines and sines have %" PRId64 " and %" PRId64
                        " columns, which does not fit heads of %zu elements",
                        a[1], b[1], g->size);
    *t = (turner){.cos = in_f64(c, in->cos),
                  .sin = in_f64(c, in->sin),
                  .ids = in_i64(c, in->positions),
                  .half = (size_t)a[1],
                  .places = (size_t)a[0],
                  .given = in_count(c, in->positions),
                  .interleaved = op_attr_int(c->node, "rotary_interleaved", 0) != 0};
    if (t->ids && t->given != 1 && t->given != g->batch * g->rows)
        return op_error(c->node, err, PGY_E_SHAPE, "there are %zu position_ids for %zu tokens",
                        t->given, g->batch * g->rows);
    return PGY_OK;
}

static pgy_status place_of(size_t *place, const turner *t, const group_attention *g, size_t b,
                           size_t row, pgy_error *err)
{
    int64_t at = (int64_t)(g->pasts[b] + row);
    if (t->ids && t->given == 1) at = (int64_t)((uint64_t)t->ids[0] + row);
    if (t->ids && t->given > 1) at = t->ids[b * g->rows + row];
    *place = 0;
    if (!t->cos || g->pasts[b] + row >= g->lengths[b]) return PGY_OK;
    if (at < 0 || (uint64_t)at >= t->places)
        return op_error(g->c->node, err, PGY_E_ARGUMENT,
                        "position %" PRId64
                        " lies outside the tables of cosines and sines, which have %zu rows",
                        at, t->places);
    *place = (size_t)at;
    return PGY_OK;
}

static void turn(double *x, const turner *t, size_t place)
{
    const size_t at = place * t->half;
    if (t->cos && t->places) heads_turn(x, t->cos + at, t->sin + at, t->half, t->interleaved);
}

/* Where the heads of queries, keys or values lie in the inputs. */
typedef struct head_source {
    const double *data, *norm;
    /* width: elements of an input row; first: index in the row of the first head */
    size_t width, first, heads;
    bool turned;
} head_source;

static pgy_status take_heads(double *to, const head_source *from, const group_attention *g,
                             const turner *t, size_t b, size_t row, pgy_error *err)
{
    const bool query = to == g->q;
    const double epsilon = op_attr_float(g->c->node, "qk_norm_epsilon", 1e-6);
    const size_t length = query ? g->rows : g->capacity, at = query ? row : g->pasts[b] + row;
    const double *x = from->data + (b * g->rows + row) * from->width + from->first;
    size_t place;
    pgy_status st = place_of(&place, t, g, b, row, err);
    for (size_t h = 0; !st && h < from->heads && g->size; h++) {
        double *y = to + ((b * from->heads + h) * length + at) * g->size;
        memcpy(y, x + h * g->size, g->size * sizeof *y);
        heads_normalise(y, g->size, from->norm, epsilon);
        if (from->turned) turn(y, t, place);
    }
    return st;
}

/* Copies the past rows of every sequence. Rows behind its end become 0, as in ONNX Runtime, unless
 * the operator's caches are one buffer (`shared`), whose rows nobody touches. */
static void take_past(const group_attention *g, double *to, size_t input, bool shared)
{
    const int64_t *s = in_shape(g->c, input);
    const size_t most = s ? (size_t)s[2] < g->capacity ? (size_t)s[2] : g->capacity : 0;
    for (size_t i = 0; most && i < g->batch * g->kv_heads; i++) {
        const size_t past = g->pasts[i / g->kv_heads], rows = shared || past > most ? most : past;
        memcpy(to + i * g->capacity * g->size, in_f64(g->c, input) + i * (size_t)s[2] * g->size,
               rows * g->size * sizeof *to);
    }
}

static pgy_status fill(group_attention *g, const group_inputs *in, const turner *t, pgy_error *err)
{
    const op_eval *c = g->c;
    const bool packed = !in_f64(c, in->key);
    const size_t q_width = g->heads * g->size, kv_width = g->kv_heads * g->size;
    const size_t all = packed ? q_width + 2 * kv_width : q_width;
    const double *query = in_f64(c, in->query);
    const head_source q = {query, in_f64(c, in->q_norm), all, 0, g->heads, true};
    head_source k = {query, in_f64(c, in->k_norm), all, q_width, g->kv_heads, true};
    head_source v = {query, NULL, all, q_width + kv_width, g->kv_heads, false};
    if (!packed) {
        k.data = in_f64(c, in->key);
        v.data = in_f64(c, in->value);
        k.width = v.width = kv_width;
        k.first = v.first = 0;
    }
    take_past(g, g->keys, in->past_key, in->shared);
    take_past(g, g->values, in->past_value, in->shared);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->batch * g->rows; i++) {
        const size_t b = i / g->rows, row = i % g->rows;
        st = take_heads(g->q, &q, g, t, b, row, err);
        if (!st) st = take_heads(g->keys, &k, g, t, b, row, err);
        if (!st) st = take_heads(g->values, &v, g, t, b, row, err);
    }
    return st;
}

static pgy_status prepare_bias(group_attention *g, pgy_error *err)
{
    const int64_t *s = in_shape(g->c, g->bias);
    const size_t wanted[4] = {g->batch, g->heads, g->rows, g->total};
    size_t stride = 1;
    if (!s) return PGY_OK;
    bool fits = in_rank(g->c, g->bias) == 4;
    for (size_t d = 4; fits && d-- > 0;) {
        fits = (size_t)s[d] == wanted[d] || (d < 2 && s[d] == 1);
        g->bias_strides[d] = s[d] == 1 ? 0 : stride;
        stride *= (size_t)s[d];
    }
    return fits ? PGY_OK : misfit(g->c, g->bias, "attention_bias", err);
}

pgy_status group_attention_prepare(group_attention *g, const op_eval *c, const group_inputs *in,
                                   pgy_error *err)
{
    turner t;
    int64_t heads, kv_heads;
    const int64_t *q = in_shape(c, in->query);
    pgy_status st = read_heads(&heads, &kv_heads, c->node, err);
    if (st) return st;
    if (in_count(c, in->total) != 1)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "total_sequence_length has %zu elements, but must have one",
                        in_count(c, in->total));
    g->c = c;
    g->heads = (size_t)heads;
    g->kv_heads = (size_t)kv_heads;
    g->batch = (size_t)q[0];
    g->rows = (size_t)q[1];
    g->size = (size_t)(q[2] / (in_f64(c, in->key) ? heads : heads + 2 * kv_heads));
    g->scale = op_attr_float(c->node, "scale", 0);
    if (g->scale == 0) g->scale = 1 / sqrt((double)(g->size ? g->size : 1));
    if ((in_f64(c, in->q_norm) && in_count(c, in->q_norm) != g->size) ||
        (in_f64(c, in->k_norm) && in_count(c, in->k_norm) != g->size))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "q_norm_weight and k_norm_weight must have %zu elements, the head size",
                        g->size);
    st = check_caches(g, in, err);
    if (!st) st = workspace_alloc((void **)&g->lengths, c, g->batch, sizeof *g->lengths, err);
    if (!st) st = workspace_alloc((void **)&g->pasts, c, g->batch, sizeof *g->pasts, err);
    if (!st) st = read_lengths(g, in, err);
    if (!st) st = make_turner(&t, g, in, err);
    if (!st) st = prepare_bias(g, err);
    size_t cells = 0, cache = 0;
    if (!st && (!size_mul(&cells, g->capacity * g->kv_heads, g->size) ||
                !size_mul(&cache, cells, g->batch)))
        st = op_error(c->node, err, PGY_E_MEMORY, "the caches are too large for memory");
    if (!st) st = workspace_alloc((void **)&g->q, c, in_count(c, in->query), sizeof *g->q, err);
    if (!st) st = workspace_alloc((void **)&g->keys, c, cache, sizeof *g->keys, err);
    if (!st) st = workspace_alloc((void **)&g->values, c, cache, sizeof *g->values, err);
    return st ? st : fill(g, in, &t, err);
}

/* ---- Evaluation ----------------------------------------------------------------------------- */

static bool is_seen(const group_attention *g, size_t b, size_t head, size_t row, size_t key)
{
    const size_t position = g->pasts[b] + row;
    if (g->causal && key > position) return false;
    if (g->window >= 0 && key <= position && position - key >= (uint64_t)g->window) return false;
    return !g->sees || g->sees(g->user, head, position, key);
}

static void expose(const group_attention *g, size_t index, size_t row, const double *x, size_t n)
{
    double *to = g->scores + (index * g->rows + row) * g->total;
    for (size_t i = 0; i < n; i++) to[i] = x[i] == -INFINITY ? 0 : x[i]; /* masked ones are 0 */
}

/* Turns the products q k of one query into probabilities: scale, cap, bias, mask, then softmax. */
static void finish_row(const group_attention *g, size_t index, size_t row, double *x, size_t n)
{
    const size_t b = index / g->heads, head = index % g->heads;
    const double *bias = in_f64(g->c, g->bias);
    const bool sink = g->sinks || g->smooth;
    const double extra = g->sinks ? g->sinks[head] : 0;
    double top = sink ? extra : -INFINITY, sum = 0;
    const size_t at = b * g->bias_strides[0] + head * g->bias_strides[1] + row * g->bias_strides[2];
    for (size_t i = 0; i < n; i++) {
        x[i] *= g->scale;
        if (g->cap > 0) x[i] = g->cap * tanh(x[i] / g->cap);
        if (bias) x[i] += bias[at + i * g->bias_strides[3]];
    }
    for (size_t i = 0; i < n; i++) {
        if (!is_seen(g, b, head, row, i)) x[i] = -INFINITY;
        top = x[i] > top || isnan(x[i]) ? x[i] : top;
    }
    if (g->scores && !g->scores_after) expose(g, index, row, x, n);
    for (size_t i = 0; i < n; i++) {
        x[i] = x[i] == -INFINITY ? 0 : exp(x[i] - top);
        sum += x[i];
    }
    if (sink) sum += exp(extra - top);
    for (size_t i = 0; sum != 0 && i < n; i++) x[i] /= sum;
    if (g->scores && g->scores_after) expose(g, index, row, x, n);
}

static pgy_status run_head(const group_attention *g, size_t index)
{
    const size_t b = index / g->heads, head = index % g->heads, n = g->lengths[b];
    const size_t group = (b * g->kv_heads + head / (g->heads / g->kv_heads)) * g->capacity;
    size_t cells = 0;
    if (!size_mul(&cells, g->rows, n + 1) || !size_mul(&cells, cells, sizeof(double)))
        return PGY_E_MEMORY;
    double *scores = mem_alloc(cells + 1);
    if (!scores) return PGY_E_MEMORY;
    const gemm_matrix q = {g->q + index * g->rows * g->size, (int64_t)g->size, 1};
    const gemm_matrix keys = {g->keys + group * g->size, 1, (int64_t)g->size};
    const gemm_matrix values = {g->values + group * g->size, (int64_t)g->size, 1};
    pgy_status st = gemm_f64(g->rows, n, g->size, q, keys, scores, n, false, NULL);
    for (size_t row = 0; !st && row < g->rows; row++)
        finish_row(g, index, row, scores + row * n, n);
    double *y = out_f64(g->c, 0) + (b * g->rows * g->heads + head) * g->size;
    if (!st)
        st = gemm_f64(g->rows, g->size, n, (gemm_matrix){scores, (int64_t)n, 1}, values, y,
                      g->heads * g->size, false, NULL);
    mem_free(scores);
    return st;
}

typedef struct head_job {
    const group_attention *g;
    atomic_bool failed;
} head_job;

static void head_task(size_t index, void *user)
{
    head_job *j = user;
    if (run_head(j->g, index)) atomic_store(&j->failed, true);
}

pgy_status group_attention_run(group_attention *g, pgy_error *err)
{
    head_job job = {.g = g};
    const size_t cache = g->batch * g->kv_heads * g->capacity * g->size;
    const double *made[3] = {NULL, g->keys, g->values};
    for (size_t i = 1; i < 3; i++)
        if (cache && out_count(g->c, i) == cache)
            memcpy(out_f64(g->c, i), made[i], cache * sizeof(double));
    if (out_count(g->c, 0)) parallel_for_until_cancelled(g->batch * g->heads, head_task, &job);
    return atomic_load(&job.failed) ? rule_no_memory(g->c->node, err) : PGY_OK;
}

void group_attention_deinit(group_attention *g)
{
    mem_free(g->lengths);
    mem_free(g->pasts);
    mem_free(g->q);
    mem_free(g->keys);
    mem_free(g->values);
}
