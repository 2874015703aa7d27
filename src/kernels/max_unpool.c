/* SPDX-License-Identifier: Apache-2.0 */
/* MaxUnpool: clears the output in a first phase; in a second one puts every value where its index
 * says. One part does that, since the last of several values at one place wins. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"

enum { PIECE = 65536, SMALLEST_PART = 65536 };

typedef struct params {
    uint64_t count, size; /* elements of the input and of the output */
    uint32_t item, inputs;
} params;

static bool max_unpool_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const unsigned bits = pgy_dtype_describe(x->dtype)->bits;
    *p = (params){.count = kernel_count(x),
                  .size = kernel_count(y),
                  .item = bits / 8,
                  .inputs = (uint32_t)u->input_count};
    return (bits == 16 || bits == 32 || bits == 64) && x->dtype == y->dtype &&
           u->inputs[1].dtype == PGY_I64 && p->count && p->size &&
           kernel_count(&u->inputs[1]) == p->count;
}

static bool max_unpool_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!max_unpool_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)p.count + (double)(p.size * p.item) / 20;
    return true;
}

static pgy_status max_unpool_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)max_unpool_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 2, .in_place = -1};
    const uint64_t worth = p->size * p->item / SMALLEST_PART + 1;
    out->parts = (uint32_t)(worth < 64 ? worth : 64);
    return PGY_OK;
}

static bool max_unpool_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (p->inputs != q->input_count || p->inputs < 2) return extent_refuse(e, "number of inputs");
    if (p->item != 2 && p->item != 4 && p->item != 8) return extent_refuse(e, "element size");
    extent_tensor(e, 0, p->count, p->item);
    extent_tensor(e, 1, p->count, sizeof(int64_t));
    extent_tensor(e, p->inputs, p->size, p->item);
    e->indices = 1u << 1;
    e->phases = 2;
    return true;
}

/* Returns the number of values that were put before an index out of range. */
#define PUT(name, type)                                                              \
    static size_t name(void *to, const void *from, const int64_t *indices, size_t n, \
                       uint64_t size)                                                \
    {                                                                                \
        type *restrict y = to;                                                       \
        const type *restrict x = from;                                               \
        size_t i = 0;                                                                \
        for (; i < n && (uint64_t)indices[i] < size; i++) y[indices[i]] = x[i];      \
        return i;                                                                    \
    }
PUT(max_unpool_put_2, uint16_t)
PUT(max_unpool_put_4, uint32_t)
PUT(max_unpool_put_8, uint64_t)

static void max_unpool_run(const kernel_run *r)
{
    const params *p = r->params;
    char *y = r->tensors[p->inputs];
    size_t from, to;
    kernel_share(&from, &to, p->size * p->item, r->part, r->parts);
    if (r->phase == 0 && from < to) memset(y + from, 0, to - from);
    if (r->phase == 0 || r->part) return;
    for (size_t i = 0; i < p->count && !cancel_requested(); i += PIECE) {
        const size_t n = p->count - i < PIECE ? p->count - i : PIECE;
        const char *x = (const char *)r->tensors[0] + i * p->item;
        const int64_t *indices = (const int64_t *)r->tensors[1] + i;
        const size_t put = p->item == 2   ? max_unpool_put_2(y, x, indices, n, p->size)
                           : p->item == 4 ? max_unpool_put_4(y, x, indices, n, p->size)
                                          : max_unpool_put_8(y, x, indices, n, p->size);
        if (put == n) continue;
        kernel_fault(r);
        return;
    }
}

const kernel KERNELS_max_unpool[] = {
    {.name = "max_unpool",
     .version = 1,
     .ops = "MaxUnpool",
     .flags = KERNEL_TAKES_HALF,
     .accept = max_unpool_accept,
     .prepare = max_unpool_prepare,
     .run = max_unpool_run,
     .extent = max_unpool_extent},
    {0},
};
