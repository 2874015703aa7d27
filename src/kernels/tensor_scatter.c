/* SPDX-License-Identifier: Apache-2.0 */
/* TensorScatter: the rows of a cache, of which some are new. A new row is read from the update, all
 * others are copied, unless the output is the cache itself. A write index that does not fit is a
 * fault. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"

enum { CACHE, UPDATE, INDICES };

typedef struct params {
    uint64_t batch, blocks;       /* blocks of rows for each batch entry */
    uint64_t room, length, row;   /* rows of a block, and new ones; bytes of a row */
    uint32_t circular, has_index; /* bool */
    uint64_t inputs;
} params;

static bool read_axis(int32_t *axis, const kernel_problem *u)
{
    const int32_t rank = u->inputs[CACHE].rank;
    const int64_t given = op_attr_int(u->node, "axis", -2);
    if (given < -rank || given >= rank) return false;
    *axis = (int32_t)(given < 0 ? given + rank : given);
    return *axis > 0;
}

static bool tensor_scatter_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[CACHE], *update = &u->inputs[UPDATE];
    const unsigned bits = pgy_dtype_describe(x->dtype)->bits;
    int32_t axis;
    *p = (params){.blocks = 1, .row = bits / 8, .inputs = u->input_count};
    if (x->dtype == PGY_STRING || bits % 8 || update->dtype != x->dtype || !kernel_count(x) ||
        !kernel_count(update) || update->rank != x->rank || !read_axis(&axis, u))
        return false;
    for (int32_t d = 0; d < x->rank; d++) {
        if (d != axis && x->shape[d] != update->shape[d]) return false;
        if (d > 0 && d < axis) p->blocks *= (uint64_t)x->shape[d];
        if (d > axis) p->row *= (uint64_t)x->shape[d];
    }
    p->batch = (uint64_t)x->shape[0];
    p->room = (uint64_t)x->shape[axis];
    p->length = (uint64_t)update->shape[axis];
    p->circular = op_attr_is(u->node, "mode", "circular", "linear");
    p->has_index = u->input_count > INDICES && u->inputs[INDICES].dtype;
    return p->length <= p->room &&
           (!p->has_index ||
            (u->inputs[INDICES].dtype == PGY_I64 && kernel_count(&u->inputs[INDICES]) == p->batch));
}

static bool tensor_scatter_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!tensor_scatter_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    const double blocks = (double)(p.batch * p.blocks);
    *cost_ns = 100 + blocks * (20 + (double)(p.room * p.row) / 10);
    return true;
}

static uint64_t rows_of(const params *p)
{
    return p->batch * p->blocks * p->room;
}

static pgy_status tensor_scatter_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    enum { WORTH_BYTES = 65536, PARTS = 256 };
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)tensor_scatter_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = CACHE};
    const uint64_t rows = rows_of(p), worth = rows * p->row / WORTH_BYTES + 1;
    out->parts = (uint32_t)(worth < PARTS ? worth : PARTS);
    if (out->parts > rows) out->parts = (uint32_t)rows;
    return PGY_OK;
}

static bool tensor_scatter_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (p->has_index > 1 || p->circular > 1 || p->inputs != q->input_count ||
        p->inputs < 2 + p->has_index)
        return extent_refuse(e, "number of inputs");
    if (!p->batch || !p->blocks || !p->room || !p->length || !p->row || p->length > p->room)
        return extent_refuse(e, "sizes");
    const uint64_t blocks = extent_mul(p->batch, p->blocks);
    extent_tensor(e, CACHE, extent_mul(blocks, p->room), p->row);
    extent_tensor(e, UPDATE, extent_mul(blocks, p->length), p->row);
    extent_tensor(e, (uint32_t)p->inputs, extent_mul(blocks, p->room), p->row);
    if (p->has_index) {
        extent_tensor(e, INDICES, p->batch, sizeof(int64_t));
        e->indices = 1u << INDICES;
    }
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* The first new row of a block. False: the write index does not fit. */
static bool first_row(uint64_t *first, const params *p, const kernel_run *r, uint64_t block)
{
    const int64_t at = p->has_index ? ((const int64_t *)r->tensors[INDICES])[block / p->blocks] : 0;
    *first = (uint64_t)at % p->room;
    return at >= 0 && (p->circular || (uint64_t)at <= p->room - p->length);
}

/* Writes rows [from, to) of a block. */
static void write_rows(const params *p, const kernel_run *r, char *y, uint64_t block, uint64_t from,
                       uint64_t to)
{
    uint64_t first;
    const char *x = (const char *)r->tensors[CACHE] + block * p->room * p->row;
    const char *update = (const char *)r->tensors[UPDATE] + block * p->length * p->row;
    if (!first_row(&first, p, r, block)) {
        kernel_fail(r, KERNEL_FAULT_LENGTH);
        return;
    }
    y += block * p->room * p->row;
    while (from < to) {
        const uint64_t k = from >= first ? from - first : from + p->room - first;
        const bool fresh = k < p->length;
        const uint64_t end = fresh ? from + p->length - k : from < first ? first : to;
        const uint64_t count = (end < to ? end : to) - from;
        if (fresh)
            memcpy(y + from * p->row, update + k * p->row, count * p->row);
        else if (x != y)
            memcpy(y + from * p->row, x + from * p->row, count * p->row);
        from += count;
    }
}

static void tensor_scatter_run(const kernel_run *r)
{
    const params *p = r->params;
    char *y = r->tensors[p->inputs];
    size_t from, to;
    kernel_share(&from, &to, rows_of(p), r->part, r->parts);
    while (from < to && !cancel_requested()) {
        const uint64_t block = from / p->room, end = (block + 1) * p->room;
        const uint64_t last = end < to ? end : to;
        write_rows(p, r, y, block, from % p->room, last - block * p->room);
        from = last;
    }
}

const kernel KERNELS_tensor_scatter[] = {
    {.name = "tensor_scatter",
     .version = 1,
     .ops = "TensorScatter",
     .flags = KERNEL_TAKES_HALF,
     .accept = tensor_scatter_accept,
     .prepare = tensor_scatter_prepare,
     .run = tensor_scatter_run,
     .extent = tensor_scatter_extent},
    {0},
};
