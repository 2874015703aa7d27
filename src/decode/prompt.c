/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the token ids that a run begins with, and checks them against the vocabulary. */
#include <string.h>

#include "base/rand.h"
#include "decode/decode.h"

enum { RANDOM_LENGTH = 8 };

int64_t decode_plan_vocabulary(const decode_plan *p)
{
    const pgy_tensor_info *t = p->logits;
    const int64_t size = t->rank > 0 ? t->shape[t->rank - 1] : 0;
    return size > 0 ? size : 0;
}

const int64_t *prompt_row(const decode_prompt *p, size_t row)
{
    return (const int64_t *)pgy_tensor_data(p->ids) + row * p->count;
}

void prompt_deinit(decode_prompt *p)
{
    pgy_tensor_release(p->ids);
    *p = (decode_prompt){0};
}

/* ---- Sources --------------------------------------------------------------------------------- */

/* As int64 [batch, count]. */
static pgy_status take_ids(pgy_tensor **out, pgy_view given, const char *what, pgy_error *err)
{
    if (!pgy_dtype_is_integer(given.dtype) || given.rank < 1 || given.rank > 2)
        return pgy_error_set(err, PGY_E_TYPE,
                             "%s: expected integers of rank 1 or 2, but they are %s of rank %d",
                             what, pgy_dtype_name(given.dtype), (int)given.rank);
    return ids_cast(out, given, what, err);
}

/* A size of the shape of the tokens that the user or the model gives; else `size`. */
static int64_t size_of(const decode_plan *p, const pgy_decode_options *o, bool batch, int64_t size)
{
    const pgy_tensor_info *given = options_shape(o, p->tokens->name);
    const pgy_tensor_info *sources[] = {given, p->tokens};
    for (size_t i = 0; i < 2; i++) {
        const pgy_tensor_info *t = sources[i];
        if (!t || t->rank < 1 || t->rank > 2 || (batch && t->rank == 1)) continue;
        const int64_t found = t->shape[batch ? 0 : t->rank - 1];
        if (found > 0) return found;
    }
    return size;
}

static pgy_status make_random(pgy_tensor **out, const decode_plan *p, const pgy_decode_options *o,
                              pgy_error *err)
{
    const int64_t vocabulary = decode_plan_vocabulary(p);
    const int64_t length =
        o->prompt_length ? (int64_t)o->prompt_length : size_of(p, o, false, RANDOM_LENGTH);
    const int64_t shape[2] = {size_of(p, o, true, 1), length};
    mt19937 g;
    pgy_tensor *t = NULL;
    const pgy_status st = pgy_tensor_create(&t, PGY_I64, 2, shape, err);
    if (st) return st;
    mt19937_seed(&g, o->random ? o->random->seed : 1);
    int64_t *ids = pgy_tensor_data(t);
    for (size_t i = 0; i < pgy_tensor_count(t); i++)
        ids[i] = (int64_t)(mt19937_double(&g) * (double)(vocabulary ? vocabulary : 2));
    *out = t;
    return PGY_OK;
}

/* ---- Checks ---------------------------------------------------------------------------------- */

static pgy_status check_ids(const decode_prompt *p, const decode_plan *plan, pgy_error *err)
{
    const int64_t vocabulary = decode_plan_vocabulary(plan);
    for (size_t row = 0; row < p->batch; row++)
        for (size_t i = 0; i < p->count; i++) {
            const int64_t id = prompt_row(p, row)[i];
            if (id < 0)
                return pgy_error_set(err, PGY_E_ARGUMENT,
                                     "prompt: id %zu of row %zu is %lld, but token ids are not "
                                     "negative",
                                     i, row, (long long)id);
            if (vocabulary && id >= vocabulary)
                return pgy_error_set(
                    err, PGY_E_ARGUMENT,
                    "prompt: id %zu of row %zu is %lld, but the vocabulary has %lld "
                    "ids (last dimension of '%s')",
                    i, row, (long long)id, (long long)vocabulary, plan->logits->name);
        }
    return PGY_OK;
}

static pgy_status check_size(const decode_prompt *p, const decode_plan *plan,
                             const pgy_decode_options *o, pgy_error *err)
{
    const pgy_tensor_info *t = plan->tokens;
    if (!p->batch || !p->count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "prompt: it is empty; give at least one token id");
    if (o->prompt_length > p->count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "decode.prompt_length is %zu, but there are only %zu ids",
                             o->prompt_length, p->count);
    if (t->rank == 2 && t->shape[0] >= 0 && t->shape[0] != (int64_t)p->batch)
        return pgy_error_set(err, PGY_E_SHAPE,
                             "prompt: it has %zu rows, but input '%s' has a fixed batch of %lld",
                             p->batch, t->name, (long long)t->shape[0]);
    return PGY_OK;
}

/* A model that reads one token at a time gets the prompt so; the rest of it is forced. */
static pgy_status set_length(decode_prompt *p, const decode_plan *plan, const pgy_decode_options *o,
                             pgy_error *err)
{
    const int64_t fixed = plan->tokens->shape[plan->tokens->rank - 1];
    p->length = o->prompt_length ? o->prompt_length : p->count;
    if (fixed == 1) p->length = 1;
    if (fixed > 1)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "input '%s' has a fixed length of %lld tokens, so it cannot read one "
                             "token after the prompt; export the model with a dynamic length",
                             plan->tokens->name, (long long)fixed);
    return PGY_OK;
}

pgy_status prompt_create(decode_prompt *out, const decode_plan *plan, const pgy_decode_options *o,
                         const pgy_tensor_map *data, pgy_error *err)
{
    decode_prompt p = {0};
    pgy_tensor *given = data ? pgy_tensor_map_find(data, plan->tokens->name) : NULL;
    pgy_tensor *loaded = NULL;
    pgy_status st = PGY_OK;
    if (o->ids) {
        st = take_ids(&p.ids, pgy_tensor_view(o->ids), "decode.ids", err);
    } else if (given) {
        st = pgy_tensor_load(&loaded, given, err);
        if (!st) st = take_ids(&p.ids, pgy_tensor_view(loaded), plan->tokens->name, err);
    } else {
        st = make_random(&p.ids, plan, o, err);
    }
    pgy_tensor_release(loaded);
    if (!st) {
        p.batch = (size_t)pgy_tensor_shape(p.ids)[0];
        p.count = (size_t)pgy_tensor_shape(p.ids)[1];
        st = check_size(&p, plan, o, err);
    }
    if (!st) st = set_length(&p, plan, o, err);
    if (!st) st = check_ids(&p, plan, err);
    if (st)
        prompt_deinit(&p);
    else
        *out = p;
    return st;
}
