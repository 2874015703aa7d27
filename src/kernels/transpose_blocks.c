/* SPDX-License-Identifier: Apache-2.0 */
/* Transposes between channels last in a linear tensor and channels first in blocks: whole blocks
 * move, so no tensor with linear channels is made first. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"

enum { PIXELS = 64 }; /* of a unit of work */

typedef struct params {
    uint64_t outer, channels, inner; /* sizes N, C and product of the spatial axes */
    uint32_t item, block;            /* bytes of an element, lanes of a block */
    uint32_t to_blocked;
} params;

/* Does the node move channels from axis `from` to axis `to`, and keep the order of the others? */
static bool moves_channels(const kernel_problem *u, int32_t from, int32_t to)
{
    size_t count;
    const int32_t rank = u->inputs[0].rank;
    const int64_t *perm = op_attr_ints(u->node, "perm", &count);
    if (!perm || count != (size_t)rank || perm[0] != 0) return false;
    for (int32_t d = 1; d < rank; d++) {
        const int32_t plain = to == 1 ? d - 1 : d + 1;
        if (perm[d] != (d == to ? from : plain)) return false;
    }
    return true;
}

static bool transpose_blocks_accept_at(kernel_problem *u, double *cost_ns, kernel_layout layout)
{
    kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const int32_t last = x->rank - 1;
    if (x->rank < 3 || !kernel_count(x) || x->data || x->dtype == PGY_STRING) return false;
    if (pgy_dtype_describe(x->dtype)->bits % 8) return false;
    if (moves_channels(u, last, 1)) {
        x->layout = KERNEL_LINEAR;
        y->layout = layout;
    } else if (x->layout == layout && moves_channels(u, 1, last)) {
        y->layout = KERNEL_LINEAR;
    } else {
        return false;
    }
    const double piece = (double)kernel_block(layout) * pgy_dtype_describe(x->dtype)->bits / 8;
    const size_t bytes = kernel_size_bytes(x->layout == layout ? x : y);
    *cost_ns = 50 + (double)bytes / piece * (2.5 + 0.04 * piece);
    return true;
}

static bool transpose_blocks_accept_16(kernel_problem *u, double *cost_ns)
{
    return transpose_blocks_accept_at(u, cost_ns, KERNEL_BLOCKED_16);
}

static bool transpose_blocks_accept_8(kernel_problem *u, double *cost_ns)
{
    return transpose_blocks_accept_at(u, cost_ns, KERNEL_BLOCKED_8);
}

static uint64_t unit_count(const params *p)
{
    return p->outer * ((p->inner + PIXELS - 1) / PIXELS);
}

static pgy_status transpose_blocks_prepare(kernel_plan *out, const kernel_problem *u,
                                           pgy_error *err)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    p->to_blocked = y->layout != KERNEL_LINEAR;
    const kernel_tensor *first = p->to_blocked ? y : x; /* the one with channels first */
    p->item = (uint32_t)pgy_dtype_describe(x->dtype)->bits / 8;
    p->block = (uint32_t)kernel_block(first->layout);
    p->outer = (uint64_t)first->shape[0];
    p->channels = (uint64_t)first->shape[1];
    p->inner = kernel_count(first) / (p->outer * p->channels);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = unit_count(p) < 256 ? (uint32_t)unit_count(p) : 256;
    return PGY_OK;
}

static bool transpose_blocks_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (q->input_count != 1) return extent_refuse(e, "number of inputs");
    if (!p->item || p->item > 16) return extent_refuse(e, "size of an element");
    if (p->block != 8 && p->block != 16) return extent_refuse(e, "block");
    if (!p->outer || !p->channels || !p->inner) return extent_refuse(e, "sizes");
    const uint64_t padded = extent_round_up(p->channels, p->block);
    const uint32_t blocked = p->to_blocked != 0;
    extent_tensor(e, !blocked, extent_mul3(p->outer, p->channels, p->inner), p->item);
    extent_tensor(e, blocked, extent_mul3(p->outer, padded, p->inner), p->item);
    return true;
}

/* Copies n pieces of `bytes` bytes; the sizes of full blocks of floats are known to the compiler.
 */
static inline void copy_pieces(char *y, size_t y_step, const char *x, size_t x_step, size_t n,
                               size_t bytes)
{
    if (bytes == 64)
        for (size_t i = 0; i < n; i++) memcpy(y + i * y_step, x + i * x_step, 64);
    else if (bytes == 32)
        for (size_t i = 0; i < n; i++) memcpy(y + i * y_step, x + i * x_step, 32);
    else
        for (size_t i = 0; i < n; i++) memcpy(y + i * y_step, x + i * x_step, bytes);
}

/* Moves up to PIXELS pixels of one image. */
static void move_unit(const params *p, const kernel_run *r, uint64_t unit)
{
    const uint64_t chunks = (p->inner + PIXELS - 1) / PIXELS, image = unit / chunks;
    const uint64_t first = unit % chunks * PIXELS;
    const uint64_t n = p->inner - first < PIXELS ? p->inner - first : PIXELS;
    const uint64_t blocks = (p->channels + p->block - 1) / p->block;
    const size_t whole = (size_t)p->block * p->item, row = p->channels * p->item;
    for (uint64_t k = 0; k < blocks; k++) {
        const uint64_t rest = (p->channels - k * p->block) * p->item;
        const size_t bytes = rest < whole ? rest : whole;
        const size_t linear = (image * p->inner + first) * row + k * whole;
        const size_t blocked = ((image * blocks + k) * p->inner + first) * whole;
        if (!p->to_blocked) {
            copy_pieces((char *)r->tensors[1] + linear, row, (const char *)r->tensors[0] + blocked,
                        whole, n, bytes);
            continue;
        }
        char *y = (char *)r->tensors[1] + blocked;
        copy_pieces(y, whole, (const char *)r->tensors[0] + linear, row, n, bytes);
        for (size_t i = 0; bytes < whole && i < n; i++)
            memset(y + i * whole + bytes, 0, whole - bytes);
    }
}

static void transpose_blocks_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, unit_count(p), r->part, r->parts);
    for (size_t unit = from; unit < to && !cancel_requested(); unit++) move_unit(p, r, unit);
}

#define ROW(size)                                                             \
    {                                                                         \
        .name = "transpose_blocks_" #size, .version = 1, .ops = "Transpose",  \
        .flags = KERNEL_TAKES_HALF, .accept = transpose_blocks_accept_##size, \
        .prepare = transpose_blocks_prepare, .run = transpose_blocks_run,     \
        .extent = transpose_blocks_extent                                     \
    }
const kernel KERNELS_transpose_blocks[] = {ROW(16), ROW(8), {0}};
