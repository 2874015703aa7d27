/* SPDX-License-Identifier: Apache-2.0 */
/* Cast on CUDA devices. Floats are truncated to int64, whose lowest number stands for values out of
 * range, and then wrap to narrower integers, as on the host. */
#include "base/alloc.h"
#include "kernels/cuda/pointwise.h"

typedef struct params {
    uint64_t count;
    uint32_t from, to; /* pgy_dtype */
} params;

static bool is_float(pgy_dtype dtype)
{
    return cuda_is_float(dtype) || dtype == PGY_F64;
}

/* A 16-bit float is rounded from float32: other types that it does not hold exactly would be
 * rounded twice. */
static bool rounds_once(pgy_dtype from, pgy_dtype to)
{
    return !cuda_is_half(to) || cuda_is_float(from) || from == PGY_I8 || from == PGY_U8 ||
           from == PGY_BOOL || (to == PGY_F16 && from != PGY_F64);
}

static bool has_cast(pgy_dtype type)
{
    return type != PGY_I16 && type != PGY_U16 && cuda_type(type);
}

static bool is_known(uint32_t from, uint32_t to)
{
    return has_cast((pgy_dtype)from) && has_cast((pgy_dtype)to) &&
           rounds_once((pgy_dtype)from, (pgy_dtype)to);
}

static bool cuda_cast_accept(kernel_problem *u, double *cost_ns)
{
    cuda_set_linear(u);
    *cost_ns = cuda_cost(cuda_bytes(u), 0, false);
    return is_known(u->inputs[0].dtype, u->outputs[0].dtype);
}

static pgy_status cuda_cast_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    p->count = kernel_count(&u->inputs[0]);
    p->from = u->inputs[0].dtype;
    p->to = u->outputs[0].dtype;
    *out = (kernel_plan){
        .params = p, .params_bytes = sizeof *p, .phases = 1, .parts = 1, .in_place = -1};
    return PGY_OK;
}

static bool cuda_cast_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (!is_known(p->from, p->to)) return extent_refuse(e, "type");
    if (q->input_count != 1) return extent_refuse(e, "number of inputs");
    extent_tensor(e, 0, p->count, cuda_item((pgy_dtype)p->from));
    extent_tensor(e, 1, p->count, cuda_item((pgy_dtype)p->to));
    return true;
}

static pointwise cuda_cast_describe(walk *w, const params *p)
{
    *w = (walk){.rank = 1, .operands = 1, .count = p->count, .shape = {p->count}};
    w->strides[0][0] = 1;
    return (pointwise){.w = w,
                       .operands = 1,
                       .types = {cuda_type((pgy_dtype)p->from)},
                       .out = cuda_type((pgy_dtype)p->to),
                       .items = {cuda_item((pgy_dtype)p->from)},
                       .out_item = cuda_item((pgy_dtype)p->to)};
}

static const char *expression(pgy_dtype from, pgy_dtype to)
{
    if (to == PGY_BOOL) return "x0 != 0";
    if (to == PGY_F64) return "(double)x0";
    if (cuda_is_float(to)) return "(float)(double)x0";
    return is_float(from) ? "whole((double)x0)" : "(i64)x0";
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    const params *p = plan->params;
    cuda_source s;
    str defines = {0};
    walk w;
    const pointwise program = cuda_cast_describe(&w, p);
    (void)self;
    pointwise_write(&s, &defines, &program, "", expression((pgy_dtype)p->from, (pgy_dtype)p->to));
    return cuda_load(out, d, &s, &defines, err);
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    walk w;
    const pointwise program = cuda_cast_describe(&w, r->params);
    return pointwise_launch(stream, r->loaded, &program, r->tensors[1], r->tensors, err);
}

const kernel KERNELS_cuda_cast[] = {
    {.name = "cuda_cast",
     .version = 1,
     .ops = "Cast",
     .device = "cuda",
     .accept = cuda_cast_accept,
     .prepare = cuda_cast_prepare,
     .extent = cuda_cast_extent,
     .load = load,
     .unload = cuda_unload,
     .enqueue = enqueue},
    {0},
};
