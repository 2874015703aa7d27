/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft PagedAttention: attention of packed new tokens [tokens, heads * size] to caches of
 * keys and values in blocks [blocks, tokens of a block, kv_heads, size]. A table lists the blocks
 * of each sequence in order. New keys are normed, rotated and written into the cache first; a cache
 * of int8 or float8 has scales. With the layout LATENT there is one cache, whose rows begin with
 * the values. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "ops/class_check.h"
#include "ops/class_quantize.h"
#include "tensor/convert.h"

enum {
    Q,
    K,
    V,
    K_CACHE,
    V_CACHE,
    FIRSTS,
    PASTS,
    TABLE,
    COS,
    SIN,
    SLOTS,
    SINK,
    Q_NORM,
    K_NORM,
    K_SCALE,
    V_SCALE
};

static const op_attr_def ATTRS[] = {
    {"do_rotary", OP_ATTR_INT, false, "0"},
    {"is_causal", OP_ATTR_INT, false, "1"},
    {"k_cache_dtype", OP_ATTR_STRING, false, ""},
    {"k_quant_type", OP_ATTR_STRING, false, "NONE", .choices = "NONE PER_TENSOR PER_CHANNEL"},
    {"kv_cache_layout", OP_ATTR_STRING, false, "SEPARATE", .choices = "SEPARATE LATENT"},
    {"kv_num_heads", OP_ATTR_INT, true, NULL, .range = "1..2147483647"},
    {"local_window_size", OP_ATTR_INT, false, "-1"},
    {"num_heads", OP_ATTR_INT, true, NULL, .range = "1..2147483647"},
    {"qk_norm_epsilon", OP_ATTR_FLOAT, false, "1e-6"},
    {"rotary_interleaved", OP_ATTR_INT, false, "0"},
    {"rotary_offset", OP_ATTR_INT, false, "0", .range = "0..2147483647"},
    {"scale", OP_ATTR_FLOAT, false, NULL},
    {"softcap", OP_ATTR_FLOAT, false, "0"},
    {"v_cache_dtype", OP_ATTR_STRING, false, ""},
    {"v_head_size", OP_ATTR_INT, false, "0", .range = "0..2147483647"},
    {"v_quant_type", OP_ATTR_STRING, false, "NONE", .choices = "NONE PER_TENSOR PER_CHANNEL"},
    {NULL},
};

static bool is_latent(const op_node *n)
{
    return op_attr_is(n, "kv_cache_layout", "LATENT", "SEPARATE");
}

static int64_t value_size(const op_node *n, int64_t size)
{
    const int64_t given = op_attr_int(n, "v_head_size", 0);
    return given ? given : size;
}

/* ---- Shapes --------------------------------------------------------------------------------- */

static pgy_status check_cache_type(const op_infer *c, size_t cache, pgy_error *err)
{
    const bool key = cache == K_CACHE;
    const char *attr = key ? "k_cache_dtype" : "v_cache_dtype";
    const char *kind = key ? "k_quant_type" : "v_quant_type";
    const pgy_dtype type = c->inputs[cache].dtype;
    if (!op_has_input(c, cache) || !type) return PGY_OK;
    if (type == PGY_U8)
        return op_error(c->node, err, PGY_E_UNSUPPORTED,
                        "caches of 4-bit elements (uint8) are not supported");
    if (!op_attr_is(c->node, attr, "", "") && !op_attr_is(c->node, attr, pgy_dtype_name(type), ""))
        return op_error(c->node, err, PGY_E_TYPE,
                        "attribute %s is not the type of input %zu, which is %s", attr, cache,
                        pgy_dtype_name(type));
    const bool small = type == PGY_I8 || type == PGY_F8E4M3FN;
    if (small == op_attr_is(c->node, kind, "NONE", "NONE") ||
        small != op_has_input(c, key ? K_SCALE : V_SCALE))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "input %zu has type %s, so %s must %sbe NONE and input %d must be %s",
                        cache, pgy_dtype_name(type), kind, small ? "not " : "",
                        key ? K_SCALE : V_SCALE, small ? "given" : "omitted");
    return PGY_OK;
}

static pgy_status check_given(const op_infer *c, pgy_error *err)
{
    const op_node *n = c->node;
    const int64_t heads = op_attr_int(n, "num_heads", 1), kv = op_attr_int(n, "kv_num_heads", 1);
    const bool latent = is_latent(n);
    if (heads % kv || (latent && kv != 1))
        return op_error(n, err, PGY_E_ARGUMENT,
                        "%" PRId64 " query heads cannot share %" PRId64 " heads%s", heads, kv,
                        latent ? "; the layout LATENT has one" : "");
    if (latent == op_has_input(c, V_CACHE) || (latent && op_has_input(c, V)) ||
        (!latent && op_has_input(c, K) != op_has_input(c, V)) || (latent && !op_has_input(c, K)))
        return op_error(n, err, PGY_E_ARGUMENT,
                        latent ? "the layout LATENT needs input 1 (key), and no value nor its cache"
                               : "key and value must both be given or both be omitted, and "
                                 "value_cache must be given");
    if (!latent && op_attr_int(n, "v_head_size", 0))
        return op_error(n, err, PGY_E_ARGUMENT, "v_head_size needs the layout LATENT");
    if (op_has_input(c, Q_NORM) != op_has_input(c, K_NORM) ||
        op_has_input(c, COS) != op_has_input(c, SIN) ||
        (op_attr_int(n, "do_rotary", 0) && !op_has_input(c, COS)))
        return op_error(n, err, PGY_E_ARGUMENT,
                        "q_norm_weight and k_norm_weight must both be given, and so must cos_cache "
                        "and sin_cache, which do_rotary needs");
    return PGY_OK;
}

static pgy_status check_shapes(op_infer *c, dim size, pgy_error *err)
{
    static const struct {
        size_t input;
        int32_t rank;
    } RANKS[] = {{FIRSTS, 1}, {PASTS, 1}, {TABLE, 2},  {COS, 2},    {SIN, 2},
                 {SLOTS, 1},  {SINK, 1},  {Q_NORM, 1}, {K_NORM, 1}, {V_CACHE, 4}};
    const op_value *q = &c->inputs[Q], *cache = &c->inputs[K_CACHE];
    const dim kv = dim_const(op_attr_int(c->node, "kv_num_heads", 1));
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < sizeof RANKS / sizeof *RANKS; i++)
        st = rank_check(c, RANKS[i].input, RANKS[i].rank, RANKS[i].rank, err);
    for (size_t i = K; !st && i <= V; i++) {
        st = rank_check(c, i, 2, 2, err);
        if (!st && q->rank == 2) st = dim_check(c, i, 0, q->dims[0], "the number of tokens", err);
        if (!st) st = dim_check(c, i, 1, dim_mul(c->dims, kv, size), "kv_num_heads heads", err);
    }
    if (!st) st = dim_check(c, K_CACHE, 2, kv, "kv_num_heads", err);
    for (size_t d = 0; !st && d < 4 && cache->rank == 4; d++)
        st = dim_check(c, V_CACHE, d, cache->dims[d], "the same dimension of key_cache", err);
    if (!st && rank_known(c, PASTS)) {
        const dim batch = c->inputs[PASTS].dims[0];
        st = dim_check(c, FIRSTS, 0, dim_add(c->dims, batch, dim_const(1)), "the batch and 1", err);
        if (!st) st = dim_check(c, TABLE, 0, batch, "the batch", err);
    }
    if (!st && q->rank == 2) st = dim_check(c, SLOTS, 0, q->dims[0], "the number of tokens", err);
    if (!st)
        st = dim_check(c, SINK, 0, dim_const(op_attr_int(c->node, "num_heads", 1)), "num_heads",
                       err);
    for (size_t i = Q_NORM; !st && i <= K_NORM; i++)
        st = dim_check(c, i, 0, size, "the size of a head", err);
    for (size_t d = 0; !st && d < 2 && rank_known(c, COS); d++)
        st = dim_check(c, SIN, d, c->inputs[COS].dims[d], "the same dimension of cos_cache", err);
    return st;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_node *n = c->node;
    const op_value *q = &c->inputs[Q], *cache = &c->inputs[K_CACHE];
    const int64_t heads = op_attr_int(n, "num_heads", 1), kv = op_attr_int(n, "kv_num_heads", 1);
    pgy_status st = check_given(c, err);
    for (size_t i = 0; !st && i < 2; i++) st = check_cache_type(c, i ? V_CACHE : K_CACHE, err);
    if (!st) st = rank_check(c, Q, 2, 2, err);
    if (!st) st = rank_check(c, K_CACHE, 4, 4, err);
    if (st) return st;
    const dim size = cache->rank == 4 ? cache->dims[3]
                                      : dim_unknown(c->dims, "the shape of the cache is not known");
    st = check_shapes(c, size, err);
    const int64_t parts = op_has_input(c, K) ? heads : heads + 2 * kv;
    if (!st) st = dim_check(c, Q, 1, dim_mul(c->dims, dim_const(parts), size), "its heads", err);
    if (!st && dim_is_const(size) && value_size(n, size.value) > size.value)
        st = op_error(n, err, PGY_E_ARGUMENT,
                      "attribute v_head_size is larger than the keys, which have %" PRId64
                      " elements",
                      size.value);
    dim *out = op_dims(c, 2);
    if (st || !out) return st ? st : rule_no_memory(n, err);
    const int64_t v_size = op_attr_int(n, "v_head_size", 0);
    out[0] = q->rank == 2 ? q->dims[0] : dim_unknown(c->dims, "the query's shape is not known");
    out[1] = dim_mul(c->dims, dim_const(heads), v_size ? dim_const(v_size) : size);
    op_set_output(c, 0, q->dtype, 2, out);
    for (size_t i = 1; i < n->output_count; i++)
        if (op_has_input(c, K_CACHE + i - 1)) op_set_like(c, i, K_CACHE + i - 1);
    return PGY_OK;
}

/* ---- Evaluation ----------------------------------------------------------------------------- */

typedef struct paged {
    const op_eval *c;
    size_t batch, tokens, heads, kv_heads, size, v_size, block, table_width, width, angles;
    double scale, cap, epsilon;
    int64_t window;
    bool causal, interleaved, latent;
    double *q, *keys, *values; /* queries as they are used; the caches, dequantised */
    double *scores;            /* a row for each head */
    size_t longest;
} paged;

static double element_scale(const paged *p, size_t input, size_t at)
{
    const double *scales = in_f64(p->c, input);
    if (!scales) return 1;
    return in_count(p->c, input) == 1 ? scales[0] : scales[at % (p->kv_heads * p->size)];
}

/* What a cache of a type holds after `x` was written with a scale. */
static double stored(double x, pgy_dtype type)
{
    if (type == PGY_I8) return (double)quantize_int(x, 0, PGY_I8);
    return float_round(type, x, true);
}

static void norm(double *x, const double *weight, size_t size, double epsilon)
{
    double squares = 0;
    for (size_t i = 0; i < size; i++) squares += x[i] * x[i];
    const double factor = 1 / sqrt(squares / (double)size + epsilon);
    for (size_t i = 0; i < size; i++) x[i] *= factor * weight[i];
}

static void rotate(const paged *p, double *x, size_t position)
{
    const double *cos_row = in_f64(p->c, COS) + position * p->angles;
    const double *sin_row = in_f64(p->c, SIN) + position * p->angles;
    x += op_attr_int(p->c->node, "rotary_offset", 0);
    for (size_t i = 0; i < p->angles; i++) {
        double *a = x + (p->interleaved ? 2 * i : i), *b = p->interleaved ? a + 1 : a + p->angles;
        const double before = *a;
        *a = before * cos_row[i] - *b * sin_row[i];
        *b = *b * cos_row[i] + before * sin_row[i];
    }
}

/* The place of a position of a sequence in the caches. */
static size_t slot_of(const paged *p, size_t sequence, size_t position)
{
    const int64_t *table = in_i64(p->c, TABLE) + sequence * p->table_width;
    return (size_t)table[position / p->block] * p->block + position % p->block;
}

/* Writes key and value of a token into the caches, as they hold them. */
static void write_token(const paged *p, size_t token, size_t slot, double *k, const double *v)
{
    const size_t row = p->kv_heads * p->size;
    (void)token;
    for (size_t i = 0; i < row; i++) {
        const double scale = element_scale(p, K_SCALE, i);
        p->keys[slot * row + i] = stored(k[i] / scale, p->c->inputs[K_CACHE].dtype) * scale;
        if (p->latent) continue;
        const double v_scale = element_scale(p, V_SCALE, i);
        p->values[slot * row + i] = stored(v[i] / v_scale, p->c->inputs[V_CACHE].dtype) * v_scale;
    }
}

static void prepare_token(const paged *p, double *k, size_t sequence, size_t token, size_t position)
{
    const bool rotary = op_attr_int(p->c->node, "do_rotary", 0) != 0;
    const size_t row = p->kv_heads * p->size;
    const double *from = in_f64(p->c, Q) + token * p->width;
    const bool packed = !in_f64(p->c, K);
    const double *k_from = packed ? from + p->heads * p->size : in_f64(p->c, K) + token * row;
    const double *v_from = packed ? k_from + row : p->latent ? NULL : in_f64(p->c, V) + token * row;
    double *q = p->q + token * p->heads * p->size;
    memcpy(q, from, p->heads * p->size * sizeof *q);
    memcpy(k, k_from, row * sizeof *k);
    for (size_t h = 0; h < p->heads + p->kv_heads; h++) {
        double *x = h < p->heads ? q + h * p->size : k + (h - p->heads) * p->size;
        const double *weight = in_f64(p->c, h < p->heads ? Q_NORM : K_NORM);
        if (weight) norm(x, weight, p->size, p->epsilon);
        if (rotary) rotate(p, x, position);
    }
    const int64_t *slots = in_i64(p->c, SLOTS);
    if (slots && slots[token] < 0) return;
    write_token(p, token, slots ? (size_t)slots[token] : slot_of(p, sequence, position), k, v_from);
}

static double score(const paged *p, const double *q, const double *k)
{
    double dot = 0;
    for (size_t i = 0; i < p->size; i++) dot += q[i] * k[i];
    dot *= p->scale;
    return p->cap > 0 ? p->cap * tanh(dot / p->cap) : dot;
}

static void attend(const paged *p, size_t sequence, size_t head, size_t token, size_t position,
                   size_t total, double *scores)
{
    const size_t shared = head / (p->heads / p->kv_heads), row = p->kv_heads * p->size;
    const double *q = p->q + (token * p->heads + head) * p->size;
    const double *values = p->latent ? p->keys : p->values;
    const size_t end = p->causal ? position + 1 : total;
    const size_t begin =
        p->window > 0 && position + 1 > (size_t)p->window ? position + 1 - (size_t)p->window : 0;
    double most = in_f64(p->c, SINK) ? in_f64(p->c, SINK)[head] : -INFINITY, sum = 0;
    const double sink = most;
    for (size_t j = begin; j < end; j++) {
        scores[j] = score(p, q, p->keys + slot_of(p, sequence, j) * row + shared * p->size);
        if (scores[j] > most) most = scores[j];
    }
    double *y = out_f64(p->c, 0) + (token * p->heads + head) * p->v_size;
    if (in_f64(p->c, SINK)) sum = exp(sink - most);
    for (size_t j = begin; j < end; j++) {
        const double weight = exp(scores[j] - most);
        const double *v = values + slot_of(p, sequence, j) * row + shared * p->size;
        sum += weight;
        for (size_t i = 0; i < p->v_size; i++) y[i] += weight * v[i];
    }
    for (size_t i = 0; i < p->v_size; i++) y[i] /= sum;
}

static void run_head(size_t head, void *user)
{
    const paged *p = user;
    const int64_t *firsts = in_i64(p->c, FIRSTS), *pasts = in_i64(p->c, PASTS);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t t = (size_t)firsts[b]; t < (size_t)firsts[b + 1]; t++)
            attend(p, b, head, t, (size_t)pasts[b] + t - (size_t)firsts[b],
                   (size_t)(pasts[b] + firsts[b + 1] - firsts[b]), p->scores + head * p->longest);
}

/* ---- Checks --------------------------------------------------------------------------------- */

static pgy_status check_sequence(paged *p, size_t b, size_t slots, pgy_error *err)
{
    const op_eval *c = p->c;
    const int64_t *firsts = in_i64(c, FIRSTS), *table = in_i64(c, TABLE) + b * p->table_width;
    const int64_t past = in_i64(c, PASTS)[b], fresh = firsts[b + 1] - firsts[b];
    if (firsts[b] < 0 || fresh < 0 || (uint64_t)firsts[b + 1] > p->tokens)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "sequence %zu goes from token %" PRId64 " to %" PRId64 " of %zu", b,
                        firsts[b], firsts[b + 1], p->tokens);
    if (past < 0 || (uint64_t)past > p->table_width * p->block ||
        (uint64_t)(past + fresh) > p->table_width * p->block)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "sequence %zu has %" PRId64 " past and %" PRId64
                        " new tokens, but room for %zu",
                        b, past, fresh, p->table_width * p->block);
    const size_t total = (size_t)(past + fresh);
    for (size_t i = 0; i * p->block < total; i++)
        if (table[i] < 0 || (uint64_t)table[i] >= slots / p->block)
            return op_error(c->node, err, PGY_E_ARGUMENT,
                            "block_table has block %" PRId64 ", but there are only %zu", table[i],
                            slots / p->block);
    if (op_attr_int(c->node, "do_rotary", 0) && (int64_t)total > in_shape(c, COS)[0])
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "sequence %zu has %zu tokens, but cos_cache has %" PRId64 " rows", b, total,
                        in_shape(c, COS)[0]);
    if (total > p->longest) p->longest = total;
    return PGY_OK;
}

static pgy_status check_values(paged *p, pgy_error *err)
{
    const op_eval *c = p->c;
    const int64_t *firsts = in_i64(c, FIRSTS), *places = in_i64(c, SLOTS);
    const size_t slots = (size_t)in_shape(c, K_CACHE)[0] * p->block;
    const int64_t offset = op_attr_int(c->node, "rotary_offset", 0);
    pgy_status st = PGY_OK;
    if (p->size < 1 || p->block < 1)
        return op_error(c->node, err, PGY_E_SHAPE, "the caches have no elements");
    if (firsts[0] != 0 || (uint64_t)firsts[p->batch] != p->tokens)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "cumulative_sequence_length goes from %" PRId64 " to %" PRId64
                        ", but must go from 0 to the %zu tokens",
                        firsts[0], firsts[p->batch], p->tokens);
    for (size_t b = 0; !st && b < p->batch; b++) st = check_sequence(p, b, slots, err);
    for (size_t t = 0; !st && places && t < p->tokens; t++)
        if (places[t] < -1 || (places[t] >= 0 && (uint64_t)places[t] >= slots))
            st = op_error(c->node, err, PGY_E_ARGUMENT,
                          "slot_mapping has %" PRId64 ", but there are only %zu slots", places[t],
                          slots);
    if (!st && op_attr_int(c->node, "do_rotary", 0) &&
        ((uint64_t)offset > p->size || 2 * p->angles > p->size - (size_t)offset))
        st = op_error(c->node, err, PGY_E_SHAPE,
                      "%zu angles from element %" PRId64 " on do not fit heads of size %zu",
                      p->angles, offset, p->size);
    for (size_t i = 0; !st && i < 2; i++) {
        const size_t input = i ? V_SCALE : K_SCALE, count = in_count(c, input);
        if (in_f64(c, input) && count != 1 && count != p->kv_heads * p->size)
            st = op_error(c->node, err, PGY_E_SHAPE,
                          "input %zu has %zu scales, but needs 1 or one for each of %zu elements",
                          input, count, p->kv_heads * p->size);
    }
    return st;
}

/* ---- Caches --------------------------------------------------------------------------------- */

static pgy_status load_cache(double **to, const paged *p, size_t cache, pgy_error *err)
{
    const size_t count = in_count(p->c, cache), scale = cache == K_CACHE ? K_SCALE : V_SCALE;
    const pgy_status st = workspace_alloc((void **)to, p->c, count, sizeof **to, err);
    const double *floats = in_f64(p->c, cache);
    const int64_t *ints = p->c->inputs[cache].dtype == PGY_I8 ? in_i64(p->c, cache) : NULL;
    for (size_t i = 0; !st && i < count; i++)
        (*to)[i] = (ints ? (double)ints[i] : floats[i]) * element_scale(p, scale, i);
    return st;
}

static void store_cache(const paged *p, size_t output, const double *from)
{
    const size_t cache = K_CACHE + output - 1, scale = cache == K_CACHE ? K_SCALE : V_SCALE;
    const bool ints = p->c->inputs[cache].dtype == PGY_I8;
    for (size_t i = 0; from && i < out_count(p->c, output); i++) {
        const double x = from[i] / element_scale(p, scale, i);
        if (ints)
            out_i64(p->c, output)[i] = quantize_int(x, 0, PGY_I8);
        else
            out_f64(p->c, output)[i] = x;
    }
}

static void init(paged *p, const op_eval *c)
{
    const int64_t *cache = in_shape(c, K_CACHE);
    const op_node *n = c->node;
    *p = (paged){.c = c,
                 .batch = in_count(c, PASTS),
                 .tokens = (size_t)in_shape(c, Q)[0],
                 .width = (size_t)in_shape(c, Q)[1],
                 .heads = (size_t)op_attr_int(n, "num_heads", 1),
                 .kv_heads = (size_t)cache[2],
                 .size = (size_t)cache[3],
                 .v_size = (size_t)value_size(n, cache[3]),
                 .block = (size_t)cache[1],
                 .table_width = (size_t)in_shape(c, TABLE)[1],
                 .angles = in_f64(c, COS) ? (size_t)in_shape(c, COS)[1] : 0,
                 .scale = op_attr_float(n, "scale", 0),
                 .cap = op_attr_float(n, "softcap", 0),
                 .epsilon = op_attr_float(n, "qk_norm_epsilon", 1e-6),
                 .window = op_attr_int(n, "local_window_size", -1),
                 .causal = op_attr_int(n, "is_causal", 1) != 0,
                 .interleaved = op_attr_int(n, "rotary_interleaved", 0) != 0,
                 .latent = is_latent(n)};
    if (p->scale == 0) p->scale = 1 / sqrt((double)p->size);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    paged p;
    double *k = NULL;
    pgy_status st = inputs_check(c, "Fff!*IIIffifffff", err);
    if (st) return st;
    init(&p, c);
    st = check_values(&p, err);
    if (!st) st = workspace_alloc((void **)&p.q, c, p.tokens * p.heads * p.size, sizeof *p.q, err);
    if (!st) st = workspace_alloc((void **)&k, c, p.kv_heads * p.size, sizeof *k, err);
    if (!st) st = workspace_alloc((void **)&p.scores, c, p.heads * p.longest, sizeof *k, err);
    if (!st) st = load_cache(&p.keys, &p, K_CACHE, err);
    if (!st && !p.latent) st = load_cache(&p.values, &p, V_CACHE, err);
    const int64_t *firsts = in_i64(c, FIRSTS);
    for (size_t b = 0; !st && b < p.batch; b++)
        for (int64_t t = firsts[b]; t < firsts[b + 1]; t++)
            prepare_token(&p, k, b, (size_t)t, (size_t)(in_i64(c, PASTS)[b] + t - firsts[b]));
    if (!st) {
        parallel_for_until_cancelled(p.heads, run_head, &p);
        for (size_t i = 1; i < c->node->output_count; i++)
            if (out_count(c, i)) store_cache(&p, i, i == 1 ? p.keys : p.values);
    }
    mem_free(p.q);
    mem_free(k);
    mem_free(p.scores);
    mem_free(p.keys);
    mem_free(p.values);
    return st;
}

const op_def OP_paged_attention[] = {
    {"PagedAttention", "com.microsoft", 1, 0, 8, 17, 1, 3, 0, ATTRS, "float16 bfloat16", infer,
     eval, NULL,
     .signature = "T = float16 bfloat16; C = float16 bfloat16 int8 float8e4m3fn "
                  "uint8; F = float32; S = int32; query:T, ?key:T, ?value:T, key_cache:C, "
                  "?value_cache:C, cumulative_sequence_length:S, past_seqlens:S, block_table:S, "
                  "?cos_cache:T, ?sin_cache:T, ?slot_mapping:S, ?head_sink:T, ?q_norm_weight:T, "
                  "?k_norm_weight:T, ?k_scale:F, ?v_scale:F, ?attention_metadata:S -> output:T, "
                  "?key_cache_out:C, ?value_cache_out:C"},
    {NULL},
};
