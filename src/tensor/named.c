/* SPDX-License-Identifier: Apache-2.0 */
/* Ordered maps of named tensors: a string map whose values are counted references. */
#include <polygraphy/tensor.h>

#include "base/alloc.h"
#include "base/str.h"

struct pgy_tensor_map {
    strmap tensors;
};

pgy_status pgy_tensor_map_create(pgy_tensor_map **out, pgy_error *err)
{
    pgy_tensor_map *m = mem_calloc(1, sizeof *m);
    if (!m) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *out = m;
    return PGY_OK;
}

void pgy_tensor_map_clear(pgy_tensor_map *m)
{
    for (size_t i = 0; i < m->tensors.count; i++) pgy_tensor_release(m->tensors.entries[i].value);
    strmap_deinit(&m->tensors);
    m->tensors = (strmap){0};
}

void pgy_tensor_map_destroy(pgy_tensor_map *m)
{
    if (!m) return;
    pgy_tensor_map_clear(m);
    mem_free(m);
}

size_t pgy_tensor_map_count(const pgy_tensor_map *m)
{
    return m->tensors.count;
}

const char *pgy_tensor_map_name(const pgy_tensor_map *m, size_t i)
{
    return m->tensors.entries[i].key;
}

pgy_tensor *pgy_tensor_map_at(const pgy_tensor_map *m, size_t i)
{
    return m->tensors.entries[i].value;
}

pgy_tensor *pgy_tensor_map_find(const pgy_tensor_map *m, const char *name)
{
    return strmap_get(&m->tensors, name);
}

pgy_status pgy_tensor_map_adopt(pgy_tensor_map *m, const char *name, pgy_tensor *t, pgy_error *err)
{
    pgy_tensor *old = strmap_get(&m->tensors, name);
    if (!strmap_put(&m->tensors, name, t)) {
        pgy_tensor_release(t);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for tensor '%s'", name);
    }
    pgy_tensor_release(old);
    return PGY_OK;
}

pgy_status pgy_tensor_map_set(pgy_tensor_map *m, const char *name, pgy_tensor *t, pgy_error *err)
{
    return pgy_tensor_map_adopt(m, name, pgy_tensor_retain(t), err);
}

pgy_status pgy_tensor_map_copy(pgy_tensor_map **out, const pgy_tensor_map *m, pgy_error *err)
{
    pgy_tensor_map *copy = NULL;
    pgy_status st = pgy_tensor_map_create(&copy, err);
    for (size_t i = 0; !st && i < m->tensors.count; i++)
        st = pgy_tensor_map_set(copy, m->tensors.entries[i].key, m->tensors.entries[i].value, err);
    if (!st) {
        *out = copy;
        copy = NULL;
    }
    pgy_tensor_map_destroy(copy);
    return st;
}
