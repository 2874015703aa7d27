/* SPDX-License-Identifier: Apache-2.0 */
/* Concat along the channels of blocked tensors. Whole blocks are copied, so the channels of all
 * inputs but the last must fill their blocks. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/blocked.h"
#include "kernels/extent.h"

typedef struct params {
    uint64_t batch, inputs, whole;     /* whole: bytes of one image of the output */
    uint64_t bytes[KERNEL_MAX_INPUTS]; /* bytes of one image of each input */
} params;

static bool can_join(const kernel_problem *u, kernel_layout layout)
{
    const kernel_tensor *y = &u->outputs[0];
    const int64_t block = (int64_t)kernel_block(layout);
    bool offered = false;
    if (y->rank < 3 || !kernel_count(y) || y->dtype == PGY_STRING) return false;
    if (pgy_dtype_describe(y->dtype)->bits % 8) return false;
    const int64_t axis = op_attr_int(u->node, "axis", 1);
    if (axis != 1 && axis != 1 - y->rank) return false;
    for (size_t i = 0; i < u->input_count; i++) {
        const kernel_tensor *x = &u->inputs[i];
        if (x->data || !kernel_count(x)) return false;
        if (i + 1 < u->input_count && x->shape[1] % block) return false;
        offered |= x->layout == layout;
    }
    return offered;
}

static bool blocked_concat_accept_at(kernel_problem *u, double *cost_ns, kernel_layout layout)
{
    if (!can_join(u, layout)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = layout;
    u->outputs[0].layout = layout;
    *cost_ns = 50 + (double)kernel_size_bytes(&u->outputs[0]) * 0.05;
    return true;
}

static bool blocked_concat_accept_16(kernel_problem *u, double *cost_ns)
{
    return blocked_concat_accept_at(u, cost_ns, KERNEL_BLOCKED_16);
}

static bool blocked_concat_accept_8(kernel_problem *u, double *cost_ns)
{
    return blocked_concat_accept_at(u, cost_ns, KERNEL_BLOCKED_8);
}

static pgy_status blocked_concat_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    p->batch = (uint64_t)u->outputs[0].shape[0];
    p->inputs = u->input_count;
    p->whole = kernel_size_bytes(&u->outputs[0]) / p->batch;
    for (size_t i = 0; i < u->input_count; i++)
        p->bytes[i] = kernel_size_bytes(&u->inputs[i]) / p->batch;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    if (p->batch == 1) out->copies = KERNEL_COPIES_JOINED;
    out->parts = (uint32_t)(p->whole < 256 << 12 ? p->whole / 4096 + 1 : 256);
    return PGY_OK;
}

static bool blocked_concat_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    uint64_t sum = 0;
    if (!p) return false;
    if (p->inputs != q->input_count) return extent_refuse(e, "number of inputs");
    for (uint32_t i = 0; i < q->input_count; i++) {
        sum = extent_add(sum, p->bytes[i]);
        extent_tensor(e, i, p->batch, p->bytes[i]);
    }
    if (!p->whole || sum != p->whole) return extent_refuse(e, "sizes");
    extent_tensor(e, q->input_count, p->batch, p->whole);
    return true;
}

/* Each part copies a share of every input. */
static void blocked_concat_run(const kernel_run *r)
{
    const params *p = r->params;
    for (uint64_t n = 0; n < p->batch; n++) {
        char *y = (char *)r->tensors[p->inputs] + n * p->whole;
        for (uint64_t i = 0; i < p->inputs; y += p->bytes[i], i++) {
            size_t from, to;
            kernel_share(&from, &to, p->bytes[i], r->part, r->parts);
            memcpy(y + from, (const char *)r->tensors[i] + n * p->bytes[i] + from, to - from);
        }
    }
}

const kernel KERNELS_blocked_concat[] = {
    {.name = "blocked_concat_16",
     .version = 1,
     .ops = "Concat",
     .accept = blocked_concat_accept_16,
     .prepare = blocked_concat_prepare,
     .run = blocked_concat_run,
     .extent = blocked_concat_extent},
    {.name = "blocked_concat_8",
     .version = 1,
     .ops = "Concat",
     .accept = blocked_concat_accept_8,
     .prepare = blocked_concat_prepare,
     .run = blocked_concat_run,
     .extent = blocked_concat_extent},
    {0},
};
