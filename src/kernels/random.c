/* SPDX-License-Identifier: Apache-2.0 */
/* RandomNormal, RandomUniform and their "Like" forms in float32: the numbers of the definition
 * (ops/class_random.h), some at a time. A generator has one order, so one thread makes them all. */
#include <math.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/rand.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/vec_math.h"
#include "ops/rule.h"

typedef struct params {
    uint64_t count;
    uint32_t level, seed, normal, inputs;
    float first, second; /* mean and scale, or low and high */
} params;

static bool random_describe(params *p, const kernel_problem *u)
{
    const char *name = u->node->def->name;
    const bool normal = name[6] == 'N'; /* behind "Random" */
    const kernel_tensor *y = &u->outputs[0];
    if (y->dtype != PGY_F32 || !kernel_count(y) || u->input_count > 1) return false;
    *p = (params){.count = kernel_count(y),
                  .level = u->self->needs,
                  .seed = op_attr_find(u->node, "seed")
                              ? (uint32_t)rule_truncate(op_attr_float(u->node, "seed", 0))
                              : 0,
                  .normal = normal,
                  .inputs = (uint32_t)u->input_count,
                  .first = (float)op_attr_float(u->node, normal ? "mean" : "low", 0),
                  .second = (float)op_attr_float(u->node, normal ? "scale" : "high", 1)};
    return true;
}

static bool random_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!random_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 2000 + (double)p.count * u->self->rates[0];
    return true;
}

static pgy_status random_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)random_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){
        .params = p, .params_bytes = sizeof *p, .phases = 1, .parts = 1, .in_place = -1};
    return PGY_OK;
}

static bool random_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != q->input_count || p->inputs > 1) return extent_refuse(e, "number of inputs");
    if (!p->count || p->normal > 1) return extent_refuse(e, "sizes");
    extent_tensor(e, p->inputs, p->count, sizeof(float));
    e->parts = 1;
    return true;
}

enum { BLOCK = 512 };

/* Uniform numbers of 53 bits, as mt19937_double gives them. */
static void uniform(mt19937 *g, double *x, size_t count)
{
    uint32_t words[2 * BLOCK];
    mt19937_fill_u32(g, words, 2 * count);
    for (size_t i = 0; i < count; i++)
        x[i] = ((double)(int32_t)(words[2 * i] >> 5) * 67108864.0 +
                (double)(int32_t)(words[2 * i + 1] >> 6)) *
               (1 / 9007199254740992.0);
}

static void uniform_block(const params *p, mt19937 *g, float *y, size_t count)
{
    const double low = (double)p->first, width = (double)p->second - low;
    double x[BLOCK];
    uniform(g, x, count);
    for (size_t i = 0; i < count; i++) y[i] = (float)(low + width * x[i]);
}

/* The polar form of pairs of numbers. 1 - x is rounded to float32 for the logarithm, which gets the
 * rest by its derivative. */
static void normal_block(const params *p, mt19937 *g, float *y, size_t count)
{
    const vec_math *m = vec_math_of((cpu_level)p->level);
    const size_t pairs = (count + 1) / 2;
    double x[BLOCK];
    float logs[BLOCK / 2], rests[BLOCK / 2], angles[BLOCK / 2], sines[BLOCK / 2];
    uniform(g, x, 2 * pairs);
    for (size_t i = 0; i < pairs; i++) {
        const double one = 1 - x[2 * i];
        logs[i] = (float)one;
        rests[i] = (float)(one - (double)logs[i]) / logs[i];
        angles[i] = (float)(6.283185307179586 * x[2 * i + 1]);
    }
    m->log(logs, logs, pairs);
    m->sin(sines, angles, pairs);
    m->cos(angles, angles, pairs);
    for (size_t i = 0; i < pairs; i++) {
        const float radius = sqrtf(-2 * (logs[i] + rests[i])) * p->second;
        y[2 * i] = p->first + radius * angles[i];
        if (2 * i + 1 < count) y[2 * i + 1] = p->first + radius * sines[i];
    }
}

static void random_run(const kernel_run *r)
{
    const params *p = r->params;
    float *y = r->tensors[p->inputs];
    mt19937 g;
    mt19937_seed(&g, p->seed);
    for (uint64_t i = 0; i < p->count && !cancel_requested(); i += BLOCK) {
        const size_t count = p->count - i < BLOCK ? p->count - i : BLOCK;
        if (p->normal)
            normal_block(p, &g, y + i, count);
        else
            uniform_block(p, &g, y + i, count);
    }
}

#define ROW(suffix, level, ns)                                                                  \
    {                                                                                           \
        .name = "random_" #suffix, .version = 1,                                                \
        .ops = "RandomNormal RandomNormalLike RandomUniform RandomUniformLike", .needs = level, \
        .rates = {ns}, .accept = random_accept, .prepare = random_prepare, .run = random_run,   \
        .extent = random_extent                                                                 \
    }
const kernel KERNELS_random[] = {
    ROW(portable, CPU_PORTABLE, 12),
    ROW(avx2, CPU_AVX2, 6),
    ROW(avx512, CPU_AVX512, 4),
    {0},
};
