/* SPDX-License-Identifier: Apache-2.0 */
/* Owned tensors. A tensor is a dtype and a shape over a buffer; both are reference counted with
 * atomics, so that reshaped tensors share a buffer and any thread may release. Memory that we
 * allocate is 64-byte aligned and zeroed lazily by the system. The text of string elements lives in
 * the buffer's arena. A buffer that was swapped out (swap.c) holds only the path of a temporary
 * file.
 */
#include "tensor/tensor.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/system.h"

enum { ALIGNMENT = 64, COPY_CHUNK = 4 << 20, LARGE_PAGE = 2 << 20 };

typedef struct buffer {
    atomic_size_t refs;
    void *data;
    void *memory; /* the block to free if we own the buffer; NULL if it was adopted */
    size_t memory_bytes;
    void (*free_data)(void *data, void *user);
    void *user;
    arena text;
    struct buffer *texts; /* holds texts of elements, too; may be NULL */
    char *swap_path;
} buffer;

struct pgy_tensor {
    atomic_size_t refs;
    buffer *buf;
    pgy_dtype dtype;
    size_t rank, count, size_bytes;
    int64_t shape[];
};

/* ---- What tensors take together -------------------------------------------------------------- */

static atomic_size_t live_bytes;

static pgy_status reserve(size_t size_bytes, pgy_error *err)
{
    const uint64_t limit = memory_limit_bytes();
    const size_t before = atomic_fetch_add_explicit(&live_bytes, size_bytes, memory_order_relaxed);
    if (size_bytes <= limit && before <= limit - size_bytes) return PGY_OK;
    atomic_fetch_sub_explicit(&live_bytes, size_bytes, memory_order_relaxed);
    return pgy_error_set(err, PGY_E_MEMORY,
                         "a tensor of %zu bytes, with the %zu bytes already in use, exceeds %s",
                         size_bytes, before, memory_limit_describe().text);
}

static void free_memory(buffer *b)
{
    if (b->memory) atomic_fetch_sub_explicit(&live_bytes, b->memory_bytes, memory_order_relaxed);
    mem_free(b->memory);
    b->memory = NULL;
}

/* ---- Buffers -------------------------------------------------------------------------------- */

static void buffer_release(buffer *b)
{
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1) return;
    if (b->free_data) b->free_data(b->data, b->user);
    free_memory(b);
    arena_deinit(&b->text);
    buffer_release(b->texts);
    file_temp_release(b->swap_path);
    mem_free(b);
}

/* Requests large pages for large buffers, because the first touch of each page is the main cost of
 * filling them.
 */
static void want_large_pages(void *data, size_t size_bytes)
{
    uintptr_t begin = ((uintptr_t)data + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1);
    uintptr_t end = ((uintptr_t)data + size_bytes) & ~(uintptr_t)(LARGE_PAGE - 1);
    if (end > begin) (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

static pgy_status buffer_create(buffer **out, size_t size_bytes, bool zero, pgy_error *err)
{
    size_t whole;
    buffer *b = NULL;
    if (!size_add(&whole, size_bytes, ALIGNMENT))
        return pgy_error_set(err, PGY_E_SHAPE,
                             "a tensor of %zu bytes does not fit in the address space", size_bytes);
    pgy_status st = reserve(whole, err);
    if (st) return st;
    b = mem_calloc(1, sizeof *b);
    if (b) b->memory = zero ? mem_calloc(whole, 1) : mem_alloc(whole);
    if (!b || !b->memory) {
        atomic_fetch_sub_explicit(&live_bytes, whole, memory_order_relaxed);
        mem_free(b);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a tensor of %zu bytes",
                             size_bytes);
    }
    b->memory_bytes = whole;
    b->data = (void *)(((uintptr_t)b->memory + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
    want_large_pages(b->data, size_bytes);
    atomic_init(&b->refs, 1);
    *out = b;
    return PGY_OK;
}

/* Creates a tensor that has no buffer yet. */
static pgy_status shell_create(pgy_tensor **out, pgy_dtype dtype, size_t rank, const int64_t *shape,
                               pgy_error *err)
{
    size_t count, size_bytes;
    if (!pgy_dtype_describe(dtype)->bits)
        return pgy_error_set(err, PGY_E_TYPE, "element type code %d is unknown", (int)dtype);
    pgy_status st = pgy_shape_count(&count, rank, shape, err);
    if (st) return st;
    st = pgy_dtype_size_bytes(&size_bytes, dtype, count, err);
    if (st) return st;
    pgy_tensor *t = mem_alloc(sizeof *t + rank * sizeof t->shape[0]);
    if (!t) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    atomic_init(&t->refs, 1);
    t->buf = NULL;
    t->dtype = dtype;
    t->rank = rank;
    t->count = count;
    t->size_bytes = size_bytes;
    if (rank) memcpy(t->shape, shape, rank * sizeof t->shape[0]);
    *out = t;
    return PGY_OK;
}

static pgy_status create(pgy_tensor **out, pgy_dtype dtype, size_t rank, const int64_t *shape,
                         bool zero, pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_status st = shell_create(&t, dtype, rank, shape, err);
    if (st) return st;
    st = buffer_create(&t->buf, t->size_bytes, zero || dtype == PGY_STRING, err);
    if (st) {
        pgy_tensor_release(t);
        return st;
    }
    *out = t;
    return PGY_OK;
}

pgy_status pgy_tensor_create(pgy_tensor **out, pgy_dtype dtype, size_t rank, const int64_t *shape,
                             pgy_error *err)
{
    return create(out, dtype, rank, shape, true, err);
}

pgy_status tensor_create_raw(pgy_tensor **out, pgy_dtype dtype, size_t rank, const int64_t *shape,
                             pgy_error *err)
{
    return create(out, dtype, rank, shape, false, err);
}

pgy_status pgy_tensor_wrap(pgy_tensor **out, void *data, pgy_dtype dtype, size_t rank,
                           const int64_t *shape, void (*free_data)(void *data, void *user),
                           void *user, pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_status st = shell_create(&t, dtype, rank, shape, err);
    if (st) return st;
    t->buf = mem_calloc(1, sizeof *t->buf);
    if (!t->buf) {
        pgy_tensor_release(t);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    atomic_init(&t->buf->refs, 1);
    t->buf->data = data;
    t->buf->free_data = free_data;
    t->buf->user = user;
    *out = t;
    return PGY_OK;
}

pgy_status pgy_tensor_reshape(pgy_tensor **out, pgy_tensor *t, size_t rank, const int64_t *shape,
                              pgy_error *err)
{
    pgy_tensor *r = NULL;
    pgy_status st = shell_create(&r, t->dtype, rank, shape, err);
    if (st) return st;
    if (r->count != t->count) {
        st = pgy_error_set(err, PGY_E_SHAPE, "%zu elements cannot be reshaped to %zu", t->count,
                           r->count);
        pgy_tensor_release(r);
        return st;
    }
    atomic_fetch_add_explicit(&t->buf->refs, 1, memory_order_relaxed);
    r->buf = t->buf;
    *out = r;
    return PGY_OK;
}

pgy_tensor *pgy_tensor_retain(pgy_tensor *t)
{
    if (t) atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

void pgy_tensor_release(pgy_tensor *t)
{
    if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1) return;
    buffer_release(t->buf);
    mem_free(t);
}

pgy_dtype pgy_tensor_dtype(const pgy_tensor *t)
{
    return t->dtype;
}

size_t pgy_tensor_rank(const pgy_tensor *t)
{
    return t->rank;
}

const int64_t *pgy_tensor_shape(const pgy_tensor *t)
{
    return t->shape;
}

size_t pgy_tensor_count(const pgy_tensor *t)
{
    return t->count;
}

size_t pgy_tensor_size_bytes(const pgy_tensor *t)
{
    return t->size_bytes;
}

void *pgy_tensor_data(const pgy_tensor *t)
{
    return t->buf->data;
}

pgy_view pgy_tensor_view(const pgy_tensor *t)
{
    return pgy_view_of(t->buf->data, t->dtype, t->rank, t->shape);
}

pgy_status pgy_tensor_set_string(pgy_tensor *t, size_t i, const char *text, size_t size,
                                 pgy_error *err)
{
    if (t->dtype != PGY_STRING)
        return pgy_error_set(err, PGY_E_TYPE, "a string cannot be set in a tensor of type %s",
                             pgy_dtype_name(t->dtype));
    if (i >= t->count)
        return pgy_error_set(err, PGY_E_SHAPE, "element %zu is not in [0, %zu)", i, t->count);
    char *copy = arena_strndup(&t->buf->text, size ? text : "", size);
    if (!copy)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a string of %zu bytes", size);
    ((pgy_string *)t->buf->data)[i] = (pgy_string){copy, size};
    return PGY_OK;
}

char *tensor_text_room(pgy_tensor *t, size_t size_bytes)
{
    return arena_alloc(&t->buf->text, size_bytes);
}

pgy_status tensor_own_texts(pgy_tensor *t, pgy_error *err)
{
    pgy_string *s = t->buf->data;
    size_t bytes = 0;
    bool fits = true;
    for (size_t i = 0; fits && i < t->count; i++)
        fits = s[i].size < SIZE_MAX && size_add(&bytes, bytes, s[i].size + 1);
    char *to = fits ? arena_alloc(&t->buf->text, bytes) : NULL;
    if (!to) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for %zu strings", t->count);
    for (size_t i = 0; i < t->count; to += s[i++].size + 1) {
        if (s[i].size) memcpy(to, s[i].data, s[i].size);
        s[i].data = to;
    }
    return PGY_OK;
}

void tensor_share_texts(pgy_tensor *t, const pgy_tensor *from)
{
    if (t->buf->texts) return;
    atomic_fetch_add_explicit(&from->buf->refs, 1, memory_order_relaxed);
    t->buf->texts = from->buf;
}

typedef struct copy_job {
    char *to;
    const char *from;
    size_t size_bytes;
    int fd; /* descriptor to read from, or -1 */
    size_t offset;
} copy_job;

/* Reading the file costs less than copying from the map, which needs page faults. Bytes that cannot
 * be read are copied from the map.
 */
static size_t read_some(const copy_job *job, size_t begin, size_t size_bytes)
{
    size_t done = 0;
    while (job->fd >= 0 && done < size_bytes) {
        ssize_t n = pread(job->fd, job->to + begin + done, size_bytes - done,
                          (off_t)(job->offset + begin + done));
        if (n <= 0) break;
        done += (size_t)n;
    }
    return done;
}

static void copy_chunk(size_t index, void *user)
{
    const copy_job *job = user;
    size_t begin = index * COPY_CHUNK, left = job->size_bytes - begin;
    size_t size_bytes = left < COPY_CHUNK ? left : COPY_CHUNK;
    size_t done = read_some(job, begin, size_bytes);
    memcpy(job->to + begin + done, job->from + begin + done, size_bytes - done);
}

void tensor_copy_bytes(void *to, const void *from, size_t size_bytes)
{
    copy_job job = {to, from, size_bytes, -1, 0};
    parallel_for((size_bytes + COPY_CHUNK - 1) / COPY_CHUNK, copy_chunk, &job);
}

void tensor_read_bytes(void *to, const file_map *map, size_t offset, size_t size_bytes)
{
    copy_job job = {to, (const char *)map->data + offset, size_bytes, map->fd, offset};
    parallel_for((size_bytes + COPY_CHUNK - 1) / COPY_CHUNK, copy_chunk, &job);
}

pgy_status pgy_tensor_cast(pgy_tensor **out, pgy_view from, pgy_dtype dtype, pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_status st = tensor_create_raw(&t, dtype, (size_t)from.rank, from.shape, err);
    if (st) goto done;
    st = pgy_view_convert(pgy_tensor_view(t), from, true, err);
    if (st) goto done;
    if (dtype == PGY_STRING) st = tensor_own_texts(t, err);
    if (st) goto done;
    *out = t;
    t = NULL;
done:
    pgy_tensor_release(t);
    return st;
}

pgy_status pgy_tensor_copy(pgy_tensor **out, pgy_view from, pgy_error *err)
{
    return pgy_tensor_cast(out, from, from.dtype, err);
}

const char *tensor_swap_path(const pgy_tensor *t)
{
    return t->buf->swap_path;
}

bool tensor_is_borrowed(const pgy_tensor *t)
{
    return t->buf && t->buf->free_data;
}

bool tensor_can_swap(const pgy_tensor *t)
{
    return t->buf->data && t->dtype != PGY_STRING && t->size_bytes > 0 &&
           atomic_load(&t->refs) == 1 && atomic_load(&t->buf->refs) == 1;
}

void tensor_set_swapped(pgy_tensor *t, char *path)
{
    buffer *b = t->buf;
    if (b->free_data) b->free_data(b->data, b->user);
    free_memory(b);
    b->data = NULL;
    b->free_data = NULL;
    b->swap_path = path;
}

pgy_view tensor_first_rows(const pgy_tensor *t, const int64_t *shape, int64_t *strides)
{
    pgy_view v = pgy_tensor_view(t);
    strides[3] = 1;
    for (int i = 3; i > 0; i--) strides[i - 1] = strides[i] * v.shape[i];
    v.shape = (int64_t *)shape;
    v.strides = strides;
    return v;
}
