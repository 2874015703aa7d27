/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on parallel branches in float32: BranchwiseRMSNorm, and EngramGate, which weighs a
 * token's value for each branch by a gate from its normed key and query. A row is a branch of a
 * token. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/elementwise.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/vec_math.h"

enum { PARTS = 256, WORTH = 8192 };
/* Inputs of BranchwiseRMSNorm, and of EngramGate. */
enum { X, SCALE };
enum { KEY, QUERY, VALUE, KEY_SCALE, QUERY_SCALE, OUT_SCALE };

typedef struct params {
    uint64_t rows, branches, width; /* rows: of all tokens, a multiple of `branches` */
    uint32_t level, inputs, outputs;
    uint32_t gate;      /* EngramGate */
    uint32_t one_scale; /* of BranchwiseRMSNorm: all branches have the same scale */
    float epsilon;
} params;

/* ---- The problem ---------------------------------------------------------------------------- */

static bool branches_have(const kernel_problem *u, size_t input)
{
    return input < u->input_count && u->inputs[input].dtype;
}

static bool describe_norm(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[X];
    const int64_t branches = op_attr_int(u->node, "num_branches", 0);
    if (branches < 0 || x->rank < (branches ? 1 : 2)) return false;
    const int64_t last = x->shape[x->rank - 1];
    if (branches && last % branches) return false;
    p->branches = (uint64_t)(branches ? branches : x->shape[x->rank - 2]);
    p->width = (uint64_t)(branches ? last / branches : last);
    p->rows = kernel_count(x) / p->width;
    if (!branches_have(u, SCALE)) return true;
    const uint64_t scales = kernel_count(&u->inputs[SCALE]);
    p->one_scale = scales == p->width;
    return p->one_scale || scales == p->branches * p->width;
}

static bool describe_gate(params *p, const kernel_problem *u)
{
    const kernel_tensor *key = &u->inputs[KEY];
    if (u->input_count <= QUERY_SCALE || key->rank != 4) return false;
    p->gate = 1;
    p->branches = (uint64_t)key->shape[2];
    p->width = (uint64_t)key->shape[3];
    p->rows = kernel_count(key) / p->width;
    const uint64_t count = p->rows * p->width, scales = p->branches * p->width;
    for (size_t i = KEY_SCALE; i < u->input_count; i++)
        if (u->inputs[i].dtype && kernel_count(&u->inputs[i]) != scales) return false;
    const bool norms = u->output_count > 1 && u->outputs[1].dtype;
    return kernel_count(&u->inputs[QUERY]) == count && branches_have(u, QUERY_SCALE) &&
           kernel_count(&u->inputs[VALUE]) * p->branches == count &&
           (!norms || branches_have(u, OUT_SCALE));
}

static bool branches_describe(params *p, const kernel_problem *u)
{
    *p = (params){.level = u->self->needs,
                  .inputs = (uint32_t)u->input_count,
                  .outputs = (uint32_t)u->output_count,
                  .epsilon = (float)op_attr_float(u->node, "epsilon", 1e-5)};
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype && u->inputs[i].dtype != PGY_F32) return false;
    for (size_t i = 0; i < u->output_count; i++)
        if (u->outputs[i].dtype && u->outputs[i].dtype != PGY_F32) return false;
    if (!u->outputs[0].dtype || !kernel_count(&u->inputs[0])) return false;
    return u->node->def->name[0] == 'E' ? describe_gate(p, u) : describe_norm(p, u);
}

static bool branches_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!branches_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)p.rows * (p.gate ? 100 : 20) +
               (double)(p.rows * p.width) * u->self->rates[0] * (p.gate ? 3 : 1);
    return true;
}

static pgy_status branches_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)branches_describe(p, u); /* cannot fail after `accept` */
    const uint64_t worth = p->rows * p->width / WORTH + 1;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = 0};
    out->scratch_bytes = p->gate ? 2 * p->width * sizeof(float) : 0;
    out->parts = (uint32_t)(worth < p->rows ? worth : p->rows);
    if (out->parts > PARTS) out->parts = PARTS;
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static void extent_gate(kernel_extent *e, const params *p, const kernel_claim *q)
{
    const uint64_t count = extent_mul(p->rows, p->width);
    const uint64_t scales = extent_mul(p->branches, p->width);
    extent_tensor(e, QUERY, count, sizeof(float));
    extent_tensor(e, VALUE, extent_mul(p->rows / p->branches, p->width), sizeof(float));
    extent_tensor(e, KEY_SCALE, scales, sizeof(float));
    extent_tensor(e, QUERY_SCALE, scales, sizeof(float));
    e->scratch = extent_mul3(2, p->width, sizeof(float));
    if (p->outputs < 2 || !extent_has(q, p->inputs + 1)) return;
    extent_tensor(e, OUT_SCALE, scales, sizeof(float));
    extent_tensor(e, p->inputs + 1, count, sizeof(float));
}

static bool branches_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) || !extent_enum(e, p->gate, 2, "kind")) return false;
    if (p->inputs != q->input_count || p->outputs != q->output_count || !p->outputs ||
        p->inputs <= (p->gate ? QUERY_SCALE : X) ||
        (p->gate && p->outputs > 1 && p->inputs <= OUT_SCALE))
        return extent_refuse(e, "number of operands");
    if (!p->rows || !p->branches || !p->width || p->rows % p->branches)
        return extent_refuse(e, "sizes");
    const uint64_t count = extent_mul(p->rows, p->width);
    extent_tensor(e, 0, count, sizeof(float));
    extent_tensor(e, p->inputs, count, sizeof(float));
    if (p->gate)
        extent_gate(e, p, q);
    else if (p->inputs > SCALE && extent_has(q, SCALE))
        extent_tensor(e, SCALE, p->one_scale ? p->width : extent_mul(p->branches, p->width),
                      sizeof(float));
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static float root_factor(const params *p, const vec_math *m, const float *x)
{
    return 1 / sqrtf(m->sum_squares(x, p->width, 0) / (float)p->width + p->epsilon);
}

static void norm_row(const params *p, const kernel_run *r, const vec_math *m, uint64_t row)
{
    const float *x = (const float *)r->tensors[X] + row * p->width;
    const float *scales = p->inputs > SCALE ? r->tensors[SCALE] : NULL;
    float *y = (float *)r->tensors[p->inputs] + row * p->width;
    if (!scales) {
        m->affine(y, x, p->width, 0, root_factor(p, m, x), 0);
        return;
    }
    const uint64_t first = p->one_scale ? 0 : row % p->branches * p->width;
    const vec_norm v = {.root = true, .epsilon = p->epsilon, .scale = scales + first};
    m->normalize_rows(y, x, 1, p->width, &v, NULL, NULL);
}

/* sum(key * key_scale * query * query_scale) */
static float dot_row(const params *p, const kernel_run *r, const vec_math *m, uint64_t row)
{
    static const uint32_t both[] = {1, 1};
    const elementwise_loop mul = elementwise_table((cpu_level)p->level)[ELEMENTWISE_mul_f32];
    const uint64_t n = p->width, at = row * n, scale = row % p->branches * n;
    float *a = r->scratch, *b = a + n;
    mul(a,
        (const void *const[]){(float *)r->tensors[KEY] + at,
                              (float *)r->tensors[KEY_SCALE] + scale},
        both, n, NULL);
    mul(b,
        (const void *const[]){(float *)r->tensors[QUERY] + at,
                              (float *)r->tensors[QUERY_SCALE] + scale},
        both, n, NULL);
    mul(a, (const void *const[]){a, b}, both, n, NULL);
    return m->sum(a, n);
}

static void gate_row(const params *p, const kernel_run *r, const vec_math *m, uint64_t row)
{
    const uint64_t n = p->width, at = row * n, scale = row % p->branches * n;
    const float *key = (const float *)r->tensors[KEY] + at;
    const float *query = (const float *)r->tensors[QUERY] + at;
    const float *value = (const float *)r->tensors[VALUE] + row / p->branches * n;
    float *y = (float *)r->tensors[p->inputs] + at;
    float *normed = p->outputs > 1 ? r->tensors[p->inputs + 1] : NULL;
    const float dot =
        dot_row(p, r, m, row) * root_factor(p, m, key) * root_factor(p, m, query) / sqrtf((float)n);
    const float sign = dot > 0 ? 1 : dot < 0 ? -1 : dot; /* 0 or NaN */
    const float size = fabsf(dot) < 1e-6F ? 1e-6F : fabsf(dot);
    m->affine(y, value, n, 0, 1 / (1 + expf(-sign * sqrtf(size))), 0);
    if (!normed) return;
    const vec_norm v = {
        .root = true, .epsilon = p->epsilon, .scale = (const float *)r->tensors[OUT_SCALE] + scale};
    m->normalize_rows(normed + at, y, 1, n, &v, NULL, NULL);
}

static void branches_run(const kernel_run *r)
{
    const params *p = r->params;
    const vec_math *m = vec_math_of((cpu_level)p->level);
    size_t from, to;
    kernel_share(&from, &to, p->rows, r->part, r->parts);
    for (size_t row = from; row < to && !cancel_requested(); row++) {
        if (p->gate)
            gate_row(p, r, m, row);
        else
            norm_row(p, r, m, row);
    }
}

#define ROW(suffix, level, each)                                                           \
    {                                                                                      \
        .name = "branches_f32_" #suffix, .version = 1,                                     \
        .ops = "com.microsoft:BranchwiseRMSNorm com.microsoft:EngramGate", .needs = level, \
        .rates = {each}, .accept = branches_accept, .prepare = branches_prepare,           \
        .run = branches_run, .extent = branches_extent                                     \
    }
const kernel KERNELS_branches[] = {
    ROW(portable, CPU_PORTABLE, 1),
    ROW(avx2, CPU_AVX2, 0.5),
    ROW(avx512, CPU_AVX512, 0.2),
    {0},
};
