/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MurmurHash3 of 32-bit and 64-bit elements. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"

typedef struct params {
    uint64_t count;
    uint32_t words; /* 32-bit words of an element */
    uint32_t seed;
} params;

static bool murmur_hash3_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const unsigned bits = pgy_dtype_describe(x->dtype)->bits;
    if (u->input_count != 1 || x->dtype == PGY_STRING || (bits != 32 && bits != 64) ||
        (y->dtype != PGY_I32 && y->dtype != PGY_U32) || !kernel_count(x))
        return false;
    *p = (params){.count = kernel_count(x),
                  .words = bits / 32,
                  .seed = (uint32_t)op_attr_int(u->node, "seed", 0)};
    return true;
}

static bool murmur_hash3_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!murmur_hash3_describe(&p, u)) return false;
    u->inputs[0].layout = u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)p.count * 2 * p.words;
    return true;
}

static pgy_status murmur_hash3_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)murmur_hash3_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t worth = p->count / 8192 + 1;
    out->parts = (uint32_t)(worth < 256 ? worth : 256);
    return PGY_OK;
}

static bool murmur_hash3_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (q->input_count != 1) return extent_refuse(e, "number of inputs");
    if (!p->count || (p->words != 1 && p->words != 2)) return extent_refuse(e, "sizes");
    extent_tensor(e, 0, p->count, p->words * sizeof(uint32_t));
    extent_tensor(e, 1, p->count, sizeof(uint32_t));
    return true;
}

static inline uint32_t rotate(uint32_t x, int bits)
{
    return x << bits | x >> (32 - bits);
}

static inline uint32_t add_word(uint32_t h, uint32_t word)
{
    return rotate(h ^ rotate(word * 0xcc9e2d51u, 15) * 0x1b873593u, 13) * 5 + 0xe6546b64u;
}

static inline uint32_t finish(uint32_t h)
{
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

static void murmur_hash3_run(const kernel_run *r)
{
    enum { BLOCK = 8192 };
    const params *p = r->params;
    const uint32_t *x = r->tensors[0], seed = p->seed;
    uint32_t *y = r->tensors[1];
    size_t from, to;
    kernel_share(&from, &to, p->count, r->part, r->parts);
    for (size_t first = from; first < to && !cancel_requested(); first += BLOCK) {
        const size_t end = to - first < BLOCK ? to : first + BLOCK;
        if (p->words == 1)
            for (size_t i = first; i < end; i++) y[i] = finish(add_word(seed, x[i]) ^ 4);
        else
            for (size_t i = first; i < end; i++)
                y[i] = finish(add_word(add_word(seed, x[2 * i]), x[2 * i + 1]) ^ 8);
    }
}

const kernel KERNELS_murmur_hash3[] = {
    {.name = "murmur_hash3",
     .version = 1,
     .ops = "com.microsoft:MurmurHash3",
     .accept = murmur_hash3_accept,
     .prepare = murmur_hash3_prepare,
     .run = murmur_hash3_run,
     .extent = murmur_hash3_extent},
    {0},
};
