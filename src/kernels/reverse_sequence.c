/* SPDX-License-Identifier: Apache-2.0 */
/* ReverseSequence: moves blocks of bytes, one for each step of each batch entry. A length that is
 * not in [0, steps] is a fault. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"

typedef struct params {
    uint64_t steps, entries, block;     /* bytes of a block */
    uint64_t step_blocks, entry_blocks; /* blocks from step to step, from entry to entry */
} params;

static bool reverse_sequence_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *lengths = &u->inputs[1];
    const int64_t time = op_attr_int(u->node, "time_axis", 0);
    const int64_t batch = op_attr_int(u->node, "batch_axis", 1);
    const unsigned bits = pgy_dtype_describe(x->dtype)->bits;
    if (x->dtype == PGY_STRING || bits % 8 || x->rank < 2 || !kernel_count(x)) return false;
    if (time < 0 || time > 1 || batch != 1 - time || lengths->dtype != PGY_I64) return false;
    *p = (params){.steps = (uint64_t)x->shape[time], .entries = (uint64_t)x->shape[batch]};
    p->block = bits / 8 * (kernel_count(x) / p->steps / p->entries);
    p->step_blocks = time == 0 ? p->entries : 1;
    p->entry_blocks = time == 0 ? 1 : p->steps;
    return kernel_count(lengths) == p->entries;
}

static bool reverse_sequence_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!reverse_sequence_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)(p.steps * p.entries) * (4 + (double)p.block / 10);
    return true;
}

static pgy_status reverse_sequence_prepare(kernel_plan *out, const kernel_problem *u,
                                           pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)reverse_sequence_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t blocks = p->steps * p->entries, worth = blocks * (p->block + 16) / 32768 + 1;
    out->parts = (uint32_t)(worth < blocks ? worth : blocks);
    if (out->parts > 256) out->parts = 256;
    return PGY_OK;
}

static bool reverse_sequence_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (q->input_count != 2) return extent_refuse(e, "number of inputs");
    const bool time_first = p->step_blocks == p->entries && p->entry_blocks == 1;
    const bool batch_first = p->step_blocks == 1 && p->entry_blocks == p->steps;
    if (!p->steps || !p->entries || !p->block || p->steps > INT64_MAX ||
        (!time_first && !batch_first))
        return extent_refuse(e, "sizes");
    const uint64_t blocks = extent_mul(p->steps, p->entries);
    extent_tensor(e, 0, blocks, p->block);
    extent_tensor(e, 1, p->entries, sizeof(int64_t));
    extent_tensor(e, 2, blocks, p->block);
    e->indices = 1u << 1;
    return true;
}

static void reverse_sequence_run(const kernel_run *r)
{
    const params *p = r->params;
    const int64_t *lengths = r->tensors[1];
    const char *x = r->tensors[0];
    char *y = r->tensors[2];
    size_t from, to;
    kernel_share(&from, &to, p->steps * p->entries, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const uint64_t t = i / p->step_blocks % p->steps, b = i / p->entry_blocks % p->entries;
        const uint64_t length = (uint64_t)lengths[b];
        if (length > p->steps) {
            kernel_fail(r, KERNEL_FAULT_LENGTH);
            return;
        }
        const uint64_t other = t < length ? length - 1 - t : t;
        const uint64_t source = other * p->step_blocks + b * p->entry_blocks;
        memcpy(y + i * p->block, x + source * p->block, p->block);
    }
}

const kernel KERNELS_reverse_sequence[] = {
    {.name = "reverse_sequence",
     .version = 1,
     .ops = "ReverseSequence",
     .flags = KERNEL_TAKES_HALF,
     .accept = reverse_sequence_accept,
     .prepare = reverse_sequence_prepare,
     .run = reverse_sequence_run,
     .extent = reverse_sequence_extent},
    {0},
};
