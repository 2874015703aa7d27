/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling on CUDA devices: MaxPool without indices, AveragePool and their global forms over up to
 * three spatial axes; 16-bit floats in channels last, too. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/cuda/code.h"
#include "kernels/extent.h"
#include "kernels/pool_axes.h"

enum { SMALL_PLANE = 512, MOST_BLOCKS = 1 << 14, PACK = 8 };

typedef struct params {
    uint64_t planes;
    pool_axes axes;
    uint32_t count_padding, average, whole; /* whole: 1 if the window covers the whole plane */
    uint32_t type, out_type;
    uint64_t channels; /* of the image if it is in channels last; 0: it is linear */
} params;

/* ---- The problem ---------------------------------------------------------------------------- */

static bool cuda_pool_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const char *name = u->node->def->name;
    *p = (params){.average = strstr(name, "Average") != NULL,
                  .type = x->dtype,
                  .out_type = y->dtype,
                  .count_padding = op_attr_int(u->node, "count_include_pad", 0) != 0};
    if (!cuda_is_float(x->dtype) || x->dtype != y->dtype || x->rank < 3 || x->rank > 2 + POOL_AXES)
        return false;
    if (u->input_count != 1 || (u->output_count > 1 && u->outputs[1].dtype)) return false;
    if (!kernel_count(x) || !kernel_count(y)) return false;
    p->planes = (uint64_t)(x->shape[0] * x->shape[1]);
    if (x->layout == KERNEL_CHANNELS_LAST) p->channels = (uint64_t)x->shape[1];
    if (strncmp(name, "Global", 6)) return pool_axes_read(&p->axes, u);
    p->whole = 1;
    pool_axes_set_global(&p->axes, x);
    return true;
}

static bool cuda_pool_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    const kernel_tensor *x = &u->inputs[0];
    const bool last = x->layout == KERNEL_CHANNELS_LAST && cuda_is_half(x->dtype) && x->rank > 2 &&
                      x->shape[1] % PACK == 0;
    cuda_set_linear(u);
    if (last) u->inputs[0].layout = u->outputs[0].layout = KERNEL_CHANNELS_LAST;
    if (!cuda_pool_describe(&p, u)) return false;
    if (p.whole) u->outputs[0].layout = KERNEL_LINEAR; /* the same order */
    *cost_ns = cuda_cost(cuda_bytes(u), 0, false);
    return true;
}

static pgy_status cuda_pool_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)cuda_pool_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){
        .params = p, .params_bytes = sizeof *p, .phases = 1, .parts = 1, .in_place = -1};
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool cuda_pool_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (q->input_count != 1) return extent_refuse(e, "number of inputs");
    if (!cuda_is_float((pgy_dtype)p->type) || p->out_type != p->type)
        return extent_refuse(e, "type");
    if (p->average > 1 || p->whole > 1) return extent_refuse(e, "a truth value");
    if (!pool_axes_are_valid(&p->axes) || pool_axes_volume(p->axes.in) > INT64_MAX ||
        pool_axes_volume(p->axes.out) > INT64_MAX || pool_axes_volume(p->axes.window) > INT64_MAX)
        return extent_refuse(e, "window");
    if (p->whole && pool_axes_volume(p->axes.out) != 1) return extent_refuse(e, "window");
    if (p->channels && (p->channels % PACK || p->planes % p->channels || p->channels > INT32_MAX ||
                        !cuda_is_half((pgy_dtype)p->type)))
        return extent_refuse(e, "channels");
    extent_tensor(e, 0, extent_mul(p->planes, pool_axes_volume(p->axes.in)),
                  cuda_item((pgy_dtype)p->type));
    extent_tensor(e, 1, extent_mul(p->planes, pool_axes_volume(p->axes.out)),
                  cuda_item((pgy_dtype)p->type));
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Arguments of the kernel in pool.cu: the same struct as there. */
typedef struct pool_call {
    uint64_t x, y, planes;
    pool_axes axes;
    uint32_t count_padding;
    uint64_t channels;
} pool_call;

/* Threads for a plane that is a window: a warp suffices for a small one. */
static uint32_t plane_threads(const params *p)
{
    return pool_axes_volume(p->axes.in) <= SMALL_PLANE ? 32 : 128;
}

/* Do windows skip no elements? */
static bool has_every_element(const pool_axes *a)
{
    for (int i = 0; i < POOL_AXES; i++)
        if (a->dilation[i] != 1) return false;
    return true;
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    const params *p = plan->params;
    const cuda_source s = {"pool", CUDA_SOURCE_pool, {p->whole ? "whole_plane" : "run"}};
    str defines = {0};
    (void)self;
    cuda_define_int(&defines, "THREADS", plane_threads(p));
    cuda_define_int(&defines, "W0", p->axes.window[0]);
    cuda_define_int(&defines, "W1", p->axes.window[1]);
    cuda_define_int(&defines, "W2", p->axes.window[2]);
    cuda_define_int(&defines, "EVERY", has_every_element(&p->axes));
    cuda_define_int(&defines, "AVERAGE", p->average);
    cuda_define_int(&defines, "LAST", p->channels != 0);
    cuda_define_type(&defines, "X", (pgy_dtype)p->type);
    cuda_define_type(&defines, "Y", (pgy_dtype)p->out_type);
    return cuda_load(out, d, &s, &defines, err);
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const params *p = r->params;
    const cuda_loaded *l = r->loaded;
    pool_call c = {.x = (uint64_t)(uintptr_t)r->tensors[0],
                   .y = (uint64_t)(uintptr_t)r->tensors[1],
                   .planes = p->planes,
                   .axes = p->axes,
                   .count_padding = p->count_padding,
                   .channels = p->channels};
    if (p->channels) {
        const uint64_t images = p->planes / p->channels, groups = (p->channels + 63) / 64;
        return p->whole
                   ? cuda_launch_blocks(stream, l->functions[0],
                                        extent_mul(images, groups) < MOST_BLOCKS ? images * groups
                                                                                 : MOST_BLOCKS,
                                        CUDA_BLOCK, &c, err)
                   : cuda_launch_for(stream, l->functions[0],
                                     p->planes / PACK * pool_axes_volume(p->axes.out), CUDA_BLOCK,
                                     &c, err);
    }
    if (p->whole)
        return cuda_launch_blocks(stream, l->functions[0],
                                  p->planes < MOST_BLOCKS ? p->planes : MOST_BLOCKS,
                                  plane_threads(p), &c, err);
    return cuda_launch_for(stream, l->functions[0], p->planes * pool_axes_volume(p->axes.out),
                           CUDA_BLOCK, &c, err);
}

const kernel KERNELS_cuda_pool[] = {
    {.name = "cuda_pool",
     .version = 2,
     .ops = "MaxPool AveragePool GlobalMaxPool GlobalAveragePool",
     .device = "cuda",
     .accept = cuda_pool_accept,
     .prepare = cuda_pool_prepare,
     .extent = cuda_pool_extent,
     .load = load,
     .unload = cuda_unload,
     .enqueue = enqueue},
    {0},
};
