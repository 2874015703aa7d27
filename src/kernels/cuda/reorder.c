/* SPDX-License-Identifier: Apache-2.0 */
/* Changes between linear and channels last on CUDA devices: a transpose of the channels and the
 * pixels of each image. */
#include "base/alloc.h"
#include "kernels/cuda/move.h"
#include "kernels/extent.h"

typedef struct params {
    uint64_t images, channels, pixels;
    uint32_t item, to_last; /* item: bytes of an element */
} params;

static bool is_last(const kernel_tensor *t)
{
    return t->layout == KERNEL_CHANNELS_LAST;
}

static bool cuda_reorder_accept(kernel_problem *u, double *cost_ns)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    if (x->rank < 2 || !cuda_type(x->dtype) || is_last(x) == is_last(y) ||
        (x->layout != KERNEL_LINEAR && y->layout != KERNEL_LINEAR))
        return false;
    *cost_ns = cuda_cost(cuda_bytes(u), 0, false);
    return true;
}

static pgy_status cuda_reorder_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    const kernel_tensor *x = &u->inputs[0];
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    p->images = (uint64_t)x->shape[0];
    p->channels = (uint64_t)x->shape[1];
    p->pixels = 1;
    for (int32_t d = 2; d < x->rank; d++) p->pixels *= (uint64_t)x->shape[d];
    p->item = cuda_item(x->dtype);
    p->to_last = is_last(&u->outputs[0]);
    *out = (kernel_plan){
        .params = p, .params_bytes = sizeof *p, .phases = 1, .parts = 1, .in_place = -1};
    return PGY_OK;
}

static bool cuda_reorder_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (q->input_count != 1) return extent_refuse(e, "number of inputs");
    if (p->item != 1 && p->item != 2 && p->item != 4 && p->item != 8)
        return extent_refuse(e, "size of an element");
    if (p->to_last > 1) return extent_refuse(e, "a truth value");
    const uint64_t count = extent_mul3(p->images, p->channels, p->pixels);
    extent_tensor(e, 0, count, p->item);
    extent_tensor(e, 1, count, p->item);
    return true;
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    const params *p = plan->params;
    cuda_source s;
    str defines = {0};
    (void)self;
    move_write_source(&s, &defines, p->item, "turned_copy");
    return cuda_load(out, d, &s, &defines, err);
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const params *p = r->params;
    const uint64_t rows = p->to_last ? p->pixels : p->channels,
                   columns = p->to_last ? p->channels : p->pixels;
    move_turned t = {.x = (uint64_t)(uintptr_t)r->tensors[0],
                     .y = (uint64_t)(uintptr_t)r->tensors[1],
                     .shape = {p->images, rows, columns},
                     .strides = {rows * columns, 1, rows},
                     .rank = 3,
                     .turned = 1};
    return move_launch_turned(stream, r->loaded, &t, err);
}

const kernel KERNELS_cuda_reorder[] = {
    {.name = "cuda_reorder",
     .version = 1,
     .ops = "pgy:Reorder",
     .device = "cuda",
     .accept = cuda_reorder_accept,
     .prepare = cuda_reorder_prepare,
     .extent = cuda_reorder_extent,
     .load = load,
     .unload = cuda_unload,
     .enqueue = enqueue},
    {0},
};
