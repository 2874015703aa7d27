/* SPDX-License-Identifier: Apache-2.0 */
/* HyperConnectionPreMix and HyperConnectionPostMix in float32, with one gate for a branch: a row of
 * the output is a weighted sum of a token's branches, and of the block's output behind the block.
 */
#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/vec_math.h"

enum { STREAMS, PRE_MIX };
enum { BLOCK = 1, POST_MIX, STREAM_MIX };
enum { PARTS = 256, WORTH = 8192 };

typedef struct params {
    uint64_t tokens, branches, width;
    uint32_t level, inputs;
    uint32_t post;  /* HyperConnectionPostMix */
    uint32_t mixed; /* there is a stream_mix: a matrix of weights for each token */
    float scale;    /* of HyperConnectionPreMix */
} params;

/* ---- The problem ---------------------------------------------------------------------------- */

static bool read_branches(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[STREAMS];
    const int64_t branches = op_attr_int(u->node, "num_branches", 0);
    if (branches < 0 || x->rank < (branches ? 1 : 2) || !kernel_count(x)) return false;
    const int64_t last = x->shape[x->rank - 1];
    if (branches && last % branches) return false;
    p->branches = (uint64_t)(branches ? branches : x->shape[x->rank - 2]);
    p->width = (uint64_t)(branches ? last / branches : last);
    p->tokens = kernel_count(x) / p->branches / p->width;
    return true;
}

static bool hyper_connection_describe(params *p, const kernel_problem *u)
{
    *p = (params){.level = u->self->needs,
                  .inputs = (uint32_t)u->input_count,
                  .post = u->node->def->min_inputs > PRE_MIX + 1,
                  .scale = (float)op_attr_float(u->node, "reduction_scale", 1)};
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype && u->inputs[i].dtype != PGY_F32) return false;
    if (u->outputs[0].dtype != PGY_F32 || u->input_count <= (p->post ? POST_MIX : PRE_MIX) ||
        !read_branches(p, u))
        return false;
    const uint64_t gates = p->tokens * p->branches;
    if (!p->post) return kernel_count(&u->inputs[PRE_MIX]) == gates;
    p->mixed = u->input_count > STREAM_MIX && u->inputs[STREAM_MIX].dtype;
    return kernel_count(&u->inputs[BLOCK]) == p->tokens * p->width &&
           kernel_count(&u->inputs[POST_MIX]) == gates &&
           (!p->mixed || kernel_count(&u->inputs[STREAM_MIX]) == gates * p->branches);
}

static bool hyper_connection_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!hyper_connection_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    const double sums = (double)p.branches * (p.post && p.mixed ? (double)p.branches : 1);
    *cost_ns = 100 + (double)p.tokens * sums * (10 + (double)p.width * u->self->rates[0]);
    return true;
}

static pgy_status hyper_connection_prepare(kernel_plan *out, const kernel_problem *u,
                                           pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)hyper_connection_describe(p, u); /* cannot fail after `accept` */
    const uint64_t worth = p->tokens * p->branches * p->width / WORTH + 1;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = (uint32_t)(worth < p->tokens ? worth : p->tokens);
    if (out->parts > PARTS) out->parts = PARTS;
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool hyper_connection_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) || !extent_enum(e, p->post, 2, "kind")) return false;
    const uint32_t last = !p->post ? PRE_MIX : p->mixed ? STREAM_MIX : POST_MIX;
    if (p->inputs != q->input_count || p->inputs <= last || !q->output_count)
        return extent_refuse(e, "number of operands");
    if (!p->tokens || !p->branches || !p->width) return extent_refuse(e, "sizes");
    const uint64_t gates = extent_mul(p->tokens, p->branches);
    extent_tensor(e, STREAMS, extent_mul(gates, p->width), sizeof(float));
    if (p->post) {
        extent_tensor(e, BLOCK, extent_mul(p->tokens, p->width), sizeof(float));
        extent_tensor(e, POST_MIX, gates, sizeof(float));
        if (p->mixed) extent_tensor(e, STREAM_MIX, extent_mul(gates, p->branches), sizeof(float));
    } else {
        extent_tensor(e, PRE_MIX, gates, sizeof(float));
    }
    extent_tensor(e, p->inputs, extent_mul(p->post ? gates : p->tokens, p->width), sizeof(float));
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* y = a * alpha + b * beta, for one row */
static void add_rows(const params *p, float *y, const float *a, float alpha, const float *b,
                     float beta)
{
    vec_math_of((cpu_level)p->level)->combine_rows(y, 0, a, 0, alpha, b, 0, beta, 1, p->width);
}

static void pre_mix(const params *p, const kernel_run *r, uint64_t token)
{
    const float *x = (const float *)r->tensors[STREAMS] + token * p->branches * p->width;
    const float *gates = (const float *)r->tensors[PRE_MIX] + token * p->branches;
    float *y = (float *)r->tensors[p->inputs] + token * p->width;
    add_rows(p, y, x, p->scale * gates[0], NULL, 0);
    for (uint64_t s = 1; s < p->branches; s++)
        add_rows(p, y, y, 1, x + s * p->width, p->scale * gates[s]);
}

static void post_mix(const params *p, const kernel_run *r, uint64_t token)
{
    const uint64_t count = p->branches;
    const float *x = (const float *)r->tensors[STREAMS] + token * count * p->width;
    const float *block = (const float *)r->tensors[BLOCK] + token * p->width;
    const float *gates = (const float *)r->tensors[POST_MIX] + token * count;
    const float *table =
        p->mixed ? (const float *)r->tensors[STREAM_MIX] + token * count * count : NULL;
    for (uint64_t k = 0; k < count; k++) {
        float *y = (float *)r->tensors[p->inputs] + (token * count + k) * p->width;
        const float *first = table ? x : x + k * p->width;
        add_rows(p, y, first, table ? table[k] : 1, block, gates[k]);
        for (uint64_t s = 1; table && s < count; s++)
            add_rows(p, y, y, 1, x + s * p->width, table[s * count + k]);
    }
}

static void hyper_connection_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, p->tokens, r->part, r->parts);
    for (size_t token = from; token < to && !cancel_requested(); token++) {
        if (p->post)
            post_mix(p, r, token);
        else
            pre_mix(p, r, token);
    }
}

#define ROW(suffix, level, each)                                                           \
    {                                                                                      \
        .name = "hyper_connection_f32_" #suffix, .version = 1,                             \
        .ops = "com.microsoft:HyperConnectionPreMix com.microsoft:HyperConnectionPostMix", \
        .needs = level, .rates = {each}, .accept = hyper_connection_accept,                \
        .prepare = hyper_connection_prepare, .run = hyper_connection_run,                  \
        .extent = hyper_connection_extent                                                  \
    }
const kernel KERNELS_hyper_connection[] = {
    ROW(portable, CPU_PORTABLE, 0.3),
    ROW(avx2, CPU_AVX2, 0.1),
    ROW(avx512, CPU_AVX512, 0.06),
    {0},
};
