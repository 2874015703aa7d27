/* SPDX-License-Identifier: Apache-2.0 */
/* The axes that operators such as ReduceMax reduce. */
#ifndef KERNELS_REDUCE_AXES_H
#define KERNELS_REDUCE_AXES_H

#include "kernels/kernel.h"

/* Sets reduced[d] for each axis of input 0. False if the axes are not known or not valid. */
static inline bool reduce_mark_axes(bool *reduced, const kernel_problem *u)
{
    const int32_t rank = u->inputs[0].rank;
    size_t count;
    const int64_t *axes = op_attr_ints(u->node, "axes", &count);
    if (u->input_count > 1 && u->inputs[1].dtype) {
        count = kernel_count(&u->inputs[1]);
        axes = u->inputs[1].data;
        if (u->inputs[1].dtype != PGY_I64 || (count && !axes)) return false;
    }
    const bool all = !count && !op_attr_int(u->node, "noop_with_empty_axes", 0);
    for (int32_t d = 0; d < rank; d++) reduced[d] = all;
    for (size_t i = 0; i < count; i++) {
        const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (axis < 0 || axis >= rank) return false;
        reduced[axis] = true;
    }
    return true;
}

#endif
