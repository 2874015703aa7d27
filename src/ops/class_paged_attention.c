/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and values of new tokens are written into the caches first. Then each token reads the keys
 * and values that it sees from the caches, with the rounding of their element type. */
#include "ops/class_paged_attention.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_heads.h"
#include "ops/class_rows.h"

const paged_names PAGED_KEYS = {PAGED_KEY_CACHE, PAGED_KEY_SCALE, 1, "k_cache_dtype",
                                "k_quant_type"};
const paged_names PAGED_VALUES = {PAGED_VALUE_CACHE, PAGED_VALUE_SCALE, 2, "v_cache_dtype",
                                  "v_quant_type"};

typedef struct paged {
    const op_eval *c;
    paged_cache keys, values;
    size_t batch, tokens, heads, kv_heads, size, v_size, width; /* width: of a row of the query */
    size_t longest;                                             /* keys of the longest sequence */
    size_t half;                 /* pairs that the rotary embedding turns; 0: none */
    size_t *sequence, *position; /* of each token */
    double *queries;             /* [tokens, heads, size] */
    double *scores;              /* [tokens, longest] */
    double scale, cap;
    int64_t window;
    bool causal, latent;
} paged;

bool paged_is_latent(const op_node *n)
{
    return op_attr_is(n, "kv_cache_layout", "LATENT", "SEPARATE");
}

/* ---- Sequences and slots --------------------------------------------------------------------- */

/* The slot of a token of a sequence; SIZE_MAX: the table has no block for it. */
static size_t slot_of(const paged *p, size_t sequence, size_t position)
{
    const size_t most = (size_t)in_shape(p->c, PAGED_TABLE)[1], block = p->keys.tokens;
    if (!block || position / block >= most) return SIZE_MAX;
    const int64_t id = in_i64(p->c, PAGED_TABLE)[sequence * most + position / block];
    if (id < 0 || (uint64_t)id >= p->keys.blocks) return SIZE_MAX;
    return (size_t)id * block + position % block;
}

static pgy_status read_sequence(paged *p, size_t b, pgy_error *err)
{
    const int64_t *firsts = in_i64(p->c, PAGED_FIRSTS), past = in_i64(p->c, PAGED_PASTS)[b];
    if (firsts[b] < 0 || firsts[b + 1] < firsts[b] || (uint64_t)firsts[b + 1] > p->tokens)
        return op_error(p->c->node, err, PGY_E_ARGUMENT,
                        "cumulative_sequence_length goes from %" PRId64 " to %" PRId64
                        " for sequence %zu of %zu tokens",
                        firsts[b], firsts[b + 1], b, p->tokens);
    if (past < 0 || past > INT32_MAX)
        return op_error(p->c->node, err, PGY_E_ARGUMENT,
                        "past_seqlens is %" PRId64 " for sequence %zu", past, b);
    const size_t total = (size_t)past + (size_t)(firsts[b + 1] - firsts[b]);
    if (total > p->longest) p->longest = total;
    for (size_t i = 0; i < total; i++)
        if (slot_of(p, b, i) == SIZE_MAX)
            return op_error(p->c->node, err, PGY_E_ARGUMENT,
                            "block_table has no block of the cache's %zu for token %zu of sequence "
                            "%zu",
                            p->keys.blocks, i, b);
    for (int64_t t = firsts[b]; t < firsts[b + 1]; t++) {
        p->sequence[t] = b;
        p->position[t] = (size_t)(past + t - firsts[b]);
    }
    return PGY_OK;
}

static pgy_status read_sequences(paged *p, pgy_error *err)
{
    const int64_t *firsts = in_i64(p->c, PAGED_FIRSTS);
    pgy_status st = PGY_OK;
    if (in_count(p->c, PAGED_FIRSTS) != p->batch + 1 || in_count(p->c, PAGED_PASTS) != p->batch ||
        firsts[0] != 0 || (uint64_t)firsts[p->batch] != p->tokens)
        return op_error(p->c->node, err, PGY_E_ARGUMENT,
                        "cumulative_sequence_length and past_seqlens do not fit %zu sequences of "
                        "%zu tokens",
                        p->batch, p->tokens);
    for (size_t b = 0; !st && b < p->batch; b++) st = read_sequence(p, b, err);
    return st;
}

/* ---- New keys and values --------------------------------------------------------------------- */

static void prepare_head(const paged *p, double *to, const double *from, size_t norm, size_t token)
{
    const op_node *n = p->c->node;
    memcpy(to, from, p->size * sizeof *to);
    heads_normalise(to, p->size, in_f64(p->c, norm), op_attr_float(n, "qk_norm_epsilon", 1e-6));
    if (!p->half) return;
    const size_t at = p->position[token] * p->half;
    heads_turn(to + op_attr_int(n, "rotary_offset", 0), in_f64(p->c, PAGED_COS) + at,
               in_f64(p->c, PAGED_SIN) + at, p->half, op_attr_int(n, "rotary_interleaved", 0) != 0);
}

static pgy_status write_slot(const paged *p, size_t token, size_t *slot, pgy_error *err)
{
    const int64_t *slots = in_i64(p->c, PAGED_SLOTS);
    *slot = slot_of(p, p->sequence[token], p->position[token]);
    if (!slots) return PGY_OK;
    *slot = slots[token] == -1 ? SIZE_MAX : (size_t)slots[token];
    if (slots[token] == -1 ||
        (slots[token] >= 0 && (uint64_t)slots[token] < p->keys.blocks * p->keys.tokens))
        return PGY_OK;
    return op_error(p->c->node, err, PGY_E_ARGUMENT,
                    "slot_mapping is %" PRId64 " for token %zu, but the cache has %zu slots",
                    slots[token], token, p->keys.blocks * p->keys.tokens);
}

static pgy_status take_token(paged *p, double *head, size_t token, pgy_error *err)
{
    const op_eval *c = p->c;
    const double *query = in_f64(c, PAGED_QUERY) + token * p->width;
    const double *key = query + p->heads * p->size, *value = key + p->kv_heads * p->size;
    size_t slot;
    const pgy_status st = write_slot(p, token, &slot, err);
    if (st) return st;
    if (in_f64(c, PAGED_KEY)) key = in_f64(c, PAGED_KEY) + token * p->kv_heads * p->size;
    if (in_f64(c, PAGED_VALUE)) value = in_f64(c, PAGED_VALUE) + token * p->kv_heads * p->size;
    for (size_t h = 0; h < p->heads; h++)
        prepare_head(p, p->queries + (token * p->heads + h) * p->size, query + h * p->size,
                     PAGED_Q_NORM, token);
    for (size_t h = 0; slot != SIZE_MAX && h < p->kv_heads; h++) {
        prepare_head(p, head, key + h * p->size, PAGED_K_NORM, token);
        paged_cache_put(&p->keys, slot, h, head);
        if (!p->latent) paged_cache_put(&p->values, slot, h, value + h * p->size);
    }
    return PGY_OK;
}

/* ---- Attention ------------------------------------------------------------------------------ */

static bool sees(const paged *p, size_t position, size_t key)
{
    if (p->causal && key > position) return false;
    return p->window < 0 || key > position || position - key < (uint64_t)p->window;
}

static double score_of(const paged *p, const double *q, size_t slot, size_t head)
{
    double s = 0;
    for (size_t i = 0; i < p->size; i++) s += q[i] * paged_cache_get(&p->keys, slot, head, i);
    s *= p->scale;
    return p->cap > 0 ? p->cap * tanh(s / p->cap) : s;
}

static void attend(const paged *p, size_t token, size_t head)
{
    const size_t b = p->sequence[token], position = p->position[token];
    const size_t kv = head / (p->heads / p->kv_heads);
    const int64_t *firsts = in_i64(p->c, PAGED_FIRSTS);
    const size_t total = (size_t)(in_i64(p->c, PAGED_PASTS)[b] + firsts[b + 1] - firsts[b]);
    const double *q = p->queries + (token * p->heads + head) * p->size;
    const double *sink = in_f64(p->c, PAGED_SINK);
    double *s = p->scores + token * p->longest, most = sink ? sink[head] : -INFINITY;
    double *y = out_f64(p->c, 0) + (token * p->heads + head) * p->v_size;
    for (size_t i = 0; i < total; i++) {
        s[i] = sees(p, position, i) ? score_of(p, q, slot_of(p, b, i), kv) : -INFINITY;
        if (s[i] > most || isnan(s[i])) most = s[i];
    }
    double sum = sink ? exp(sink[head] - most) : 0;
    for (size_t i = 0; i < total; i++) {
        s[i] = sees(p, position, i) ? exp(s[i] - most) : 0;
        sum += s[i];
    }
    for (size_t i = 0; i < total; i++) {
        const size_t slot = slot_of(p, b, i);
        for (size_t d = 0; s[i] != 0 && d < p->v_size; d++)
            y[d] += s[i] / sum * paged_cache_get(p->latent ? &p->keys : &p->values, slot, kv, d);
    }
}

static void attend_tokens(size_t begin, size_t end, void *user)
{
    const paged *p = user;
    memset(out_f64(p->c, 0) + begin * p->heads * p->v_size, 0,
           (end - begin) * p->heads * p->v_size * sizeof(double));
    for (size_t token = begin; token < end; token++)
        for (size_t head = 0; head < p->heads; head++) attend(p, token, head);
}

/* ---- Evaluation ----------------------------------------------------------------------------- */

static void read_sizes(paged *p)
{
    const op_eval *c = p->c;
    const op_node *n = c->node;
    p->batch = (size_t)in_shape(c, PAGED_TABLE)[0];
    p->tokens = (size_t)in_shape(c, PAGED_QUERY)[0];
    p->width = (size_t)in_shape(c, PAGED_QUERY)[1];
    p->heads = (size_t)op_attr_int(n, "num_heads", 1);
    p->kv_heads = (size_t)op_attr_int(n, "kv_num_heads", 1);
    p->size = p->width / (in_f64(c, PAGED_KEY) ? p->heads : p->heads + 2 * p->kv_heads);
    p->v_size = (size_t)op_attr_int(n, "v_head_size", 0);
    if (!p->v_size) p->v_size = p->size;
    p->scale = op_attr_float(n, "scale", 0);
    if (p->scale == 0) p->scale = 1 / sqrt((double)p->size);
    p->cap = op_attr_float(n, "softcap", 0);
    p->window = op_attr_int(n, "local_window_size", -1);
    p->causal = op_attr_int(n, "is_causal", 1) != 0;
    p->latent = paged_is_latent(n);
}

static pgy_status read_rotation(paged *p, pgy_error *err)
{
    const op_eval *c = p->c;
    const int64_t *cosines = in_shape(c, PAGED_COS), *sines = in_shape(c, PAGED_SIN);
    const size_t offset = (size_t)op_attr_int(c->node, "rotary_offset", 0);
    if (!op_attr_int(c->node, "do_rotary", 0)) return PGY_OK;
    p->half = (size_t)cosines[1];
    if (cosines[0] != sines[0] || cosines[1] != sines[1] || offset > p->size ||
        p->half > (p->size - offset) / 2 || (uint64_t)cosines[0] < p->longest)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the tables of cosines and sines have %" PRId64 " and %" PRId64
                        " rows of %" PRId64 " and %" PRId64
                        " columns, which does not fit %zu positions and heads of %zu",
                        cosines[0], sines[0], cosines[1], sines[1], p->longest, p->size);
    return PGY_OK;
}

static pgy_status check_caches(const paged *p, pgy_error *err)
{
    if (p->latent || (p->values.blocks == p->keys.blocks && p->values.tokens == p->keys.tokens))
        return PGY_OK;
    return op_error(p->c->node, err, PGY_E_SHAPE,
                    "the caches have %zu and %zu blocks of %zu and %zu tokens, but must be equal",
                    p->keys.blocks, p->values.blocks, p->keys.tokens, p->values.tokens);
}

static pgy_status prepare(paged *p, pgy_error *err)
{
    const op_eval *c = p->c;
    pgy_status st = paged_cache_open(&p->keys, c, &PAGED_KEYS, p->size, err);
    if (!st && !p->latent) st = paged_cache_open(&p->values, c, &PAGED_VALUES, p->size, err);
    if (!st) st = check_caches(p, err);
    if (!st) st = workspace_alloc((void **)&p->sequence, c, p->tokens, sizeof(size_t), err);
    if (!st) st = workspace_alloc((void **)&p->position, c, p->tokens, sizeof(size_t), err);
    if (!st) st = read_sequences(p, err);
    if (!st) st = read_rotation(p, err);
    if (!st)
        st = workspace_alloc((void **)&p->queries, c, p->tokens,
                             p->heads * p->size * sizeof(double), err);
    if (!st)
        st = workspace_alloc((void **)&p->scores, c, p->tokens, p->longest * sizeof(double), err);
    return st;
}

pgy_status paged_attention_eval(op_eval *c, pgy_error *err)
{
    paged p = {.c = c};
    double *head = NULL;
    pgy_status st = inputs_check(c, "Fff!*IIIffiffff*", err);
    if (st) return st;
    read_sizes(&p);
    st = prepare(&p, err);
    if (!st) st = workspace_alloc((void **)&head, c, p.size, sizeof *head, err);
    for (size_t token = 0; !st && token < p.tokens; token++) st = take_token(&p, head, token, err);
    if (!st) {
        rows_run(p.tokens, 20 * p.heads * p.size * p.longest, attend_tokens, &p);
        paged_cache_store(&p.keys);
        if (!p.latent) paged_cache_store(&p.values);
    }
    mem_free(head);
    mem_free(p.sequence);
    mem_free(p.position);
    mem_free(p.queries);
    mem_free(p.scores);
    paged_cache_deinit(&p.keys);
    paged_cache_deinit(&p.values);
    return st;
}
