/* SPDX-License-Identifier: Apache-2.0 */
/* Life cycle of a model, which is opened from a file or memory, or built by a caller. It is one
 * arena plus the mapped bytes; releasing the last reference frees everything. Tensors that share
 * its bytes and models built from its messages each hold a reference. */
#include "onnx/model.h"

#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/sized.h"
#include "onnx/computed.h"
#include "onnx/model_read.h"
#include "onnx/schema.h"

static pgy_status out_of_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while making a model");
}

static pgy_status create(pgy_model **out, const char *path, const pgy_model_load_options *given,
                         pgy_error *err)
{
    pgy_model_load_options o = {.size = sizeof o};
    const pgy_status st = SIZED_TAKE(pgy_model_load_options, &o, given, err);
    if (st) return st;
    pgy_model *m = mem_calloc(1, sizeof(*m));
    if (!m) return out_of_memory(err);
    atomic_init(&m->references, 1);
    pthread_mutex_init(&m->lock, NULL);
    m->map.fd = -1;
    m->path = mem_strdup(path);
    if (o.external_data_dir) {
        m->external_dir = mem_strdup(o.external_data_dir);
    } else {
        m->external_dir = *path ? path_dirname(path) : mem_strdup("");
    }
    m->ignore_external = o.ignore_external_data;
    m->allow_outside = o.allow_outside;
    if (!m->path || !m->external_dir) {
        pgy_model_destroy(m);
        return out_of_memory(err);
    }
    *out = m;
    return PGY_OK;
}

pgy_status pgy_model_load(pgy_model **out, const char *path, const pgy_model_load_options *options,
                          pgy_error *err)
{
    pgy_model *m = NULL;
    if (!out || !path || !*path)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'path' must be the name of a model file");
    pgy_status st = create(&m, path, options, err);
    if (st) goto done;
    st = file_map_open(&m->map, path, err);
    if (st) goto done;
    m->data = m->map.data;
    m->size_bytes = m->map.size_bytes;
    st = model_read(&m->proto, &m->arena, m->data, m->size_bytes, err);
    if (st) {
        st = pgy_error_prefix(err, st, "%s: ", path);
        goto done;
    }
    *out = m;
    m = NULL;
done:
    pgy_model_destroy(m);
    return st;
}

pgy_status pgy_model_parse(pgy_model **out, const void *data, size_t size_bytes, bool keep_alive,
                           const pgy_model_load_options *options, pgy_error *err)
{
    pgy_model *m = NULL;
    if (!out || (!data && size_bytes))
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out' and 'data' must not be NULL");
    pgy_status st = create(&m, "", options, err);
    if (st) goto done;
    m->data = data;
    m->size_bytes = size_bytes;
    if (!keep_alive && size_bytes) {
        m->copy = mem_alloc(size_bytes);
        if (!m->copy) {
            st = out_of_memory(err);
            goto done;
        }
        memcpy(m->copy, data, size_bytes);
        m->data = m->copy;
    }
    st = model_read(&m->proto, &m->arena, m->data, m->size_bytes, err);
    if (st) goto done;
    *out = m;
    m = NULL;
done:
    pgy_model_destroy(m);
    return st;
}

pgy_status pgy_model_create(pgy_model **out, pgy_error *err)
{
    if (!out) return pgy_error_set(err, PGY_E_ARGUMENT, "'out' must not be NULL");
    return create(out, "", NULL, err);
}

pgy_model *pgy_model_retain(pgy_model *m)
{
    if (m) atomic_fetch_add(&m->references, 1);
    return m;
}

static void destroy_computed(pgy_model *m)
{
    for (size_t i = 0; i < m->computed_count; i++)
        munmap(m->computed[i].reserved, m->computed[i].size_bytes);
    mem_free(m->computed);
}

void pgy_model_destroy(pgy_model *m)
{
    if (!m || atomic_fetch_sub(&m->references, 1) > 1) return;
    for (size_t i = 0; i < m->kept_tensor_count; i++) pgy_tensor_release(m->kept_tensors[i]);
    for (size_t i = 0; i < m->kept_count; i++) pgy_model_destroy(m->kept[i]);
    for (size_t i = 0; i < m->file_count; i++) {
        file_map_close(&m->files[i]->map);
        mem_free(m->files[i]->location);
        mem_free(m->files[i]);
    }
    destroy_computed(m);
    mem_free(m->kept_tensors);
    mem_free(m->kept);
    mem_free(m->files);
    file_map_close(&m->map);
    mem_free(m->copy);
    mem_free(m->path);
    mem_free(m->external_dir);
    arena_deinit(&m->arena);
    pthread_mutex_destroy(&m->lock);
    mem_free(m);
}

const pgy_onnx_model *pgy_model_proto(const pgy_model *m)
{
    return m->proto;
}

const char *pgy_model_path(const pgy_model *m)
{
    return m->path;
}

const char *pgy_model_external_data_dir(const pgy_model *m)
{
    return m->external_dir;
}

/* ---- Building ------------------------------------------------------------------------------- */

void *model_alloc(pgy_model *m, size_t count, size_t item_bytes)
{
    pthread_mutex_lock(&m->lock);
    void *p = arena_alloc_array(&m->arena, count, item_bytes);
    pthread_mutex_unlock(&m->lock);
    return p;
}

void *pgy_model_alloc(pgy_model *m, size_t count, size_t item_bytes)
{
    return model_alloc(m, count, item_bytes);
}

const char *pgy_model_strdup(pgy_model *m, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = model_alloc(m, size, 1);
    return copy ? memcpy(copy, text, size) : NULL;
}

pgy_status pgy_model_keep(pgy_model *m, pgy_model *source, pgy_error *err)
{
    if (!m || !source)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the model and its source must not be NULL");
    bool known = m == source;
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->kept_count && !known; i++) known = m->kept[i] == source;
    void *items = m->kept;
    const bool grown =
        known || mem_grow(&items, &m->kept_capacity, m->kept_count + 1, sizeof(m->kept[0]));
    m->kept = items;
    if (grown && !known) m->kept[m->kept_count++] = pgy_model_retain(source);
    pthread_mutex_unlock(&m->lock);
    return grown ? PGY_OK : out_of_memory(err);
}

pgy_status pgy_model_keep_tensor(pgy_model *m, pgy_tensor *t, pgy_error *err)
{
    if (!m || !t)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the model and the tensor must not be NULL");
    pthread_mutex_lock(&m->lock);
    void *items = m->kept_tensors;
    const bool grown = mem_grow(&items, &m->kept_tensor_capacity, m->kept_tensor_count + 1,
                                sizeof(m->kept_tensors[0]));
    m->kept_tensors = items;
    if (grown) m->kept_tensors[m->kept_tensor_count++] = pgy_tensor_retain(t);
    pthread_mutex_unlock(&m->lock);
    return grown ? PGY_OK : out_of_memory(err);
}

void pgy_model_set_proto(pgy_model *m, pgy_onnx_model *proto)
{
    schema_fill_texts(&SCHEMA_MODEL, proto);
    m->proto = proto;
}

/* ---- Whose bytes? --------------------------------------------------------------------------- */

static bool holds(const void *data, size_t size, const void *bytes)
{
    return data && (uintptr_t)bytes - (uintptr_t)data < size;
}

static const file_map *external_map_of(pgy_model *m, const void *bytes)
{
    const file_map *found = NULL;
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->file_count && !found; i++) {
        const file_map *map = &m->files[i]->map;
        if (holds(map->data, map->size_bytes, bytes)) found = map;
    }
    pthread_mutex_unlock(&m->lock);
    return found;
}

pgy_model *model_owner(pgy_model *m, const void *bytes)
{
    if (holds(m->data, m->size_bytes, bytes) || external_map_of(m, bytes)) return m;
    for (size_t i = 0; i < m->kept_count; i++) {
        pgy_model *owner = model_owner(m->kept[i], bytes);
        if (owner) return owner;
    }
    return NULL;
}

const file_map *model_find_map(pgy_model *m, const void *bytes, size_t size_bytes, size_t *offset)
{
    pgy_model *owner = model_owner(m, bytes);
    if (!owner) return NULL;
    const bool inside = holds(owner->map.data, owner->map.size_bytes, bytes);
    const file_map *map = inside ? &owner->map : external_map_of(owner, bytes);
    if (!map) return NULL;
    *offset = (uintptr_t)bytes - (uintptr_t)map->data;
    return size_bytes <= map->size_bytes - *offset ? map : NULL;
}

void model_forget_pages(pgy_model *m)
{
    pthread_mutex_lock(&m->lock);
    if (m->map.data) file_map_forget(&m->map, 0, m->map.size_bytes);
    for (size_t i = 0; i < m->file_count; i++)
        file_map_forget(&m->files[i]->map, 0, m->files[i]->map.size_bytes);
    pthread_mutex_unlock(&m->lock);
    for (size_t i = 0; i < m->kept_count; i++) model_forget_pages(m->kept[i]);
}
