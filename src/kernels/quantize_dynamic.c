/* SPDX-License-Identifier: Apache-2.0 */
/* DynamicQuantizeLinear: the first phase finds the range of the input, the second quantises it. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/extent.h"
#include "kernels/int_problem.h"
#include "kernels/quantize_loops.h"

enum { PIECE = 16384, MAX_PARTS = 64 };

typedef struct params {
    uint32_t level;
    uint64_t count;
} params;

static bool quantize_dynamic_accept(kernel_problem *u, double *cost_ns)
{
    const double ns = u->self->rates[0];
    if (u->input_count != 1 || u->inputs[0].dtype != PGY_F32 || u->output_count != 3) return false;
    for (size_t i = 0; i < 3; i++)
        if (!u->outputs[i].dtype) return false;
    int_problem_linear(u);
    *cost_ns = 200 + (double)kernel_count(&u->inputs[0]) * ns;
    return true;
}

static pgy_status quantize_dynamic_prepare(kernel_plan *out, const kernel_problem *u,
                                           pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    p->level = u->self->needs;
    p->count = kernel_count(&u->inputs[0]);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 2, .in_place = -1};
    const uint64_t parts = p->count / PIECE + 1;
    out->parts = (uint32_t)(parts < MAX_PARTS ? parts : MAX_PARTS);
    out->workspace_bytes = MAX_PARTS * 2 * sizeof(float);
    return PGY_OK;
}

static bool quantize_dynamic_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (q->input_count != 1) return extent_refuse(e, "number of inputs");
    extent_tensor(e, 0, p->count, sizeof(float));
    extent_tensor(e, 1, p->count, 1);
    extent_tensor(e, 2, 1, sizeof(float));
    extent_tensor(e, 3, 1, 1);
    e->workspace = MAX_PARTS * 2 * sizeof(float);
    e->phases = 2;
    e->parts = MAX_PARTS;
    return true;
}

static void quantize_dynamic_run(const kernel_run *r)
{
    const params *p = r->params;
    const quantize_loops *loops = quantize_loops_of((cpu_level)p->level);
    const float *x = r->tensors[0];
    float *ranges = r->workspace, low = 0, high = 0;
    size_t from, to;
    kernel_share(&from, &to, p->count, r->part, r->parts);
    if (r->phase == 0) {
        if (from < to) loops->range(x + from, to - from, &low, &high);
        ranges[2 * r->part] = low;
        ranges[2 * r->part + 1] = high;
        return;
    }
    loops->range(ranges, 2 * (size_t)r->parts, &low, &high);
    const quantize_to q = quantize_dynamic(low, high);
    if (from < to) loops->to_8((uint8_t *)r->tensors[1] + from, x + from, to - from, &q);
    if (r->part) return;
    *(float *)r->tensors[2] = q.scale;
    *(uint8_t *)r->tensors[3] = (uint8_t)q.zero;
}

#define ROW(suffix, level, ns)                                                             \
    {                                                                                      \
        .name = "quantize_dynamic_" #suffix, .version = 1, .ops = "DynamicQuantizeLinear", \
        .needs = level, .rates = {ns}, .accept = quantize_dynamic_accept,                  \
        .prepare = quantize_dynamic_prepare, .run = quantize_dynamic_run,                  \
        .extent = quantize_dynamic_extent                                                  \
    }
const kernel KERNELS_quantize_dynamic[] = {
    ROW(portable, CPU_PORTABLE, 1.5),
    ROW(avx2, CPU_AVX2, 0.3),
    ROW(avx512, CPU_AVX512, 0.2),
    {0},
};
