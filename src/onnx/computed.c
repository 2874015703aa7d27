/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors whose elements are made when they are wanted, so that changing the weights of a model
 * larger than memory holds one of them at a time. Such a record has raw bytes like any other, but
 * in addresses that are only reserved: they tell whose elements they are and cannot be read. Small
 * ones are made at once. */
#include "onnx/computed.h"

#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "onnx/elements.h"
#include "onnx/schema.h"

enum { LAZY_BYTES = 64 * 1024, RAW_DATA = 9 };

struct computed_tensor {
    void *reserved;
    size_t size_bytes;
    pgy_make_tensor make;
    void *user;
};

void computed_tensors_deinit(pgy_model *m)
{
    for (size_t i = 0; i < m->computed_count; i++)
        munmap(m->computed[i].reserved, m->computed[i].size_bytes);
    mem_free(m->computed);
}

static pgy_status no_memory(const pgy_onnx_tensor *t, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "tensor '%.200s': out of memory", t->name);
}

/* Calls the maker and looks at what it gave. */
static pgy_status make(pgy_tensor **out, size_t size_bytes, pgy_make_tensor maker, void *user,
                       pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_status st = maker(&t, user, err);
    if (!st && pgy_tensor_size_bytes(t) != size_bytes) {
        st = pgy_error_set(err, PGY_E_SHAPE, "%zu bytes were made where the record has %zu",
                           pgy_tensor_size_bytes(t), size_bytes);
        pgy_tensor_release(t);
    }
    if (!st) *out = t;
    return st;
}

static pgy_status reserve(const void **out, pgy_model *m, size_t size_bytes, pgy_make_tensor maker,
                          void *user)
{
    void *items = m->computed;
    const bool grown =
        mem_grow(&items, &m->computed_capacity, m->computed_count + 1, sizeof *m->computed);
    m->computed = items;
    if (!grown) return PGY_E_MEMORY;
    void *at =
        mmap(NULL, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return PGY_E_MEMORY;
    m->computed[m->computed_count++] = (computed_tensor){at, size_bytes, maker, user};
    *out = at;
    return PGY_OK;
}

/* The record without any stored form of elements. */
static pgy_onnx_tensor *bare_copy(pgy_model *m, const pgy_onnx_tensor *like)
{
    static const unsigned DATA_FIELDS[] = {4, 5, 7, RAW_DATA, 10, 11, 13, 14};
    pgy_onnx_tensor *t = model_alloc(m, 1, sizeof *t);
    if (!t) return NULL;
    *t = *like;
    t->message.raw = (pgy_bytes){0};
    for (size_t i = 0; i < sizeof DATA_FIELDS / sizeof *DATA_FIELDS; i++)
        t->message.present &= ~field_bit(DATA_FIELDS[i]);
    t->raw_data = t->float_data = t->double_data = (pgy_bytes){0};
    t->int32_count = t->int64_count = t->uint64_count = t->string_count = 0;
    t->external_data_count = 0;
    t->data_location = 0;
    t->segment = NULL;
    return t;
}

pgy_status pgy_model_empty_tensor(pgy_onnx_tensor **out, pgy_model *m, const pgy_onnx_tensor *like,
                                  pgy_error *err)
{
    if (!out || !m || !like) return pgy_error_set(err, PGY_E_ARGUMENT, "no record to copy");
    pgy_onnx_tensor *t = bare_copy(m, like);
    if (!t) return no_memory(like, err);
    t->message.present |= field_bit(RAW_DATA);
    t->raw_data.data = "";
    *out = t;
    return PGY_OK;
}

pgy_status pgy_model_computed_tensor(pgy_onnx_tensor **out, pgy_model *m,
                                     const pgy_onnx_tensor *like, pgy_make_tensor maker, void *user,
                                     pgy_error *err)
{
    size_t size_bytes = 0;
    pgy_tensor *made = NULL;
    pgy_onnx_tensor *t = NULL;
    if (!maker) return pgy_error_set(err, PGY_E_ARGUMENT, "nothing makes the elements");
    pgy_status st = pgy_model_empty_tensor(&t, m, like, err);
    if (!st) st = tensor_needs_bytes(&size_bytes, like, err);
    if (st) return st;
    t->raw_data.size = size_bytes;
    if (size_bytes >= LAZY_BYTES) {
        pthread_mutex_lock(&m->lock);
        st = reserve(&t->raw_data.data, m, size_bytes, maker, user);
        pthread_mutex_unlock(&m->lock);
        if (st) return no_memory(like, err);
    } else if (size_bytes) {
        st = make(&made, size_bytes, maker, user, err);
        if (!st) st = pgy_model_keep_tensor(m, made, err);
        if (!st) t->raw_data.data = pgy_tensor_data(made);
        pgy_tensor_release(made);
        if (st) return st;
    }
    *out = t;
    return PGY_OK;
}

/* The entry for these bytes, in m or one that it keeps; copied, as lists may move. */
static bool find(computed_tensor *out, pgy_model *m, const void *bytes)
{
    bool found = false;
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->computed_count && !found; i++) {
        found = m->computed[i].reserved == bytes;
        if (found) *out = m->computed[i];
    }
    pthread_mutex_unlock(&m->lock);
    for (size_t i = 0; i < m->kept_count && !found; i++) found = find(out, m->kept[i], bytes);
    return found;
}

pgy_status computed_tensor_make(pgy_tensor **out, pgy_model *m, pgy_bytes bytes, pgy_error *err)
{
    computed_tensor at;
    *out = NULL;
    if (bytes.size < LAZY_BYTES || !find(&at, m, bytes.data)) return PGY_OK;
    return make(out, at.size_bytes, at.make, at.user, err);
}
