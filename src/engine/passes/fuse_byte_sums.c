/* SPDX-License-Identifier: Apache-2.0 */
/* QLinearAdd of a convolution's bytes in channels last and of others becomes part of the
 * convolution, whose kernels have the bytes in registers or in the cache. For CUDA devices: that of
 * a product's bytes and a row for all of its rows becomes part of the product, and a Transpose
 * leaves the columns of B where the product can read them as rows. */
#include "engine/passes/pass.h"
#include "transform/pattern.h"

/* VECTOR: channels that a kernel reads and writes at once; LEAST: below, or without the vector, a
 * convolution may be one that no product of CUDA devices computes. */
enum { A = 0, B = 3, SUM_SCALE = 6, SUM_ZERO, SUM_INPUTS, SUM_ADDED = 5, VECTOR = 16 };
enum { W = 3, W_ZERO = 5, Y_SCALE = 6, Y_ZERO, BIAS, CONV_INPUTS, RANK = 4 };
enum { FACTOR = 3, MATMUL_INPUTS = 8, COLUMNS = 8 }; /* COLUMNS: a multiple of which is written */
static const char MATMUL[] = "pgy:QLinearMatMul";

static bool are_constants(const pattern *p, const pgy_node *n, size_t from)
{
    for (size_t i = from; i < n->input_count; i++)
        if (n->inputs[i] && !pattern_is_constant(p, n->inputs[i])) return false;
    return true;
}

/* Elements of a constant of integers as int64 (released by the caller), or NULL. */
static pgy_tensor *integers(pattern *p, pgy_value *v)
{
    pgy_tensor *stored = NULL, *wide = NULL;
    if (!pattern_is_constant(p, v)) return NULL;
    if (fold_constant(&stored, &p->f, v, NULL) != PGY_OK || !stored ||
        op_to_storage(&wide, stored, NULL) != PGY_OK)
        wide = NULL;
    pgy_tensor_release(stored);
    return wide;
}

/* Are all elements of a constant of integers 0? */
static bool are_zeros(pattern *p, pgy_value *v)
{
    pgy_tensor *t = integers(p, v);
    bool yes = t != NULL;
    for (size_t i = 0; yes && i < pgy_tensor_count(t); i++) yes = op_i64(t)[i] == 0;
    pgy_tensor_release(t);
    return yes;
}

static bool is_same_integer(pattern *p, pgy_value *a, pgy_value *b)
{
    pgy_tensor *x = integers(p, a), *y = integers(p, b);
    const bool yes = x && y && pgy_tensor_count(x) == 1 && pgy_tensor_count(y) == 1 &&
                     op_i64(x)[0] == op_i64(y)[0];
    pgy_tensor_release(x);
    pgy_tensor_release(y);
    return yes;
}

/* A convolution of one group, channels last, without a sum; all but the image is constant. */
static bool is_plain(const pattern *p, const pgy_node *n)
{
    return (pattern_is(n, "pgy:QLinearConv") || pattern_is(n, "com.microsoft:QLinearConv")) &&
           n->input_count <= CONV_INPUTS && pattern_int(n, "channels_last", 0) &&
           pattern_int(n, "group", 1) == 1 && are_constants(p, n, 1);
}

/* Do kernels of CUDA devices compute the convolution as a product? */
static bool is_product(pattern *p, const pgy_node *n)
{
    if (pattern_rank(n->inputs[W]) != RANK) return false;
    const int64_t out = pattern_size(n->inputs[W], 0), in = pattern_size(n->inputs[W], 1);
    return out > 0 && out % VECTOR == 0 && in > 0 && in % VECTOR == 0 &&
           pattern_dtype(n->inputs[W]) == PGY_I8 &&
           (!pattern_input(n, W_ZERO) || are_zeros(p, n->inputs[W_ZERO]));
}

/* Are the scale and zero point of the bytes those with which n adds them? */
static bool reads_same(pattern *p, const pgy_node *n, size_t operand, const pgy_node *conv)
{
    double made, read;
    return pattern_scalar(p, conv->inputs[Y_SCALE], &made) &&
           pattern_scalar(p, n->inputs[operand + 1], &read) && made == read &&
           is_same_integer(p, conv->inputs[Y_ZERO], n->inputs[operand + 2]);
}

/* The inputs that an operator of pgy gets with the sum n: its other operand with scale and zero
 * point, and those of the result. */
static void put_sum(pgy_value *to[SUM_ADDED], const pgy_node *n, size_t operand)
{
    for (size_t i = 0; i < 3; i++) to[i] = n->inputs[A + B - operand + i];
    to[3] = n->inputs[SUM_SCALE];
    to[4] = n->inputs[SUM_ZERO];
}

static bool add_to(pattern *p, pgy_node *n, size_t operand, bool for_cuda)
{
    static const char *const KEPT[] = {"activation",   "auto_pad", "channels_last", "dilations",
                                       "kernel_shape", "pads",     "strides"};
    pgy_value *y = n->inputs[operand], *other = n->inputs[A + B - operand];
    pgy_node *conv = pattern_is_inner(y) ? y->producer : NULL;
    if (!conv || other == y || !is_plain(p, conv) || (for_cuda && !is_product(p, conv)) ||
        !reads_same(p, n, operand, conv))
        return false;
    if (!pattern_same_shape(y, other) || pattern_dtype(other) != pattern_dtype(y) ||
        pattern_dtype(n->outputs[0]) != pattern_dtype(y))
        return false;
    pgy_value *inputs[CONV_INPUTS + SUM_ADDED] = {NULL};
    put_sum(inputs + CONV_INPUTS, n, operand);
    for (size_t i = 0; i < conv->input_count; i++) inputs[i] = conv->inputs[i];
    pgy_node *made = pattern_put(p, n, "pgy:QLinearConv", inputs, sizeof inputs / sizeof *inputs);
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++) pattern_copy(p, made, conv, KEPT[i]);
    return true;
}

static bool is_sum(const pattern *p, const pgy_node *n)
{
    if (!pattern_is(n, "com.microsoft:QLinearAdd") || n->input_count != SUM_INPUTS) return false;
    for (size_t i = 0; i < SUM_INPUTS; i++)
        if (!n->inputs[i] || (i % B && !pattern_is_constant(p, n->inputs[i]))) return false;
    return true;
}

static bool fuse(pattern *p, pgy_node *n)
{
    return is_sum(p, n) && (add_to(p, n, A, false) || add_to(p, n, B, false));
}

static bool fuse_for_cuda(pattern *p, pgy_node *n)
{
    return is_sum(p, n) && (add_to(p, n, A, true) || add_to(p, n, B, true));
}

/* ---- Products ------------------------------------------------------------------------------- */

/* A product of bytes without a sum. */
static bool is_matmul(const pattern *p, const pgy_node *n)
{
    return (pattern_is(n, "QLinearMatMul") || pattern_is(n, MATMUL)) &&
           n->input_count == MATMUL_INPUTS && pattern_is_constant(p, n->inputs[1]) &&
           pattern_is_constant(p, n->inputs[2]) && are_constants(p, n, FACTOR + 1);
}

/* Is v one number for each element of the last axis of y, and for all others? */
static bool is_row(const pgy_value *v, const pgy_value *y)
{
    const int64_t columns = pattern_size(y, -1);
    return columns > 0 && columns % COLUMNS == 0 && pattern_same_size(v, -1, y, -1) &&
           pattern_rank(v) <= pattern_rank(y) && pattern_has_at_most(v, columns);
}

static bool add_row_to(pattern *p, pgy_node *n, size_t operand)
{
    pgy_value *y = n->inputs[operand], *other = n->inputs[A + B - operand];
    pgy_node *product = pattern_is_inner(y) ? y->producer : NULL;
    if (!product || !is_matmul(p, product) || !pattern_is_constant(p, product->inputs[FACTOR]) ||
        !reads_same(p, n, operand, product) || !is_row(other, y) ||
        pattern_dtype(other) != pattern_dtype(y) ||
        pattern_dtype(n->outputs[0]) != pattern_dtype(y))
        return false;
    pgy_value *inputs[MATMUL_INPUTS + SUM_ADDED] = {NULL};
    put_sum(inputs + MATMUL_INPUTS, n, operand);
    for (size_t i = 0; i < MATMUL_INPUTS; i++) inputs[i] = product->inputs[i];
    pgy_node *made = pattern_put(p, n, MATMUL, inputs, sizeof inputs / sizeof *inputs);
    pattern_copy(p, made, product, "transB");
    return true;
}

static bool fuse_row(pattern *p, pgy_node *n)
{
    return is_sum(p, n) && (add_row_to(p, n, A) || add_row_to(p, n, B));
}

/* If B is transposed so that its k, which were neighbours in memory, are no longer, a Transpose
 * that exchanges the last two axes once more leaves them. */
static bool turn_factor(pattern *p, pgy_node *n)
{
    int64_t order[PGY_MAX_RANK];
    pgy_value *inputs[MATMUL_INPUTS];
    if (!pattern_is(n, "QLinearMatMul") || n->input_count != MATMUL_INPUTS) return false;
    pgy_node *transpose = pattern_inner(n->inputs[FACTOR], "Transpose");
    const pgy_onnx_attribute *perm = transpose ? node_attribute(transpose, "perm") : NULL;
    if (!perm || perm->int_count < 2 || perm->int_count > PGY_MAX_RANK) return false;
    const size_t rank = perm->int_count;
    if (perm->ints[rank - 2] != (int64_t)rank - 1) return false;
    for (size_t i = 0; i < rank; i++) order[i] = perm->ints[i];
    order[rank - 2] = perm->ints[rank - 1];
    order[rank - 1] = perm->ints[rank - 2];
    for (size_t i = 0; i < MATMUL_INPUTS; i++) inputs[i] = n->inputs[i];
    inputs[FACTOR] = pattern_make(p, n, "turned", "Transpose", transpose->inputs, 1);
    if (!inputs[FACTOR]) return false;
    pattern_set_ints(p, inputs[FACTOR]->producer, "perm", order, rank);
    pgy_node *made = pattern_put(p, n, MATMUL, inputs, MATMUL_INPUTS);
    pattern_set_int(p, made, "transB", 1);
    return true;
}

static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse, NULL};
    static const pattern_rule FOR_CUDA[] = {fuse_for_cuda, fuse_row, turn_factor, NULL};
    return pattern_run(g, "fuse_byte_sums", pass_is_for_cuda(target) ? FOR_CUDA : RULES, changes,
                       err);
}

const pass PASS_fuse_byte_sums = {
    .name = "fuse_byte_sums",
    .summary = "sums of bytes of convolutions, and for CUDA devices of products",
    .run_for = run};
