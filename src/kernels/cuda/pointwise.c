/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operators, chains of them, and Cast: the program of each is written as text and
 * compiled for the device, so a chain is one kernel that reads and writes each element once. */
#include "kernels/cuda/pointwise.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/cuda/adapted.h"
#include "kernels/elementwise.h"
#include "kernels/shared_params.h"

/* ---- Programs ------------------------------------------------------------------------------- */

static bool is_dense(const pointwise *p, uint32_t i)
{
    return p->w->strides[i][p->w->rank - 1] != 0;
}

/* Can a thread take n neighbours of the last axis at once? */
static bool is_regular(const pointwise *p, uint32_t n)
{
    const uint32_t last = p->w->rank - 1;
    if (p->w->shape[last] % n) return false;
    for (uint32_t i = 0; i < p->operands; i++) {
        if (p->w->strides[i][last] > 1) return false;
        for (uint32_t d = 0; d < last && is_dense(p, i); d++)
            if (p->w->strides[i][d] % n) return false;
    }
    return true;
}

uint32_t pointwise_vector(const pointwise *p)
{
    uint32_t widest = p->out_item;
    for (uint32_t i = 0; i < p->operands; i++)
        if (p->items[i] > widest) widest = p->items[i];
    uint32_t n = 16 / widest;
    while (n > 1 && !is_regular(p, n)) n /= 2;
    return n;
}

static void write_packs(str *out, const pointwise *p)
{
    const char *written[KERNEL_MAX_INPUTS + 1];
    size_t count = 0;
    str_append(out, "#define PACKS(X)");
    for (uint32_t i = 0; i <= p->operands; i++) {
        const char *type = i < p->operands ? p->types[i] : p->out;
        bool known = false;
        for (size_t k = 0; k < count; k++) known |= strcmp(written[k], type) == 0;
        if (known) continue;
        written[count++] = type;
        str_printf(out, " X(%s)", type);
    }
    str_append_char(out, '\n');
}

void pointwise_write(cuda_source *s, str *defines, const pointwise *p, const char *steps,
                     const char *result)
{
    *s = (cuda_source){.name = "pointwise", .text = CUDA_SOURCE_pointwise, .entries = {"run"}};
    cuda_define_int(defines, "RANK", p->w->rank);
    cuda_define_int(defines, "COUNT", p->operands);
    cuda_define_int(defines, "VECTOR", pointwise_vector(p));
    cuda_define(defines, "INDEX", p->w->count < INT32_MAX ? "u32" : "u64");
    cuda_define(defines, "OUT", p->out);
    cuda_define(defines, "STEPS", steps);
    cuda_define(defines, "RESULT", result);
    str_append(defines, "#define OPERANDS(X)");
    for (uint32_t i = 0; i < p->operands; i++)
        str_printf(defines, " X(%u, %s, %d)", i, p->types[i], is_dense(p, i));
    str_append_char(defines, '\n');
    write_packs(defines, p);
}

enum { MOST_WORDS = 2 + WALK_AXES + KERNEL_MAX_INPUTS * (1 + WALK_AXES) + POINTWISE_MORE / 8 };

pgy_status pointwise_launch(device_stream *s, const cuda_loaded *l, const pointwise *p, void *y,
                            void *const *x, pgy_error *err)
{
    uint64_t words[MOST_WORDS], *to = words; /* arguments, as pointwise.cu reads them */
    const uint32_t rank = p->w->rank;
    *to++ = (uint64_t)(uintptr_t)y;
    *to++ = p->w->count;
    for (uint32_t d = 0; d < rank; d++) *to++ = p->w->shape[d];
    for (uint32_t i = 0; i < p->operands; i++) {
        *to++ = (uint64_t)(uintptr_t)x[i];
        for (uint32_t d = 0; d < rank; d++) *to++ = p->w->strides[i][d];
    }
    if (p->more_bytes) memcpy(to, p->more, p->more_bytes);
    return cuda_launch_for(s, l->functions[0], p->w->count / pointwise_vector(p), CUDA_BLOCK, words,
                           err);
}

/* A float as its bits, so that none changes on the way through the text. */
static void write_float(str *out, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    str_printf(out, ", bits_f32(0x%08xu)", bits);
}

/* ---- Elementwise ---------------------------------------------------------------------------- */

/* Number of float arguments of a row of elementwise.def, by the function that reads them. */
enum {
    ARGS_args_none = 0,
    ARGS_args_alpha = 1,
    ARGS_args_swish = 1,
    ARGS_args_alpha_beta = 2,
    ARGS_args_selu = 2,
    ARGS_args_gelu_exact = 0,
    ARGS_args_is_inf = 2,
    ARGS_args_fmod = 0,
    ARGS_args_floored = 0,
    ARGS_args_fold = 0,
    ARGS_args_clip = 2,
    ARGS_args_clip_whole = 2,
    ARGS_args_clip_small = 2,
    ARGS_args_shrink = 2,
    ARGS_args_power = 1,
    ARGS_args_two = 0,
#define WIDTHS(n)                                                            \
    ARGS_args_width_##n = 0, ARGS_args_bits_##n = 0, ARGS_args_left_##n = 0, \
    ARGS_args_right_##n = 0, ARGS_args_signed_##n = 0
    WIDTHS(1),
    WIDTHS(2),
    WIDTHS(4),
    WIDTHS(8),
#undef WIDTHS
};

static const struct {
    const char *function;
    int in, out;
    uint32_t operands, args;
} ROWS[] = {
#define ROW(op, in, out, loop, count, args, ns) {#loop, in, out, count, ARGS_##args},
#include "kernels/elementwise.def"
#undef ROW
};

static bool selects(const elementwise_params *p)
{
    return !ROWS[p->loop].out;
}

static bool is_float_operand(const void *inner, uint32_t inputs, uint32_t i)
{
    const elementwise_params *p = inner;
    return (i < inputs ? ROWS[p->loop].in : ROWS[p->loop].out) == PGY_F32;
}

/* The type of an operand that is only copied, by its bytes per element. */
static const char *raw_type(uint32_t item)
{
    return item == 1 ? "u8" : item == 2 ? "u16" : item == 4 ? "u32" : "u64";
}

static void set_type(const char **name, uint32_t *item, const elementwise_params *p,
                     const adapted_params *a, uint32_t i)
{
    const bool out = i == a->inputs;
    const int type = out ? ROWS[p->loop].out : ROWS[p->loop].in;
    *item = out ? p->out_bytes : p->in_bytes[i];
    if (selects(p) && (out || i || !ROWS[p->loop].in)) {
        *name = raw_type(*item);
        return;
    }
    *name = cuda_type(type == PGY_F32 ? (pgy_dtype)a->types[i] : (pgy_dtype)type);
    *item = cuda_item(type == PGY_F32 ? (pgy_dtype)a->types[i] : (pgy_dtype)type);
}

/* Number of operands that the function reads: the bias of FastGelu is optional. */
static uint32_t operands_read(const elementwise_params *p, const adapted_params *a)
{
    const uint32_t most = p->fold ? p->w.operands : ROWS[p->loop].operands;
    const bool second = a->inputs > 1 && (a->present >> 1 & 1);
    return most == 2 && !second ? 1 : most;
}

static pointwise describe_elementwise(const elementwise_params *p, const adapted_params *a)
{
    pointwise w = {.w = &p->w, .operands = operands_read(p, a)};
    for (uint32_t i = 0; i < w.operands; i++) set_type(&w.types[i], &w.items[i], p, a, i);
    set_type(&w.out, &w.out_item, p, a, a->inputs);
    return w;
}

static bool is_where(const kernel_problem *u)
{
    return strcmp(u->node->def->name, "Where") == 0;
}

static void load_elementwise(cuda_source *s, str *defines, const adapted_params *a,
                             const void *inner)
{
    const elementwise_params *p = inner;
    const pointwise w = describe_elementwise(p, a);
    const bool single = w.operands == 1 && ROWS[p->loop].operands == 2;
    str result = {0};
    if (single && !p->fold) {
        str_append(&result, "fast_gelu_f32(x0)"); /* without its bias */
    } else if (single) {
        str_append(&result, "x0");
    } else if (w.out_item == 2 && strcmp(ROWS[p->loop].function, "gelu_f32") == 0) {
        str_append(&result, "short_gelu_f32(x0)");
    } else {
        for (uint32_t i = ROWS[p->loop].operands; i < w.operands; i++)
            str_printf(&result, "%s(", ROWS[p->loop].function);
        str_printf(&result, "%s(x0", ROWS[p->loop].function);
        for (uint32_t i = 1; i < ROWS[p->loop].operands; i++) str_printf(&result, ", x%u", i);
        for (uint32_t i = 0; i < ROWS[p->loop].args; i++) write_float(&result, p->args[i]);
        str_append_char(&result, ')');
        for (uint32_t i = ROWS[p->loop].operands; i < w.operands; i++)
            str_printf(&result, ", x%u)", i);
    }
    if (p->last != 1) str_printf(&result, " / %d", (int)p->last);
    pointwise_write(s, defines, &w, "", str_text(&result));
    defines->failed |= result.failed;
    str_deinit(&result);
}

static pgy_status launch_elementwise(const adapted_run *r, pgy_error *err)
{
    const elementwise_params *p = r->inner;
    const pointwise w = describe_elementwise(p, r->a);
    return pointwise_launch(r->stream, r->loaded, &w, r->run->tensors[r->a->inputs],
                            r->run->tensors, err);
}

extern const kernel KERNELS_elementwise[], KERNELS_chain[];

const adapted_family ADAPTED_ELEMENTWISE = {.inner = &KERNELS_elementwise[0],
                                            .is_move = is_where,
                                            .is_float = is_float_operand,
                                            .any_order = true,
                                            .load = load_elementwise,
                                            .launch = launch_elementwise};

/* ---- Chains --------------------------------------------------------------------------------- */

static const char *const CHAIN_FUNCTIONS[CHAIN_OPS] = {
    [CHAIN_ADD] = "add_f32",
    [CHAIN_SUB] = "sub_f32",
    [CHAIN_MUL] = "mul_f32",
    [CHAIN_DIV] = "div_f32",
    [CHAIN_MIN] = "min_f32",
    [CHAIN_MAX] = "max_f32",
    [CHAIN_RELU] = "relu_f32",
    [CHAIN_LEAKY_RELU] = "leaky_relu_f32",
    [CHAIN_CLIP] = "clip_f32",
    [CHAIN_HARD_SIGMOID] = "hard_sigmoid_f32",
    [CHAIN_HARD_SWISH] = "hard_swish_f32",
    [CHAIN_ABS] = "abs_f32",
    [CHAIN_NEG] = "neg_f32",
    [CHAIN_SQRT] = "sqrt_f32",
    [CHAIN_RECIPROCAL] = "reciprocal_f32",
    [CHAIN_EXP] = "exp_f32",
    [CHAIN_LOG] = "log_f32",
    [CHAIN_TANH] = "tanh_f32",
    [CHAIN_SIGMOID] = "sigmoid_f32",
    [CHAIN_ERF] = "erf_f32",
    [CHAIN_GELU] = "gelu_f32",
    [CHAIN_FAST_GELU] = "fast_gelu_f32",
    [CHAIN_SWISH] = "swish_f32",
    [CHAIN_SOFTPLUS] = "softplus_f32",
    [CHAIN_MISH] = "mish_f32",
    [CHAIN_SIN] = "sin_f32",
    [CHAIN_COS] = "cos_f32",
    [CHAIN_TAN] = "tan_f32",
    [CHAIN_ASIN] = "asin_f32",
    [CHAIN_ACOS] = "acos_f32",
    [CHAIN_ATAN] = "atan_f32",
    [CHAIN_SINH] = "sinh_f32",
    [CHAIN_COSH] = "cosh_f32",
    [CHAIN_ASINH] = "asinh_f32",
    [CHAIN_ACOSH] = "acosh_f32",
    [CHAIN_ATANH] = "atanh_f32",
    [CHAIN_FLOOR] = "floor_f32",
    [CHAIN_CEIL] = "ceil_f32",
    [CHAIN_ROUND] = "round_f32",
    [CHAIN_SIGN] = "sign_f32",
};

static pointwise describe_chain(const chain_params *p, const adapted_params *a)
{
    pointwise w = {.w = &p->w, .operands = p->inputs};
    for (uint32_t i = 0; i < w.operands; i++) {
        w.types[i] = cuda_type((pgy_dtype)a->types[i]);
        w.items[i] = cuda_item((pgy_dtype)a->types[i]);
    }
    w.out = cuda_type((pgy_dtype)a->types[a->inputs]);
    w.out_item = cuda_item((pgy_dtype)a->types[a->inputs]);
    return w;
}

static void load_chain(cuda_source *s, str *defines, const adapted_params *a, const void *inner)
{
    const chain_params *p = inner;
    const chain *c = &p->program;
    const pointwise w = describe_chain(p, a);
    str steps = {0};
    char result[16];
    for (uint32_t i = 0; i < c->count; i++) {
        const chain_step *step = &c->steps[i];
        str_printf(&steps, "const float t%u = %s(", i, CHAIN_FUNCTIONS[step->op]);
        for (size_t k = 0; k < chain_op_operands(step->op); k++) {
            const bool input = step->at[k] < c->inputs;
            str_printf(&steps, "%s%s%u", k ? ", " : "", input ? "x" : "t",
                       input ? step->at[k] : step->at[k] - c->inputs);
        }
        for (size_t k = 0; k < chain_op_args(step->op); k++) write_float(&steps, step->args[k]);
        str_append(&steps, "); ");
    }
    snprintf(result, sizeof result, "t%u", c->count - 1);
    pointwise_write(s, defines, &w, str_text(&steps), result);
    defines->failed |= steps.failed;
    str_deinit(&steps);
}

static pgy_status launch_chain(const adapted_run *r, pgy_error *err)
{
    const chain_params *p = r->inner;
    const pointwise w = describe_chain(p, r->a);
    return pointwise_launch(r->stream, r->loaded, &w, r->run->tensors[r->a->inputs],
                            r->run->tensors, err);
}

const adapted_family ADAPTED_CHAIN = {
    .inner = &KERNELS_chain[0], .any_order = true, .load = load_chain, .launch = launch_chain};
