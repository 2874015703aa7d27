/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MatMulNBitsMlp and MatMulNBitsQkv: a root mean square norm, with a skip added in
 * front if there is one, then MatMulNBits with two or three weights. The MLP multiplies the
 * activation of the first product (the gate) by the second. Without a norm's scale the input is not
 * normalised. */
#include <math.h>
#include <string.h>

#include "ops/class_check.h"

enum { A, SKIP, NORM, WEIGHTS };
enum { MLP, QKV };
enum { PRODUCTS = 3, PER_PRODUCT = 3 /* weights, scales and bias */ };

#define SHARED                                                                      \
    {"accuracy_level", OP_ATTR_INT, false, "0"}, {"bits", OP_ATTR_INT, false, "4"}, \
    {                                                                               \
        "block_size", OP_ATTR_INT, true, NULL                                       \
    }
static const op_attr_def MLP_ATTRS[] = {
    SHARED,
    {"K", OP_ATTR_INT, true, NULL},
    {"N", OP_ATTR_INT, true, NULL},
    {"activation", OP_ATTR_STRING, true, NULL, .choices = "silu"},
    {"epsilon", OP_ATTR_FLOAT, false, "1e-5"},
    {NULL},
};
static const op_attr_def QKV_ATTRS[] = {
    SHARED,
    {"K", OP_ATTR_INT, true, NULL},
    {"Nkv", OP_ATTR_INT, true, NULL},
    {"Nq", OP_ATTR_INT, true, NULL},
    {"epsilon", OP_ATTR_FLOAT, false, "1e-6"},
    {NULL},
};

static bool is_mlp(const op_node *n)
{
    return n->def->user == MLP;
}

static size_t product_count(const op_node *n)
{
    return is_mlp(n) ? 2 : 3;
}

/* The output that holds the sum of input and skip. */
static size_t sum_output(const op_node *n)
{
    return is_mlp(n) ? 1 : 3;
}

/* The node of product i; attrs must have room for 5. */
static op_node product_node(const op_node *n, size_t i, op_attr *attrs)
{
    static const char *const COPIED[] = {"K", "accuracy_level", "bits", "block_size"};
    for (size_t k = 0; k < 4; k++)
        attrs[k] = (op_attr){
            .name = COPIED[k], .kind = OP_ATTR_INT, .i = op_attr_int(n, COPIED[k], k == 2 ? 4 : 0)};
    attrs[4] = (op_attr){.name = "N",
                         .kind = OP_ATTR_INT,
                         .i = op_attr_int(n,
                                          is_mlp(n) ? "N"
                                          : i       ? "Nkv"
                                                    : "Nq",
                                          0)};
    return (op_node){.def = op_find("com.microsoft", "MatMulNBits", 1),
                     .name = n->name,
                     .opset = 1,
                     .attrs = attrs,
                     .attr_count = 5,
                     .input_count = 6,
                     .output_count = 1};
}

/* Index of the input of this node that is input `input` of MatMulNBits in product i; SIZE_MAX:
 * none. */
static size_t source_of(size_t i, size_t input)
{
    const size_t first = WEIGHTS + i * PER_PRODUCT;
    return input == 0   ? A
           : input == 1 ? first
           : input == 2 ? first + 1
           : input == 5 ? first + 2
                        : SIZE_MAX;
}

static pgy_status infer_product(op_infer *c, size_t i, op_value *out, pgy_error *err)
{
    op_attr attrs[5];
    op_value values[6];
    bool present[6];
    const op_node node = product_node(c->node, i, attrs);
    op_infer inner = *c;
    static const bool wanted[1] = {true};
    for (size_t k = 0; k < 6; k++) {
        const size_t from = source_of(i, k);
        present[k] = from != SIZE_MAX && op_has_input(c, from);
        values[k] = present[k] ? c->inputs[from] : (op_value){.rank = -1};
    }
    *out = (op_value){.rank = -1};
    inner.node = &node;
    inner.inputs = values;
    inner.present = present;
    inner.outputs = out;
    inner.wanted = wanted;
    const pgy_status st = node.def->infer(&inner, err);
    c->why = inner.why;
    return st;
}

static pgy_status check_norm(op_infer *c, pgy_error *err)
{
    const op_value *a = &c->inputs[A];
    if (op_has_input(c, SKIP) && !op_has_input(c, NORM))
        return op_error(c->node, err, PGY_E_ARGUMENT, "input %d (skip) needs input %d (norm_scale)",
                        SKIP, NORM);
    const size_t sum = sum_output(c->node);
    if (c->node->output_count > sum && c->wanted[sum] && !op_has_input(c, SKIP))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "output %zu (input_skip_bias_sum) needs input %d (skip)", sum, SKIP);
    pgy_status st = rank_check(c, NORM, 1, 1, err);
    if (!st && rank_known(c, NORM))
        st = dim_check(c, NORM, 0, dim_const(op_attr_int(c->node, "K", 0)), "K", err);
    if (!st && a->rank >= 0) st = rank_check(c, SKIP, a->rank, a->rank, err);
    for (int32_t d = 0; !st && rank_known(c, SKIP) && d < a->rank; d++)
        st = dim_check(c, SKIP, (size_t)d, a->dims[d], "the same dimension of A", err);
    return st;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const size_t sum = sum_output(c->node);
    op_value made[PRODUCTS];
    pgy_status st = check_norm(c, err);
    for (size_t i = 0; !st && i < product_count(c->node); i++)
        st = infer_product(c, i, &made[i], err);
    if (st) return st;
    for (size_t i = 0; i < (is_mlp(c->node) ? 1 : product_count(c->node)); i++)
        c->outputs[i] = made[i];
    if (c->node->output_count > sum) op_set_like(c, sum, A);
    return PGY_OK;
}

/* Norms the rows of x, which holds the sum of input and skip. */
static void norm(double *x, const double *scale, size_t rows, size_t width, double epsilon)
{
    for (size_t r = 0; r < rows; r++, x += width) {
        double squares = 0;
        for (size_t i = 0; i < width; i++) squares += x[i] * x[i];
        const double factor = 1 / sqrt(squares / (double)width + epsilon);
        for (size_t i = 0; i < width; i++) x[i] *= factor * scale[i];
    }
}

/* The matrix that is multiplied. */
static pgy_status prepare(op_tensor *out, op_eval *c, pgy_error *err)
{
    const size_t sum = sum_output(c->node), count = in_count(c, A);
    const double *skip = in_f64(c, SKIP), *scale = in_f64(c, NORM);
    if (!scale) {
        *out = op_tensor_retain(&c->inputs[A]);
        return PGY_OK;
    }
    const pgy_status st =
        pgy_tensor_create(&out->value, PGY_F64, in_rank(c, A), in_shape(c, A), err);
    if (st) return st;
    out->dtype = c->inputs[A].dtype;
    double *x = op_f64(out->value);
    for (size_t i = 0; i < count; i++) x[i] = in_f64(c, A)[i] + (skip ? skip[i] : 0);
    if (skip && out_count(c, sum)) memcpy(out_f64(c, sum), x, count * sizeof *x);
    const size_t width = (size_t)op_attr_int(c->node, "K", 1);
    norm(x, scale, count / width, width, op_attr_float(c->node, "epsilon", 1e-5));
    return PGY_OK;
}

static pgy_status multiply(op_tensor *out, const op_eval *c, size_t i, const op_tensor *x,
                           pgy_error *err)
{
    static const bool wanted[1] = {true};
    op_attr attrs[5];
    op_tensor in[6] = {{0}};
    const op_node node = product_node(c->node, i, attrs);
    op_host host = c->host ? *c->host : (op_host){0};
    host.model_precision = false;
    in[0] = *x;
    for (size_t k = 1; k < 6; k++) {
        const size_t from = source_of(i, k);
        if (from < c->node->input_count) in[k] = c->inputs[from];
    }
    return op_run(&node, in, out, wanted, &host, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    op_tensor x = {0}, made[PRODUCTS] = {{0}};
    const size_t count = product_count(c->node);
    pgy_status st = inputs_check(c, is_mlp(c->node) ? "FffIFfIFf" : "FfFIFfIFfIFf", err);
    if (!st) st = prepare(&x, c, err);
    for (size_t i = 0; !st && i < count; i++) st = multiply(&made[i], c, i, &x, err);
    if (!st && is_mlp(c->node)) {
        double *y = out_f64(c, 0);
        const double *gate = op_f64(made[0].value), *up = op_f64(made[1].value);
        for (size_t i = 0; i < out_count(c, 0); i++) y[i] = gate[i] / (1 + exp(-gate[i])) * up[i];
    } else if (!st) {
        for (size_t i = 0; i < count; i++)
            if (out_count(c, i))
                memcpy(out_f64(c, i), op_f64(made[i].value), out_count(c, i) * sizeof(double));
    }
    for (size_t i = 0; i < PRODUCTS; i++) op_tensor_release(&made[i]);
    op_tensor_release(&x);
    return st;
}

static double flops(const op_infer *c)
{
    const op_node *n = c->node;
    const int64_t columns = is_mlp(n) ? 2 * op_attr_int(n, "N", 0)
                                      : op_attr_int(n, "Nq", 0) + 2 * op_attr_int(n, "Nkv", 0);
    return 2 * dims_product(&c->inputs[A]) * (double)columns;
}

#define TYPES "float16 float32 bfloat16"
#define PART(x) x "_B:uint8, " x "_scales:T, ?" x "_bias:T"
const op_def OP_mat_mul_n_bits_fused[] = {
    {"MatMulNBitsMlp", "com.microsoft", 1, 0, 8, 9, 1, 2, 0, MLP_ATTRS, TYPES, infer, eval, flops,
     MLP,
     .signature = "T = " TYPES "; A:T, ?skip:T, ?norm_scale:T, " PART("gate") ", " PART(
         "up") " -> Y:T, ?input_skip_bias_sum:T"},
    {"MatMulNBitsQkv", "com.microsoft", 1, 0, 11, 12, 3, 4, 0, QKV_ATTRS, TYPES, infer, eval, flops,
     QKV,
     .signature = "T = " TYPES "; A:T, ?skip:T, norm_scale:T, " PART("q") ", " PART("k") ", " PART(
         "v") " -> Q:T, K:T, V:T, ?input_skip_bias_sum:T"},
    {NULL},
};
