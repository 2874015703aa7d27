/* SPDX-License-Identifier: Apache-2.0 */
/* Slice with constant bounds: the input read with an offset and, for steps, other strides. */
#include "kernels/strided_copy.h"

static int64_t constant_int(const kernel_tensor *t, size_t i)
{
    return t->dtype == PGY_I32 ? ((const int32_t *)t->data)[i] : ((const int64_t *)t->data)[i];
}

static bool is_constant_ints(const kernel_problem *u, size_t i)
{
    if (i >= u->input_count || !u->inputs[i].dtype) return false;
    const kernel_tensor *t = &u->inputs[i];
    return (t->dtype == PGY_I64 || t->dtype == PGY_I32) && (t->data || !kernel_count(t));
}

static int64_t limit(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static bool slice_axis(strided_view *v, const kernel_problem *u, size_t i)
{
    const bool has_axes = u->input_count > 3 && u->inputs[3].dtype;
    const bool has_steps = u->input_count > 4 && u->inputs[4].dtype;
    int64_t axis = has_axes ? constant_int(&u->inputs[3], i) : (int64_t)i;
    const int64_t step = has_steps ? constant_int(&u->inputs[4], i) : 1;
    if (axis < 0) axis += v->rank;
    if (axis < 0 || axis >= v->rank || !step || step == INT64_MIN) return false;
    const int64_t size = v->shape[axis];
    int64_t start = constant_int(&u->inputs[1], i), end = constant_int(&u->inputs[2], i);
    if (start < 0) start = start < -size ? -1 : start + size;
    if (end < 0) end = end < -size ? -1 : end + size;
    start = step > 0 ? limit(start, 0, size) : limit(start, 0, size - 1);
    end = step > 0 ? limit(end, 0, size) : limit(end, -1, size - 1);
    const int64_t range = step > 0 ? end - start : start - end, stride = step > 0 ? step : -step;
    v->shape[axis] = range > 0 ? (range - 1) / stride + 1 : 0;
    v->offset += start * v->strides[axis];
    if (v->shape[axis] > 1) v->strides[axis] *= step;
    return true;
}

static bool slice_view(strided_view *v, const kernel_problem *u)
{
    for (size_t i = 1; i < 5; i++)
        if ((i < 3 || (i < u->input_count && u->inputs[i].dtype)) && !is_constant_ints(u, i))
            return false;
    const size_t count = kernel_count(&u->inputs[1]);
    for (size_t i = 2; i < u->input_count; i++)
        if (u->inputs[i].dtype && kernel_count(&u->inputs[i]) != count) return false;
    for (size_t i = 0; i < count; i++)
        if (!slice_axis(v, u, i)) return false;
    return true;
}

static bool slice_accept(kernel_problem *u, double *cost_ns)
{
    strided_copy c;
    if (!strided_copy_describe(&c, u, slice_view)) return false;
    strided_copy_cost(u, &c, cost_ns);
    return true;
}

static pgy_status slice_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    strided_copy c;
    (void)strided_copy_describe(&c, u, slice_view); /* cannot fail after `accept` */
    return strided_copy_plan(out, &c, sizeof c, err);
}

static bool slice_extent(kernel_extent *e, const kernel_claim *q)
{
    const strided_copy *c = extent_params(e, q, sizeof *c);
    return c && strided_copy_extent(e, q, c);
}

static void slice_run(const kernel_run *r)
{
    strided_copy_run(r->params, r);
}

const kernel KERNELS_slice[] = {
    {.name = "slice",
     .version = 1,
     .ops = "Slice",
     .accept = slice_accept,
     .prepare = slice_prepare,
     .run = slice_run,
     .extent = slice_extent},
    {0},
};
