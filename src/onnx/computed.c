/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors whose elements are made on demand. So a program can change the weights of a model larger
 * than memory: only one weight at a time is in memory or, if its maker works in parts, one part.
 * The raw bytes of such a record are reserved addresses, which identify the tensor and cannot be
 * read. Small tensors are made at once, and so are those at the end of a long chain of makers. */
#include "onnx/computed.h"

#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "onnx/elements.h"
#include "onnx/schema.h"
#include "tensor/tensor.h"

enum { LAZY_BYTES = 64 * 1024, RAW_DATA = 9, MAX_DEPTH = 4, ALIGNMENT = 64 };

struct computed_reading {
    computed_tensor of;
    pgy_tensor *whole;     /* the tensor, if its maker makes all elements at once */
    element_reader source; /* reader of the maker's source, which the first part opens */
    bool is_open;
    void *memory;
    char *unit; /* elements of the last unit of which only a part was requested; NULL: none */
    size_t unit_offset;
};

static pgy_status no_memory(const pgy_onnx_tensor *t, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "tensor '%.200s': out of memory", t->name);
}

/* Calls the maker of a whole tensor and checks the size of its result. */
static pgy_status make_whole(pgy_tensor **out, const computed_tensor *c, pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_status st = c->whole(&t, c->user, err);
    if (!st && pgy_tensor_size_bytes(t) != c->size_bytes) {
        st = pgy_error_set(err, PGY_E_SHAPE,
                           "the function that computes the tensor made %zu bytes; %zu are declared",
                           pgy_tensor_size_bytes(t), c->size_bytes);
        pgy_tensor_release(t);
    }
    if (!st) *out = t;
    return st;
}

/* Finds the entry for these bytes in m or in a model that it keeps. It is copied, because the list
 * may move when it grows. */
static bool find(computed_tensor *out, pgy_model *m, pgy_bytes bytes)
{
    bool found = false;
    if (bytes.size < LAZY_BYTES) return false;
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->computed_count && !found; i++) {
        found = m->computed[i].reserved == bytes.data;
        if (found) *out = m->computed[i];
    }
    pthread_mutex_unlock(&m->lock);
    for (size_t i = 0; i < m->kept_count && !found; i++) found = find(out, m->kept[i], bytes);
    return found;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static pgy_status reading_create(computed_reading **out, const computed_tensor *of, pgy_error *err)
{
    computed_reading *r = mem_calloc(1, sizeof *r);
    if (r) r->memory = mem_calloc(1, of->parts.memory_bytes);
    if (!r || !r->memory) {
        mem_free(r);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while making a tensor");
    }
    r->of = *of;
    *out = r;
    return PGY_OK;
}

pgy_status computed_reading_create(computed_reading **out, pgy_model *m, pgy_bytes bytes,
                                   pgy_error *err)
{
    computed_tensor at;
    *out = NULL;
    return find(&at, m, bytes) ? reading_create(out, &at, err) : PGY_OK;
}

void computed_reading_destroy(computed_reading *r)
{
    if (!r) return;
    element_reader_close(&r->source);
    pgy_tensor_release(r->whole);
    mem_free(r->memory);
    mem_free(r->unit);
    mem_free(r);
}

static size_t part_bytes(const parts_maker *maker)
{
    const size_t units = PART_BYTES / maker->unit_bytes;
    return maker->unit_bytes * (units ? units : 1);
}

static pgy_status open_source(computed_reading *r, pgy_error *err)
{
    const parts_maker *maker = &r->of.parts;
    if (!maker->source || r->is_open) return PGY_OK;
    const pgy_status st = element_reader_open(&r->source, r->of.model, maker->source, err);
    r->is_open = !st;
    return st;
}

/* Makes a range of whole units. */
static pgy_status make_parts(computed_reading *r, char *to, size_t offset, size_t size_bytes,
                             pgy_error *err)
{
    const parts_maker *maker = &r->of.parts;
    const size_t most = part_bytes(maker);
    pgy_status st = open_source(r, err);
    for (size_t done = 0; !st && done < size_bytes; done += most) {
        const size_t left = size_bytes - done;
        const tensor_part part = {.to = to + done,
                                  .offset = offset + done,
                                  .size_bytes = left < most ? left : most,
                                  .source = maker->source ? &r->source : NULL,
                                  .memory = r->memory};
        st = maker->make(&part, maker->user, err);
    }
    return st;
}

/* Copies bytes of the unit at this offset, up to its end. */
static pgy_status copy_from_unit(computed_reading *r, char *to, size_t offset, size_t size_bytes,
                                 size_t *copied, pgy_error *err)
{
    const size_t unit = r->of.parts.unit_bytes, begin = offset / unit * unit;
    const size_t left = r->of.size_bytes - begin, size = left < unit ? left : unit;
    if (!r->unit || r->unit_offset != begin) {
        if (!r->unit) r->unit = mem_alloc_aligned(ALIGNMENT, unit);
        if (!r->unit)
            return pgy_error_set(err, PGY_E_MEMORY, "out of memory for %zu bytes of a tensor",
                                 unit);
        const pgy_status st = make_parts(r, r->unit, begin, size, err);
        r->unit_offset = st ? SIZE_MAX : begin;
        if (st) return st;
    }
    const size_t rest = begin + size - offset;
    *copied = size_bytes < rest ? size_bytes : rest;
    memcpy(to, r->unit + (offset - begin), *copied);
    return PGY_OK;
}

static pgy_status pick(computed_reading *r, void *to, size_t offset, size_t size_bytes,
                       pgy_error *err)
{
    const parts_maker *maker = &r->of.parts;
    const tensor_part part = {.to = to,
                              .offset = offset,
                              .size_bytes = size_bytes,
                              .source = maker->source ? &r->source : NULL,
                              .memory = r->memory};
    const pgy_status st = open_source(r, err);
    return st ? st : maker->pick(&part, maker->user, err);
}

static pgy_status copy_whole(computed_reading *r, void *to, size_t offset, size_t size_bytes,
                             pgy_error *err)
{
    const pgy_status st = r->whole ? PGY_OK : make_whole(&r->whole, &r->of, err);
    if (!st) memcpy(to, (const char *)pgy_tensor_data(r->whole) + offset, size_bytes);
    return st;
}

pgy_status computed_reading_get(computed_reading *r, void *to, size_t offset, size_t size_bytes,
                                pgy_error *err)
{
    if (r->of.whole) return copy_whole(r, to, offset, size_bytes, err);
    if (r->of.parts.pick && size_bytes <= PICK_BYTES) return pick(r, to, offset, size_bytes, err);
    const size_t unit = r->of.parts.unit_bytes;
    char *at = to;
    pgy_status st = PGY_OK;
    while (!st && size_bytes) {
        const bool to_end = offset + size_bytes == r->of.size_bytes;
        const bool aligned = offset % unit == 0 && (uintptr_t)at % sizeof(double) == 0;
        size_t n = !aligned ? 0 : to_end ? size_bytes : size_bytes / unit * unit;
        st = n ? make_parts(r, at, offset, n, err)
               : copy_from_unit(r, at, offset, size_bytes, &n, err);
        at += n;
        offset += n;
        size_bytes -= n;
    }
    return st;
}

/* ---- Records -------------------------------------------------------------------------------- */

static pgy_status reserve(const void **out, const computed_tensor *c)
{
    pgy_model *m = c->model;
    void *items = m->computed;
    const bool grown =
        mem_grow(&items, &m->computed_capacity, m->computed_count + 1, sizeof *m->computed);
    m->computed = items;
    if (!grown) return PGY_E_MEMORY;
    void *at =
        mmap(NULL, c->size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return PGY_E_MEMORY;
    m->computed[m->computed_count] = *c;
    m->computed[m->computed_count++].reserved = at;
    *out = at;
    return PGY_OK;
}

/* Copies a TensorProto without the elements. */
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
    if (!out || !m || !like)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out', 'm' and 'like' must not be NULL");
    pgy_onnx_tensor *t = bare_copy(m, like);
    if (!t) return no_memory(like, err);
    t->message.present |= field_bit(RAW_DATA);
    t->raw_data.data = "";
    *out = t;
    return PGY_OK;
}

/* Makes all elements at once, in the shape of the record. */
static pgy_status make_now(pgy_tensor **out, const computed_tensor *c, const pgy_onnx_tensor *like,
                           pgy_error *err)
{
    computed_reading *r = NULL;
    pgy_tensor *t = NULL;
    if (c->whole) return make_whole(out, c, err);
    pgy_status st = reading_create(&r, c, err);
    if (!st)
        st = tensor_create_raw(&t, pgy_dtype_from_onnx(like->data_type), like->dim_count,
                               like->dims, err);
    if (!st) st = computed_reading_get(r, pgy_tensor_data(t), 0, c->size_bytes, err);
    if (!st) {
        *out = t;
        t = NULL;
    }
    pgy_tensor_release(t);
    computed_reading_destroy(r);
    return st;
}

static pgy_status create(pgy_onnx_tensor **out, computed_tensor *c, const pgy_onnx_tensor *like,
                         pgy_error *err)
{
    pgy_model *m = c->model;
    pgy_tensor *made = NULL;
    pgy_onnx_tensor *t = NULL;
    pgy_status st = pgy_model_empty_tensor(&t, m, like, err);
    if (!st) st = tensor_needs_bytes(&c->size_bytes, like, err);
    if (st) return st;
    t->raw_data.size = c->size_bytes;
    if (c->size_bytes >= LAZY_BYTES && c->depth <= MAX_DEPTH) {
        pthread_mutex_lock(&m->lock);
        st = reserve(&t->raw_data.data, c);
        pthread_mutex_unlock(&m->lock);
        if (st) return no_memory(like, err);
    } else if (c->size_bytes) {
        st = make_now(&made, c, like, err);
        if (!st) st = pgy_model_keep_tensor(m, made, err);
        if (!st) t->raw_data.data = pgy_tensor_data(made);
        pgy_tensor_release(made);
        if (st) return st;
    }
    *out = t;
    return PGY_OK;
}

pgy_status pgy_model_computed_tensor(pgy_onnx_tensor **out, pgy_model *m,
                                     const pgy_onnx_tensor *like, pgy_make_tensor maker, void *user,
                                     pgy_error *err)
{
    if (!maker)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'maker' must not be NULL: it makes the elements");
    if (!out || !m || !like)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out', 'm' and 'like' must not be NULL");
    computed_tensor c = {.whole = maker, .user = user, .model = m, .depth = 1};
    return create(out, &c, like, err);
}

pgy_status computed_parts_tensor(pgy_onnx_tensor **out, pgy_model *m, const pgy_onnx_tensor *like,
                                 const parts_maker *maker, pgy_error *err)
{
    computed_tensor c = {.parts = *maker, .model = m, .depth = 1};
    element_reader source = {0};
    if (maker->source) {
        const pgy_status st = element_reader_open(&source, m, maker->source, err);
        if (st) return st;
        if (source.made) c.depth += source.made->of.depth;
        element_reader_close(&source);
    }
    return create(out, &c, like, err);
}

bool computed_maker(parts_maker *out, pgy_model *m, pgy_bytes bytes)
{
    computed_tensor at;
    if (!find(&at, m, bytes) || at.whole) return false;
    *out = at.parts;
    return true;
}

bool computed_has(pgy_model *m, pgy_bytes bytes)
{
    computed_tensor at;
    return find(&at, m, bytes);
}

/* ---- Wanted --------------------------------------------------------------------------------- */

pgy_status computed_tensor_make(pgy_tensor **out, pgy_model *m, pgy_bytes bytes,
                                const pgy_onnx_tensor *t, pgy_error *err)
{
    computed_tensor at;
    pgy_tensor *made = NULL;
    *out = NULL;
    if (!find(&at, m, bytes)) return PGY_OK;
    pgy_status st = make_now(&made, &at, t, err);
    if (!st) st = pgy_tensor_reshape(out, made, t->dim_count, t->dims, err);
    pgy_tensor_release(made);
    return st;
}

pgy_status computed_tensor_send(bool *sent, pgy_model *m, pgy_bytes bytes, encode_sink sink,
                                void *user, pgy_error *err)
{
    computed_reading *r = NULL;
    pgy_status st = computed_reading_create(&r, m, bytes, err);
    *sent = r != NULL;
    if (st || !r) return st;
    const size_t most = r->of.whole ? PART_BYTES : part_bytes(&r->of.parts);
    char *buffer = mem_alloc_aligned(ALIGNMENT, most);
    if (!buffer)
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for %zu bytes of a tensor", most);
    for (size_t done = 0; !st && done < bytes.size; done += most) {
        const size_t left = bytes.size - done, size = left < most ? left : most;
        st = computed_reading_get(r, buffer, done, size, err);
        if (!st) st = sink(user, buffer, size, err);
    }
    mem_free(buffer);
    computed_reading_destroy(r);
    return st;
}
