/* SPDX-License-Identifier: Apache-2.0 */
/* Hardmax in float32: one at the first largest element of a row, zero elsewhere. NaN ranks before
 * every number. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/search_loops.h"

/* Lines of `length` elements, `inner` apart. */
typedef struct params {
    uint64_t outer, length, inner;
    uint32_t level;
} params;

static bool hardmax_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0];
    const bool cut = u->node->def->since < 13; /* the input is seen as a matrix */
    int64_t axis = op_attr_int(u->node, "axis", -1);
    *p = (params){.outer = 1, .length = 1, .inner = 1};
    if (axis < 0) axis += x->rank;
    if (x->dtype != PGY_F32 || !kernel_count(x) || axis < 0 || axis >= x->rank) return false;
    for (int64_t d = 0; d < x->rank; d++) {
        uint64_t *part = d < axis ? &p->outer : d == axis || cut ? &p->length : &p->inner;
        *part *= (uint64_t)x->shape[d];
    }
    return true;
}

static uint64_t hardmax_units(const params *p)
{
    return p->outer * ((p->inner + SEARCH_COLUMNS - 1) / SEARCH_COLUMNS);
}

static bool hardmax_accept(kernel_problem *u, double *cost_ns)
{
    const double ns = u->self->rates[0];
    params p;
    if (!hardmax_describe(&p, u)) return false;
    u->inputs[0].layout = u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)kernel_count(&u->outputs[0]) * ns;
    return true;
}

static pgy_status hardmax_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)hardmax_describe(p, u); /* cannot fail after `accept` */
    p->level = u->self->needs;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t units = hardmax_units(p);
    const uint64_t worth = p->outer * p->length * p->inner / 8192 + 1;
    out->parts = (uint32_t)(units < worth ? units : worth);
    if (out->parts > 256) out->parts = 256;
    return PGY_OK;
}

static bool hardmax_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (q->input_count != 1) return extent_refuse(e, "number of inputs");
    if (!p->outer || !p->length || !p->inner) return extent_refuse(e, "shape");
    const uint64_t count = extent_mul3(p->outer, p->length, p->inner);
    extent_tensor(e, 0, count, sizeof(float));
    extent_tensor(e, 1, count, sizeof(float));
    return true;
}

static void hardmax_run(const kernel_run *r)
{
    const params *p = r->params;
    const search_loops *loops = search_loops_of(SEARCH_F32, (cpu_level)p->level);
    const search_order order = {false, false};
    const size_t groups = (p->inner + SEARCH_COLUMNS - 1) / SEARCH_COLUMNS;
    int64_t found[SEARCH_COLUMNS];
    size_t from, to;
    kernel_share(&from, &to, hardmax_units(p), r->part, r->parts);
    for (size_t unit = from; unit < to && !cancel_requested(); unit++) {
        const size_t first = unit % groups * SEARCH_COLUMNS;
        const size_t left = p->inner - first, n = left < SEARCH_COLUMNS ? left : SEARCH_COLUMNS;
        const size_t at = unit / groups * p->length * p->inner + first;
        const float *x = (const float *)r->tensors[0] + at;
        float *y = (float *)r->tensors[1] + at;
        if (p->inner == 1)
            found[0] = (int64_t)loops->best(x, p->length, order);
        else
            loops->best_of_columns(found, x, p->length, p->inner, n, order);
        if (p->inner == 1)
            memset(y, 0, p->length * sizeof *y);
        else
            for (size_t k = 0; k < p->length; k++) memset(y + k * p->inner, 0, n * sizeof *y);
        for (size_t i = 0; i < n; i++) y[(size_t)found[i] * p->inner + i] = 1;
    }
}

#define ROW(suffix, level, ns)                                                                     \
    {                                                                                              \
        .name = "hardmax_" #suffix, .version = 1, .ops = "Hardmax", .needs = level, .rates = {ns}, \
        .accept = hardmax_accept, .prepare = hardmax_prepare, .run = hardmax_run,                  \
        .extent = hardmax_extent                                                                   \
    }
const kernel KERNELS_hardmax[] = {
    ROW(portable, CPU_PORTABLE, 1),
    ROW(avx2, CPU_AVX2, 0.5),
    ROW(avx512, CPU_AVX512, 0.4),
    {0},
};
