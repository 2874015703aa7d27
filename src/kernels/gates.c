/* SPDX-License-Identifier: Apache-2.0 */
/* GatedAdd, ScaledSiLU and LinearAttentionGate of com.microsoft in float32. The pass lower_gates
 * makes elementwise operators of them, but not of those in 16 bits, which would round several
 * times: they run here, through the adapter. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/vec_math.h"
#include "kernels/walk.h"

typedef enum gate_kind { GATED_ADD, SCALED_SILU, ATTENTION_GATE } gate_kind;

enum { X, Y, GATE };                 /* of GatedAdd */
enum { SILU_SCALE = 1 };             /* of ScaledSiLU */
enum { A, BIAS, DECAY_SCALE, BETA }; /* of LinearAttentionGate */
enum { PIECE = 2048 };

typedef struct params {
    uint32_t kind, level, inputs;
    uint32_t has_more;    /* the scale of ScaledSiLU, or LinearAttentionGate's output beta */
    uint64_t rows, width; /* ScaledSiLU has rows of one number */
    float alpha;
} params;

static bool gates_describe(params *p, const kernel_problem *u)
{
    static const char *const NAMES[] = {[GATED_ADD] = "GatedAdd",
                                        [SCALED_SILU] = "ScaledSiLU",
                                        [ATTENTION_GATE] = "LinearAttentionGate"};
    const kernel_tensor *x = &u->inputs[0];
    memset(p, 0, sizeof *p);
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype && u->inputs[i].dtype != PGY_F32) return false;
    for (size_t i = 0; i < u->output_count; i++)
        if (u->outputs[i].dtype && u->outputs[i].dtype != PGY_F32) return false;
    while (strcmp(u->node->def->name, NAMES[p->kind])) p->kind++;
    p->level = u->self->needs;
    p->inputs = (uint32_t)u->input_count;
    p->alpha = (float)op_attr_float(u->node, "alpha", 1);
    p->width = p->kind == SCALED_SILU ? 1 : x->rank ? (uint64_t)x->shape[x->rank - 1] : 0;
    if (p->kind == SCALED_SILU) p->has_more = u->input_count > 1 && u->inputs[SILU_SCALE].dtype;
    if (p->kind == ATTENTION_GATE) p->has_more = u->output_count > 1 && u->outputs[1].dtype;
    if (!kernel_count(x) || !u->outputs[0].dtype) return false;
    p->rows = kernel_count(x) / p->width;
    return true;
}

static int32_t gates_axes(const kernel_problem *u)
{
    const bool all = strcmp(u->node->def->name, "ScaledSiLU") == 0;
    return all ? kernel_all_axes(u) : kernel_axes_before(u, -1);
}

static bool gates_accept(kernel_problem *u, double *cost_ns)
{
    static const double NS[] = {[GATED_ADD] = 0.1, [SCALED_SILU] = 0.4, [ATTENTION_GATE] = 1.3};
    params p;
    if (!gates_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)(p.rows * p.width) * NS[p.kind] * u->self->rates[0];
    return true;
}

static pgy_status gates_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)gates_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    /* LinearAttentionGate may read its input 0 as its input b, too, when decay is written. */
    if (!u->inputs[0].data && p->kind != ATTENTION_GATE) out->in_place = 0;
    out->parts = walk_parts(p->rows * p->width, 12);
    return PGY_OK;
}

static bool gates_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) || !extent_enum(e, p->kind, ATTENTION_GATE + 1, "kind"))
        return false;
    const uint32_t most = p->kind == GATED_ADD ? 3 : p->kind == SCALED_SILU ? 2 : 4;
    if (p->inputs != q->input_count || p->inputs > most)
        return extent_refuse(e, "number of inputs");
    if (!p->rows || !p->width) return extent_refuse(e, "sizes");
    const uint64_t item = sizeof(float), all = extent_mul(p->rows, p->width);
    extent_tensor(e, 0, all, item);
    extent_tensor(e, p->inputs, all, item);
    if (p->kind == GATED_ADD) {
        extent_tensor(e, Y, all, item);
        extent_tensor(e, GATE, p->rows, item);
    } else if (p->kind == SCALED_SILU) {
        if (p->has_more) extent_tensor(e, SILU_SCALE, 1, item);
    } else {
        extent_tensor(e, BIAS, p->width, item);
        extent_tensor(e, DECAY_SCALE, p->width, item);
        if (p->has_more) extent_tensor(e, BETA, all, item);
        if (p->has_more) extent_tensor(e, p->inputs + 1, all, item);
    }
    return true;
}

/* ---- Rows [from, to) ------------------------------------------------------------------------ */

static void gated_add(const params *p, const kernel_run *r, size_t from, size_t to)
{
    const vec_math *m = vec_math_of((cpu_level)p->level);
    const float *x = r->tensors[X], *y = r->tensors[Y], *gate = r->tensors[GATE];
    float *sum = r->tensors[p->inputs];
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const size_t at = i * p->width;
        m->combine_rows(sum + at, 0, y + at, 0, gate[i], x + at, 0, 1, 1, p->width);
    }
}

static void scaled_silu(const params *p, const kernel_run *r, size_t from, size_t to)
{
    const vec_math *m = vec_math_of((cpu_level)p->level);
    const float *x = r->tensors[X];
    const float scale = p->has_more ? *(const float *)r->tensors[SILU_SCALE] : p->alpha;
    float *y = r->tensors[p->inputs];
    for (size_t i = from; i < to && !cancel_requested(); i += PIECE) {
        const size_t n = to - i < PIECE ? to - i : PIECE;
        m->combine_rows(y + i, 0, x + i, 0, scale, NULL, 0, 0, 1, n);
        m->silu(y + i, y + i, n);
    }
}

static void attention_gate(const params *p, const kernel_run *r, size_t from, size_t to)
{
    const vec_math *m = vec_math_of((cpu_level)p->level);
    const float *a = r->tensors[A], *bias = r->tensors[BIAS], *scale = r->tensors[DECAY_SCALE];
    const float *b = p->has_more ? r->tensors[BETA] : NULL;
    float *decay = r->tensors[p->inputs], *beta = p->has_more ? r->tensors[p->inputs + 1] : NULL;
    const size_t width = p->width, most = width < PIECE ? PIECE / width : 1;
    for (size_t i = from; i < to && !cancel_requested(); i += most) {
        const size_t rows = to - i < most ? to - i : most, at = i * width;
        m->combine_rows(decay + at, width, a + at, width, 1, bias, 0, 1, rows, width);
        m->softplus(decay + at, decay + at, rows * width);
        for (size_t k = 0; k < rows; k++)
            for (size_t j = 0; j < width; j++) decay[at + k * width + j] *= scale[j];
        if (beta) m->sigmoid(beta + at, b + at, rows * width);
    }
}

static void gates_run(const kernel_run *r)
{
    static void (*const RUN[])(const params *, const kernel_run *, size_t, size_t) = {
        [GATED_ADD] = gated_add, [SCALED_SILU] = scaled_silu, [ATTENTION_GATE] = attention_gate};
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, p->rows, r->part, r->parts);
    if (from < to) RUN[p->kind](p, r, from, to);
}

#define ROW(suffix, level, slower)                                                               \
    {                                                                                            \
        .name = "gates_f32_" #suffix, .version = 1,                                              \
        .ops =                                                                                   \
            "com.microsoft:GatedAdd com.microsoft:ScaledSiLU com.microsoft:LinearAttentionGate", \
        .needs = level, .rates = {slower}, .free_axes = gates_axes, .accept = gates_accept,      \
        .prepare = gates_prepare, .run = gates_run, .extent = gates_extent                       \
    }
const kernel KERNELS_gates[] = {
    ROW(portable, CPU_PORTABLE, 4),
    ROW(avx2, CPU_AVX2, 1.5),
    ROW(avx512, CPU_AVX512, 1),
    {0},
};
