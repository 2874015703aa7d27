/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between layouts: linear to blocked by channels and back, and plain copies. The engine
 * inserts them between kernels with different layouts. Channels last is one block. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/squares.h"

/* Positions of a block of channels that are moved together: a multiple of TILE, no fewer than
 * LEAST.
 */
enum { TILE = SQUARES_TILE, LEAST = 16 * TILE };

typedef struct params {
    uint64_t outer, channels, inner; /* sizes N, C and product of the spatial axes */
    uint64_t bytes;                  /* bytes of the whole tensor, for plain copies */
    uint32_t item, block;            /* bytes of an element, lanes of a block */
    uint32_t to_blocked;
} params;

static bool reorder_accept(kernel_problem *u, double *cost_ns)
{
    const kernel_tensor *x = &u->inputs[0];
    const uint32_t bits = pgy_dtype_describe(x->dtype)->bits;
    if (x->layout != u->outputs[0].layout && (x->rank < 2 || bits % 8 || x->dtype == PGY_STRING))
        return false;
    const size_t from = kernel_size_bytes(x), to = kernel_size_bytes(&u->outputs[0]);
    const double bytes = (double)(from > to ? from : to); /* with the lanes of absent channels */
    if (x->layout == u->outputs[0].layout || bits == 32)
        *cost_ns = bytes * 0.1;
    else
        *cost_ns = bytes / (bits / 8); /* element by element */
    return x->dtype != PGY_STRING;
}

/* The number of pairs of an image and a block of channels. */
static uint64_t block_count(const params *p)
{
    return p->inner ? p->outer * ((p->channels + p->block - 1) / p->block) : 0;
}

/* Into how many stretches of positions each block is cut: few blocks would leave threads idle. */
static uint64_t stretches_of(const params *p, uint64_t parts)
{
    const uint64_t blocks = block_count(p), most = p->inner / LEAST;
    const uint64_t wanted = blocks ? (parts + blocks - 1) / blocks : 1;
    return wanted < most ? wanted : most ? most : 1;
}

static uint32_t most_parts(const params *p)
{
    enum { MOST = 65535 };
    const uint64_t parts = block_count(p) * stretches_of(p, MOST);
    return parts < 1 ? 1 : parts < MOST ? (uint32_t)parts : MOST;
}

static pgy_status reorder_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    const kernel_layout blocked = x->layout != KERNEL_LINEAR ? x->layout : y->layout;
    p->bytes = kernel_size_bytes(x);
    p->item = (uint32_t)pgy_dtype_describe(x->dtype)->bits / 8;
    p->to_blocked = y->layout != KERNEL_LINEAR;
    p->outer = 1;
    if (x->layout != y->layout) {
        p->outer = (uint64_t)x->shape[0];
        p->channels = (uint64_t)x->shape[1];
        p->inner = 1;
        for (int32_t i = 2; i < x->rank; i++) p->inner *= (uint64_t)x->shape[i];
    }
    p->block = (uint32_t)kernel_lanes(blocked, p->channels);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = x->layout == y->layout ? (uint32_t)(1 + p->bytes / 65536) : most_parts(p);
    return PGY_OK;
}

static bool extent_copy(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (q->input_count != 1) return extent_refuse(e, "number of inputs");
    extent_tensor(e, 0, p->bytes, 1);
    extent_tensor(e, 1, p->bytes, 1);
    return true;
}

static bool extent_reorder(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (q->input_count != 1) return extent_refuse(e, "number of inputs");
    if (p->item != 1 && p->item != 2 && p->item != 4 && p->item != 8)
        return extent_refuse(e, "size of an element");
    kernel_layout blocked;
    if (!p->block || (p->block != p->channels && !kernel_layout_of_block(&blocked, p->block)))
        return extent_refuse(e, "block");
    const uint64_t padded = extent_round_up(p->channels, p->block);
    const bool to = p->to_blocked != 0;
    extent_tensor(e, to ? 0 : 1, extent_mul3(p->outer, p->channels, p->inner), p->item);
    extent_tensor(e, to ? 1 : 0, extent_mul3(p->outer, padded, p->inner), p->item);
    return true;
}

static void copy_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, p->bytes, r->part, r->parts);
    memcpy((char *)r->tensors[1] + from, (const char *)r->tensors[0] + from, to - from);
}

#define T uint8_t
#define REORDER reorder_1
#include "kernels/reorder_block.inc"
#define T uint16_t
#define REORDER reorder_2
#include "kernels/reorder_block.inc"
static void reorder_4(const params *p, const void *src, void *dst, size_t unit, size_t from,
                      size_t to)
{
    const size_t b = p->block, blocks = (p->channels + b - 1) / b, n = p->inner, count = to - from;
    const size_t image = unit / blocks, first = unit % blocks * b;
    const size_t lanes = p->channels - first < b ? p->channels - first : b;
    const size_t linear = (image * p->channels + first) * n + from, blocked = (unit * n + from) * b;
    if (!p->to_blocked) {
        squares_transpose((uint32_t *)dst + linear, n, (const uint32_t *)src + blocked, b, count,
                          lanes);
        return;
    }
    uint32_t *y = (uint32_t *)dst + blocked;
    if (lanes < b) memset(y, 0, count * b * sizeof *y);
    squares_transpose(y, b, (const uint32_t *)src + linear, n, lanes, count);
}
#define T uint64_t
#define REORDER reorder_8
#include "kernels/reorder_block.inc"

static void reorder_run(const kernel_run *r)
{
    const params *p = r->params;
    const uint64_t stretches = stretches_of(p, r->parts);
    size_t from, to;
    kernel_share(&from, &to, block_count(p) * stretches, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const size_t unit = i / stretches, k = i % stretches;
        const size_t first = p->inner * k / stretches / TILE * TILE;
        const size_t end =
            k + 1 < stretches ? p->inner * (k + 1) / stretches / TILE * TILE : p->inner;
        if (p->item == 1) reorder_1(p, r->tensors[0], r->tensors[1], unit, first, end);
        if (p->item == 2) reorder_2(p, r->tensors[0], r->tensors[1], unit, first, end);
        if (p->item == 4) reorder_4(p, r->tensors[0], r->tensors[1], unit, first, end);
        if (p->item == 8) reorder_8(p, r->tensors[0], r->tensors[1], unit, first, end);
    }
}

const kernel KERNELS_reorder[] = {
    {.name = "copy",
     .version = 1,
     .ops = "pgy:Copy",
     .flags = KERNEL_TAKES_HALF,
     .accept = reorder_accept,
     .prepare = reorder_prepare,
     .run = copy_run,
     .extent = extent_copy},
    {.name = "reorder",
     .version = 1,
     .ops = "pgy:Reorder",
     .flags = KERNEL_TAKES_HALF,
     .accept = reorder_accept,
     .prepare = reorder_prepare,
     .run = reorder_run,
     .extent = extent_reorder},
    {0},
};
