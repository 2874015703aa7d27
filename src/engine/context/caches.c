/* SPDX-License-Identifier: Apache-2.0 */
/* Caches in buffers of the caller: which of them the program for a run's shapes can keep there
 * (program/caches.c), and copies of the others. */
#include <string.h>

#include "base/alloc.h"
#include "engine/context/state.h"
#include "tensor/tensor.h"

static size_t find_name(const pgy_metadata *m, const char *name)
{
    size_t i = 0;
    while (i < pgy_metadata_count(m) && strcmp(pgy_metadata_at(m, i)->name, name)) i++;
    return i;
}

static pgy_status need_names(program_cache *out, const context *c, const pgy_kept_cache *given,
                             pgy_error *err)
{
    *out = (program_cache){.input = find_name(engine_inputs(c->engine), given->input),
                           .output = find_name(engine_outputs(c->engine), given->output),
                           .shape = pgy_tensor_shape(given->buffer),
                           .room = {(uint64_t)pgy_tensor_shape(given->buffer)[2],
                                    pgy_tensor_size_bytes(given->buffer)}};
    const bool known = out->input < c->input_count && out->output < c->output_count;
    return known ? PGY_OK
                 : pgy_error_set(err, PGY_E_NOT_FOUND,
                                 "cache '%s' and '%s': the engine has no such input or output",
                                 given->input, given->output);
}

/* The context of the program holds the buffers of its last run. */
static pgy_status keep(prepared *p, program_cache *caches, size_t count, pgy_error *err)
{
    if (!p || !p->program || (!count && !p->keeps)) return PGY_OK;
    p->keeps = count > 0;
    return program_context_keep(p->run, caches, count, err);
}

pgy_status context_find_caches(prepared *p, const context *c, pgy_kept_cache *caches, size_t count,
                               pgy_error *err)
{
    pgy_status st = PGY_OK;
    program_cache *found = mem_calloc(count + 1, sizeof *found);
    if (!found) return context_no_memory(err);
    for (size_t i = 0; !st && i < count; i++) st = need_names(&found[i], c, &caches[i], err);
    if (!st) st = keep(p, found, count, err);
    for (size_t i = 0; !st && i < count; i++)
        caches[i].length = found[i].kept ? found[i].length : -1;
    mem_free(found);
    return st;
}

pgy_status context_copy_caches(pgy_tensor_map **out, const pgy_tensor_map *feed,
                               const pgy_kept_cache *caches, size_t count, pgy_error *err)
{
    pgy_tensor_map *m = NULL;
    pgy_status st = pgy_tensor_map_copy(&m, feed, err);
    for (size_t i = 0; !st && i < count; i++) {
        const pgy_tensor *like = pgy_tensor_map_find(feed, caches[i].input);
        pgy_tensor *past = NULL;
        int64_t strides[4];
        if (caches[i].length >= 0) continue;
        st = pgy_tensor_copy(
            &past, tensor_first_rows(caches[i].buffer, pgy_tensor_shape(like), strides), err);
        if (!st) st = pgy_tensor_map_adopt(m, caches[i].input, past, err);
    }
    if (st)
        pgy_tensor_map_destroy(m);
    else
        *out = m;
    return st;
}

void context_bind_caches(const void **inputs, void **outputs, const context *c,
                         const pgy_kept_cache *caches, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (caches[i].length < 0) continue;
        void *buffer = pgy_tensor_data(caches[i].buffer);
        inputs[find_name(engine_inputs(c->engine), caches[i].input)] = buffer;
        outputs[find_name(engine_outputs(c->engine), caches[i].output)] = buffer;
    }
}

/* ---- Set by name ---------------------------------------------------------------------------- */

pgy_status pgy_context_set_cache(pgy_context *c, const char *past, const char *present, void *data,
                                 size_t size_bytes, int64_t rows, pgy_error *err)
{
    bound *x = NULL, *y = NULL;
    pgy_error own;
    if (!err) err = &own;
    pgy_status st = bound_need(&x, c, past, false, err);
    if (!st) st = bound_need(&y, c, present, true, err);
    if (!st && data && rows < 1)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "the buffer of cache '%s' has %lld rows; expected 1 or more", past,
                           (long long)rows);
    if (!st) st = pgy_context_set_input(c, past, data, size_bytes, err);
    if (!st) st = pgy_context_set_output(c, present, data, size_bytes, err);
    if (st) return context_tell(c, st, err);
    y->cache = data ? (size_t)(x - c->bounds) + 1 : 0;
    y->cache_rows = rows;
    return PGY_OK;
}

/* The buffer of an output that is a cache; its shape is that of the past, with other rows. */
static pgy_status describe_bound(program_cache *out, int64_t *shape, const context *c,
                                 const bound *y, pgy_error *err)
{
    const bound *x = &c->bounds[y->cache - 1];
    size_t wanted = 0;
    if (x->info.rank != 4 || x->data != y->data)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "input '%s' is no cache [batch, heads, rows, size] in the buffer of "
                             "output '%s'",
                             x->info.name, y->info.name);
    memcpy(shape, x->shape, 4 * sizeof *shape);
    shape[2] = y->cache_rows;
    const pgy_tensor_info buffer = {
        .name = y->info.name, .dtype = x->info.dtype, .rank = 4, .shape = shape};
    pgy_status st = bound_size(&wanted, &buffer, err);
    if (!st) st = bound_check(y, "output", wanted, err);
    *out = (program_cache){.input = y->cache - 1,
                           .output = (size_t)(y - c->bounds) - c->input_count,
                           .shape = shape,
                           .room = {(uint64_t)shape[2], y->size_bytes}};
    return st;
}

pgy_status context_keep_bound(context *c, prepared *p, pgy_error *err)
{
    size_t count = 0;
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < c->output_count; i++) count += c->bounds[c->input_count + i].cache != 0;
    if (!count) return keep(p, NULL, 0, err);
    program_cache *found = mem_calloc(count, sizeof *found);
    int64_t(*shapes)[4] = mem_calloc(count, sizeof *shapes);
    st = found && shapes ? PGY_OK : context_no_memory(err);
    for (size_t i = 0, n = 0; !st && i < c->output_count; i++) {
        const bound *y = &c->bounds[c->input_count + i];
        if (!y->cache) continue;
        st = describe_bound(&found[n], shapes[n], c, y, err);
        n++;
    }
    if (!st) st = keep(p, found, count, err);
    for (size_t i = 0; !st && i < count; i++)
        if (!found[i].kept)
            st = pgy_error_set(err, PGY_E_UNSUPPORTED,
                               "cache '%s' cannot stay in place at these shapes: no kernel adds "
                               "rows to it; set an input and an output of their own",
                               c->bounds[found[i].input].info.name);
    mem_free(found);
    mem_free(shapes);
    return st;
}
