/* SPDX-License-Identifier: Apache-2.0 */
/* Concat and Split along the channels of blocked tensors: a tensor (the whole) is several others
 * (pieces) one after the other. Whole blocks are copied, so the channels of all pieces but the last
 * must fill their blocks. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/blocked.h"
#include "kernels/extent.h"

enum { MOST_PIECES = KERNEL_MAX_INPUTS };
_Static_assert((int)KERNEL_MAX_OUTPUTS <= (int)MOST_PIECES, "Split may have more pieces");

/* whole: bytes of one image of the whole; bytes: of one image of each piece */
typedef struct params {
    uint32_t splits, inputs; /* inputs: number of inputs of the node */
    uint64_t batch, pieces, whole, bytes[MOST_PIECES];
} params;

static bool is_split(const kernel_problem *u)
{
    return strcmp(u->node->def->name, "Split") == 0;
}

static kernel_tensor *whole_of(kernel_problem *u)
{
    return is_split(u) ? &u->inputs[0] : &u->outputs[0];
}

static kernel_tensor *pieces_of(kernel_problem *u, size_t *count)
{
    *count = is_split(u) ? u->output_count : u->input_count;
    return is_split(u) ? u->outputs : u->inputs;
}

static bool is_possible(kernel_problem *u, kernel_layout layout)
{
    size_t count;
    const kernel_tensor *whole = whole_of(u), *pieces = pieces_of(u, &count);
    const int64_t block = (int64_t)kernel_block(layout);
    bool offered = is_split(u) && whole->layout == layout;
    if (whole->rank < 3 || !kernel_count(whole) || whole->data || whole->dtype == PGY_STRING)
        return false;
    if (pgy_dtype_describe(whole->dtype)->bits % 8) return false;
    const int64_t axis = op_attr_int(u->node, "axis", is_split(u) ? 0 : 1);
    if (axis != 1 && axis != 1 - whole->rank) return false;
    for (size_t i = 0; i < count; i++) {
        const kernel_tensor *x = &pieces[i];
        if (!x->dtype || x->data || !kernel_count(x)) return false;
        if (i + 1 < count && x->shape[1] % block) return false;
        offered |= !is_split(u) && x->layout == layout;
    }
    return offered;
}

static bool blocked_concat_accept_at(kernel_problem *u, double *cost_ns, kernel_layout layout)
{
    size_t count;
    kernel_tensor *pieces = pieces_of(u, &count);
    if (!is_possible(u, layout)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < count; i++) pieces[i].layout = layout;
    whole_of(u)->layout = layout;
    *cost_ns = 50 + (double)kernel_size_bytes(whole_of(u)) * 0.05;
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

static pgy_status blocked_concat_prepare(kernel_plan *out, const kernel_problem *given,
                                         pgy_error *err)
{
    kernel_problem u = *given;
    size_t count;
    const kernel_tensor *whole = whole_of(&u), *pieces = pieces_of(&u, &count);
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    p->splits = is_split(&u);
    p->inputs = (uint32_t)u.input_count;
    p->batch = (uint64_t)whole->shape[0];
    p->pieces = count;
    p->whole = kernel_size_bytes(whole) / p->batch;
    for (size_t i = 0; i < count; i++) p->bytes[i] = kernel_size_bytes(&pieces[i]) / p->batch;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    if (p->batch == 1) out->copies = p->splits ? KERNEL_COPIES_SPLIT : KERNEL_COPIES_JOINED;
    out->parts = (uint32_t)(p->whole < 256 << 12 ? p->whole / 4096 + 1 : 256);
    return PGY_OK;
}

static bool blocked_concat_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    uint64_t sum = 0;
    if (!p || !extent_enum(e, p->splits, 2, "direction")) return false;
    if (p->inputs != q->input_count || (p->splits && !p->inputs) ||
        p->pieces != (p->splits ? q->output_count : q->input_count) || p->pieces > MOST_PIECES)
        return extent_refuse(e, "number of tensors");
    for (uint32_t i = 0; i < p->pieces; i++) {
        sum = extent_add(sum, p->bytes[i]);
        extent_tensor(e, p->splits ? p->inputs + i : i, p->batch, p->bytes[i]);
    }
    if (!p->whole || sum != p->whole) return extent_refuse(e, "sizes");
    extent_tensor(e, p->splits ? 0 : p->inputs, p->batch, p->whole);
    return true;
}

/* Each part copies a share of every piece. */
static void blocked_concat_run(const kernel_run *r)
{
    const params *p = r->params;
    char *all = r->tensors[p->splits ? 0 : p->inputs];
    for (uint64_t n = 0; n < p->batch; n++, all += p->whole) {
        uint64_t at = 0;
        for (uint64_t i = 0; i < p->pieces; at += p->bytes[i], i++) {
            size_t from, to;
            char *piece = r->tensors[p->splits ? p->inputs + i : i];
            kernel_share(&from, &to, p->bytes[i], r->part, r->parts);
            char *own = piece + n * p->bytes[i] + from, *joined = all + at + from;
            memcpy(p->splits ? own : joined, p->splits ? joined : own, to - from);
        }
    }
}

const kernel KERNELS_blocked_concat[] = {
    {.name = "blocked_concat_16",
     .version = 2,
     .ops = "Concat Split",
     .accept = blocked_concat_accept_16,
     .prepare = blocked_concat_prepare,
     .run = blocked_concat_run,
     .extent = blocked_concat_extent},
    {.name = "blocked_concat_8",
     .version = 2,
     .ops = "Concat Split",
     .accept = blocked_concat_accept_8,
     .prepare = blocked_concat_prepare,
     .run = blocked_concat_run,
     .extent = blocked_concat_extent},
    {0},
};
