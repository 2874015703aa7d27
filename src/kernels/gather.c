/* SPDX-License-Identifier: Apache-2.0 */
/* Gather along any axis: each index selects a block of bytes. `accept` checks constant indices.
 * Negative indices count from the end. At run time, an index out of range is a fault. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/shared_params.h"

/* Limits the number of blocks of 0 bytes, because no tensor's size bounds it. */
enum { MOST_EMPTY = 1 << 24 };

typedef gather_params params;

static int64_t index_at(const void *indices, bool wide, size_t i)
{
    return wide ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];
}

static bool gather_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *indices = &u->inputs[1];
    const unsigned bits = pgy_dtype_describe(x->dtype)->bits;
    int64_t axis = op_attr_int(u->node, "axis", 0);
    if (axis < 0) axis += x->rank;
    if (axis < 0 || axis >= x->rank || bits % 8 || x->dtype == PGY_STRING) return false;
    if (indices->dtype != PGY_I64 && indices->dtype != PGY_I32) return false;
    *p = (params){.outer = 1, .block = bits / 8, .wide = indices->dtype == PGY_I64};
    for (int64_t d = 0; d < axis; d++) p->outer *= (uint64_t)x->shape[d];
    for (int64_t d = axis + 1; d < x->rank; d++) p->block *= (uint64_t)x->shape[d];
    p->length = (uint64_t)x->shape[axis];
    p->count = kernel_count(indices);
    for (size_t i = 0; indices->data && i < p->count; i++) {
        const int64_t at = index_at(indices->data, p->wide, i), size = (int64_t)p->length;
        if (at < -size || at >= size) return false;
    }
    return true;
}

static bool gather_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!gather_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)(p.outer * p.count) * (4 + (double)p.block / 5);
    return true;
}

static pgy_status gather_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)gather_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t parts = p->outer * p->count * (p->block + 16) / 32768 + 1;
    const uint64_t most = p->outer * p->count < 256 ? p->outer * p->count : 256;
    out->parts = (uint32_t)(parts < most ? parts : most);
    if (!out->parts) out->parts = 1;
    return PGY_OK;
}

static bool gather_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    const uint64_t copies = extent_mul(p->outer, p->count);
    if (q->input_count != 2) return extent_refuse(e, "number of inputs");
    if (!p->block && copies > MOST_EMPTY) return extent_refuse(e, "sizes");
    extent_tensor(e, 0, extent_mul(p->outer, p->length), p->block);
    extent_tensor(e, 1, p->count, p->wide ? sizeof(int64_t) : sizeof(int32_t));
    extent_tensor(e, 2, copies, p->block);
    e->indices = 1u << 1;
    return true;
}

static void gather_copy(void *to, const void *from, size_t size)
{
    if (size == 4)
        memcpy(to, from, 4);
    else if (size == 8)
        memcpy(to, from, 8);
    else if (size)
        memcpy(to, from, size);
}

static void gather_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, p->outer * p->count, r->part, r->parts);
    for (size_t i = from; i < to; i++) {
        const int64_t given = index_at(r->tensors[1], p->wide, i % p->count);
        const uint64_t index = (uint64_t)given + (given < 0 ? p->length : 0);
        if (index >= p->length) {
            kernel_fault_index(r, given, p->length);
            continue;
        }
        if (!p->block) continue; /* tensors without elements may have no address */
        const char *x = (const char *)r->tensors[0] + i / p->count * p->length * p->block;
        char *y = (char *)r->tensors[2] + i * p->block;
        gather_copy(y, x + index * p->block, p->block);
    }
}

const kernel KERNELS_gather[] = {
    {.name = "gather",
     .version = 1,
     .ops = "Gather",
     .flags = KERNEL_SHARES_WEIGHTS,
     .accept = gather_accept,
     .prepare = gather_prepare,
     .run = gather_run,
     .extent = gather_extent},
    {0},
};
