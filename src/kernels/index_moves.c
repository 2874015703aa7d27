/* SPDX-License-Identifier: Apache-2.0 */
/* GatherElements, GatherND, ScatterElements and ScatterND. Scatters copy the data in a first phase,
 * and apply the updates in a second one. Updates of one element are applied in order by one part,
 * so that the last one wins or sums have a fixed order. Negative indices count from the end; an
 * index out of range is a fault.
 *
 * Indices are turned into offsets, some at a time, before anything moves. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/index_moves.h"
#include "kernels/kernel.h"
#include "kernels/walk.h"

typedef struct params {
    uint32_t scatters, tuples, wide, item, rank; /* wide: indices are int64 */
    uint32_t level;
    uint32_t reduction, type; /* index_reduction; index_type of the elements */
    uint64_t count;           /* number of indices or of index tuples */
    uint64_t axis, length;    /* length: size of the axis, or number of indices per tuple */
    /* Elements that a tuple selects; number of tuples and of data elements per batch entry. */
    uint64_t block, batch_count, batch_elements;
    uint64_t data_bytes;
    /* Shape of the indices; with tuples, sizes of the data's indexed axes. */
    uint64_t shape[WALK_AXES];
    uint64_t strides[WALK_AXES]; /* strides of the data */
} params;

static bool describe_elements(params *p, const kernel_tensor *x, const kernel_tensor *indices,
                              const op_node *n)
{
    int64_t axis = op_attr_int(n, "axis", 0);
    uint64_t stride = 1;
    if (axis < 0) axis += x->rank;
    if (axis < 0 || axis >= x->rank || indices->rank != x->rank) return false;
    p->axis = (uint64_t)axis;
    p->length = (uint64_t)x->shape[axis];
    p->count = kernel_count(indices);
    for (int32_t d = x->rank - 1; d >= 0; d--) {
        p->shape[d] = (uint64_t)indices->shape[d];
        p->strides[d] = stride;
        stride *= (uint64_t)x->shape[d];
        if (d != axis && indices->shape[d] > x->shape[d]) return false;
    }
    return true;
}

static bool describe_tuples(params *p, const kernel_tensor *x, const kernel_tensor *indices,
                            const op_node *n)
{
    const int64_t batch = op_attr_int(n, "batch_dims", 0);
    uint64_t batches = 1;
    if (indices->rank < 1 || batch < 0 || batch >= indices->rank || batch >= x->rank) return false;
    const int64_t length = indices->shape[indices->rank - 1];
    if (length < 1 || length > x->rank - batch) return false;
    p->length = (uint64_t)length;
    p->count = kernel_count(indices) / p->length;
    p->block = 1;
    for (int32_t d = x->rank - 1; d >= batch + length; d--) p->block *= (uint64_t)x->shape[d];
    uint64_t stride = p->block;
    for (int64_t k = length - 1; k >= 0; k--) {
        p->shape[k] = (uint64_t)x->shape[batch + k];
        p->strides[k] = stride;
        stride *= p->shape[k];
    }
    p->batch_elements = stride;
    for (int64_t d = 0; d < batch; d++) {
        batches *= (uint64_t)x->shape[d];
        if (x->shape[d] != indices->shape[d]) return false;
    }
    p->batch_count = batches ? p->count / batches : 0;
    return true;
}

static bool read_reduction(params *p, const kernel_problem *u)
{
    static const char *const NAMES[INDEX_REDUCTIONS] = {"none", "add", "mul", "min", "max"};
    const pgy_dtype type = u->inputs[0].dtype;
    if (!p->scatters || op_attr_is(u->node, "reduction", "none", "none")) return true;
    while (p->reduction < INDEX_REDUCTIONS &&
           !op_attr_is(u->node, "reduction", NAMES[p->reduction], "none"))
        p->reduction++;
    p->type = type == PGY_F32 ? INDEX_F32 : type == PGY_I64 ? INDEX_I64 : INDEX_I32;
    return p->reduction < INDEX_REDUCTIONS &&
           (type == PGY_F32 || type == PGY_I64 || type == PGY_I32);
}

static bool index_moves_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *indices = &u->inputs[1];
    const char *op = u->node->def->name;
    const unsigned bits = pgy_dtype_describe(x->dtype)->bits;
    *p = (params){.scatters = op[0] == 'S',
                  .tuples = strstr(op, "ND") != NULL,
                  .wide = indices->dtype == PGY_I64,
                  .item = bits / 8,
                  .rank = (uint32_t)x->rank,
                  .level = u->self->needs};
    if (indices->dtype != PGY_I64 && indices->dtype != PGY_I32) return false;
    if (bits % 8 || x->dtype == PGY_STRING || x->rank < 1 || x->rank > WALK_AXES) return false;
    if (!kernel_count(x) || !kernel_count(indices)) return false;
    if (!index_loops_of(p->item) || !read_reduction(p, u)) return false;
    p->data_bytes = kernel_size_bytes(x);
    if (!(p->tuples ? describe_tuples(p, x, indices, u->node)
                    : describe_elements(p, x, indices, u->node)))
        return false;
    const uint64_t moved = p->count * (p->tuples ? p->block : 1);
    return !p->scatters || (u->inputs[2].dtype == x->dtype && kernel_count(&u->inputs[2]) == moved);
}

static bool index_moves_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!index_moves_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    const double moved = (double)p.count * (double)(p.tuples ? p.block : 1);
    *cost_ns = 100 + 2 * (double)p.count + moved * p.item / 5;
    if (p.scatters) *cost_ns += (double)p.data_bytes / 5;
    return true;
}

static pgy_status index_moves_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)index_moves_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .in_place = -1};
    out->phases = p->scatters ? 2 : 1;
    out->in_place = p->scatters ? 0 : -1;
    const uint64_t parts = p->scatters ? p->data_bytes / 65536 + 1 : p->count / 4096 + 1;
    out->parts = (uint32_t)(parts < 64 ? parts : 64);
    return PGY_OK;
}

/* Number of elements of the data up to the last one that an index can address. */
static uint64_t reach_of(const params *p)
{
    uint64_t sizes[WALK_AXES + 1];
    uint64_t strides[WALK_AXES + 1];
    const uint32_t axes = p->tuples ? (uint32_t)p->length : p->rank;
    memcpy(sizes, p->shape, axes * sizeof *sizes);
    memcpy(strides, p->strides, axes * sizeof *strides);
    if (!p->tuples) {
        sizes[p->axis] = p->length;
        return extent_reach(sizes, strides, axes);
    }
    sizes[axes] = (p->count - 1) / p->batch_count + 1;
    strides[axes] = p->batch_elements;
    /* Up to the first element of the last block. */
    const uint64_t first = extent_reach(sizes, strides, axes + 1);
    return first ? extent_add(first, p->block - 1) : 0;
}

static bool has_valid_axes(const params *p)
{
    if (!p->count || p->count > INT64_MAX) return false;
    if (p->tuples) return p->length >= 1 && p->length <= WALK_AXES && p->batch_count && p->block;
    if (p->rank < 1 || p->rank > WALK_AXES || p->axis >= p->rank) return false;
    for (uint32_t d = 0; d < p->rank; d++)
        if (!p->shape[d]) return false;
    return true;
}

static bool index_moves_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (q->input_count != (p->scatters ? 3 : 2)) return extent_refuse(e, "number of inputs");
    if (!index_loops_of(p->item)) return extent_refuse(e, "element size");
    if (!extent_enum(e, p->reduction, INDEX_REDUCTIONS, "reduction") ||
        !extent_enum(e, p->type, INDEX_TYPES, "type"))
        return false;
    if (p->reduction && (!p->scatters || p->item != index_type_bytes(p->type)))
        return extent_refuse(e, "reduction");
    if (!has_valid_axes(p)) return extent_refuse(e, "sizes");
    const uint64_t reach = reach_of(p), wide = p->wide ? sizeof(int64_t) : sizeof(int32_t);
    const uint64_t moved = extent_mul(p->count, p->tuples ? p->block : 1);
    extent_tensor(e, 0, reach, p->item);
    extent_tensor(e, 1, extent_mul(p->count, p->tuples ? p->length : 1), wide);
    extent_tensor(e, 2, moved, p->item);
    if (p->scatters) {
        extent_tensor(e, 0, p->data_bytes, 1);
        extent_tensor(e, 3, reach, p->item);
        extent_tensor(e, 3, p->data_bytes, 1);
        e->phases = 2;
    }
    e->indices = 1u << 1;
    return true;
}

/* ---- Offsets -------------------------------------------------------------------------------- */

enum { PIECE = 512, SHORT = 8 };

/* Adds to each of n offsets an index times `stride`; the indices are `every` apart. False: one is
 * out of range. */
#define ADD_INDICES(name, type)                                                              \
    static bool name(uint64_t *restrict offsets, const type *restrict indices, size_t every, \
                     size_t n, uint64_t size, uint64_t stride)                               \
    {                                                                                        \
        uint64_t invalid = 0;                                                                \
        for (size_t k = 0; k < n; k++) {                                                     \
            const int64_t given = indices[k * every];                                        \
            const uint64_t index = (uint64_t)given + (given < 0 ? size : 0);                 \
            invalid |= index >= size;                                                        \
            offsets[k] += index * stride;                                                    \
        }                                                                                    \
        return !invalid;                                                                     \
    }
ADD_INDICES(add_indices_i64, int64_t)
ADD_INDICES(add_indices_i32, int32_t)

static bool index_moves_add(const params *p, uint64_t *offsets, const void *indices, size_t i,
                            size_t every, size_t n, uint64_t size, uint64_t stride)
{
    return p->wide ? add_indices_i64(offsets, (const int64_t *)indices + i, every, n, size, stride)
                   : add_indices_i32(offsets, (const int32_t *)indices + i, every, n, size, stride);
}

/* Offsets of n tuples from the first one. */
static bool index_moves_tuples(const params *p, uint64_t *offsets, const void *indices,
                               size_t first, size_t n)
{
    bool valid = true;
    for (size_t k = 0; k < n; k++)
        offsets[k] =
            p->batch_count < p->count ? (first + k) / p->batch_count * p->batch_elements : 0;
    for (size_t d = 0; d < p->length && valid; d++)
        valid = index_moves_add(p, offsets, indices, first * p->length + d, p->length, n,
                                p->shape[d], p->strides[d]);
    return valid;
}

/* The position of an index: its column along the last axis, the position of its row, and the row's
 * offset in the data without the indexed axis. */
typedef struct index_place {
    uint64_t at[WALK_AXES], offset, column;
} index_place;

static index_place index_place_of(const params *p, uint64_t row, uint64_t column)
{
    index_place w = {.column = column};
    for (uint32_t d = p->rank - 1; d-- > 0; row /= p->shape[d]) {
        w.at[d] = row % p->shape[d];
        if (d != p->axis) w.offset += w.at[d] * p->strides[d];
    }
    return w;
}

static void index_place_next_row(const params *p, index_place *w)
{
    for (uint32_t d = p->rank - 1; d-- > 0;) {
        const uint64_t stride = d == p->axis ? 0 : p->strides[d];
        w->offset += stride;
        if (++w->at[d] < p->shape[d]) return;
        w->offset -= w->at[d] * stride;
        w->at[d] = 0;
    }
}

/* Offsets of n indices from index i on, which is at `w`; moves `w` behind them. */
static bool index_moves_elements(const params *p, uint64_t *offsets, const void *indices, size_t i,
                                 index_place *w, size_t n)
{
    const uint64_t length = p->shape[p->rank - 1], along = p->axis + 1 == p->rank ? 0 : 1;
    bool valid = true;
    for (size_t done = 0; done < n;) {
        const size_t some = n - done < length - w->column ? n - done : length - w->column;
        for (size_t k = 0; k < some; k++) offsets[done + k] = w->offset + along * (w->column + k);
        valid &= index_moves_add(p, offsets + done, indices, i + done, 1, some, p->length,
                                 p->strides[p->axis]);
        done += some;
        w->column += some;
        if (w->column < length) continue;
        w->column = 0;
        index_place_next_row(p, w);
    }
    return valid;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Moves the elements that belong to n offsets, the first of which is of index `first`. */
static void index_moves_elements_at(const params *p, const kernel_run *r, const uint64_t *offsets,
                                    size_t first, size_t n)
{
    const index_loops *loops =
        p->reduction ? index_reduction_loops_of(p->type, p->reduction) : index_loops_of(p->item);
    if (p->scatters)
        loops->scatter(r->tensors[3], (const char *)r->tensors[2] + first * p->item, offsets, n);
    else
        loops->gather((char *)r->tensors[2] + first * p->item, r->tensors[0], offsets, n);
}

/* Moves columns [from, to) of the blocks that belong to n offsets. */
static void index_moves_blocks_at(const params *p, const kernel_run *r, const uint64_t *offsets,
                                  size_t first, size_t n, uint64_t from, uint64_t to)
{
    const index_loops *loops =
        p->reduction ? index_reduction_loops_of(p->type, p->reduction) : NULL;
    for (size_t k = 0; k < n; k++) {
        const uint64_t data = (offsets[k] + from) * p->item;
        const uint64_t moved = ((first + k) * p->block + from) * p->item;
        if (!p->scatters)
            memcpy((char *)r->tensors[2] + moved, (const char *)r->tensors[0] + data,
                   (to - from) * p->item);
        else if (loops)
            loops->run((char *)r->tensors[3] + data, (const char *)r->tensors[2] + moved,
                       to - from);
        else
            memcpy((char *)r->tensors[3] + data, (const char *)r->tensors[2] + moved,
                   (to - from) * p->item);
    }
}

/* Moves the tuples [first, last), columns [from, to) of their blocks. */
static void index_moves_run_tuples(const params *p, const kernel_run *r, size_t first, size_t last,
                                   uint64_t from, uint64_t to)
{
    uint64_t offsets[PIECE];
    for (size_t i = first; i < last && !cancel_requested(); i += PIECE) {
        const size_t n = last - i < PIECE ? last - i : PIECE;
        if (!index_moves_tuples(p, offsets, r->tensors[1], i, n)) {
            kernel_fault(r);
            return;
        }
        if (p->block == 1)
            index_moves_elements_at(p, r, offsets, i, n);
        else
            index_moves_blocks_at(p, r, offsets, i, n, from, to);
    }
}

/* Moves columns [from, to) of the rows [first, last) of indices, or whole rows at once. */
static void index_moves_run_rows(const params *p, const kernel_run *r, size_t first, size_t last,
                                 uint64_t from, uint64_t to)
{
    const uint64_t length = p->shape[p->rank - 1];
    const bool whole = from == 0 && to == length;
    const size_t step = whole ? last - first : 1;
    uint64_t offsets[PIECE];
    for (size_t row = first; row < last && from < to && !cancel_requested(); row += step) {
        const size_t end = whole ? last * length : row * length + to;
        index_place w = index_place_of(p, row, from);
        for (size_t i = row * length + from; i < end && !cancel_requested(); i += PIECE) {
            const size_t n = end - i < PIECE ? end - i : PIECE;
            if (!index_moves_elements(p, offsets, r->tensors[1], i, &w, n)) {
                kernel_fault(r);
                return;
            }
            index_moves_elements_at(p, r, offsets, i, n);
        }
    }
}

/* Gathers rows [first, last) of indices without a list of offsets. */
static void index_moves_gather_rows(const params *p, const kernel_run *r, index_row_function *row,
                                    size_t first, size_t last)
{
    const uint64_t length = p->shape[p->rank - 1], along = p->axis + 1 == p->rank ? 0 : 1;
    const size_t index_bytes = p->wide ? sizeof(int64_t) : sizeof(int32_t);
    index_place w = index_place_of(p, first, 0);
    for (size_t i = first; i < last && !cancel_requested(); i++, index_place_next_row(p, &w))
        if (!row((char *)r->tensors[2] + i * length * p->item,
                 (const char *)r->tensors[0] + w.offset * p->item,
                 (const char *)r->tensors[1] + i * length * index_bytes, length, p->length,
                 p->strides[p->axis], along)) {
            kernel_fault(r);
            return;
        }
}

/* Applies this part's updates: other parts have other elements of the data. */
static void index_moves_scatter(const params *p, const kernel_run *r)
{
    size_t from = 0, to = 1;
    if (p->tuples && p->block > 1) {
        kernel_share(&from, &to, p->block, r->part, r->parts);
        if (from < to) index_moves_run_tuples(p, r, 0, p->count, from, to);
    } else if (p->tuples) {
        if (r->part == 0) index_moves_run_tuples(p, r, 0, p->count, 0, 1);
    } else {
        const uint64_t length = p->shape[p->rank - 1], rows = p->count / length;
        const bool by_rows = p->axis + 1 == p->rank;
        kernel_share(&from, &to, by_rows ? rows : length, r->part, r->parts);
        index_moves_run_rows(p, r, by_rows ? from : 0, by_rows ? to : rows, by_rows ? 0 : from,
                             by_rows ? length : to);
    }
}

static void index_moves_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    if (p->scatters && r->phase == 0) {
        kernel_share(&from, &to, p->data_bytes, r->part, r->parts);
        if (r->tensors[3] != r->tensors[0])
            memcpy((char *)r->tensors[3] + from, (const char *)r->tensors[0] + from, to - from);
    } else if (p->scatters) {
        index_moves_scatter(p, r);
    } else if (p->tuples) {
        kernel_share(&from, &to, p->count, r->part, r->parts);
        index_moves_run_tuples(p, r, from, to, 0, p->block);
    } else {
        index_row_function *row = index_row_of(p->item, p->wide, (cpu_level)p->level);
        kernel_share(&from, &to, p->count / p->shape[p->rank - 1], r->part, r->parts);
        if (row && p->length && p->shape[p->rank - 1] >= SHORT && reach_of(p) <= UINT32_MAX)
            index_moves_gather_rows(p, r, row, from, to);
        else
            index_moves_run_rows(p, r, from, to, 0, p->shape[p->rank - 1]);
    }
}

#define ROW(suffix, level)                                                                    \
    {                                                                                         \
        .name = "index_moves_" #suffix, .version = 1,                                         \
        .ops = "GatherElements GatherND ScatterElements ScatterND", .needs = level,           \
        .accept = index_moves_accept, .prepare = index_moves_prepare, .run = index_moves_run, \
        .extent = index_moves_extent                                                          \
    }
const kernel KERNELS_index_moves[] = {
    ROW(avx512, CPU_AVX512),
    ROW(portable, CPU_PORTABLE),
    {0},
};
