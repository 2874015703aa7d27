/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata of named inputs and outputs: an ordered list of records. It copies everything it is
 * given into one arena, where a replaced record stays until the list is destroyed. */
#include <polygraphy/tensor.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/pytext.h"
#include "base/str.h"

struct pgy_metadata {
    strmap infos;
    arena memory;
};

pgy_status pgy_metadata_create(pgy_metadata **out, pgy_error *err)
{
    pgy_metadata *m = mem_calloc(1, sizeof *m);
    if (!m) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    m->infos.names = &m->memory;
    *out = m;
    return PGY_OK;
}

void pgy_metadata_destroy(pgy_metadata *m)
{
    if (!m) return;
    strmap_deinit(&m->infos);
    arena_deinit(&m->memory);
    mem_free(m);
}

size_t pgy_metadata_count(const pgy_metadata *m)
{
    return m->infos.count;
}

const pgy_tensor_info *pgy_metadata_at(const pgy_metadata *m, size_t i)
{
    return m->infos.entries[i].value;
}

const pgy_tensor_info *pgy_metadata_find(const pgy_metadata *m, const char *name)
{
    return strmap_get(&m->infos, name);
}

/* A copy of an optional array of dimensions; false: out of memory. */
static bool copy_dims(const int64_t **out, arena *a, const int64_t *dims, size_t rank)
{
    *out = NULL;
    if (!dims) return true;
    int64_t *copy = arena_alloc_array(a, rank ? rank : 1, sizeof *copy);
    if (!copy) return false;
    for (size_t i = 0; i < rank; i++) copy[i] = dims[i];
    *out = copy;
    return true;
}

static bool copy_names(const char *const **out, arena *a, const char *const *names, size_t rank)
{
    *out = NULL;
    if (!names) return true;
    const char **copy = arena_alloc_array(a, rank ? rank : 1, sizeof *copy);
    if (!copy) return false;
    for (size_t i = 0; i < rank; i++) {
        copy[i] = names[i] ? arena_strdup(a, names[i]) : NULL;
        if (names[i] && !copy[i]) return false;
    }
    *out = copy;
    return true;
}

pgy_status pgy_metadata_set(pgy_metadata *m, const pgy_tensor_info *info, pgy_error *err)
{
    arena *a = &m->memory;
    size_t rank = info->rank > 0 ? (size_t)info->rank : 0;
    if (!info->name) return pgy_error_set(err, PGY_E_ARGUMENT, "tensor metadata needs a name");
    if (rank > PGY_MAX_RANK || (rank && !info->shape))
        return pgy_error_set(err, PGY_E_SHAPE,
                             "'%s': rank %d is above the limit or comes without a shape",
                             info->name, (int)info->rank);
    pgy_tensor_info *copy = arena_alloc(a, sizeof *copy);
    bool good = copy != NULL;
    if (good) {
        *copy = (pgy_tensor_info){.dtype = info->dtype,
                                  .rank = info->rank < 0 ? -1 : info->rank,
                                  .form = info->form};
        good = copy_dims(&copy->shape, a, info->shape, rank) &&
               copy_dims(&copy->min_shape, a, info->min_shape, rank) &&
               copy_dims(&copy->max_shape, a, info->max_shape, rank) &&
               copy_names(&copy->dim_names, a, info->dim_names, rank) &&
               strmap_put(&m->infos, info->name, copy);
        if (good) copy->name = strmap_find(&m->infos, info->name)->key;
    }
    return good
               ? PGY_OK
               : pgy_error_set(err, PGY_E_MEMORY, "out of memory for metadata of '%s'", info->name);
}

pgy_status pgy_metadata_from_map(pgy_metadata **out, const pgy_tensor_map *map, pgy_error *err)
{
    pgy_metadata *m = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(map); i++) {
        const pgy_tensor *t = pgy_tensor_map_at(map, i);
        st = pgy_metadata_set(m,
                              &(pgy_tensor_info){.name = pgy_tensor_map_name(map, i),
                                                 .dtype = pgy_tensor_dtype(t),
                                                 .rank = (int32_t)pgy_tensor_rank(t),
                                                 .shape = pgy_tensor_shape(t)},
                              err);
    }
    if (!st) {
        *out = m;
        m = NULL;
    }
    pgy_metadata_destroy(m);
    return st;
}

static void append_shape(str *s, const pgy_tensor_info *info)
{
    str_append_char(s, '(');
    for (int32_t i = 0; i < info->rank; i++) {
        const char *name = info->dim_names && info->shape[i] < 0 ? info->dim_names[i] : NULL;
        if (i) str_append(s, ", ");
        if (name)
            str_append_py_repr(s, name);
        else
            str_printf(s, "%lld", (long long)info->shape[i]);
    }
    str_append(s, info->rank == 1 ? ",)" : ")");
}

static void append_info(str *s, const pgy_tensor_info *info)
{
    bool has_dtype = info->dtype != PGY_DTYPE_NONE, has_shape = info->rank >= 0;
    str_append(s, info->name);
    if (!has_dtype && !has_shape) return;
    str_append(s, " [");
    if (has_dtype) str_printf(s, "dtype=%s", pgy_dtype_name(info->dtype));
    if (has_dtype && has_shape) str_append(s, ", ");
    if (has_shape) str_append(s, "shape=");
    if (has_shape) append_shape(s, info);
    str_append_char(s, ']');
}

pgy_status pgy_metadata_text(char **out, const pgy_metadata *m, pgy_error *err)
{
    str s = {0};
    str_append_char(&s, '{');
    for (size_t i = 0; i < m->infos.count; i++) {
        if (i) str_append(&s, ",\n ");
        append_info(&s, m->infos.entries[i].value);
    }
    str_append_char(&s, '}');
    char *text = str_take(&s);
    str_deinit(&s);
    if (!text) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *out = text;
    return PGY_OK;
}

void pgy_text_free(char *text)
{
    mem_free(text);
}
