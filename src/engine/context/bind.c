/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs by name: their declared, set and inferred shapes, and their addresses. */
#include <string.h>

#include "base/alloc.h"
#include "base/sized.h"
#include "engine/context/state.h"

pgy_status context_bind_names(context *c, pgy_error *err)
{
    const pgy_metadata *in = engine_inputs(c->engine), *out = engine_outputs(c->engine);
    c->input_count = pgy_metadata_count(in);
    c->output_count = pgy_metadata_count(out);
    c->bounds = mem_calloc(c->input_count + c->output_count + 1, sizeof *c->bounds);
    if (!c->bounds) return context_no_memory(err);
    for (size_t i = 0; i < c->input_count + c->output_count; i++) {
        bound *b = &c->bounds[i];
        b->declared =
            i < c->input_count ? pgy_metadata_at(in, i) : pgy_metadata_at(out, i - c->input_count);
        b->info = (pgy_tensor_info){.name = b->declared->name,
                                    .dtype = b->declared->dtype,
                                    .rank = b->declared->rank,
                                    .shape = b->shape,
                                    .form = b->declared->form};
        for (int32_t d = 0; d < b->info.rank; d++) b->shape[d] = b->declared->shape[d];
    }
    return PGY_OK;
}

bound *bound_find(const context *c, const char *name, bool output)
{
    const size_t from = output ? c->input_count : 0;
    const size_t to = output ? c->input_count + c->output_count : c->input_count;
    for (size_t i = from; name && i < to; i++)
        if (strcmp(c->bounds[i].info.name, name) == 0) return &c->bounds[i];
    return NULL;
}

pgy_status bound_need(bound **out, const context *c, const char *name, bool output, pgy_error *err)
{
    str names = {0};
    *out = bound_find(c, name, output);
    if (*out) return PGY_OK;
    const size_t from = output ? c->input_count : 0;
    const size_t count = output ? c->output_count : c->input_count;
    for (size_t i = 0; i < count; i++)
        str_printf(&names, "%s'%s'", i ? ", " : "", c->bounds[from + i].info.name);
    pgy_error_set(err, PGY_E_NOT_FOUND, "'%s' is not an %s of the engine; it has: %s",
                  name ? name : "", output ? "output" : "input", str_text(&names));
    str_deinit(&names);
    return PGY_E_NOT_FOUND;
}

bool bound_is_known(const pgy_tensor_info *info)
{
    for (int32_t d = 0; d < info->rank; d++)
        if (info->shape[d] < 0) return false;
    return info->rank >= 0;
}

pgy_status bound_size(size_t *out, const pgy_tensor_info *info, pgy_error *err)
{
    size_t count = 0;
    pgy_status st = pgy_shape_count(&count, (size_t)info->rank, info->shape, err);
    if (!st) st = pgy_dtype_size_bytes(out, info->dtype, count, err);
    return st ? pgy_error_prefix(err, st, "'%s': ", info->name) : PGY_OK;
}

static bool is_aligned(const void *data, pgy_dtype dtype)
{
    const size_t bytes = pgy_dtype_describe(dtype)->bits / 8;
    return bytes <= 1 || (uintptr_t)data % (bytes > 8 ? 8 : bytes) == 0;
}

pgy_status bound_check(const bound *b, const char *what, size_t wanted, pgy_error *err)
{
    if (!b->data && wanted)
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s '%s' has no address: set it before the run",
                             what, b->info.name);
    if (b->size_bytes < wanted)
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s '%s' needs %zu bytes, but its buffer has %zu",
                             what, b->info.name, wanted, b->size_bytes);
    if (!is_aligned(b->data, b->info.dtype))
        return pgy_error_set(err, PGY_E_ARGUMENT, "the address of %s '%s' is not aligned for %s",
                             what, b->info.name, pgy_dtype_name(b->info.dtype));
    return PGY_OK;
}

void bound_keep(bound *b, pgy_dtype dtype, int32_t rank, const int64_t *shape)
{
    b->info.dtype = dtype;
    b->info.rank = rank;
    for (int32_t d = 0; d < rank; d++) b->shape[d] = shape[d];
}

const pgy_tensor_info *pgy_context_tensor(const pgy_context *c, const char *name)
{
    const bound *b = bound_find(c, name, false);
    if (!b) b = bound_find(c, name, true);
    return b ? &b->info : NULL;
}

pgy_status pgy_context_output_bytes(size_t *out, const pgy_context *c, const char *name,
                                    pgy_error *err)
{
    bound *b = NULL;
    const pgy_status st = bound_need(&b, c, name, true, err);
    if (st) return st;
    if (!bound_is_known(&b->info) || !b->info.dtype)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "the size of output '%s' is unknown: an input has no shape yet, or "
                             "the size is data-dependent",
                             name);
    return bound_size(out, &b->info, err);
}

/* ---- Addresses ------------------------------------------------------------------------------ */

static pgy_status set_address(context *c, const char *name, bool output, void *data,
                              size_t size_bytes, pgy_error *err)
{
    bound *b = NULL;
    const pgy_status st = bound_need(&b, c, name, output, err);
    if (st) return context_tell(c, st, err);
    b->data = data;
    b->size_bytes = size_bytes;
    b->has_allocator = false;
    b->cache = 0;
    return PGY_OK;
}

pgy_status pgy_context_set_input(pgy_context *c, const char *name, const void *data,
                                 size_t size_bytes, pgy_error *err)
{
    pgy_error own;
    return set_address(c, name, false, (void *)data, size_bytes, err ? err : &own);
}

pgy_status pgy_context_set_output(pgy_context *c, const char *name, void *data, size_t size_bytes,
                                  pgy_error *err)
{
    pgy_error own;
    return set_address(c, name, true, data, size_bytes, err ? err : &own);
}

pgy_status pgy_context_set_output_allocator(pgy_context *c, const char *name,
                                            const pgy_output_allocator *allocator, pgy_error *err)
{
    bound *b = NULL;
    pgy_output_allocator taken = {.size = sizeof taken};
    pgy_status st = bound_need(&b, c, name, true, err);
    if (!st) st = SIZED_TAKE(pgy_output_allocator, &taken, allocator, err);
    if (!st && allocator && !taken.allocate)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "the allocator of output '%s' has no allocate",
                           name);
    if (st) return st;
    b->has_allocator = allocator != NULL;
    b->cache = 0;
    b->allocator = taken;
    b->data = NULL;
    b->size_bytes = 0;
    return PGY_OK;
}
