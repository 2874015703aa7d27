/* SPDX-License-Identifier: Apache-2.0 */
/* pgy Elementwise, which the engine's passes make: a short program of elementwise operators over
 * inputs that broadcast to one shape (class_chain.h). */
#include <math.h>

#include "base/alloc.h"
#include "ops/class_activation.h"
#include "ops/class_chain.h"
#include "ops/rule.h"

static const op_attr_def ATTRS[] = {{"program", OP_ATTR_STRING, true, NULL}, {NULL}};

static pgy_status read_program(chain *out, const op_node *n, size_t inputs, pgy_error *err)
{
    const op_attr *a = op_attr_find(n, "program");
    if (chain_read(out, n, inputs)) return PGY_OK;
    return op_error(n, err, PGY_E_ARGUMENT,
                    "attribute program is not a valid program for %zu inputs: '%.*s'", inputs,
                    a ? (int)a->s.size : 0, a ? a->s.data : "");
}

static double softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double limit(double x, double low, double high)
{
    if (x < low) x = low;
    return x > high ? high : x;
}

static double binary(uint32_t op, double a, double b)
{
    switch (op) {
    case CHAIN_ADD: return a + b;
    case CHAIN_SUB: return a - b;
    case CHAIN_MUL: return a * b;
    case CHAIN_DIV: return a / b;
    case CHAIN_MIN: return a < b || isnan(a) ? a : b;
    default: return a > b || isnan(a) ? a : b;
    }
}

static double unary(uint32_t op, double x, const float *args)
{
    const double a = (double)args[0], b = (double)args[1];
    switch (op) {
    case CHAIN_RELU: return x < 0 ? 0 : x;
    case CHAIN_LEAKY_RELU: return x < 0 ? a * x : x;
    case CHAIN_CLIP: return limit(x, a, b);
    case CHAIN_HARD_SIGMOID: return limit(a * x + b, 0, 1);
    case CHAIN_HARD_SWISH: return x * limit(x / 6 + 0.5, 0, 1);
    case CHAIN_ABS: return fabs(x);
    case CHAIN_NEG: return -x;
    case CHAIN_SQRT: return sqrt(x);
    case CHAIN_RECIPROCAL: return 1 / x;
    case CHAIN_EXP: return exp(x);
    case CHAIN_LOG: return log(x);
    case CHAIN_TANH: return tanh(x);
    case CHAIN_SIGMOID: return 1 / (1 + exp(-x));
    case CHAIN_ERF: return erf(x);
    case CHAIN_GELU: return activation_gelu(x);
    case CHAIN_FAST_GELU: return activation_gelu_tanh(x);
    case CHAIN_SWISH: return x / (1 + exp(-a * x));
    case CHAIN_SOFTPLUS: return softplus(x);
    case CHAIN_SIN: return sin(x);
    case CHAIN_COS: return cos(x);
    case CHAIN_TAN: return tan(x);
    case CHAIN_ASIN: return asin(x);
    case CHAIN_ACOS: return acos(x);
    case CHAIN_ATAN: return atan(x);
    case CHAIN_SINH: return sinh(x);
    case CHAIN_COSH: return cosh(x);
    case CHAIN_ASINH: return asinh(x);
    case CHAIN_ACOSH: return acosh(x);
    case CHAIN_ATANH: return atanh(x);
    case CHAIN_FLOOR: return floor(x);
    case CHAIN_CEIL: return ceil(x);
    case CHAIN_ROUND: return rint(x);
    case CHAIN_SIGN: return x > 0 ? 1 : x < 0 ? -1 : x;
    default: return x * tanh(softplus(x));
    }
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    chain program;
    int32_t rank;
    const dim *dims;
    pgy_status st = read_program(&program, c->node, c->node->input_count, err);
    if (!st) st = op_broadcast(c, &rank, &dims, c->inputs, c->node->input_count, err);
    if (!st) st = rule_check_rank(c->node, rank, err);
    for (size_t k = 1; !st && k < c->node->input_count; k++) st = rule_same_type(c, 0, k, err);
    if (!st) op_set_output(c, 0, c->inputs[0].dtype, rank, dims);
    return st;
}

/* Strides of input i along the output's axes, 0 on broadcast axes. */
static void find_strides(size_t *strides, const op_eval *c, size_t i, size_t rank)
{
    const pgy_tensor *t = c->inputs[i].value;
    const size_t own = pgy_tensor_rank(t);
    size_t stride = 1;
    for (size_t d = 0; d < rank; d++) {
        const size_t size = d < own ? (size_t)pgy_tensor_shape(t)[own - 1 - d] : 1;
        strides[rank - 1 - d] = size == 1 ? 0 : stride;
        stride *= size;
    }
}

static void run(const op_eval *c, const chain *p, size_t *strides, double *values)
{
    const size_t rank = pgy_tensor_rank(c->outputs[0].value), count = out_count(c, 0);
    const int64_t *shape = pgy_tensor_shape(c->outputs[0].value);
    for (uint32_t i = 0; i < p->inputs; i++) find_strides(strides + i * rank, c, i, rank);
    for (size_t k = 0; k < count; k++) {
        for (uint32_t i = 0; i < p->inputs; i++) {
            size_t at = 0, rest = k;
            for (size_t d = rank; d-- > 0; rest /= (size_t)shape[d])
                at += rest % (size_t)shape[d] * strides[i * rank + d];
            values[i] = in_f64(c, i)[at];
        }
        for (uint32_t i = 0; i < p->count; i++) {
            const chain_step *s = &p->steps[i];
            const double a = values[s->at[0]];
            values[p->inputs + i] = chain_op_operands(s->op) == 2
                                        ? binary(s->op, a, values[s->at[1]])
                                        : unary(s->op, a, s->args);
        }
        out_f64(c, 0)[k] = values[p->inputs + p->count - 1];
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    chain p;
    pgy_status st = read_program(&p, c->node, c->node->input_count, err);
    for (uint32_t i = 0; !st && i < p.inputs; i++)
        if (!in_f64(c, i)) st = op_error(c->node, err, PGY_E_ARGUMENT, "input %u is missing", i);
    if (st) return st;
    size_t *strides = mem_calloc((size_t)p.inputs * PGY_MAX_RANK + 1, sizeof *strides);
    double *values = mem_calloc((size_t)p.inputs + p.count, sizeof *values);
    if (strides && values)
        run(c, &p, strides, values);
    else
        st = rule_no_memory(c->node, err);
    mem_free(strides);
    mem_free(values);
    return st;
}

const op_def OP_pgy_elementwise[] = {
    {"Elementwise", "pgy", 1, 0, 1, 32, 1, 1, OP_VARIADIC_INPUTS | OP_SAME_TYPES, ATTRS, TYPES_F4,
     infer, eval, NULL, .signature = "T = float16 float32 float64 bfloat16; *inputs:T -> Y:T"},
    {NULL},
};
