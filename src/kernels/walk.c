/* SPDX-License-Identifier: Apache-2.0 */
/* Axes of size one are dropped. Neighbouring axes are merged if, for every operand, the stride of
 * the outer one equals stride times size of the inner one. */
#include "kernels/walk.h"

#include <string.h>

#include "base/cancel.h"

static void swap(uint64_t *a, uint64_t *b)
{
    const uint64_t kept = *a;
    *a = *b;
    *b = kept;
}

static void swap_axes(walk *w, uint32_t a, uint32_t b)
{
    swap(&w->shape[a], &w->shape[b]);
    for (uint32_t k = 0; k < w->operands; k++) swap(&w->strides[k][a], &w->strides[k][b]);
}

static bool joins(const walk *w, uint32_t outer, uint32_t inner)
{
    for (uint32_t k = 0; k < w->operands; k++)
        if (w->strides[k][outer] != w->strides[k][inner] * w->shape[inner]) return false;
    return true;
}

bool walk_init_strided(walk *w, const int64_t *shape, int32_t rank, const int64_t *strides,
                       uint32_t operands)
{
    *w = (walk){.operands = operands, .count = 1};
    for (int32_t d = rank - 1; d >= 0; d--) { /* collected innermost first */
        const uint64_t size = (uint64_t)shape[d];
        w->count *= size;
        if (size == 1) continue;
        if (w->rank == WALK_AXES) return false;
        w->shape[w->rank] = size;
        for (uint32_t k = 0; k < operands; k++)
            w->strides[k][w->rank] = (uint64_t)strides[k * (uint32_t)rank + (uint32_t)d];
        const uint32_t last = w->rank++;
        if (last && joins(w, last, last - 1)) {
            w->shape[last - 1] *= size;
            w->rank--;
        }
    }
    if (!w->rank) {
        w->shape[0] = 1;
        for (uint32_t k = 0; k < operands; k++) w->strides[k][0] = 1;
        w->rank = 1;
    }
    for (uint32_t i = 0; i < w->rank / 2; i++)
        swap_axes(w, i, w->rank - 1 - i); /* outermost first */
    return true;
}

bool walk_init(walk *w, const kernel_tensor *out, const kernel_tensor *const *operands,
               uint32_t count)
{
    int64_t strides[KERNEL_MAX_INPUTS * PGY_MAX_RANK];
    for (uint32_t k = 0; k < count; k++) {
        const kernel_tensor *t = operands[k];
        int64_t stride = 1;
        for (int32_t i = 0; i < out->rank; i++) {
            const int32_t axis = t->rank - 1 - i, d = out->rank - 1 - i;
            const int64_t size = axis >= 0 ? t->shape[axis] : 1;
            strides[(int32_t)k * out->rank + d] = size == 1 ? 0 : stride;
            stride *= size;
        }
    }
    return walk_init_strided(w, out->shape, out->rank, strides, count);
}

bool walk_extent(kernel_extent *e, const walk *w, bool unit)
{
    if (w->rank < 1 || w->rank > WALK_AXES || w->operands > KERNEL_MAX_INPUTS ||
        w->count > INT64_MAX || extent_product(w->shape, w->rank) != w->count)
        return extent_refuse(e, "shape");
    for (uint32_t k = 0; unit && k < w->operands; k++)
        if (w->strides[k][w->rank - 1] > 1) return extent_refuse(e, "strides");
    return true;
}

uint64_t walk_reach(const walk *w, uint32_t operand)
{
    return extent_reach(w->shape, w->strides[operand], w->rank);
}

void walk_begin(walk_at *at, const walk *w, uint32_t part, uint32_t parts)
{
    size_t from, to;
    kernel_share(&from, &to, (w->count + WALK_ALIGN - 1) / WALK_ALIGN, part, parts);
    *at = (walk_at){.done = from * WALK_ALIGN, .end = to * WALK_ALIGN};
    if (at->end > w->count) at->end = w->count;
    uint64_t rest = at->done;
    for (uint32_t d = w->rank; w->count && d-- > 0;) {
        at->index[d] = rest % w->shape[d];
        rest /= w->shape[d];
        for (uint32_t k = 0; k < w->operands; k++) at->offset[k] += at->index[d] * w->strides[k][d];
    }
}

bool walk_run(const walk_at *at, const walk *w, size_t limit, size_t *n)
{
    const uint64_t rest = at->end - at->done;
    const uint64_t row = w->shape[w->rank - 1] - at->index[w->rank - 1];
    if (at->done >= at->end || cancel_requested()) return false;
    *n = row < rest ? row : rest;
    if (*n > limit) *n = limit;
    return true;
}

void walk_next(walk_at *at, const walk *w, size_t n)
{
    uint32_t d = w->rank - 1;
    at->done += n;
    at->index[d] += n;
    for (uint32_t k = 0; k < w->operands; k++) at->offset[k] += n * w->strides[k][d];
    while (at->index[d] == w->shape[d] && d > 0) {
        for (uint32_t k = 0; k < w->operands; k++)
            at->offset[k] += w->strides[k][d - 1] - w->shape[d] * w->strides[k][d];
        at->index[d--] = 0;
        at->index[d]++;
    }
}

uint32_t walk_parts(uint64_t count, uint64_t bytes_each)
{
    const uint64_t parts = count * bytes_each / 32768 + 1, most = count / WALK_ALIGN + 1;
    return (uint32_t)(parts < most ? parts < 256 ? parts : 256 : most < 256 ? most : 256);
}
