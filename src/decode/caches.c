/* SPDX-License-Identifier: Apache-2.0 */
/* The caches of a runner: their first values, and the outputs that become the next. Each output is
 * checked before it is fed, so that a model whose caches do not grow as they should is told apart
 * from a runner that refuses a shape. */
#include <string.h>

#include "base/alloc.h"
#include "decode/decode.h"
#include "tensor/tensor.h"

static void put_shape(str *out, size_t rank, const int64_t *shape)
{
    str_append_char(out, '(');
    for (size_t d = 0; d < rank; d++)
        if (shape[d] < 0)
            str_printf(out, "%s?", d ? ", " : "");
        else
            str_printf(out, "%s%lld", d ? ", " : "", (long long)shape[d]);
    str_append(out, rank == 1 ? ",)" : ")");
}

static const pgy_tensor_info *info_of(const decode_plan *p, size_t cache)
{
    return p->inputs[p->caches[cache].input].info;
}

/* ---- First values -----------------------------------------------------------------------------
 */

static pgy_status unclear(const pgy_tensor_info *info, pgy_error *err)
{
    str shape = {0};
    if (info->rank >= 0)
        put_shape(&shape, (size_t)info->rank, info->shape);
    else
        str_append(&shape, "unknown");
    const pgy_status st =
        pgy_error_set(err, PGY_E_SHAPE,
                      "the first shape of cache '%s' is not clear: its shape is %s, and only the "
                      "batch and the number of tokens may be dynamic; give it with random.inputs",
                      info->name, str_text(&shape));
    str_deinit(&shape);
    return st;
}

static pgy_status make_zeros(cache_state *out, const decode_cache *c, const pgy_tensor_info *info,
                             const pgy_tensor_info *given, size_t batch, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    if (given && info->rank >= 0 && given->rank != info->rank)
        return pgy_error_set(err, PGY_E_SHAPE,
                             "cache '%s' has rank %d, but the shape given for it has rank %d",
                             info->name, (int)info->rank, (int)given->rank);
    if (!given && c->is_unclear) return unclear(info, err);
    const int32_t rank = given ? given->rank : info->rank;
    for (int32_t d = 0; d < rank; d++) {
        shape[d] = given ? given->shape[d] : info->shape[d];
        if (d == c->batch_axis && shape[d] < 0) shape[d] = (int64_t)batch;
        if (d == c->axis && shape[d] < 0) shape[d] = 0;
        if (shape[d] < 0) return unclear(info, err);
    }
    out->fixed = c->axis < 0 || shape[c->axis] > 0;
    return pgy_tensor_create(&out->value, info->dtype ? info->dtype : PGY_F32, (size_t)rank, shape,
                             err);
}

static pgy_status take_value(cache_state *out, const decode_cache *c, const pgy_tensor_info *info,
                             pgy_tensor *given, pgy_error *err)
{
    pgy_tensor *loaded = NULL;
    pgy_status st = pgy_tensor_load(&loaded, given, err);
    if (!st && info->rank >= 0 && (size_t)info->rank != pgy_tensor_rank(loaded))
        st = pgy_error_set(err, PGY_E_SHAPE, "cache '%s' has rank %d, but its data has rank %zu",
                           info->name, (int)info->rank, pgy_tensor_rank(loaded));
    if (!st && info->dtype && info->dtype != pgy_tensor_dtype(loaded))
        st = pgy_tensor_cast(&out->value, pgy_tensor_view(loaded), info->dtype, err);
    else if (!st)
        out->value = pgy_tensor_retain(loaded);
    out->fixed = c->axis < 0;
    pgy_tensor_release(loaded);
    return st;
}

/* All caches that grow must hold the same tokens. */
static pgy_status count_past(int64_t *past, const cache_state *caches, const decode_plan *p,
                             pgy_error *err)
{
    size_t first = p->cache_count;
    *past = 0;
    for (size_t i = 0; i < p->cache_count; i++) {
        const decode_cache *c = &p->caches[i];
        if (caches[i].fixed || c->once) continue;
        const int64_t length = pgy_tensor_shape(caches[i].value)[c->axis];
        if (first == p->cache_count) first = i, *past = length;
        if (length != *past)
            return pgy_error_set(err, PGY_E_SHAPE,
                                 "cache '%s' has %lld tokens, but '%s' has %lld; all caches must "
                                 "hold the same tokens",
                                 info_of(p, i)->name, (long long)length, info_of(p, first)->name,
                                 (long long)*past);
    }
    return PGY_OK;
}

void caches_destroy(cache_state *caches, const decode_plan *p)
{
    for (size_t i = 0; caches && i < p->cache_count; i++) {
        pgy_tensor_release(caches[i].value);
        pgy_tensor_release(caches[i].buffer);
    }
    mem_free(caches);
}

pgy_status caches_create(cache_state **out, int64_t *past, const decode_plan *p,
                         const pgy_decode_options *o, const pgy_tensor_map *data, size_t batch,
                         pgy_error *err)
{
    pgy_status st = PGY_OK;
    cache_state *caches = mem_calloc(p->cache_count + 1, sizeof *caches);
    if (!caches) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < p->cache_count; i++) {
        const pgy_tensor_info *info = info_of(p, i);
        pgy_tensor *given = data ? pgy_tensor_map_find(data, info->name) : NULL;
        st = given ? take_value(&caches[i], &p->caches[i], info, given, err)
                   : make_zeros(&caches[i], &p->caches[i], info, options_shape(o, info->name),
                                batch, err);
    }
    if (!st) st = count_past(past, caches, p, err);
    if (st)
        caches_destroy(caches, p);
    else
        *out = caches;
    return st;
}

/* ---- Later values -----------------------------------------------------------------------------
 */

static pgy_status wrong_shape(const decode_cache *c, const pgy_tensor *t, const int64_t *expected,
                              pgy_error *err)
{
    str found = {0}, wanted = {0};
    put_shape(&found, pgy_tensor_rank(t), pgy_tensor_shape(t));
    put_shape(&wanted, pgy_tensor_rank(t), expected);
    const pgy_status st = pgy_error_set(err, PGY_E_SHAPE,
                                        "output '%s' has shape %s, but as the next cache it must "
                                        "have %s",
                                        c->output, str_text(&found), str_text(&wanted));
    str_deinit(&found);
    str_deinit(&wanted);
    return st;
}

static pgy_status check_next(const decode_cache *c, const cache_state *now, const pgy_tensor *next,
                             int64_t total, pgy_error *err)
{
    int64_t expected[PGY_MAX_RANK];
    const size_t rank = pgy_tensor_rank(now->value);
    bool same = true;
    if (pgy_tensor_rank(next) != rank)
        return pgy_error_set(err, PGY_E_SHAPE,
                             "output '%s' has rank %zu, but the cache that it feeds has rank %zu",
                             c->output, pgy_tensor_rank(next), rank);
    for (size_t d = 0; d < rank; d++) {
        expected[d] = pgy_tensor_shape(now->value)[d];
        if ((int)d == c->axis && c->once)
            expected[d] = pgy_tensor_shape(next)[d];
        else if ((int)d == c->axis && !now->fixed)
            expected[d] = total;
        same = same && expected[d] == pgy_tensor_shape(next)[d];
    }
    return same ? PGY_OK : wrong_shape(c, next, expected, err);
}

/* ---- Buffers ----------------------------------------------------------------------------------
 */

static void release_buffer(void *data, void *user)
{
    (void)data;
    pgy_tensor_release(user);
}

/* A value over the buffer with the shape of its first rows. */
static pgy_status set_rows(cache_state *c, int64_t rows, pgy_error *err)
{
    const int64_t *shape = pgy_tensor_shape(c->buffer);
    const int64_t of[] = {shape[0], shape[1], rows, shape[3]};
    pgy_tensor *value = NULL;
    const pgy_status st =
        pgy_tensor_wrap(&value, pgy_tensor_data(c->buffer), pgy_tensor_dtype(c->buffer), 4, of,
                        release_buffer, pgy_tensor_retain(c->buffer), err);
    if (st) {
        pgy_tensor_release(c->buffer);
        return st;
    }
    pgy_tensor_release(c->value);
    c->value = value;
    return PGY_OK;
}

/* Moves the value into the buffer. */
static pgy_status fill_buffer(cache_state *c, pgy_error *err)
{
    int64_t strides[4];
    const pgy_view rows = tensor_first_rows(c->buffer, pgy_tensor_shape(c->value), strides);
    const pgy_status st = pgy_view_convert(rows, pgy_tensor_view(c->value), false, err);
    return st ? st : set_rows(c, pgy_tensor_shape(c->value)[2], err);
}

pgy_status caches_make_buffers(cache_state *caches, const decode_plan *p, int64_t total,
                               pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < p->cache_count; i++) {
        cache_state *c = &caches[i];
        const bool grows = !c->fixed && p->caches[i].axis == 2;
        int64_t shape[4];
        if (p->caches[i].once || pgy_tensor_rank(c->value) != 4 || !(c->fixed || grows) ||
            pgy_tensor_dtype(c->value) == PGY_STRING)
            continue;
        memcpy(shape, pgy_tensor_shape(c->value), sizeof shape);
        if (grows) shape[2] = total;
        st = pgy_tensor_create(&c->buffer, pgy_tensor_dtype(c->value), 4, shape, err);
        if (!st) st = fill_buffer(c, err);
    }
    return st;
}

size_t caches_list(pgy_kept_cache *out, const cache_state *caches, const decode_plan *p)
{
    size_t count = 0;
    for (size_t i = 0; i < p->cache_count; i++)
        if (caches[i].buffer)
            out[count++] = (pgy_kept_cache){.input = info_of(p, i)->name,
                                            .output = p->caches[i].output,
                                            .buffer = caches[i].buffer,
                                            .length = -1};
    return count;
}

void caches_note(cache_state *caches, const decode_plan *p, const pgy_kept_cache *kept)
{
    for (size_t i = 0; i < p->cache_count; i++)
        caches[i].length = caches[i].buffer ? (kept++)->length : -1;
}

size_t caches_count_kept(const cache_state *caches, const decode_plan *p)
{
    size_t count = 0;
    for (size_t i = 0; i < p->cache_count; i++) count += caches[i].buffer && caches[i].length >= 0;
    return count;
}

pgy_status caches_copy(pgy_tensor **out, const cache_state *cache, bool now, pgy_error *err)
{
    int64_t shape[4], strides[4];
    memcpy(shape, pgy_tensor_shape(cache->value), sizeof shape);
    if (!now) shape[2] = cache->length;
    return pgy_tensor_copy(out, tensor_first_rows(cache->buffer, shape, strides), err);
}

/* The step has written new rows into the buffer. */
static pgy_status advance_buffer(cache_state *now, const decode_cache *c, int64_t total,
                                 pgy_error *err)
{
    int64_t shape[4];
    pgy_tensor *next = NULL;
    memcpy(shape, pgy_tensor_shape(now->value), sizeof shape);
    shape[2] = now->length;
    pgy_status st = pgy_tensor_wrap(&next, pgy_tensor_data(now->buffer),
                                    pgy_tensor_dtype(now->buffer), 4, shape, NULL, NULL, err);
    if (!st) st = check_next(c, now, next, total, err);
    pgy_tensor_release(next);
    return st ? st : set_rows(now, now->length, err);
}

/* The step did not use the buffer. After the prefill, whose kernels are those of many rows, the
 * next step may do so. */
static pgy_status leave_buffer(cache_state *c, bool prefill, pgy_error *err)
{
    if (prefill) return fill_buffer(c, err);
    pgy_tensor_release(c->buffer);
    c->buffer = NULL;
    return PGY_OK;
}

/* ---- After a step ------------------------------------------------------------------------------
 */

pgy_status caches_advance(cache_state *caches, const decode_plan *p, const pgy_tensor_map *outputs,
                          int64_t total, bool prefill, pgy_error *err)
{
    for (size_t i = 0; i < p->cache_count; i++) {
        const decode_cache *c = &p->caches[i];
        if (c->once && !prefill) continue;
        if (caches[i].buffer && caches[i].length >= 0) {
            const pgy_status st = advance_buffer(&caches[i], c, total, err);
            if (st) return st;
            continue;
        }
        pgy_tensor *next = pgy_tensor_map_find(outputs, c->output);
        if (!next)
            return pgy_error_set(err, PGY_E_BACKEND,
                                 "the runner gave no output '%s', which feeds the cache '%s'",
                                 c->output, info_of(p, i)->name);
        const pgy_status st = check_next(c, &caches[i], next, total, err);
        if (st) return st;
        pgy_tensor_release(caches[i].value);
        caches[i].value = pgy_tensor_retain(next);
        const pgy_status kept = caches[i].buffer ? leave_buffer(&caches[i], prefill, err) : PGY_OK;
        if (kept) return kept;
    }
    return PGY_OK;
}

/* Buffers of keys and values have the shape [batch, heads, tokens, size], or stacked. States of
 * other kinds do not fill up; a model with positions of a buffer has a mask or lengths. */
static bool is_buffer(const decode_plan *p, size_t i)
{
    const pgy_tensor_info *info = info_of(p, i);
    bool counted = false;
    for (size_t k = 0; k < p->input_count; k++)
        counted = counted || p->inputs[k].role == ROLE_MASK ||
                  p->inputs[k].role == ROLE_TOTAL_LENGTH || p->inputs[k].role == ROLE_LAST_INDEX;
    return counted && !p->caches[i].once && !str_contains_nocase(info->name, "state") &&
           !str_contains_nocase(info->name, "conv");
}

pgy_status caches_check_room(const cache_state *caches, const decode_plan *p, int64_t total,
                             pgy_error *err)
{
    for (size_t i = 0; i < p->cache_count; i++) {
        const size_t rank = pgy_tensor_rank(caches[i].value);
        if (!caches[i].fixed || rank < 4 || rank > 5 || !is_buffer(p, i)) continue;
        const int axis = p->caches[i].axis >= 0 ? p->caches[i].axis : (int)rank - 2;
        const int64_t room = pgy_tensor_shape(caches[i].value)[axis];
        if (total > room)
            return pgy_error_set(
                err, PGY_E_ARGUMENT,
                "cache '%s' has room for %lld tokens, but the prompt and the steps "
                "need %lld; give fewer steps or a larger cache",
                info_of(p, i)->name, (long long)room, (long long)total);
    }
    return PGY_OK;
}
