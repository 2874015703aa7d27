/* SPDX-License-Identifier: Apache-2.0 */
/* TfIdfVectorizer: how often each n-gram of a pool occurs in a row, with up to `max_skip_count`
 * elements left out between its members, at the coordinate of the n-gram. An n-gram's weight is the
 * one at its position in the pool, as specified and as in ONNX Runtime; ONNX's reference evaluator
 * takes the one at its coordinate. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_check.h"
#include "ops/class_label.h"

static const op_attr_def ATTRS[] = {
    {"max_gram_length", OP_ATTR_INT, true, NULL}, {"max_skip_count", OP_ATTR_INT, true, NULL},
    {"min_gram_length", OP_ATTR_INT, true, NULL}, {"mode", OP_ATTR_STRING, true, NULL},
    {"ngram_counts", OP_ATTR_INTS, true, NULL},   {"ngram_indexes", OP_ATTR_INTS, true, NULL},
    {"pool_int64s", OP_ATTR_INTS, false, NULL},   {"pool_strings", OP_ATTR_STRINGS, false, NULL},
    {"weights", OP_ATTR_FLOATS, false, NULL},     {NULL},
};

/* Length of a row of the output. */
static pgy_status row_length(int64_t *out, const op_node *n, pgy_error *err)
{
    size_t count;
    const int64_t *indexes = op_attr_ints(n, "ngram_indexes", &count);
    *out = 0;
    for (size_t i = 0; i < count; i++) {
        if (indexes[i] < 0 || indexes[i] == INT64_MAX)
            return op_error(n, err, PGY_E_ARGUMENT,
                            "ngram_indexes[%zu] is %" PRId64 ", which is out of range", i,
                            indexes[i]);
        if (indexes[i] >= *out) *out = indexes[i] + 1;
    }
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    int64_t length;
    pgy_status st = rank_check(c, 0, 0, 2, err);
    if (!st) st = row_length(&length, c->node, err);
    if (st) return st;
    if (x->rank < 0) {
        op_set_unknown(c, 0, PGY_F32, -1, "the rank of the input is not known");
        return PGY_OK;
    }
    dim *dims = op_dims(c, 2);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = x->rank == 2 ? x->dims[0] : dim_const(length);
    dims[1] = dim_const(length);
    op_set_output(c, 0, PGY_F32, x->rank == 2 ? 2 : 1, dims);
    return PGY_OK;
}

typedef struct gram {
    size_t at, size; /* among the tokens of the pool */
} gram;

typedef struct vectorizer {
    const op_node *node;
    const int64_t *indexes;
    size_t count; /* number of n-grams in the pool */
    const float *weights;
    int64_t *pool, *x; /* tokens: integers, or numbers of texts */
    gram *grams;
    uint32_t *slots; /* hash table: n-gram + 1, or 0 */
    size_t mask;
    bool once; /* counts are limited to 1 */
} vectorizer;

static pgy_status pool_error(const vectorizer *v, pgy_error *err)
{
    return op_error(v->node, err, PGY_E_ARGUMENT,
                    "attributes pool, ngram_counts and ngram_indexes do not fit each other");
}

/* ---- Tokens --------------------------------------------------------------------------------- */

/* The number of a text is the last place where the pool has it; -1: it has none. */
static pgy_status number_texts(vectorizer *v, const op_eval *c, const op_attr *pool, pgy_error *err)
{
    const pgy_string *x = in_data(c, 0);
    label_texts texts;
    const bool fine = label_texts_read(&texts, pool, SIZE_MAX);
    for (size_t i = 0; fine && i < pool->count; i++)
        v->pool[i] =
            (int64_t)label_texts_find(&texts, pool->strings[i].data, pool->strings[i].size) - 1;
    for (size_t i = 0; fine && i < in_count(c, 0); i++)
        v->x[i] = (int64_t)label_texts_find(&texts, x[i].data, x[i].size) - 1;
    label_texts_deinit(&texts);
    return fine ? PGY_OK : rule_no_memory(v->node, err);
}

static pgy_status read_tokens(vectorizer *v, const op_eval *c, const op_attr *pool, pgy_error *err)
{
    pgy_status st = workspace_alloc((void **)&v->pool, c, pool->count, sizeof *v->pool, err);
    if (!st) st = workspace_alloc((void **)&v->x, c, in_count(c, 0), sizeof *v->x, err);
    if (st) return st;
    if (pgy_tensor_dtype(c->inputs[0].value) == PGY_STRING) return number_texts(v, c, pool, err);
    for (size_t i = 0; i < pool->count; i++) v->pool[i] = pool->ints[i];
    for (size_t i = 0; i < in_count(c, 0); i++) v->x[i] = in_i64(c, 0)[i];
    return PGY_OK;
}

/* ---- The pool ------------------------------------------------------------------------------- */

/* The place of an n-gram of tokens `step` apart, or the free one where it would be. */
static size_t find_slot(const vectorizer *v, const int64_t *tokens, size_t size, size_t step)
{
    uint64_t hash = size;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ (uint64_t)tokens[i * step]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    size_t at = (size_t)hash & v->mask;
    for (; v->slots[at]; at = (at + 1) & v->mask) {
        const gram *g = &v->grams[v->slots[at] - 1];
        size_t i = 0;
        while (g->size == size && i < size && v->pool[g->at + i] == tokens[i * step]) i++;
        if (g->size == size && i == size) break;
    }
    return at;
}

/* The n-grams of one length are consecutive; `next` is the entry of the first one. The last of
 * equal n-grams counts. */
static pgy_status add_grams(vectorizer *v, size_t from, size_t to, size_t n, size_t *next,
                            pgy_error *err)
{
    for (size_t at = from; at + n <= to; at += n, (*next)++) {
        if (*next >= v->count) return pool_error(v, err);
        v->grams[*next] = (gram){at, n};
        v->slots[find_slot(v, v->pool + at, n, 1)] = (uint32_t)*next + 1;
    }
    return (to - from) % n ? pool_error(v, err) : PGY_OK;
}

static pgy_status read_pool(vectorizer *v, const op_eval *c, pgy_error *err)
{
    const pgy_dtype held = pgy_tensor_dtype(c->inputs[0].value);
    const op_attr *pool =
        op_attr_find(v->node, held == PGY_STRING ? "pool_strings" : "pool_int64s");
    size_t lengths, next = 0, slots = 4;
    const int64_t *starts = op_attr_ints(v->node, "ngram_counts", &lengths);
    if (!pool || (held != PGY_STRING && held != PGY_I64))
        return op_error(v->node, err, PGY_E_TYPE,
                        "the pool does not hold elements of the input's type, %s",
                        pgy_dtype_name(held));
    if (v->count >= UINT32_MAX) return pool_error(v, err);
    while (slots < 2 * v->count) slots *= 2;
    v->mask = slots - 1;
    pgy_status st = workspace_alloc((void **)&v->grams, c, v->count, sizeof *v->grams, err);
    if (!st) st = workspace_alloc((void **)&v->slots, c, slots, sizeof *v->slots, err);
    if (!st) st = read_tokens(v, c, pool, err);
    for (size_t n = 0; !st && n < lengths; n++) {
        const int64_t from = starts[n], to = n + 1 < lengths ? starts[n + 1] : (int64_t)pool->count;
        if (from < 0 || to < from || (uint64_t)to > pool->count) return pool_error(v, err);
        st = add_grams(v, (size_t)from, (size_t)to, n + 1, &next, err);
    }
    return st;
}

static pgy_status prepare(vectorizer *v, const op_eval *c, pgy_error *err)
{
    size_t weight_count;
    v->node = c->node;
    v->indexes = op_attr_ints(c->node, "ngram_indexes", &v->count);
    const bool tf = op_attr_is(c->node, "mode", "TF", NULL);
    v->once = op_attr_is(c->node, "mode", "IDF", NULL);
    if (!tf && !v->once && !op_attr_is(c->node, "mode", "TFIDF", NULL))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute mode must be 'TF', 'IDF' or 'TFIDF'");
    v->weights = op_attr_floats(c->node, "weights", &weight_count);
    if (v->weights && weight_count != v->count)
        return op_error(c->node, err, PGY_E_ARGUMENT, "there are %zu weights for %zu n-grams",
                        weight_count, v->count);
    if (tf) v->weights = NULL;
    return read_pool(v, c, err);
}

static void count_row(double *counts, const vectorizer *v, size_t begin, size_t length)
{
    const int64_t least = op_attr_int(v->node, "min_gram_length", 1);
    const int64_t most = op_attr_int(v->node, "max_gram_length", 1);
    const int64_t skips = op_attr_int(v->node, "max_skip_count", 0);
    for (int64_t n = least < 1 ? 1 : least; n <= most && (uint64_t)n <= length; n++)
        for (int64_t skip = 0; skip <= (n > 1 ? skips : 0) && (uint64_t)skip < length; skip++) {
            const size_t step = (size_t)skip + 1, reach = (size_t)(n - 1) * step;
            for (size_t at = 0; at + reach < length; at++) {
                const size_t slot = find_slot(v, v->x + begin + at, (size_t)n, step);
                if (v->slots[slot]) counts[v->slots[slot] - 1]++;
            }
        }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    vectorizer v = {0};
    double *counts = NULL;
    pgy_status st = inputs_check(c, "!", err);
    if (!st) st = prepare(&v, c, err);
    if (!st) st = workspace_alloc((void **)&counts, c, v.count, sizeof *counts, err);
    if (st) goto done;
    const size_t rows = in_rank(c, 0) == 2 ? (size_t)in_shape(c, 0)[0] : 1;
    const size_t length = rows ? in_count(c, 0) / rows : 0;
    const size_t width = rows ? out_count(c, 0) / rows : 0;
    for (size_t row = 0; row < rows; row++) {
        memset(counts, 0, v.count * sizeof *counts);
        count_row(counts, &v, row * length, length);
        for (size_t i = 0; i < v.count; i++) {
            const double count = v.once && counts[i] > 1 ? 1 : counts[i];
            out_f64(c, 0)[row * width + (size_t)v.indexes[i]] +=
                count * (v.weights ? (double)v.weights[i] : 1);
        }
    }
done:
    mem_free(counts);
    mem_free(v.pool);
    mem_free(v.x);
    mem_free(v.grams);
    mem_free(v.slots);
    return st;
}

const op_def OP_tf_idf_vectorizer[] = {
    {"TfIdfVectorizer", "", 9, 0, 1, 1, 1, 1, 0, ATTRS, "string int32 int64", infer, eval, NULL},
    {NULL},
};
