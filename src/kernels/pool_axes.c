/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of pooling kernels: of a node, and checked when they come from a plan. */
#include "kernels/pool_axes.h"

#include "kernels/extent.h"
#include "ops/class_window.h"

static void set_ones(pool_axes *a)
{
    *a = (pool_axes){0};
    for (size_t d = 0; d < POOL_AXES; d++)
        a->in[d] = a->out[d] = a->window[d] = a->stride[d] = a->dilation[d] = 1;
}

bool pool_axes_read(pool_axes *a, const kernel_problem *u)
{
    window w;
    const kernel_tensor *x = &u->inputs[0];
    const size_t rank = (size_t)x->rank - 2;
    if (window_read(&w, u->node, rank, NULL) || !w.kernel[0]) return false;
    window_resolve(&w, x->shape + 2, u->outputs[0].shape + 2);
    set_ones(a);
    for (size_t i = 0; i < rank; i++) {
        const size_t d = i + POOL_AXES - rank;
        a->in[d] = w.in[i];
        a->out[d] = w.out[i];
        a->window[d] = w.kernel[i];
        a->stride[d] = w.stride[i];
        a->dilation[d] = w.dilation[i];
        a->begin[d] = w.begin[i];
        a->end[d] = w.end[i];
    }
    return true;
}

void pool_axes_set_global(pool_axes *a, const kernel_tensor *x)
{
    set_ones(a);
    for (int32_t d = 0; d < POOL_AXES; d++) {
        const int32_t axis = x->rank - POOL_AXES + d;
        if (axis >= 2) a->in[d] = a->window[d] = x->shape[axis];
    }
}

bool pool_axes_are_valid(const pool_axes *a)
{
    const int64_t most = INT32_MAX;
    for (int d = 0; d < POOL_AXES; d++)
        if (!extent_between(a->in[d], 1, most) || !extent_between(a->out[d], 1, most) ||
            !extent_between(a->window[d], 1, most) || !extent_between(a->stride[d], 1, most) ||
            !extent_between(a->dilation[d], 1, most) || !extent_between(a->begin[d], -most, most) ||
            !extent_between(a->end[d], -most, most))
            return false;
    return true;
}

uint64_t pool_axes_volume(const int64_t sizes[POOL_AXES])
{
    return extent_mul3(extent_size(sizes[0]), extent_size(sizes[1]), extent_size(sizes[2]));
}
