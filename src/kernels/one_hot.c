/* SPDX-License-Identifier: Apache-2.0 */
/* OneHot: lines of the output are filled with the off value, then each index sets its element. An
 * index beyond the depth sets none. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"

/* The indices are [outer, inner], the output is [outer, depth, inner]. */
typedef struct params {
    uint64_t outer, depth, inner;
    uint32_t item, wide; /* wide: indices are int64 */
} params;

static bool one_hot_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const unsigned bits = pgy_dtype_describe(y->dtype)->bits;
    int64_t axis = op_attr_int(u->node, "axis", -1);
    if (axis < 0) axis += y->rank;
    if (axis < 0 || axis >= y->rank || y->rank != x->rank + 1) return false;
    if ((x->dtype != PGY_I64 && x->dtype != PGY_I32) || u->inputs[2].dtype != y->dtype ||
        kernel_count(&u->inputs[2]) != 2)
        return false;
    if (y->dtype == PGY_STRING || (bits != 8 && bits != 16 && bits != 32 && bits != 64))
        return false;
    *p = (params){.outer = 1, .inner = 1, .item = bits / 8, .wide = x->dtype == PGY_I64};
    p->depth = (uint64_t)y->shape[axis];
    for (int64_t d = 0; d < axis; d++) p->outer *= (uint64_t)y->shape[d];
    for (int64_t d = axis + 1; d < y->rank; d++) p->inner *= (uint64_t)y->shape[d];
    return p->outer && p->depth && p->inner;
}

static bool one_hot_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (u->input_count != 3 || !one_hot_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    const double count = (double)p.outer * (double)p.inner;
    *cost_ns = 100 + count * (1 + (double)p.depth * p.item / 20);
    return true;
}

static pgy_status one_hot_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)one_hot_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t lines = p->outer * p->depth, worth = lines * p->inner * p->item / 65536 + 1;
    out->parts = (uint32_t)(worth < lines ? worth : lines);
    if (out->parts > 64) out->parts = 64;
    return PGY_OK;
}

static bool one_hot_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (q->input_count != 3) return extent_refuse(e, "number of inputs");
    if (p->item != 1 && p->item != 2 && p->item != 4 && p->item != 8)
        return extent_refuse(e, "element size");
    if (!p->outer || !p->depth || !p->inner || p->depth > INT64_MAX)
        return extent_refuse(e, "sizes");
    const uint64_t count = extent_mul(p->outer, p->inner);
    extent_tensor(e, 0, count, p->wide ? sizeof(int64_t) : sizeof(int32_t));
    extent_tensor(e, 2, 2, p->item);
    extent_tensor(e, 3, extent_mul(count, p->depth), p->item);
    e->indices = 1u << 0;
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Fills lines [from, to) of the output, and sets what belongs to them. */
#define ONE_HOT(name, type)                                                                 \
    static void name(const params *p, const kernel_run *r, uint64_t from, uint64_t to)      \
    {                                                                                       \
        const type *values = r->tensors[2], off = values[0], on = values[1];                \
        type *y = r->tensors[3];                                                            \
        if (off == 0)                                                                       \
            memset(y + from * p->inner, 0, (to - from) * p->inner * sizeof *y);             \
        else                                                                                \
            for (uint64_t i = from * p->inner; i < to * p->inner; i++) y[i] = off;          \
        for (uint64_t o = from / p->depth; o * p->depth < to && !cancel_requested(); o++) { \
            const uint64_t line = o * p->depth;                                             \
            for (uint64_t i = 0; i < p->inner; i++) {                                       \
                const uint64_t at = o * p->inner + i;                                       \
                const int64_t given = p->wide ? ((const int64_t *)r->tensors[0])[at]        \
                                              : ((const int32_t *)r->tensors[0])[at];       \
                const uint64_t index = (uint64_t)given + (given < 0 ? p->depth : 0);        \
                if (index < p->depth && line + index >= from && line + index < to)          \
                    y[(line + index) * p->inner + i] = on;                                  \
            }                                                                               \
        }                                                                                   \
    }
ONE_HOT(one_hot_1, uint8_t)
ONE_HOT(one_hot_2, uint16_t)
ONE_HOT(one_hot_4, uint32_t)
ONE_HOT(one_hot_8, uint64_t)

static void one_hot_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, p->outer * p->depth, r->part, r->parts);
    if (from == to) return;
    switch (p->item) {
    case 1: one_hot_1(p, r, from, to); break;
    case 2: one_hot_2(p, r, from, to); break;
    case 4: one_hot_4(p, r, from, to); break;
    default: one_hot_8(p, r, from, to);
    }
}

const kernel KERNELS_one_hot[] = {
    {.name = "one_hot",
     .version = 1,
     .ops = "OneHot",
     .flags = KERNEL_TAKES_HALF,
     .accept = one_hot_accept,
     .prepare = one_hot_prepare,
     .run = one_hot_run,
     .extent = one_hot_extent},
    {0},
};
