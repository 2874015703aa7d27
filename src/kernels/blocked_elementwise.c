/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operators on tensors blocked by channels, so that no reorder is needed between
 * convolutions. The second operand may also have one number for each channel: a constant, or [N, C,
 * 1, 1]. A depthwise convolution of single pixels is a scale and a shift of each channel, too. */
#include "kernels/blocked.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/conv.h"
#include "kernels/extent.h"
#include "kernels/vec_math.h"

enum { OPERANDS = 2 };

typedef struct params {
    uint32_t op, level, constant, clears, inputs; /* constant: operand 1 is a constant and packed */
    uint64_t batch, channels, blocks, inner, block;
    uint32_t step[OPERANDS]; /* of each operand: 1, or 0 if it has one number for each channel */
    float args[2];
} params;

static const struct {
    const char *name;
    blocked_op op;
    uint32_t operands;
} OPS[] = {
    {"Relu", BLOCKED_RELU, 1},
    {"LeakyRelu", BLOCKED_LEAKY_RELU, 1},
    {"Clip", BLOCKED_CLIP, 1},
    {"HardSigmoid", BLOCKED_HARD_SIGMOID, 1},
    {"HardSwish", BLOCKED_HARD_SWISH, 1},
    {"Sigmoid", BLOCKED_SIGMOID, 1},
    {"Tanh", BLOCKED_TANH, 1},
    {"Add", BLOCKED_ADD, 2},
    {"Sum", BLOCKED_ADD, 2},
    {"Sub", BLOCKED_SUB, 2},
    {"Mul", BLOCKED_MUL, 2},
    {"Div", BLOCKED_DIV, 2},
    {"BatchNormalization", BLOCKED_AFFINE, 2},
    {"Conv", BLOCKED_AFFINE, 2},
    {"FusedConv", BLOCKED_AFFINE, 2},
};

static bool is_affine(uint32_t op)
{
    return op == BLOCKED_AFFINE || op == BLOCKED_AFFINE_RELU;
}

static bool is_conv(const kernel_problem *u)
{
    return strstr(u->node->def->name, "Conv") != NULL;
}

static uint32_t find_op(const kernel_problem *u, uint32_t *operands)
{
    size_t i = 0;
    while (strcmp(OPS[i].name, u->node->def->name)) i++; /* ends: OPS lists all operators of .ops */
    *operands = OPS[i].operands;
    return OPS[i].op;
}

/* ---- The problem ---------------------------------------------------------------------------- */

static bool read_bound(float *out, const kernel_problem *u, size_t i, const char *name,
                       float fallback)
{
    *out = (float)op_attr_float(u->node, name, (double)fallback);
    if (u->input_count <= i || !u->inputs[i].dtype) return true;
    if (!u->inputs[i].data || u->inputs[i].dtype != PGY_F32) return false;
    *out = *(const float *)u->inputs[i].data;
    return true;
}

static bool read_args(params *p, const kernel_problem *u)
{
    const op_node *n = u->node;
    if (p->op == BLOCKED_LEAKY_RELU) p->args[0] = (float)op_attr_float(n, "alpha", 0.01);
    if (p->op == BLOCKED_HARD_SIGMOID) {
        p->args[0] = (float)op_attr_float(n, "alpha", 0.2);
        p->args[1] = (float)op_attr_float(n, "beta", 0.5);
    }
    return p->op != BLOCKED_CLIP || (read_bound(&p->args[0], u, 1, "min", -INFINITY) &&
                                     read_bound(&p->args[1], u, 2, "max", INFINITY));
}

static bool is_whole(const kernel_tensor *t, const kernel_tensor *y)
{
    return t->rank == y->rank &&
           memcmp(t->shape, y->shape, (size_t)y->rank * sizeof *y->shape) == 0;
}

/* Does t have one number for each channel of each image? */
static bool is_by_channel(const kernel_tensor *t, const kernel_tensor *y)
{
    if (t->rank != y->rank || t->shape[1] != y->shape[1]) return false;
    for (int32_t i = 2; i < t->rank; i++)
        if (t->shape[i] != 1) return false;
    return t->shape[0] == y->shape[0];
}

/* Is t a constant of one number, or of one for each channel? */
static bool is_channel_constant(const kernel_tensor *t, const kernel_tensor *y)
{
    if (!t->data) return false;
    const size_t count = kernel_count(t);
    if (count == 1) return t->rank <= y->rank;
    if (count != (size_t)y->shape[1] || t->rank > y->rank) return false;
    const int32_t axis = 1 - (y->rank - t->rank);
    return axis >= 0 && t->shape[axis] == y->shape[1];
}

static bool read_binary(params *p, const kernel_problem *u)
{
    const kernel_tensor *y = &u->outputs[0];
    bool whole = false;
    if (u->input_count != 2) return false;
    for (uint32_t i = 0; i < 2; i++) {
        const kernel_tensor *t = &u->inputs[i];
        if (t->data) {
            if (i == 0 || !is_channel_constant(t, y)) return false;
            p->constant = true;
        } else if (is_whole(t, y)) {
            p->step[i] = 1;
            whole = true;
        } else if (!is_by_channel(t, y)) {
            return false;
        }
    }
    return whole;
}

static bool read_normalization(params *p, const kernel_problem *u)
{
    if (u->input_count != 5 || u->outputs[0].dtype != PGY_F32) return false;
    for (size_t i = 1; i < u->output_count; i++)
        if (u->outputs[i].dtype) return false;
    for (size_t i = 1; i < 5; i++)
        if (!u->inputs[i].data || u->inputs[i].dtype != PGY_F32) return false;
    p->constant = true;
    p->step[0] = 1;
    return !op_attr_int(u->node, "training_mode", 0);
}

static bool read_conv(params *p, const kernel_problem *u)
{
    conv_shape s;
    if (!conv_describe(&s, u) || !conv_is_scale(&s)) return false;
    if (s.activation == CONV_RELU) p->op = BLOCKED_AFFINE_RELU;
    p->constant = true;
    p->step[0] = 1;
    return true;
}

static bool clears(const params *p)
{
    switch ((blocked_op)p->op) {
    case BLOCKED_SIGMOID: return true;
    case BLOCKED_HARD_SIGMOID: return p->args[1] > 0;
    case BLOCKED_CLIP: return p->args[0] > 0 || p->args[1] < 0;
    case BLOCKED_DIV: return !p->constant;
    default: return false;
    }
}

static bool blocked_elementwise_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *y = &u->outputs[0];
    uint32_t operands;
    *p = (params){.op = find_op(u, &operands), .inputs = (uint32_t)u->input_count};
    if (y->rank < 3 || y->dtype != PGY_F32 || !kernel_count(y)) return false;
    for (size_t i = 0; i < operands && i < u->input_count; i++)
        if (u->inputs[i].dtype != PGY_F32) return false;
    p->step[0] = operands == 1;
    if (!read_args(p, u)) return false;
    if (is_conv(u)         ? !read_conv(p, u)
        : is_affine(p->op) ? !read_normalization(p, u)
                           : operands == 2 && !read_binary(p, u))
        return false;
    p->clears = clears(p);
    p->batch = (uint64_t)y->shape[0];
    p->channels = (uint64_t)y->shape[1];
    p->inner = kernel_count(y) / (p->batch * p->channels);
    return true;
}

static double cost_of(const params *p)
{
    const double count = (double)(p->batch * p->channels * p->inner);
    const bool slow = p->op == BLOCKED_SIGMOID || p->op == BLOCKED_TANH;
    return 50 + count * (slow ? 0.6 : 0.15);
}

static bool blocked_elementwise_accept(kernel_problem *u, double *cost_ns)
{
    const cpu_level level = u->self->needs;
    params p;
    const kernel_layout layout = blocked_layout(blocked_loops_of(level)->block);
    bool offered = false;
    if (!blocked_elementwise_describe(&p, u)) return false;
    const uint32_t operands = p.op < BLOCKED_ADD || p.constant ? 1 : 2;
    for (uint32_t i = 0; i < operands; i++) offered |= p.step[i] && u->inputs[i].layout == layout;
    if (!offered) return false;
    for (uint32_t i = 0; i < u->input_count; i++)
        u->inputs[i].layout = i < operands ? layout : KERNEL_LINEAR;
    u->outputs[0].layout = layout;
    *cost_ns = cost_of(&p) * u->self->rates[0];
    return true;
}

/* ---- Preparing ------------------------------------------------------------------------------ */

/* Packs a constant second operand as [block][lane]. Padding lanes get a value that keeps 0 at 0: 1
 * for Div, else 0. */
static void pack_operand(float *to, const params *p, const kernel_tensor *t)
{
    const float *values = t->data, pad = p->op == BLOCKED_DIV ? 1 : 0;
    const bool one = kernel_count(t) == 1;
    for (uint64_t i = 0; i < p->blocks * p->block; i++)
        to[i] = i < p->channels ? values[one ? 0 : i] : pad;
}

/* Packs BatchNormalization as [block][scale, shift][lane]. */
static void pack_normalization(float *to, const params *p, const kernel_problem *u)
{
    const float *v[5] = {NULL};
    for (size_t i = 1; i < 5; i++) v[i] = u->inputs[i].data;
    const double epsilon = op_attr_float(u->node, "epsilon", 1e-5);
    for (uint64_t i = 0; i < p->blocks * p->block; i++) {
        const bool real = i < p->channels;
        const double scale = real ? (double)v[1][i] / sqrt((double)v[4][i] + epsilon) : 0;
        float *at = to + i / p->block * 2 * p->block + i % p->block;
        at[0] = (float)scale;
        at[p->block] = real ? (float)((double)v[2][i] - (double)v[3][i] * scale) : 0;
    }
}

/* Packs weights and bias of a convolution in the same way. */
static void pack_conv(float *to, const params *p, const kernel_problem *u)
{
    const float *scale = u->inputs[1].data;
    const float *shift = u->input_count > 2 && u->inputs[2].dtype ? u->inputs[2].data : NULL;
    for (uint64_t i = 0; i < p->blocks * p->block; i++) {
        float *at = to + i / p->block * 2 * p->block + i % p->block;
        at[0] = i < p->channels ? scale[i] : 0;
        at[p->block] = shift && i < p->channels ? shift[i] : 0;
    }
}

static pgy_status blocked_elementwise_pack(kernel_plan *out, const params *p,
                                           const kernel_problem *u, pgy_error *err)
{
    const bool scales = is_affine(p->op);
    if (p->op == BLOCKED_CLIP) out->packed_inputs = 6;
    if (!p->constant) return PGY_OK;
    out->packed_bytes = p->blocks * p->block * (scales ? 2 : 1) * sizeof(float);
    out->packed_inputs = !scales ? 2 : !is_conv(u) ? 30 : u->input_count > 2 ? 6 : 2;
    out->packed = mem_alloc_aligned(64, out->packed_bytes);
    if (!out->packed) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for packed values");
    if (is_conv(u))
        pack_conv(out->packed, p, u);
    else if (scales)
        pack_normalization(out->packed, p, u);
    else
        pack_operand(out->packed, p, &u->inputs[1]);
    return PGY_OK;
}

static pgy_status blocked_elementwise_prepare(kernel_plan *out, const kernel_problem *u,
                                              pgy_error *err)
{
    const cpu_level level = u->self->needs;
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)blocked_elementwise_describe(p, u); /* cannot fail after `accept` */
    p->level = level;
    p->block = blocked_loops_of(level)->block;
    p->blocks = (p->channels + p->block - 1) / p->block;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1};
    out->in_place = p->step[0] ? 0 : 1;
    const uint64_t parts = 1 + p->batch * p->blocks * p->inner / 256;
    out->parts = (uint32_t)(parts < 256 ? parts : 256);
    const pgy_status st = blocked_elementwise_pack(out, p, u, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

/* Are the operands' steps valid? Loops of one operand and affine ones ignore steps and read all of
 * operand 0. */
static bool has_valid_steps(const params *p)
{
    if (is_affine(p->op) && !p->constant) return false;
    if (p->op < BLOCKED_ADD || is_affine(p->op)) return p->step[0] == 1 && !p->step[1];
    return p->step[0] <= 1 && p->step[1] <= (p->constant ? 0 : 1);
}

static bool blocked_elementwise_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) ||
        !extent_enum(e, p->op, BLOCKED_AFFINE_RELU + 1, "operator"))
        return false;
    const uint64_t pixels = extent_mul3(p->batch, p->blocks, p->block);
    const uint64_t whole = extent_mul(pixels, p->inner);
    const bool binary = p->op >= BLOCKED_ADD && !p->constant;
    if (p->inputs != q->input_count || p->inputs < (binary ? 2 : 1))
        return extent_refuse(e, "number of inputs");
    if (p->block != blocked_loops_of(p->level)->block || !p->blocks || !p->inner)
        return extent_refuse(e, "blocks");
    if (!has_valid_steps(p)) return extent_refuse(e, "steps");
    extent_tensor(e, 0, p->step[0] ? whole : pixels, sizeof(float));
    if (binary) extent_tensor(e, 1, p->step[1] ? whole : pixels, sizeof(float));
    extent_tensor(e, p->inputs, whole, sizeof(float));
    if (p->op >= BLOCKED_ADD && p->constant)
        e->packed =
            extent_mul(extent_mul3(p->blocks, p->block, sizeof(float)), is_affine(p->op) ? 2 : 1);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static void blocked_elementwise_pixels(const params *p, const blocked_call *c)
{
    const vec_math *m = vec_math_of((cpu_level)p->level);
    if (p->op == BLOCKED_SIGMOID)
        m->sigmoid(c->y, c->a, c->n * p->block);
    else if (p->op == BLOCKED_TANH)
        m->tanh(c->y, c->a, c->n * p->block);
    else
        blocked_loops_of(p->level)->run(c);
}

static const float *operand(const params *p, const kernel_run *r, uint32_t i, uint64_t plane,
                            uint64_t pixel)
{
    const uint64_t b = p->block;
    if (i == 1 && p->constant)
        return (const float *)r->packed + plane % p->blocks * b * (is_affine(p->op) ? 2 : 1);
    const float *x = r->tensors[i];
    return x + (p->step[i] ? plane * p->inner + pixel : plane) * b;
}

/* Computes n pixels of a plane, a block of channels of one image. */
static void run_plane(const params *p, const kernel_run *r, uint64_t plane, uint64_t pixel,
                      size_t n)
{
    const bool binary = p->op >= BLOCKED_ADD;
    const blocked_call c = {.op = p->op,
                            .y = (float *)r->tensors[p->inputs] +
                                 (plane * p->inner + pixel) * p->block,
                            .a = operand(p, r, 0, plane, pixel),
                            .b = binary ? operand(p, r, 1, plane, pixel) : NULL,
                            .a_step = p->step[0],
                            .b_step = p->step[1],
                            .n = n,
                            .args = p->args};
    blocked_elementwise_pixels(p, &c);
    const uint64_t first = plane % p->blocks * p->block;
    if (p->clears && p->channels - first < p->block)
        blocked_clear(c.y, n, p->block, p->channels - first);
}

/* A part is a range of pixels with all their channels, as in the convolutions before and behind: so
 * a thread mostly reads what it wrote, and not what lies in the caches of other processors. */
static void run_by_pixels(const params *p, const kernel_run *r)
{
    size_t from, to, n;
    kernel_share(&from, &to, p->batch * p->inner, r->part, r->parts);
    for (; from < to; from += n) {
        const uint64_t image = from / p->inner, pixel = from % p->inner;
        n = p->inner - pixel < to - from ? p->inner - pixel : to - from;
        for (uint64_t block = 0; block < p->blocks; block++)
            run_plane(p, r, image * p->blocks + block, pixel, n);
    }
}

static void blocked_elementwise_run(const kernel_run *r)
{
    enum { LEAST = 2 }; /* pixels of a part */
    const params *p = r->params;
    size_t from, to, n;
    if (p->inner >= (uint64_t)LEAST * r->parts) {
        run_by_pixels(p, r);
        return;
    }
    kernel_share(&from, &to, p->batch * p->blocks * p->inner, r->part, r->parts);
    for (; from < to; from += n) {
        const uint64_t plane = from / p->inner, pixel = from % p->inner;
        n = p->inner - pixel < to - from ? p->inner - pixel : to - from;
        run_plane(p, r, plane, pixel, n);
    }
}

const blocked_loops *blocked_loops_of(uint32_t level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &blocked_loops_avx512;
    if (level >= CPU_AVX2) return &blocked_loops_avx2;
#endif
    (void)level;
    return &blocked_loops_portable;
}

void blocked_clear(float *y, size_t n, size_t block, size_t lanes)
{
    for (size_t i = 0; i < n; i++) memset(y + i * block + lanes, 0, (block - lanes) * sizeof *y);
}

static int32_t blocked_elementwise_free_axes(const kernel_problem *u)
{
    return strcmp(u->node->def->name, "BatchNormalization") && !is_conv(u) ? kernel_all_axes(u) : 0;
}

#define ROW(suffix, level, slower)                                                           \
    {                                                                                        \
        .name = "blocked_f32_" #suffix, .version = 2,                                        \
        .ops = "Relu LeakyRelu Clip HardSigmoid HardSwish Sigmoid Tanh Add Sum Sub Mul Div " \
               "BatchNormalization Conv com.microsoft:FusedConv pgy:FusedConv",              \
        .needs = level, .rates = {slower}, .free_axes = blocked_elementwise_free_axes,       \
        .accept = blocked_elementwise_accept, .prepare = blocked_elementwise_prepare,        \
        .run = blocked_elementwise_run, .extent = blocked_elementwise_extent                 \
    }
const kernel KERNELS_blocked_elementwise[] = {
    ROW(portable, CPU_PORTABLE, 1.5),
    ROW(avx2, CPU_AVX2, 1),
    ROW(avx512, CPU_AVX512, 1),
    {0},
};
