/* SPDX-License-Identifier: Apache-2.0 */
/* Transposes that take the channels to the end, of a tensor in channels last, and back: the bytes
 * stay as they are. */
#include "base/alloc.h"
#include "kernels/cuda/code.h"
#include "kernels/extent.h"

typedef struct params {
    uint64_t size_bytes;
} params;

/* Is perm the axes with axis 1 last (from 0 to 1), or with the last axis in front of the others (to
 * 1)? Axis 0 stays. */
static bool moves_channels(const op_node *n, int32_t rank, bool back)
{
    size_t count = 0;
    const int64_t *perm = op_attr_ints(n, "perm", &count);
    if (!perm || rank < 3 || (int64_t)count != rank || perm[0] != 0) return false;
    for (int32_t d = 1; d < rank; d++)
        if (perm[d] != (back ? d == 1 ? rank - 1 : d - 1 : d + 1 == rank ? 1 : d + 1)) return false;
    return true;
}

static bool transpose_last_accept(kernel_problem *u, double *cost_ns)
{
    const kernel_tensor *x = &u->inputs[0];
    kernel_tensor *y = &u->outputs[0];
    const bool back = x->layout == KERNEL_LINEAR;
    if ((!back && x->layout != KERNEL_CHANNELS_LAST) || x->rank != y->rank ||
        !cuda_is_half(x->dtype) || !moves_channels(u->node, x->rank, back))
        return false;
    y->layout = back ? KERNEL_CHANNELS_LAST : KERNEL_LINEAR;
    *cost_ns = 100; /* nearly always in place */
    return true;
}

static pgy_status transpose_last_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    p->size_bytes = kernel_size_bytes(&u->inputs[0]);
    *out = (kernel_plan){
        .params = p, .params_bytes = sizeof *p, .phases = 1, .parts = 1, .in_place = 0};
    return PGY_OK;
}

static bool transpose_last_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (q->input_count != 1) return extent_refuse(e, "number of inputs");
    extent_tensor(e, 0, p->size_bytes, 1);
    extent_tensor(e, 1, p->size_bytes, 1);
    return true;
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const params *p = r->params;
    if (r->tensors[0] == r->tensors[1]) return PGY_OK;
    return device_copy(stream, r->tensors[1], r->tensors[0], p->size_bytes, DEVICE_WITHIN, err);
}

const kernel KERNELS_cuda_transpose_last[] = {
    {.name = "transpose_last",
     .version = 1,
     .ops = "Transpose",
     .device = "cuda",
     .accept = transpose_last_accept,
     .prepare = transpose_last_prepare,
     .extent = transpose_last_extent,
     .enqueue = enqueue},
    {0},
};
