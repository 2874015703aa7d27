/* SPDX-License-Identifier: Apache-2.0 */
/* Strided copies. Dimensions that are contiguous on both sides are merged first; then the innermost
 * one is a block copy or a fill. If the two sides have different innermost dimensions (a
 * transposition), small tiles over both use whole cache lines. Large copies are cut along the outer
 * dimensions. */
#include "ops/move.h"

#include <string.h>

#include "base/system.h"
#include "tensor/tensor.h"

enum { TILE = 16, PIECE_BYTES = 1 << 18 };

size_t move_size(pgy_dtype storage)
{
    const unsigned bits = pgy_dtype_describe(storage)->bits;
    return bits < 8 ? 1 : bits / 8;
}

size_t move_strides(ptrdiff_t *strides, size_t rank, const int64_t *shape)
{
    size_t step = 1;
    for (size_t i = rank; i-- > 0;) {
        strides[i] = (ptrdiff_t)step;
        step *= (size_t)shape[i];
    }
    return step;
}

void move_box_init(move_box *box, size_t rank, const int64_t *shape)
{
    box->rank = rank;
    for (size_t i = 0; i < rank; i++) box->size[i] = (size_t)shape[i];
    move_strides(box->to, rank, shape);
    move_strides(box->from, rank, shape);
}

size_t move_product(const int64_t *shape, size_t begin, size_t end)
{
    size_t product = 1;
    for (size_t i = begin; i < end; i++) product *= (size_t)shape[i];
    return product;
}

void move_fill(void *to, const void *element, size_t element_bytes, size_t count)
{
    char *p = to;
    if (!count) return;
    memcpy(p, element, element_bytes);
    for (size_t done = 1; done < count;) {
        const size_t n = done < count - done ? done : count - done;
        memcpy(p + done * element_bytes, p, n * element_bytes);
        done += n;
    }
}

pgy_status move_own(pgy_tensor *t, pgy_error *err)
{
    return pgy_tensor_dtype(t) == PGY_STRING ? tensor_own_texts(t, err) : PGY_OK;
}

/* Drops dimensions of size 1, merges contiguous ones. */
static void simplify(move_box *b, const move_box *box)
{
    b->rank = 0;
    for (size_t d = 0; d < box->rank; d++) {
        if (box->size[d] == 1) continue;
        if (b->rank) {
            const size_t last = b->rank - 1;
            const ptrdiff_t size = (ptrdiff_t)box->size[d];
            if (b->to[last] == box->to[d] * size && b->from[last] == box->from[d] * size) {
                b->size[last] *= box->size[d];
                b->to[last] = box->to[d];
                b->from[last] = box->from[d];
                continue;
            }
        }
        b->size[b->rank] = box->size[d];
        b->to[b->rank] = box->to[d];
        b->from[b->rank] = box->from[d];
        b->rank++;
    }
    if (!b->rank) {
        b->size[0] = b->rank = 1;
        b->to[0] = b->from[0] = 1;
    }
}

#define T uint8_t
#define NAME(x) x##_1
#include "ops/move_line.inc"
#define T uint16_t
#define NAME(x) x##_2
#include "ops/move_line.inc"
#define T uint32_t
#define NAME(x) x##_4
#include "ops/move_line.inc"
#define T uint64_t
#define NAME(x) x##_8
#include "ops/move_line.inc"
typedef struct wide {
    uint64_t half[2];
} wide;
#define T wide
#define NAME(x) x##_16
#include "ops/move_line.inc"

typedef void (*line_copy)(void *to, ptrdiff_t to_step, const void *from, ptrdiff_t from_step,
                          size_t n);
typedef void (*tile_copy)(void *to, const ptrdiff_t *to_step, const void *from,
                          const ptrdiff_t *from_step, const size_t *size);

typedef struct job {
    const move_box *box;
    char *to;
    const char *from;
    size_t element_bytes;
    line_copy line;
    tile_copy tile;
    size_t inner;     /* innermost dimensions that one call of `line` (1) or `tile` (2) copies */
    size_t outer;     /* product of the sizes of the other dimensions */
    size_t per_piece; /* how many of the `outer` positions one thread's piece has */
} job;

/* Copies the innermost dimensions at one position of the outer ones. */
static void copy_inner(const job *j, char *to, const char *from)
{
    const move_box *b = j->box;
    const size_t last = b->rank - 1;
    if (j->inner == 2)
        j->tile(to, b->to + last - 1, from, b->from + last - 1, b->size + last - 1);
    else if (b->to[last] == 1 && b->from[last] == 1)
        memcpy(to, from, b->size[last] * j->element_bytes);
    else
        j->line(to, b->to[last], from, b->from[last], b->size[last]);
}

static void copy_piece(size_t piece, void *user)
{
    const job *j = user;
    const move_box *b = j->box;
    const size_t dims = b->rank - j->inner;
    const size_t begin = piece * j->per_piece;
    const size_t end = j->outer - begin < j->per_piece ? j->outer : begin + j->per_piece;
    const ptrdiff_t bytes = (ptrdiff_t)j->element_bytes;
    size_t index[PGY_MAX_RANK], rest = begin;
    char *to = j->to;
    const char *from = j->from;
    for (size_t d = dims; d-- > 0;) {
        index[d] = rest % b->size[d];
        rest /= b->size[d];
        to += (ptrdiff_t)index[d] * b->to[d] * bytes;
        from += (ptrdiff_t)index[d] * b->from[d] * bytes;
    }
    for (size_t i = begin; i < end; i++) {
        copy_inner(j, to, from);
        for (size_t d = dims; d-- > 0;) {
            to += b->to[d] * bytes;
            from += b->from[d] * bytes;
            if (++index[d] < b->size[d]) break;
            to -= (ptrdiff_t)index[d] * b->to[d] * bytes;
            from -= (ptrdiff_t)index[d] * b->from[d] * bytes;
            index[d] = 0;
        }
    }
}

/* If `from` is contiguous along a dimension other than the last, makes it the second last. */
static bool find_transposed(move_box *b)
{
    const size_t last = b->rank - 1;
    if (b->rank < 2 || b->to[last] != 1 || b->from[last] == 1 || b->from[last] == 0) return false;
    size_t d = last;
    while (d-- > 0)
        if (b->from[d] == 1) break;
    if (d > last) return false;
    const size_t size = b->size[d];
    const ptrdiff_t to = b->to[d], from = b->from[d];
    for (; d + 1 < last; d++) {
        b->size[d] = b->size[d + 1];
        b->to[d] = b->to[d + 1];
        b->from[d] = b->from[d + 1];
    }
    b->size[d] = size;
    b->to[d] = to;
    b->from[d] = from;
    return true;
}

static void choose(job *j)
{
    switch (j->element_bytes) {
    case 1:
        j->line = line_1;
        j->tile = tile_1;
        break;
    case 2:
        j->line = line_2;
        j->tile = tile_2;
        break;
    case 4:
        j->line = line_4;
        j->tile = tile_4;
        break;
    case 8:
        j->line = line_8;
        j->tile = tile_8;
        break;
    default:
        j->line = line_16;
        j->tile = tile_16;
        break;
    }
}

void move_copy(void *to, const void *from, size_t element_bytes, const move_box *box)
{
    move_box b;
    for (size_t d = 0; d < box->rank; d++)
        if (!box->size[d]) return;
    simplify(&b, box);
    job j = {
        .box = &b, .to = to, .from = from, .element_bytes = element_bytes, .inner = 1, .outer = 1};
    choose(&j);
    if (find_transposed(&b)) j.inner = 2;
    size_t inner_bytes = element_bytes;
    for (size_t d = 0; d < b.rank - j.inner; d++) j.outer *= b.size[d];
    for (size_t d = b.rank - j.inner; d < b.rank; d++) inner_bytes *= b.size[d];
    j.per_piece = inner_bytes < PIECE_BYTES ? PIECE_BYTES / inner_bytes : 1;
    parallel_for_until_cancelled((j.outer + j.per_piece - 1) / j.per_piece, copy_piece, &j);
}
