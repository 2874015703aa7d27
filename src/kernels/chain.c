/* SPDX-License-Identifier: Apache-2.0 */
/* pgy:Elementwise (a chain of fused elementwise operators) in float32. Each piece of the tensors
 * goes through all steps of the chain, one loop of elementwise.def after the other, before the next
 * piece starts. So intermediate results stay in the L1 cache. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/elementwise.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/shared_params.h"
#include "kernels/vec_math.h"
#include "ops/class_chain.h"

/* For runs shorter than SHORT_RUN, a call for each step costs too much: broadcast operands are
 * expanded first, so that a piece spans many runs. */
enum { PIECE = 1024, SHORT_RUN = 128, OUTPUT = UINT8_MAX };

static const struct {
    uint32_t loop;
    float ns; /* nanoseconds per element, as in elementwise.def */
} LOOPS[CHAIN_OPS] = {
    [CHAIN_ADD] = {ELEMENTWISE_add_f32, 0.02f},
    [CHAIN_SUB] = {ELEMENTWISE_sub_f32, 0.02f},
    [CHAIN_MUL] = {ELEMENTWISE_mul_f32, 0.02f},
    [CHAIN_DIV] = {ELEMENTWISE_div_f32, 0.05f},
    [CHAIN_MIN] = {ELEMENTWISE_min_f32, 0.03f},
    [CHAIN_MAX] = {ELEMENTWISE_max_f32, 0.03f},
    [CHAIN_RELU] = {ELEMENTWISE_relu_f32, 0.02f},
    [CHAIN_LEAKY_RELU] = {ELEMENTWISE_leaky_relu_f32, 0.03f},
    [CHAIN_CLIP] = {ELEMENTWISE_clip_f32, 0.03f},
    [CHAIN_HARD_SIGMOID] = {ELEMENTWISE_hard_sigmoid_f32, 0.03f},
    [CHAIN_HARD_SWISH] = {ELEMENTWISE_hard_swish_f32, 0.04f},
    [CHAIN_ABS] = {ELEMENTWISE_abs_f32, 0.02f},
    [CHAIN_NEG] = {ELEMENTWISE_neg_f32, 0.02f},
    [CHAIN_SQRT] = {ELEMENTWISE_sqrt_f32, 0.1f},
    [CHAIN_RECIPROCAL] = {ELEMENTWISE_reciprocal_f32, 0.1f},
    [CHAIN_EXP] = {ELEMENTWISE_exp_f32, 0.3f},
    [CHAIN_LOG] = {ELEMENTWISE_log_f32, 0.45f},
    [CHAIN_TANH] = {ELEMENTWISE_tanh_f32, 0.5f},
    [CHAIN_SIGMOID] = {ELEMENTWISE_sigmoid_f32, 0.35f},
    [CHAIN_ERF] = {ELEMENTWISE_erf_f32, 0.6f},
    [CHAIN_GELU] = {ELEMENTWISE_gelu_f32, 0.6f},
    [CHAIN_FAST_GELU] = {ELEMENTWISE_fast_gelu_f32, 0.35f},
    [CHAIN_SWISH] = {ELEMENTWISE_swish_f32, 0.35f},
    [CHAIN_SOFTPLUS] = {ELEMENTWISE_softplus_f32, 1.2f},
    [CHAIN_MISH] = {ELEMENTWISE_mish_f32, 0.5f},
    [CHAIN_SIN] = {ELEMENTWISE_sin_f32, 0.7f},
    [CHAIN_COS] = {ELEMENTWISE_cos_f32, 0.7f},
    [CHAIN_TAN] = {ELEMENTWISE_tan_f32, 0.75f},
    [CHAIN_ASIN] = {ELEMENTWISE_asin_f32, 0.35f},
    [CHAIN_ACOS] = {ELEMENTWISE_acos_f32, 0.38f},
    [CHAIN_ATAN] = {ELEMENTWISE_atan_f32, 0.38f},
    [CHAIN_SINH] = {ELEMENTWISE_sinh_f32, 0.5f},
    [CHAIN_COSH] = {ELEMENTWISE_cosh_f32, 0.38f},
    [CHAIN_ASINH] = {ELEMENTWISE_asinh_f32, 1},
    [CHAIN_ACOSH] = {ELEMENTWISE_acosh_f32, 0.85f},
    [CHAIN_ATANH] = {ELEMENTWISE_atanh_f32, 0.75f},
    [CHAIN_FLOOR] = {ELEMENTWISE_floor_f32, 0.03f},
    [CHAIN_CEIL] = {ELEMENTWISE_ceil_f32, 0.03f},
    [CHAIN_ROUND] = {ELEMENTWISE_round_f32, 0.03f},
    [CHAIN_SIGN] = {ELEMENTWISE_sign_f32, 0.03f},
};

typedef chain_params params;

/* Do the operands of all one-operand steps have the output's size? Their loops cannot broadcast. */
static bool are_unary_whole(const params *p, const kernel_problem *u)
{
    const size_t count = kernel_count(&u->outputs[0]);
    for (uint32_t i = 0; i < p->program.count; i++) {
        const chain_step *s = &p->program.steps[i];
        if (chain_op_operands(s->op) == 1 && s->at[0] < p->inputs &&
            kernel_count(&u->inputs[s->at[0]]) != count)
            return false;
    }
    return true;
}

static bool chain_describe(params *p, kernel_problem *u)
{
    memset(p, 0, sizeof *p);
    p->inputs = (uint32_t)u->input_count;
    if (u->output_count != 1 || u->outputs[0].dtype != PGY_F32) return false;
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype != PGY_F32) return false;
    return chain_read(&p->program, u->node, u->input_count) && are_unary_whole(p, u) &&
           elementwise_place(&p->w, u, p->inputs);
}

static bool chain_accept(kernel_problem *u, double *cost_ns)
{
    const double slower = u->self->rates[0];
    params p;
    if (!chain_describe(&p, u)) return false;
    double bytes = (double)kernel_size_bytes(&u->outputs[0]), each = 0;
    for (size_t i = 0; i < u->input_count; i++) bytes += (double)kernel_size_bytes(&u->inputs[i]);
    for (uint32_t i = 0; i < p.program.count; i++)
        each += (double)LOOPS[p.program.steps[i].op].ns + 0.01;
    *cost_ns = 100 + 10 * p.program.count + bytes / 10 + (double)p.w.count * each * slower;
    return true;
}

/* ---- Preparing ------------------------------------------------------------------------------ */

/* Assigns a slot of scratch memory to each step's result; a slot is free after the last read of its
 * result. */
static void find_slots(params *p)
{
    const chain *c = &p->program;
    uint32_t last[CHAIN_STEPS] = {0};
    bool taken[CHAIN_STEPS] = {false};
    for (uint32_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < chain_op_operands(c->steps[i].op); k++)
            if (c->steps[i].at[k] >= c->inputs) last[c->steps[i].at[k] - c->inputs] = i;
    for (uint32_t i = 0; i < c->count; i++) {
        uint8_t slot = 0;
        for (size_t k = 0; k < chain_op_operands(c->steps[i].op); k++) {
            const uint32_t from = c->steps[i].at[k] - c->inputs;
            if (c->steps[i].at[k] >= c->inputs && last[from] == i) taken[p->slot[from]] = false;
        }
        while (taken[slot]) slot++;
        p->slot[i] = i + 1 == c->count ? OUTPUT : slot;
        if (i + 1 == c->count) return;
        taken[slot] = last[i] > i;
        if (slot >= p->slots) p->slots = slot + 1u;
    }
}

static void find_written_out(params *p, const kernel_problem *u)
{
    const uint32_t last = p->w.rank - 1;
    if (p->w.shape[last] >= SHORT_RUN || p->w.rank == 1) return;
    for (uint32_t i = 0; i < p->inputs; i++)
        if (kernel_count(&u->inputs[i]) != p->w.count) p->written_out |= 1u << i;
}

static int8_t find_in_place(const params *p, const kernel_problem *u)
{
    for (uint32_t i = 0; i < p->inputs; i++)
        if (!u->inputs[i].data && kernel_count(&u->inputs[i]) == kernel_count(&u->outputs[0]))
            return (int8_t)i;
    return -1;
}

static pgy_status chain_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    kernel_problem problem = *u;
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)chain_describe(p, &problem); /* cannot fail after `accept` */
    p->level = u->self->needs;
    find_slots(p);
    find_written_out(p, u);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1};
    out->in_place = find_in_place(p, u);
    const size_t slots = p->slots + (p->written_out ? p->inputs : 0);
    out->scratch_bytes = slots * PIECE * sizeof(float);
    out->parts = walk_parts(p->w.count, 4 + 2 * (uint64_t)p->program.count);
    return PGY_OK;
}

/* Operands must be inputs or results of earlier steps with a slot. Unused operands must be in
 * range, too, because chain_piece looks them up. */
static bool has_valid_steps(const params *p, bool *whole)
{
    const chain *c = &p->program;
    for (uint32_t i = 0; i < c->count; i++) {
        const chain_step *s = &c->steps[i];
        if (s->op >= CHAIN_OPS || (p->slot[i] != OUTPUT && p->slot[i] >= p->slots)) return false;
        for (size_t k = 0; k < CHAIN_OPERANDS; k++) {
            const bool used = k < chain_op_operands(s->op);
            if (s->at[k] >= c->inputs + (used ? i : c->count)) return false;
            if (used && s->at[k] >= c->inputs && p->slot[s->at[k] - c->inputs] == OUTPUT)
                return false;
        }
        if (chain_op_operands(s->op) == 1 && s->at[0] < c->inputs) whole[s->at[0]] = true;
    }
    return true;
}

static bool chain_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    /* Indexed by input: does a loop read it that cannot broadcast? */
    bool whole[KERNEL_MAX_INPUTS] = {false};
    if (!p || !extent_level(e, p->level) || !walk_extent(e, &p->w, true)) return false;
    if (p->inputs != q->input_count || p->w.operands != p->inputs || p->program.inputs != p->inputs)
        return extent_refuse(e, "number of inputs");
    if (p->program.count > CHAIN_STEPS || p->slots > CHAIN_STEPS || !has_valid_steps(p, whole))
        return extent_refuse(e, "steps");
    for (uint32_t i = 0; i < p->inputs; i++) {
        const bool written_out = p->written_out >> i & 1;
        if (!p->written_out && whole[i] && p->w.strides[i][p->w.rank - 1] != 1)
            return extent_refuse(e, "strides");
        extent_tensor(e, i, p->written_out && !written_out ? p->w.count : walk_reach(&p->w, i),
                      sizeof(float));
    }
    extent_tensor(e, p->inputs, p->w.count, sizeof(float));
    const uint64_t slots = p->slots + (uint64_t)(p->written_out ? p->inputs : 0);
    e->scratch = slots * PIECE * sizeof(float);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* What a piece of the tensors reads. */
typedef struct piece {
    const params *p;
    uint64_t sums; /* find_sums */
    const float *const *inputs;
    const uint32_t *steps; /* of the inputs: 0 or 1 */
    float *y, *scratch;
} piece;

/* Bit i: step i is a product that only the sum behind it reads. */
static uint64_t find_sums(const chain *c)
{
    uint32_t readers[CHAIN_STEPS] = {0};
    uint64_t found = 0;
    for (uint32_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < chain_op_operands(c->steps[i].op); k++)
            if (c->steps[i].at[k] >= c->inputs) readers[c->steps[i].at[k] - c->inputs]++;
    for (uint32_t i = 0; i + 1 < c->count; i++) {
        const chain_step *s = &c->steps[i], *next = s + 1;
        if (s->op == CHAIN_MUL && next->op == CHAIN_ADD && readers[i] == 1 &&
            (next->at[0] == c->inputs + i || next->at[1] == c->inputs + i))
            found |= UINT64_C(1) << i;
    }
    return found;
}

static const float *operand_of(const piece *q, uint32_t at, uint32_t *step)
{
    const chain *c = &q->p->program;
    *step = at < c->inputs ? q->steps[at] : 1;
    return at < c->inputs ? q->inputs[at] : q->scratch + q->p->slot[at - c->inputs] * PIECE;
}

static float *result_of(const piece *q, uint32_t i)
{
    return q->p->slot[i] == OUTPUT ? q->y : q->scratch + q->p->slot[i] * PIECE;
}

/* Computes step i, the product of a tensor and a number, and the sum behind it in one pass, which
 * reads all operands side by side. The bits are those of two passes. */
static bool add_scaled(const piece *q, uint32_t i, size_t n)
{
    const chain *c = &q->p->program;
    const chain_step *s = &c->steps[i], *next = s + 1;
    uint32_t step[3];
    if (!(q->sums >> i & 1)) return false;
    const float *a = operand_of(q, s->at[0], &step[0]), *b = operand_of(q, s->at[1], &step[1]);
    const float *added = operand_of(q, next->at[next->at[0] == c->inputs + i], &step[2]);
    if (step[0] == step[1] || !step[2]) return false;
    vec_math_of((cpu_level)q->p->level)
        ->combine_rows(result_of(q, i + 1), 0, step[0] ? a : b, 0, step[0] ? *b : *a, added, 0, 1,
                       1, n);
    return true;
}

static void chain_piece(const piece *q, size_t n)
{
    const elementwise_loop *loops = elementwise_table((cpu_level)q->p->level);
    const chain *c = &q->p->program;
    for (uint32_t i = 0; i < c->count; i++) {
        const chain_step *s = &c->steps[i];
        const void *x[CHAIN_OPERANDS];
        uint32_t step[CHAIN_OPERANDS];
        if (add_scaled(q, i, n)) {
            i++;
            continue;
        }
        for (size_t k = 0; k < CHAIN_OPERANDS; k++) x[k] = operand_of(q, s->at[k], &step[k]);
        loops[LOOPS[s->op].loop](result_of(q, i), x, step, n, s->args);
    }
}

/* Copies n elements of an input; with step 0 its first element, n times. */
static void write_out(float *to, const float *from, uint32_t step, size_t n)
{
    if (step)
        for (size_t i = 0; i < n; i++) to[i] = from[i];
    else
        for (size_t i = 0; i < n; i++) to[i] = *from;
}

/* Computes pieces that span many short runs along the last axis. */
static void chain_short(const params *p, const kernel_run *r, const uint32_t *step)
{
    uint32_t ones[KERNEL_MAX_INPUTS];
    const float *x[KERNEL_MAX_INPUTS];
    float *room = (float *)r->scratch + (size_t)p->slots * PIECE;
    piece q = {p, find_sums(&p->program), x, ones, NULL, r->scratch};
    walk_at at;
    size_t n, done;
    for (uint32_t i = 0; i < p->inputs; i++) ones[i] = 1;
    walk_begin(&at, &p->w, r->part, r->parts);
    while (at.done < at.end) {
        const uint64_t first = at.done;
        for (uint32_t i = 0; i < p->inputs; i++)
            x[i] =
                p->written_out >> i & 1 ? room + i * PIECE : (const float *)r->tensors[i] + first;
        for (done = 0; done < PIECE && walk_run(&at, &p->w, PIECE - done, &n); done += n) {
            for (uint32_t i = 0; i < p->inputs; i++)
                if (p->written_out >> i & 1)
                    write_out(room + i * PIECE + done, (const float *)r->tensors[i] + at.offset[i],
                              step[i], n);
            walk_next(&at, &p->w, n);
        }
        q.y = (float *)r->tensors[p->inputs] + first;
        chain_piece(&q, done);
    }
}

static void chain_run(const kernel_run *r)
{
    const params *p = r->params;
    const uint32_t last = p->w.rank - 1;
    const float *x[KERNEL_MAX_INPUTS];
    uint32_t step[KERNEL_MAX_INPUTS];
    for (uint32_t i = 0; i < p->inputs; i++) step[i] = (uint32_t)p->w.strides[i][last];
    if (p->written_out) {
        chain_short(p, r, step);
        return;
    }
    piece q = {p, find_sums(&p->program), x, step, NULL, r->scratch};
    walk_at at;
    size_t n;
    walk_begin(&at, &p->w, r->part, r->parts);
    for (; walk_run(&at, &p->w, PIECE, &n); walk_next(&at, &p->w, n)) {
        for (uint32_t i = 0; i < p->inputs; i++) x[i] = (const float *)r->tensors[i] + at.offset[i];
        q.y = (float *)r->tensors[p->inputs] + at.done;
        chain_piece(&q, n);
    }
}

#define ROW(suffix, level, slower)                                                            \
    {                                                                                         \
        .name = "chain_f32_" #suffix, .version = 1, .ops = "pgy:Elementwise", .needs = level, \
        .rates = {slower}, .free_axes = kernel_all_axes, .accept = chain_accept,              \
        .prepare = chain_prepare, .run = chain_run, .extent = chain_extent                    \
    }
const kernel KERNELS_chain[] = {
    ROW(portable, CPU_PORTABLE, 4),
    ROW(avx2, CPU_AVX2, 1.5),
    ROW(avx512, CPU_AVX512, 1),
    {0},
};
