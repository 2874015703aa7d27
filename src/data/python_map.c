/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of arrays between a script's process and us. Elements go straight from the memory of one
 * process through the socket into the memory of the other. Types that NumPy lacks are widened for
 * the script; bfloat16 may come back as bytes. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/str.h"
#include "data/python.h"

static const char LOG_PATH[] = "data/python_map.c";

enum { MAX_ENTRIES = 1 << 20 };

static void add_u32(str *s, uint32_t v)
{
    char b[4] = {(char)v, (char)(v >> 8), (char)(v >> 16), (char)(v >> 24)};
    str_append_n(s, b, sizeof b);
}

static void add_u64(str *s, uint64_t v)
{
    add_u32(s, (uint32_t)v);
    add_u32(s, (uint32_t)(v >> 32));
}

static void add_text(str *s, const char *text, size_t size)
{
    add_u32(s, (uint32_t)size);
    str_append_n(s, text, size);
}

static pgy_status put_and_clear(python_script *s, str *text, pgy_error *err)
{
    pgy_status st = text->failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory")
                                 : python_put(s, str_text(text), text->size, err);
    str_clear(text);
    return st;
}

/* ---- To the script ---- */

/* Gives the tensor itself, loaded into memory if it was swapped out, or a copy widened to a type
 * that NumPy has. */
static pgy_status make_sendable(pgy_tensor **out, pgy_tensor *t, const char *name, pgy_error *err)
{
    pgy_tensor *loaded = NULL;
    const pgy_dtype_info *info = pgy_dtype_describe(pgy_tensor_dtype(t));
    pgy_status st = pgy_tensor_load(&loaded, t, err);
    if (st || info->npy || info->dtype == PGY_STRING) {
        if (!st) *out = loaded;
        return st;
    }
    pgy_dtype wide = info->kind == PGY_KIND_SIGNED     ? PGY_I8
                     : info->kind == PGY_KIND_UNSIGNED ? PGY_U8
                                                       : PGY_F32;
    LOG_ONCE(VERBOSE, "'%s': NumPy has no type %s, so the script gets %s", name, info->name,
             pgy_dtype_name(wide));
    st = pgy_tensor_cast(out, pgy_tensor_view(loaded), wide, err);
    pgy_tensor_release(loaded);
    return st;
}

static pgy_status put_tensor(python_script *s, const char *name, pgy_tensor *tensor, pgy_error *err)
{
    pgy_tensor *t = NULL;
    str head = {0};
    pgy_status st = make_sendable(&t, tensor, name, err);
    if (st) return st;
    const char *type = pgy_dtype_name(pgy_tensor_dtype(t));
    add_text(&head, name, strlen(name));
    add_text(&head, type, strlen(type));
    add_u32(&head, (uint32_t)pgy_tensor_rank(t));
    for (size_t i = 0; i < pgy_tensor_rank(t); i++)
        add_u64(&head, (uint64_t)pgy_tensor_shape(t)[i]);
    if (pgy_tensor_dtype(t) == PGY_STRING) {
        const pgy_string *strings = pgy_tensor_data(t);
        for (size_t i = 0; i < pgy_tensor_count(t); i++)
            add_text(&head, strings[i].data, strings[i].size);
        st = put_and_clear(s, &head, err);
    } else {
        st = put_and_clear(s, &head, err);
        if (!st) st = python_put(s, pgy_tensor_data(t), pgy_tensor_size_bytes(t), err);
    }
    str_deinit(&head);
    pgy_tensor_release(t);
    return st;
}

pgy_status python_put_results(python_script *s, const char *runner_name, double runtime_s,
                              const pgy_tensor_map *outputs, pgy_error *err)
{
    str head = {0};
    uint64_t bits;
    size_t count = pgy_tensor_map_count(outputs);
    memcpy(&bits, &runtime_s, sizeof bits);
    add_text(&head, runner_name, strlen(runner_name));
    add_u64(&head, bits);
    add_u32(&head, (uint32_t)count);
    pgy_status st = put_and_clear(s, &head, err);
    for (size_t i = 0; !st && i < count; i++)
        st = put_tensor(s, pgy_tensor_map_name(outputs, i), pgy_tensor_map_at(outputs, i), err);
    if (st) python_script_abandon(s);
    str_deinit(&head);
    return st;
}

pgy_status python_put_inputs(python_script *s, const pgy_metadata *inputs, pgy_error *err)
{
    str text = {0};
    size_t count = pgy_metadata_count(inputs);
    add_u32(&text, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        const pgy_tensor_info *info = pgy_metadata_at(inputs, i);
        const char *type = pgy_dtype_name(info->dtype);
        add_text(&text, info->name, strlen(info->name));
        add_text(&text, type, strlen(type));
        add_u32(&text, (uint32_t)info->rank);
        for (int32_t k = 0; k < info->rank; k++) add_u64(&text, (uint64_t)info->shape[k]);
    }
    pgy_status st = put_and_clear(s, &text, err);
    str_deinit(&text);
    return st;
}

/* ---- From the script ---- */

static pgy_status take_strings(pgy_tensor *t, python_script *s, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tensor_count(t); i++) {
        char *text = NULL;
        size_t size;
        st = python_take_text(&text, &size, s, err);
        if (!st) st = pgy_tensor_set_string(t, i, text, size, err);
        mem_free(text);
    }
    return st;
}

static pgy_status take_shape(size_t *rank, int64_t *shape, python_script *s, pgy_error *err)
{
    uint32_t count;
    pgy_status st = python_take_u32(&count, s, err);
    if (st) return st;
    if (count > PGY_MAX_RANK)
        return pgy_error_set(err, PGY_E_SHAPE,
                             "the script's array has rank %u, more than the supported rank", count);
    for (uint32_t i = 0; !st && i < count; i++) {
        uint32_t low, high;
        st = python_take_u32(&low, s, err);
        if (!st) st = python_take_u32(&high, s, err);
        if (!st) shape[i] = (int64_t)((uint64_t)high << 32 | low);
    }
    *rank = count;
    return st;
}

static pgy_status take_tensor(pgy_tensor **out, python_script *s, pgy_error *err)
{
    char *type = NULL;
    size_t rank = 0;
    int64_t shape[PGY_MAX_RANK];
    pgy_tensor *t = NULL;
    pgy_status st = python_take_text(&type, NULL, s, err);
    if (!st) st = take_shape(&rank, shape, s, err);
    if (st) goto done;
    pgy_dtype dtype = pgy_dtype_from_name(type);
    st = dtype ? pgy_tensor_create(&t, dtype, rank, shape, err)
               : pgy_error_set(err, PGY_E_TYPE,
                               "the script's array has type %s, which is not supported", type);
    if (st) goto done;
    st = dtype == PGY_STRING ? take_strings(t, s, err)
                             : python_take(s, pgy_tensor_data(t), pgy_tensor_size_bytes(t), err);
    if (st) goto done;
    *out = t;
    t = NULL;
done:
    pgy_tensor_release(t);
    mem_free(type);
    return st;
}

pgy_status python_take_map(pgy_tensor_map **out, python_script *s, pgy_error *err)
{
    uint32_t count;
    pgy_tensor_map *m = NULL;
    pgy_status st = python_take_u32(&count, s, err);
    if (!st && count > MAX_ENTRIES)
        st = pgy_error_set(err, PGY_E_FORMAT,
                           "the script's dictionary has %u entries, which is too many", count);
    if (!st) st = pgy_tensor_map_create(&m, err);
    for (uint32_t i = 0; !st && i < count; i++) {
        char *name = NULL;
        pgy_tensor *t = NULL;
        st = python_take_text(&name, NULL, s, err);
        if (!st) st = take_tensor(&t, s, err);
        if (!st) st = pgy_tensor_map_adopt(m, name, t, err);
        mem_free(name);
    }
    if (!st) {
        *out = m;
        m = NULL;
    }
    if (st) python_script_abandon(s);
    pgy_tensor_map_destroy(m);
    return st;
}
