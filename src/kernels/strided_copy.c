/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of strided copies. A line along the last axis is one memcpy if its elements are
 * contiguous in the input, else a loop for the width of the elements. */
#include "kernels/strided_copy.h"

#include <string.h>

#if defined(__x86_64__)
#include <tmmintrin.h>
#endif

#include "base/alloc.h"

static bool plain_view(strided_view *v, const kernel_tensor *t)
{
    int64_t stride = 1;
    *v = (strided_view){.rank = t->rank};
    if (t->rank > STRIDED_AXES / 2) return false;
    for (int32_t d = t->rank - 1; d >= 0; d--) {
        v->shape[d] = t->shape[d];
        v->strides[d] = stride;
        stride *= t->shape[d];
    }
    return true;
}

bool strided_copy_describe(strided_copy *c, const kernel_problem *u, strided_view_of *view_of)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const unsigned bits = pgy_dtype_describe(x->dtype)->bits;
    strided_view v;
    *c = (strided_copy){.item = bits / 8, .inputs = (uint32_t)u->input_count};
    if (x->dtype == PGY_STRING || x->dtype != y->dtype) return false;
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64) return false;
    if (!plain_view(&v, x) || !view_of(&v, u)) return false;
    if (!walk_init_strided(&c->w, v.shape, v.rank, v.strides, 1)) return false;
    c->offset = (uint64_t)v.offset;
    return c->w.count == kernel_count(y);
}

void strided_copy_cost(kernel_problem *u, const strided_copy *c, double *cost_ns)
{
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    const uint64_t last = c->w.shape[c->w.rank - 1];
    const double bytes = (double)kernel_size_bytes(&u->outputs[0]);
    *cost_ns = 100 + bytes / 5 + (double)(c->w.count / (last ? last : 1)) * 4;
    if (c->w.strides[0][c->w.rank - 1] > 1) *cost_ns += (double)c->w.count * 0.5;
}

pgy_status strided_copy_plan(kernel_plan *out, const void *params, size_t size_bytes,
                             pgy_error *err)
{
    const strided_copy *c = params;
    void *copy = mem_calloc(1, size_bytes);
    if (!copy) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    memcpy(copy, params, size_bytes);
    *out = (kernel_plan){.params = copy, .params_bytes = size_bytes, .phases = 1, .in_place = -1};
    out->parts = walk_parts(c->w.count, c->item);
    return PGY_OK;
}

/* Number of input elements up to the last one that is read. Strides of a reversed axis are negative
 * (stored as unsigned numbers), so the walk may start behind its lowest element. */
static uint64_t source_reach(const strided_copy *c)
{
    uint64_t ahead[WALK_AXES] = {0}, back[WALK_AXES] = {0};
    for (uint32_t d = 0; d < c->w.rank; d++) {
        const int64_t stride = (int64_t)c->w.strides[0][d];
        (stride < 0 ? back : ahead)[d] = stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
    }
    const uint64_t before = extent_reach(c->w.shape, back, c->w.rank);
    if (!c->w.count) return 0;
    if (before == EXTENT_TOO_MUCH || before - 1 > c->offset) return EXTENT_TOO_MUCH;
    return extent_add(c->offset, extent_reach(c->w.shape, ahead, c->w.rank));
}

bool strided_copy_extent(kernel_extent *e, const kernel_claim *q, const strided_copy *c)
{
    if (!walk_extent(e, &c->w, false)) return false;
    if (c->w.operands != 1 || c->inputs != q->input_count || !c->inputs)
        return extent_refuse(e, "number of operands");
    if (c->item != 1 && c->item != 2 && c->item != 4 && c->item != 8)
        return extent_refuse(e, "size of an element");
    extent_tensor(e, 0, source_reach(c), c->item);
    extent_tensor(e, c->inputs, c->w.count, c->item);
    return true;
}

#define T uint8_t
#define NAME(x) x##_1
#include "kernels/strided_copy.inc"
#define T uint16_t
#define NAME(x) x##_2
#include "kernels/strided_copy.inc"
#define T uint32_t
#define NAME(x) x##_4
#include "kernels/strided_copy.inc"
#define T uint64_t
#define NAME(x) x##_8
#include "kernels/strided_copy.inc"

#if defined(__x86_64__)
/* y[i] = x[i * stride] for strides of 2 to 4: 16 bytes from each `stride` vectors. Returns how many
 * it has copied; it reads no byte behind the last element. */
__attribute__((target("ssse3"))) static size_t gather_bytes(uint8_t *y, const uint8_t *x,
                                                            size_t stride, size_t n)
{
    uint8_t masks[4][16];
    size_t i = 0;
    memset(masks, 0x80, sizeof masks); /* such a byte of a mask gives 0 */
    for (size_t k = 0; k < 16; k++) masks[k * stride / 16][k] = (uint8_t)(k * stride % 16);
    for (; i + 17 <= n; i += 16) {
        __m128i all = _mm_setzero_si128();
        for (size_t k = 0; k < stride; k++) {
            const __m128i from = _mm_loadu_si128((const __m128i *)(x + i * stride + 16 * k));
            const __m128i mask = _mm_loadu_si128((const __m128i *)masks[k]);
            all = _mm_or_si128(all, _mm_shuffle_epi8(from, mask));
        }
        _mm_storeu_si128((__m128i *)(y + i), all);
    }
    return i;
}
#endif

static void copy_bytes(uint8_t *y, const uint8_t *x, uint64_t stride, size_t n)
{
    size_t done = 0;
#if defined(__x86_64__)
    if (stride >= 2 && stride <= 4 && n > 64 && cpu_features() >= CPU_AVX2)
        done = gather_bytes(y, x, stride, n);
#endif
    copy_strided_1(y + done, x + done * stride, stride, n - done);
}

static void strided_copy_line(const strided_copy *c, void *y, const void *x, uint64_t stride,
                              size_t n)
{
    if (stride == 1)
        memcpy(y, x, n * c->item);
    else if (c->item == 1)
        copy_bytes((uint8_t *)y, (const uint8_t *)x, stride, n);
    else if (c->item == 2)
        copy_strided_2(y, x, stride, n);
    else if (c->item == 4)
        copy_strided_4(y, x, stride, n);
    else
        copy_strided_8(y, x, stride, n);
}

/* ---- Two axes at once ----------------------------------------------------------------------- */

enum {
    LONG_GROUP = 16,    /* elements */
    LONG_REPEAT = 1024, /* bytes */
    SHORT_REPEAT = 128, /* bytes: below, copies of copies are faster */
    LONG_ROW = 4096,    /* bytes: a step of the walk takes little time beside a copy of so many */
    JOINED_PIECE = 1 << 18 /* elements between two looks at pgy_cancel */
};

/* Is the last axis so short that one run along it is little work? Groups: the axis before it has
 * stride 1, as where pixels are shuffled. Repeats: that axis has stride 0. */
static bool has_groups(const walk *w)
{
    return w->rank > 1 && w->shape[w->rank - 1] <= LONG_GROUP && w->strides[0][w->rank - 2] == 1 &&
           (int64_t)w->strides[0][w->rank - 1] > 1;
}

static bool has_repeats(const walk *w, uint32_t item)
{
    return w->rank > 1 && w->shape[w->rank - 1] * item <= LONG_REPEAT &&
           w->strides[0][w->rank - 2] == 0 && w->strides[0][w->rank - 1] == 1;
}

static bool has_short_rows(const walk *w, uint32_t item)
{
    return w->rank > 1 && w->shape[w->rank - 1] * item <= LONG_ROW;
}

/* The walk with the last `axes` axes as one, whose elements the caller finds. */
static walk joined(const walk *w, uint32_t axes)
{
    walk j = *w;
    for (; axes > 1; axes--) {
        j.rank--;
        j.shape[j.rank - 1] *= j.shape[j.rank];
    }
    j.strides[0][j.rank - 1] = 0;
    return j;
}

static void move_groups(const strided_copy *c, char *y, const char *x, uint64_t stride,
                        uint64_t size, size_t n)
{
    switch (c->item) {
    case 1: copy_groups_1(y, x, stride, size, n); break;
    case 2: copy_groups_2(y, x, stride, size, n); break;
    case 4: copy_groups_4(y, x, stride, size, n); break;
    default: copy_groups_8(y, x, stride, size, n);
    }
}

/* Elements [first, first + n) of a line of groups that begins at x. */
static void copy_grouped(const strided_copy *c, char *y, const char *x, uint64_t first, size_t n)
{
    const uint64_t size = c->w.shape[c->w.rank - 1], stride = c->w.strides[0][c->w.rank - 1];
    const uint64_t end = first + n;
    for (uint64_t at = first; at < end;) {
        const uint64_t group = at / size, within = at % size, left = (end - at) / size;
        const char *from = x + (group + within * stride) * c->item;
        const uint64_t some = size - within < end - at ? size - within : end - at;
        if (!within && left) {
            move_groups(c, y, from, stride, size, left);
            at += left * size;
            y += left * size * c->item;
            continue;
        }
        move_groups(c, y, from, stride, some, 1);
        at += some;
        y += some * c->item;
    }
}

/* Elements [first, first + n) of a line that repeats the elements at x: each copy doubles them. */
static void copy_repeated(const strided_copy *c, char *y, const char *x, uint64_t first, size_t n)
{
    const size_t size = c->w.shape[c->w.rank - 1] * c->item, begin = first * c->item % size;
    const size_t bytes = n * c->item, head = size - begin < bytes ? size - begin : bytes;
    size_t done = bytes - head < size ? bytes - head : size;
    memcpy(y, x + begin, head);
    memcpy(y + head, x, done);
    for (y += head; done < bytes - head;) {
        const size_t some = bytes - head - done < done ? bytes - head - done : done;
        memcpy(y + done, y, some);
        done += some;
    }
}

/* Elements [first, first + n) of lines of repeats, the first of which repeats the elements at x. */
static void copy_repeated_rows(const strided_copy *c, char *y, const char *x, uint64_t first,
                               size_t n)
{
    const uint32_t repeats = c->w.rank - 2, rows = c->w.rank - 3;
    const uint64_t line = c->w.shape[repeats] * c->w.shape[repeats + 1];
    const int64_t row_bytes = (int64_t)(c->w.strides[0][rows] * c->item);
    const size_t size_bytes = c->w.shape[repeats + 1] * c->item;
    const bool plain = size_bytes >= SHORT_REPEAT;
    uint64_t within = first % line;
    x += (int64_t)(first / line) * row_bytes;
    for (size_t some; n > 0; n -= some, y += some * c->item, x += row_bytes, within = 0) {
        some = line - within < n ? line - within : n;
        if (!plain || some < line)
            copy_repeated(c, y, x, within, some);
        else
            for (size_t k = 0; k < c->w.shape[repeats]; k++)
                memcpy(y + k * size_bytes, x, size_bytes);
    }
}

/* Elements [first, first + n) of rows whose first one begins at x. Strides may be negative. */
static void copy_rows(const strided_copy *c, char *y, const char *x, uint64_t first, size_t n)
{
    const uint64_t size = c->w.shape[c->w.rank - 1], stride = c->w.strides[0][c->w.rank - 1];
    const uint64_t row = c->w.strides[0][c->w.rank - 2];
    uint64_t within = first % size, from = first / size * row + within * stride;
    for (size_t done = 0; done < n;) {
        const size_t some = size - within < n - done ? size - within : n - done;
        strided_copy_line(c, y + done * c->item, x + (int64_t)(from * c->item), stride, some);
        from += row - within * stride;
        done += some;
        within = 0;
    }
}

typedef void copy_pair(const strided_copy *c, char *y, const char *x, uint64_t first, size_t n);

static void copy_joined(const strided_copy *c, const kernel_run *r, copy_pair *copy)
{
    const walk w = joined(&c->w, copy == copy_repeated_rows ? 3 : 2);
    const char *x = r->tensors[0];
    char *y = r->tensors[c->inputs];
    walk_at at;
    size_t n;
    walk_begin(&at, &w, r->part, r->parts);
    for (; walk_run(&at, &w, JOINED_PIECE, &n); walk_next(&at, &w, n))
        copy(c, y + at.done * c->item, x + (c->offset + at.offset[0]) * c->item,
             at.index[w.rank - 1], n);
}

void strided_copy_run(const strided_copy *c, const kernel_run *r)
{
    copy_pair *const pair = has_groups(&c->w) ? copy_grouped
                            : has_repeats(&c->w, c->item)
                                ? c->w.rank > 2 ? copy_repeated_rows : copy_repeated
                            : has_short_rows(&c->w, c->item) ? copy_rows
                                                             : NULL;
    if (!c->w.count) return;
    if (pair) {
        copy_joined(c, r, pair);
        return;
    }
    const char *x = r->tensors[0];
    char *y = r->tensors[c->inputs];
    const uint64_t stride = c->w.strides[0][c->w.rank - 1];
    walk_at at;
    size_t n;
    walk_begin(&at, &c->w, r->part, r->parts);
    for (; walk_run(&at, &c->w, SIZE_MAX, &n); walk_next(&at, &c->w, n))
        strided_copy_line(c, y + at.done * c->item, x + (c->offset + at.offset[0]) * c->item,
                          stride, n);
}
