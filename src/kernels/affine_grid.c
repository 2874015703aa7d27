/* SPDX-License-Identifier: Apache-2.0 */
/* AffineGrid: along a row of the grid only the first coordinate changes, so each component is a
 * line: its start, computed in float64, plus a multiple of the column. */
#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"

enum { MOST_AXES = 3 };

typedef struct params {
    uint64_t count, axes, align;
    uint64_t extents[MOST_AXES]; /* of the grid, width last; `axes` of them */
} params;

static bool affine_grid_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *y = &u->outputs[0];
    *p = (params){.align = op_attr_int(u->node, "align_corners", 0) != 0};
    if (u->input_count != 2 || u->inputs[0].dtype != PGY_F32 || y->dtype != PGY_F32) return false;
    if ((y->rank != 4 && y->rank != 5) || u->inputs[0].rank != 3) return false;
    p->axes = (uint64_t)y->rank - 2;
    p->count = (uint64_t)y->shape[0];
    for (uint64_t d = 0; d < p->axes; d++) p->extents[d] = (uint64_t)y->shape[d + 1];
    return kernel_count(y) && kernel_count(&u->inputs[0]) == p->count * p->axes * (p->axes + 1);
}

static bool affine_grid_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!affine_grid_describe(&p, u)) return false;
    u->inputs[0].layout = u->inputs[1].layout = u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)kernel_count(&u->outputs[0]) * 0.5;
    return true;
}

static uint64_t affine_grid_rows(const params *p)
{
    uint64_t rows = p->count;
    for (uint64_t d = 0; d + 1 < p->axes; d++) rows = extent_mul(rows, p->extents[d]);
    return rows;
}

static pgy_status affine_grid_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)affine_grid_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t rows = affine_grid_rows(p), worth = kernel_count(&u->outputs[0]) / 8192 + 1;
    out->parts = (uint32_t)(rows < worth ? rows : worth);
    if (out->parts > 64) out->parts = 64;
    return PGY_OK;
}

static bool affine_grid_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (q->input_count != 2) return extent_refuse(e, "number of inputs");
    if (p->axes != 2 && p->axes != 3) return extent_refuse(e, "axes");
    for (uint64_t d = 0; d < p->axes; d++)
        if (!p->extents[d]) return extent_refuse(e, "sizes");
    if (!p->count) return extent_refuse(e, "sizes");
    const uint64_t points = extent_mul(affine_grid_rows(p), p->extents[p->axes - 1]);
    extent_tensor(e, 0, extent_mul(p->count, p->axes * (p->axes + 1)), sizeof(float));
    extent_tensor(e, 2, extent_mul(points, p->axes), sizeof(float));
    return true;
}

/* Coordinate i of n points is start + i * step. */
static void affine_grid_line(double *start, double *step, const params *p, uint64_t n)
{
    if (p->align) {
        *start = -1;
        *step = n > 1 ? 2 / ((double)n - 1) : 0;
    } else {
        *start = 1 / (double)n - 1;
        *step = 2 / (double)n;
    }
}

static void affine_grid_write(float *y, uint64_t axes, const float *first, const float *slope,
                              uint64_t width)
{
    if (axes == 2) {
        const float a = first[0], b = first[1], c = slope[0], d = slope[1];
        for (uint64_t i = 0; i < width; i++) {
            const float at = (float)(int32_t)i;
            y[2 * i] = a + c * at;
            y[2 * i + 1] = b + d * at;
        }
        return;
    }
    for (uint64_t i = 0; i < width; i++)
        for (uint64_t k = 0; k < 3; k++) y[3 * i + k] = first[k] + slope[k] * (float)(int32_t)i;
}

static void affine_grid_run(const kernel_run *r)
{
    enum { PIECE = 1024 }; /* points; later ones would lose bits of their column */
    const params *p = r->params;
    const uint64_t axes = p->axes, width = p->extents[axes - 1];
    size_t from, to;
    kernel_share(&from, &to, affine_grid_rows(p), r->part, r->parts);
    for (size_t row = from; row < to && !cancel_requested(); row++) {
        double base[MOST_AXES], across[MOST_AXES], start, step;
        uint64_t rest = row;
        double at[MOST_AXES] = {0}; /* coordinates but the first, y then z */
        for (uint64_t d = axes - 1; d-- > 0; rest /= p->extents[d]) {
            affine_grid_line(&start, &step, p, p->extents[d]);
            at[axes - 1 - d] = start + (double)(rest % p->extents[d]) * step;
        }
        const float *m = (const float *)r->tensors[0] + rest * axes * (axes + 1);
        affine_grid_line(&start, &step, p, width);
        for (uint64_t k = 0; k < axes; k++, m += axes + 1) {
            base[k] = m[axes] + m[0] * start;
            for (uint64_t d = 1; d < axes; d++) base[k] += m[d] * at[d];
            across[k] = m[0] * step;
        }
        for (uint64_t i = 0; i < width; i += PIECE) {
            float first[MOST_AXES], slope[MOST_AXES];
            for (uint64_t k = 0; k < axes; k++) {
                first[k] = (float)(base[k] + across[k] * (double)i);
                slope[k] = (float)across[k];
            }
            affine_grid_write((float *)r->tensors[2] + (row * width + i) * axes, axes, first, slope,
                              width - i < PIECE ? width - i : PIECE);
        }
    }
}

const kernel KERNELS_affine_grid[] = {
    {.name = "affine_grid",
     .version = 1,
     .ops = "AffineGrid",
     .accept = affine_grid_accept,
     .prepare = affine_grid_prepare,
     .run = affine_grid_run,
     .extent = affine_grid_extent},
    {0},
};
