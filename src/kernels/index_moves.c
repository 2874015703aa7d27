/* SPDX-License-Identifier: Apache-2.0 */
/* GatherElements, GatherND, and ScatterElements and ScatterND without reduction. Scatters copy the
 * data in a first phase. In the second phase, one part applies all updates in order, so that the
 * last of several updates to one element wins. Negative indices count from the end; an index out of
 * range is a fault. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/walk.h"

typedef struct params {
    uint32_t scatters, tuples, wide, item, rank; /* wide: indices are int64 */
    uint64_t count;                              /* number of indices or of index tuples */
    uint64_t axis, length; /* length: size of the axis, or number of indices per tuple */
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

static bool index_moves_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *indices = &u->inputs[1];
    const char *op = u->node->def->name;
    const unsigned bits = pgy_dtype_describe(x->dtype)->bits;
    *p = (params){.scatters = op[0] == 'S',
                  .tuples = strstr(op, "ND") != NULL,
                  .wide = indices->dtype == PGY_I64,
                  .item = bits / 8,
                  .rank = (uint32_t)x->rank};
    if (indices->dtype != PGY_I64 && indices->dtype != PGY_I32) return false;
    if (bits % 8 || x->dtype == PGY_STRING || x->rank < 1 || x->rank > WALK_AXES) return false;
    if (!kernel_count(x) || !kernel_count(indices)) return false;
    if (p->scatters && !op_attr_is(u->node, "reduction", "none", "none")) return false;
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
    *cost_ns = 100 + 4 * (double)p.count + moved * p.item / 5;
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
    if (!p->item || p->item > sizeof(double) * 2 || !p->count || p->count > INT64_MAX) return false;
    if (p->tuples) return p->length >= 1 && p->length <= WALK_AXES && p->batch_count && p->block;
    if (p->rank < 1 || p->rank > WALK_AXES || p->axis >= p->rank) return false;
    for (uint32_t d = 0; d < p->rank; d++)
        if (!p->shape[d]) return false;
    return true;
}

static bool index_moves_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (q->input_count != (p->scatters ? 3 : 2)) return extent_refuse(e, "number of inputs");
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

static bool read_index(uint64_t *out, const params *p, const void *indices, size_t i, uint64_t size)
{
    const int64_t given = p->wide ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];
    *out = (uint64_t)given + (given < 0 ? size : 0);
    return *out < size;
}

/* Finds the element of the data that index (or tuple) i addresses; false if out of range. */
static bool index_moves_find_place(uint64_t *out, const params *p, const void *indices, size_t i)
{
    uint64_t index, at = 0, rest = i;
    if (p->tuples) {
        for (size_t k = 0; k < p->length; k++) {
            if (!read_index(&index, p, indices, i * p->length + k, p->shape[k])) return false;
            at += index * p->strides[k];
        }
        *out = at + i / p->batch_count * p->batch_elements;
        return true;
    }
    if (!read_index(&index, p, indices, i, p->length)) return false;
    for (uint32_t d = p->rank; d-- > 0; rest /= p->shape[d])
        at += (d == p->axis ? index : rest % p->shape[d]) * p->strides[d];
    *out = at;
    return true;
}

static void index_moves_move(void *to, const void *from, size_t size)
{
    if (size == 4)
        memcpy(to, from, 4);
    else if (size == 8)
        memcpy(to, from, 8);
    else
        memcpy(to, from, size);
}

static void index_moves_scatter(const params *p, const kernel_run *r, size_t bytes)
{
    size_t from, to;
    uint64_t at;
    char *y = r->tensors[3];
    if (r->phase == 0) {
        kernel_share(&from, &to, p->data_bytes, r->part, r->parts);
        if (y != (char *)r->tensors[0])
            memcpy(y + from, (const char *)r->tensors[0] + from, to - from);
        return;
    }
    for (size_t i = 0; r->part == 0 && i < p->count; i++)
        if (index_moves_find_place(&at, p, r->tensors[1], i))
            index_moves_move(y + at * p->item, (const char *)r->tensors[2] + i * bytes, bytes);
        else
            kernel_fault(r);
}

static void index_moves_run(const kernel_run *r)
{
    const params *p = r->params;
    const size_t bytes = p->tuples ? p->block * p->item : p->item;
    size_t from, to;
    uint64_t at;
    if (p->scatters) {
        index_moves_scatter(p, r, bytes);
        return;
    }
    kernel_share(&from, &to, p->count, r->part, r->parts);
    for (size_t i = from; i < to; i++) {
        char *y = (char *)r->tensors[2] + i * bytes;
        if (index_moves_find_place(&at, p, r->tensors[1], i))
            index_moves_move(y, (const char *)r->tensors[0] + at * p->item, bytes);
        else
            kernel_fault(r);
    }
}

const kernel KERNELS_index_moves[] = {
    {.name = "index_moves",
     .version = 1,
     .ops = "GatherElements GatherND ScatterElements ScatterND",
     .accept = index_moves_accept,
     .prepare = index_moves_prepare,
     .run = index_moves_run,
     .extent = index_moves_extent},
    {0},
};
