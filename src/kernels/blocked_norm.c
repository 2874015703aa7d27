/* SPDX-License-Identifier: Apache-2.0 */
/* Group and instance normalisation of tensors blocked by channels, with SiLU behind it if the
 * operator has it. Phase 0 computes mean and squares of each channel of each chunk of pixels; phase
 * 1 joins those of a group and makes mean, factor and bias of each channel; phase 2 applies these.
 * Chunks do not depend on the parts, so results do not either. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/blocked.h"
#include "kernels/extent.h"
#include "kernels/vec_math.h"

enum { CHUNK = 64, PHASES = 3, SILU = 1, STATS = 2, TERMS = 3, MOST_PARTS = 256 };

typedef struct params {
    uint32_t level, inputs, silu;
    float epsilon;
    uint64_t batch, channels, groups, blocks, inner, block;
} params;

/* ---- The problem ---------------------------------------------------------------------------- */

static bool read_operator(params *p, const kernel_problem *u)
{
    const op_node *n = u->node;
    const bool is_instance = strcmp(n->def->name, "InstanceNormalization") == 0;
    const bool is_own = strcmp(n->def->name, "GroupNorm") == 0;
    const int64_t groups = op_attr_int(n, is_own ? "groups" : "num_groups", 1);
    p->groups = is_instance ? p->channels : groups > 0 ? (uint64_t)groups : 0;
    p->epsilon = (float)op_attr_float(n, "epsilon", 1e-5);
    p->silu = is_own && op_attr_int(n, "activation", 0) == SILU;
    if (is_own) return !op_attr_int(n, "channels_last", 1);
    return is_instance || n->def->since >= 21;
}

static bool blocked_norm_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0];
    *p = (params){.level = u->self->needs, .inputs = (uint32_t)u->input_count};
    if (u->input_count != 3 || u->output_count != 1 || x->rank < 3 || !kernel_count(x))
        return false;
    p->batch = (uint64_t)x->shape[0];
    p->channels = (uint64_t)x->shape[1];
    p->inner = kernel_count(x) / (p->batch * p->channels);
    p->block = blocked_loops_of(p->level)->block;
    p->blocks = (p->channels + p->block - 1) / p->block;
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype != PGY_F32) return false;
    if (u->outputs[0].dtype != PGY_F32 || !read_operator(p, u)) return false;
    if (!p->groups || p->channels % p->groups) return false;
    return kernel_count(&u->inputs[1]) == p->channels && kernel_count(&u->inputs[2]) == p->channels;
}

static bool blocked_norm_accept(kernel_problem *u, double *cost_ns)
{
    const double each = u->self->rates[0];
    params p;
    if (!blocked_norm_describe(&p, u)) return false;
    const kernel_layout layout = blocked_layout(p.block);
    if (u->inputs[0].layout != layout) return false;
    u->inputs[1].layout = u->inputs[2].layout = KERNEL_LINEAR;
    u->outputs[0].layout = layout;
    *cost_ns = 200 + (double)(p.batch * p.blocks * p.block * p.inner) * each * (p.silu ? 2 : 1);
    return true;
}

static uint64_t chunks_of(const params *p)
{
    return (p->inner + CHUNK - 1) / CHUNK;
}

/* Terms of all channels, then the statistics of all chunks. */
static uint64_t workspace_floats(const params *p)
{
    const uint64_t lanes = extent_mul3(p->batch, p->blocks, p->block);
    return extent_add(extent_mul(lanes, TERMS), extent_mul3(lanes, chunks_of(p), STATS));
}

static pgy_status blocked_norm_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)blocked_norm_describe(p, u); /* cannot fail after `accept` */
    const uint64_t parts = 1 + p->batch * p->blocks * p->inner / 256;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = PHASES};
    out->parts = (uint32_t)(parts < MOST_PARTS ? parts : MOST_PARTS);
    out->workspace_bytes = workspace_floats(p) * sizeof(float);
    return PGY_OK;
}

static bool blocked_norm_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != 3 || q->input_count != 3) return extent_refuse(e, "number of inputs");
    if (p->block != blocked_loops_of(p->level)->block || !p->batch || !p->inner || !p->channels ||
        p->blocks != (p->channels - 1) / p->block + 1)
        return extent_refuse(e, "blocks");
    if (!p->groups || p->channels % p->groups) return extent_refuse(e, "groups");
    const uint64_t count = extent_mul(extent_mul3(p->batch, p->blocks, p->block), p->inner);
    if (count == EXTENT_TOO_MUCH || p->inner > EXTENT_TOO_MUCH - CHUNK)
        return extent_refuse(e, "shape");
    extent_tensor(e, 0, count, sizeof(float));
    extent_tensor(e, 1, p->channels, sizeof(float));
    extent_tensor(e, 2, p->channels, sizeof(float));
    extent_tensor(e, 3, count, sizeof(float));
    e->phases = PHASES;
    e->workspace = extent_mul(workspace_floats(p), sizeof(float));
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static float *terms_of(const params *p, const kernel_run *r, uint64_t plane)
{
    return (float *)r->workspace + plane * TERMS * p->block;
}

static float *stats_of(const params *p, const kernel_run *r, uint64_t plane, uint64_t chunk)
{
    float *all = terms_of(p, r, p->batch * p->blocks);
    return all + (plane * chunks_of(p) + chunk) * STATS * p->block;
}

/* All blocks of a chunk follow each other, as convolutions cut pixels, too. */
static void measure_chunks(const params *p, const kernel_run *r)
{
    const blocked_loops *loops = blocked_loops_of(p->level);
    const uint64_t chunks = chunks_of(p);
    size_t from, to;
    kernel_share(&from, &to, p->batch * chunks * p->blocks, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const uint64_t chunk = i / p->blocks % chunks, at = chunk * CHUNK;
        const uint64_t plane = i / p->blocks / chunks * p->blocks + i % p->blocks;
        const float *x = (const float *)r->tensors[0] + (plane * p->inner + at) * p->block;
        loops->measure(stats_of(p, r, plane, chunk), x,
                       p->inner - at < CHUNK ? p->inner - at : CHUNK);
    }
}

/* Mean and variance of channels [from, to) of an image. The variance of all is that of the chunks,
 * plus that of their means. */
static void join_chunks(double *mean, double *variance, const params *p, const kernel_run *r,
                        uint64_t image, uint64_t from, uint64_t to)
{
    const uint64_t chunks = chunks_of(p), b = p->block;
    double sum = 0, squares = 0;
    for (int sweep = 0; sweep < 2; sweep++)
        for (uint64_t c = from; c < to; c++) {
            const float *s = stats_of(p, r, image * p->blocks + c / b, 0) + c % b;
            for (uint64_t k = 0; k < chunks; k++, s += STATS * b) {
                const double n = k + 1 < chunks ? CHUNK : (double)(p->inner - k * CHUNK);
                const double apart = (double)s[0] - *mean;
                if (sweep)
                    squares += (double)s[b] + n * apart * apart;
                else
                    sum += n * (double)s[0];
            }
            if (!sweep && c + 1 == to) *mean = sum / (double)((to - from) * p->inner);
        }
    *variance = squares / (double)((to - from) * p->inner);
}

static void make_terms(const params *p, const kernel_run *r)
{
    const uint64_t each = p->channels / p->groups, b = p->block;
    const float *scale = r->tensors[1], *bias = r->tensors[2];
    size_t from, to;
    kernel_share(&from, &to, p->batch * p->groups, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const uint64_t image = i / p->groups, first = i % p->groups * each;
        double mean = 0, variance = 0;
        join_chunks(&mean, &variance, p, r, image, first, first + each);
        for (uint64_t c = first; c < first + each; c++) {
            float *at = terms_of(p, r, image * p->blocks + c / b) + c % b;
            at[0] = (float)mean;
            at[b] = (float)((double)scale[c] / sqrt(variance + (double)p->epsilon));
            at[2 * b] = bias[c];
        }
        /* Lanes beyond the channels stay 0. */
        for (uint64_t c = first + each; c == p->channels && c < p->blocks * b; c++)
            for (uint64_t k = 0; k < TERMS; k++)
                for (uint64_t lane = c % b; lane < b; lane++)
                    terms_of(p, r, image * p->blocks + c / b)[k * b + lane] = 0;
    }
}

static void apply_terms(const params *p, const kernel_run *r)
{
    const blocked_loops *loops = blocked_loops_of(p->level);
    const vec_math *m = vec_math_of((cpu_level)p->level);
    size_t from, to, n;
    kernel_share(&from, &to, p->batch * p->inner, r->part, r->parts);
    for (; from < to && !cancel_requested(); from += n) {
        const uint64_t image = from / p->inner, pixel = from % p->inner;
        n = p->inner - pixel < to - from ? p->inner - pixel : to - from;
        n = n < CHUNK ? n : CHUNK;
        for (uint64_t block = 0; block < p->blocks; block++) {
            const uint64_t plane = image * p->blocks + block;
            const uint64_t at = (plane * p->inner + pixel) * p->block;
            float *y = (float *)r->tensors[3] + at;
            loops->normalize(y, (const float *)r->tensors[0] + at, n, terms_of(p, r, plane));
            if (p->silu) m->silu(y, y, n * p->block);
        }
    }
}

static void blocked_norm_run(const kernel_run *r)
{
    static void (*const RUN[PHASES])(const params *p, const kernel_run *r) = {
        measure_chunks, make_terms, apply_terms};
    RUN[r->phase](r->params, r);
}

#define ROW(suffix, level, each)                                                                   \
    {                                                                                              \
        .name = "blocked_norm_f32_" #suffix, .version = 1,                                         \
        .ops = "GroupNormalization InstanceNormalization com.microsoft:GroupNorm", .needs = level, \
        .rates = {each}, .accept = blocked_norm_accept, .prepare = blocked_norm_prepare,           \
        .run = blocked_norm_run, .extent = blocked_norm_extent                                     \
    }
const kernel KERNELS_blocked_norm[] = {
    ROW(portable, CPU_PORTABLE, 1.5),
    ROW(avx2, CPU_AVX2, 0.5),
    ROW(avx512, CPU_AVX512, 0.25),
    {0},
};
