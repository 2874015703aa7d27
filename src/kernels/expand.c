/* SPDX-License-Identifier: Apache-2.0 */
/* Expand and Tile: the input read with stride 0 along the axes that repeat. */
#include <string.h>

#include "kernels/strided_copy.h"

static bool expand_view(strided_view *v, const kernel_problem *u)
{
    const kernel_tensor *y = &u->outputs[0];
    const strided_view x = *v;
    *v = (strided_view){.rank = y->rank};
    if (y->rank > STRIDED_AXES / 2) return false;
    for (int32_t d = 0; d < y->rank; d++) {
        const int32_t from = d - (y->rank - x.rank);
        v->shape[d] = y->shape[d];
        v->strides[d] = from < 0 || x.shape[from] == 1 ? 0 : x.strides[from];
    }
    return true;
}

/* Views each axis as two, [repeats, size]. */
static bool tile_view(strided_view *v, const kernel_problem *u)
{
    const kernel_tensor *y = &u->outputs[0];
    const strided_view x = *v;
    *v = (strided_view){.rank = 2 * x.rank};
    for (int32_t d = 0; d < x.rank; d++) {
        v->shape[2 * d] = x.shape[d] ? y->shape[d] / x.shape[d] : 0;
        v->shape[2 * d + 1] = x.shape[d];
        v->strides[2 * d + 1] = x.strides[d];
    }
    return true;
}

static bool expand_view_of(strided_view *v, const kernel_problem *u)
{
    return strcmp(u->node->def->name, "Tile") ? expand_view(v, u) : tile_view(v, u);
}

static bool expand_accept(kernel_problem *u, double *cost_ns)
{
    strided_copy c;
    if (!strided_copy_describe(&c, u, expand_view_of)) return false;
    strided_copy_cost(u, &c, cost_ns);
    return true;
}

static pgy_status expand_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    strided_copy c;
    (void)strided_copy_describe(&c, u, expand_view_of); /* cannot fail after `accept` */
    return strided_copy_plan(out, &c, sizeof c, err);
}

static bool expand_extent(kernel_extent *e, const kernel_claim *q)
{
    const strided_copy *c = extent_params(e, q, sizeof *c);
    return c && strided_copy_extent(e, q, c);
}

static void expand_run(const kernel_run *r)
{
    strided_copy_run(r->params, r);
}

const kernel KERNELS_expand[] = {
    {.name = "expand",
     .version = 1,
     .ops = "Expand Tile",
     .accept = expand_accept,
     .prepare = expand_prepare,
     .run = expand_run,
     .extent = expand_extent},
    {0},
};
