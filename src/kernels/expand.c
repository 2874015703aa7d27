/* SPDX-License-Identifier: Apache-2.0 */
/* Expand and Tile: the input read with stride 0 along the axes that repeat. The sizes of an Expand
 * may be known although its shape is not: an axis of the input that is not 1 stays. Such a shape is
 * checked in the run. */
#include <string.h>

#include "kernels/strided_copy.h"

typedef struct params {
    strided_copy copy;
    uint64_t wanted; /* elements of a shape that only the run knows; 0: nothing to check */
    int32_t rank;
    int64_t sizes[STRIDED_AXES];
} params;

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

/* Returns false if the problem is no strided copy, or a shape has more axes than the result. */
static bool expand_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *shape = &u->inputs[1], *y = &u->outputs[0];
    *p = (params){0};
    if (!strided_copy_describe(&p->copy, u, expand_view_of)) return false;
    if (shape->data || !strcmp(u->node->def->name, "Tile")) return true;
    if (shape->dtype != PGY_I64 || shape->rank != 1 || shape->shape[0] > y->rank) return false;
    p->wanted = (uint64_t)shape->shape[0];
    p->rank = y->rank;
    memcpy(p->sizes, y->shape, (size_t)y->rank * sizeof *p->sizes);
    return true;
}

static bool expand_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!expand_describe(&p, u)) return false;
    strided_copy_cost(u, &p.copy, cost_ns);
    return true;
}

static pgy_status expand_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params p;
    (void)expand_describe(&p, u); /* cannot fail after `accept` */
    return strided_copy_plan(out, &p, sizeof p, err);
}

static bool expand_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !strided_copy_extent(e, q, &p->copy)) return false;
    if (p->rank < 0 || p->rank > STRIDED_AXES || p->wanted > (uint64_t)p->rank)
        return extent_refuse(e, "rank");
    if (p->wanted && q->input_count < 2) return extent_refuse(e, "number of inputs");
    if (p->wanted) extent_tensor(e, 1, p->wanted, sizeof(int64_t));
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Does the shape give the sizes of the plan? */
static bool expand_fits(const params *p, const int64_t *wanted)
{
    const int64_t *sizes = p->sizes + (uint64_t)p->rank - p->wanted;
    for (uint64_t d = 0; d < p->wanted; d++)
        if (wanted[d] != 1 && wanted[d] != sizes[d]) return false;
    return true;
}

static void expand_run(const kernel_run *r)
{
    const params *p = r->params;
    if (p->wanted && r->part == 0 && !expand_fits(p, r->tensors[1])) kernel_fault(r);
    strided_copy_run(&p->copy, r);
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
