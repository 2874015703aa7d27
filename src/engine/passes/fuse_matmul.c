/* SPDX-License-Identifier: Apache-2.0 */
/* Fuses MatMul and Gemm with their neighbours: transposed operands and constant factors before,
 * then a factor, a bias, a residual and an activation after. Each step adds one attribute or input
 * to FusedMatMul of domain pgy. */
#include <string.h>

#include "engine/passes/pass.h"
#include "transform/pattern.h"

static const char FUSED[] = "pgy:FusedMatMul", FLOAT8[] = "pgy:Float8MatMul";

enum { A, B, BIAS, RESIDUAL };

/* Inputs and attributes of the FusedMatMul that is to replace MatMul or Gemm and its neighbours. */
typedef struct product {
    pgy_value *inputs[4];
    bool turn[2];
    double alpha;
    const char *activation;
} product;

/* Gemm's third input must be a bias that pgy's operator supports. */
static bool read_gemm(product *out, pattern *p, const pgy_node *n)
{
    pgy_value *c = out->inputs[BIAS];
    if (!c) return true;
    if (pattern_float(n, "beta", 1) != 1) return false;
    if (pattern_rank(c) == 1) return pattern_same_size(c, 0, n->outputs[0], 1);
    if (pattern_rank(c) != 2 || pattern_size(c, 0) != 1 || !pattern_is_constant(p, c) ||
        !pattern_same_size(c, 1, n->outputs[0], 1))
        return false;
    const int64_t shape[1] = {pattern_size(c, 1)};
    out->inputs[BIAS] = pattern_reshaped(p, c, 1, shape);
    return out->inputs[BIAS] != NULL;
}

static bool is_product(const pgy_node *n)
{
    return (pattern_is(n, "MatMul") || pattern_is(n, "Gemm") || pattern_is(n, FUSED) ||
            pattern_is(n, FLOAT8)) &&
           n->input_count >= 2 && pattern_is_float(n->outputs[0]) &&
           pattern_rank(n->inputs[A]) >= 2 && pattern_rank(n->inputs[B]) >= 2;
}

/* Are the operands floats, which may be turned and multiplied before? */
static bool takes_floats(const pgy_node *n)
{
    return is_product(n) && !pattern_is(n, FLOAT8);
}

static bool read(product *out, pattern *p, const pgy_node *n)
{
    *out = (product){{n->inputs[A], n->inputs[B], pattern_input(n, BIAS), NULL},
                     {pattern_int(n, "transA", 0) != 0, pattern_int(n, "transB", 0) != 0},
                     pattern_float(n, "alpha", 1),
                     NULL};
    if (pattern_is(n, "Gemm")) return read_gemm(out, p, n);
    out->inputs[RESIDUAL] = pattern_input(n, RESIDUAL);
    return true;
}

/* Replaces `last` by the FusedMatMul; keeps the activation of n, if n is one already. */
static bool put(pattern *p, const product *q, const pgy_node *n, pgy_node *last)
{
    const bool float8 = pattern_is(n, FLOAT8);
    pgy_node *made = pattern_put(p, last, float8 ? FLOAT8 : FUSED, q->inputs, 4);
    if (float8) pattern_copy(p, made, n, "output_dtype");
    if (q->turn[0]) pattern_set_int(p, made, "transA", 1);
    if (q->turn[1]) pattern_set_int(p, made, "transB", 1);
    if (q->alpha != 1) pattern_set_float(p, made, "alpha", q->alpha);
    if (q->activation)
        pattern_set_text(p, made, "activation", q->activation);
    else
        pattern_copy(p, made, n, "activation");
    return true;
}

/* ---- Before --------------------------------------------------------------------------------- */

/* Splits Transpose n into a Transpose with permutation `order`, which keeps the last axis last, and
 * an exchange of the last two axes. *rest: `order` moves any axis. */
static bool split_order(int64_t *order, const pgy_node *n, size_t rank, bool *rest)
{
    const pgy_onnx_attribute *perm = node_attribute(n, "perm");
    if (rank < 2 || (perm && perm->int_count != rank)) return false;
    for (size_t i = 0; i < rank; i++) order[i] = perm ? perm->ints[i] : (int64_t)(rank - 1 - i);
    if (order[rank - 2] != (int64_t)rank - 1) return false;
    order[rank - 2] = order[rank - 1];
    order[rank - 1] = (int64_t)rank - 1;
    *rest = false;
    for (size_t i = 0; i < rank; i++) *rest = *rest || order[i] != (int64_t)i;
    return true;
}

static bool take_transpose(pattern *p, pgy_node *n)
{
    product q;
    if (!takes_floats(n)) return false;
    for (size_t i = 0; i < 2; i++) {
        pgy_node *t = pattern_inner(n->inputs[i], "Transpose");
        const int32_t rank = t ? pattern_rank(t->inputs[0]) : -1;
        int64_t order[PGY_MAX_RANK];
        bool rest;
        if (rank < 2 || !split_order(order, t, (size_t)rank, &rest) || !read(&q, p, n)) continue;
        q.turn[i] = !q.turn[i];
        q.inputs[i] = t->inputs[0];
        if (rest) { /* a Transpose with the other axis moves stays before the product */
            pgy_value *v = pattern_make(p, t, NULL, "Transpose", &t->inputs[0], 1);
            if (!v) return false;
            pattern_set_ints(p, v->producer, "perm", order, (size_t)rank);
            q.inputs[i] = v;
        }
        return put(p, &q, n, n);
    }
    return false;
}

/* The weight of which v is the transposed matrix, or NULL. */
static pgy_value *turned_from(const pgy_value *v)
{
    const pgy_graph *level = v->graph;
    if (!v->initializer || !fold_is_turned(level->model, v->initializer)) return NULL;
    for (size_t i = 0; i < level->initializer_count; i++) {
        const pgy_onnx_tensor *other = level->initializers[i]->initializer;
        if (other && fold_is_turned_from(level->model, v->initializer, other))
            return level->initializers[i];
    }
    return NULL;
}

/* Reads a large weight that is the transposed matrix of another one, such as a classifier's that is
 * tied to an embedding, from that one: it is not stored twice, nor transposed before it is
 * packed. */
static bool take_turned_weight(pattern *p, pgy_node *n)
{
    product q;
    if (!takes_floats(n) || !read(&q, p, n)) return false;
    pgy_value *from = turned_from(q.inputs[B]);
    if (!from) return false;
    q.inputs[B] = from;
    q.turn[B] = !q.turn[B];
    return put(p, &q, n, n);
}

/* Takes in a constant factor of an operand, or of the result of a product without bias. */
static bool take_factor(pattern *p, pgy_node *n)
{
    product q;
    if (!takes_floats(n) || !read(&q, p, n)) return false;
    for (size_t i = 0; i < 2; i++) {
        double factor = 0;
        pgy_node *mul = pattern_inner(n->inputs[i], "Mul"),
                 *div = pattern_inner(n->inputs[i], "Div");
        pgy_value *x = NULL;
        for (size_t k = 0; mul && !x && k < 2; k++)
            if (pattern_scalar(p, mul->inputs[k], &factor)) x = mul->inputs[1 - k];
        if (div && pattern_scalar(p, div->inputs[1], &factor) && factor != 0) {
            x = div->inputs[0];
            factor = 1 / factor;
        }
        if (!x || !pattern_same_shape(x, n->inputs[i])) continue;
        q.inputs[i] = x;
        q.alpha *= factor;
        return put(p, &q, n, n);
    }
    return false;
}

/* ---- Behind --------------------------------------------------------------------------------- */

static bool take_scale(pattern *p, pgy_node *n)
{
    product q;
    double factor;
    pgy_node *user = pattern_user(n);
    if (!is_product(n) || !user || node_attribute(n, "activation") ||
        (!pattern_is(user, "Mul") && !pattern_is(user, "Div")) ||
        !pattern_same_shape(user->outputs[0], n->outputs[0]))
        return false;
    const bool div = pattern_is(user, "Div");
    pgy_value *other = pattern_other(user, n->outputs[0]);
    if (!pattern_scalar(p, other, &factor) || (div && (user->inputs[0] == other || factor == 0)) ||
        !read(&q, p, n) || q.inputs[BIAS] || q.inputs[RESIDUAL])
        return false;
    q.alpha *= div ? 1 / factor : factor;
    return put(p, &q, n, user);
}

/* If v has one number for each column of product y, returns v with a single axis, as a bias; else
 * NULL. */
static pgy_value *bias_of(pattern *p, pgy_value *v, const pgy_value *y)
{
    const int32_t rank = pattern_rank(v);
    if (rank < 1 || rank > pattern_rank(y) || pattern_dtype(v) != pattern_dtype(y) ||
        !pattern_same_size(v, -1, y, -1))
        return NULL;
    for (int32_t d = 0; d + 1 < rank; d++)
        if (pattern_size(v, d) != 1) return NULL;
    const int64_t shape[1] = {pattern_size(v, -1)};
    if (rank == 1) return v;
    return pattern_is_constant(p, v) ? pattern_reshaped(p, v, 1, shape) : NULL;
}

static bool take_sum(pattern *p, pgy_node *n)
{
    product q;
    pgy_node *add = pattern_user(n);
    if (!is_product(n) || !pattern_is(add, "Add") || node_attribute(n, "activation") ||
        !pattern_same_shape(add->outputs[0], n->outputs[0]))
        return false;
    pgy_value *other = pattern_other(add, n->outputs[0]);
    if (!other || !read(&q, p, n)) return false;
    if (!q.inputs[BIAS] && (q.inputs[BIAS] = bias_of(p, other, n->outputs[0])) != NULL)
        return put(p, &q, n, add);
    if (q.inputs[RESIDUAL] || pattern_is_constant(p, other) ||
        !pattern_same_shape(other, n->outputs[0]) ||
        pattern_dtype(other) != pattern_dtype(n->outputs[0]))
        return false;
    q.inputs[RESIDUAL] = other;
    return put(p, &q, n, add);
}

static const char *activation_of(const pgy_node *f)
{
    static const char *const PLAIN[] = {"Relu", "Sigmoid", "Tanh"};
    if (!f || f->input_count != 1) return NULL;
    for (size_t i = 0; i < 3; i++)
        if (pattern_is(f, PLAIN[i])) return PLAIN[i];
    if (pattern_is(f, "Gelu"))
        return pattern_text_is(f, "approximate", "tanh", "none") ? "FastGelu" : "Gelu";
    if (pattern_is(f, "com.microsoft:Gelu")) return "Gelu";
    if (pattern_is(f, "com.microsoft:FastGelu")) return "FastGelu";
    if (pattern_is(f, "com.microsoft:QuickGelu"))
        return pattern_float(f, "alpha", 1.702) == 1 ? "Silu" : NULL;
    return pattern_is(f, "Swish") && pattern_float(f, "alpha", 1) == 1 ? "Silu" : NULL;
}

static bool take_activation(pattern *p, pgy_node *n)
{
    product q;
    pgy_node *user = pattern_user(n);
    const char *name = activation_of(user);
    if (!name || !is_product(n) || node_attribute(n, "activation") || !read(&q, p, n)) return false;
    q.activation = name;
    return put(p, &q, n, user);
}

/* ---- Gemm between Reshapes ------------------------------------------------------------------ */

/* Has v the shape of y, except for the last axis, which has the size of `columns`? */
static bool has_rows_of(const pgy_value *v, const pgy_value *y, const pgy_value *columns)
{
    if (pattern_rank(v) != pattern_rank(y) || !pattern_same_size(v, -1, columns, 1)) return false;
    for (int32_t d = 0; d + 1 < pattern_rank(y); d++)
        if (!pattern_same_size(v, d, y, d)) return false;
    return true;
}

/* Makes a value like `before` with the leading axes of y instead of its single axis of rows, or
 * returns NULL. */
static pgy_value *with_rows_of(pattern *p, pgy_node *before, const pgy_value *y)
{
    const op_value *rows = fold_known(before->outputs[0]), *wanted = fold_known(y);
    const size_t rank = (size_t)wanted->rank;
    dim dims[PGY_MAX_RANK];
    int64_t shape[PGY_MAX_RANK];
    if (rank > PGY_MAX_RANK) return NULL;
    memcpy(dims, wanted->dims, rank * sizeof *dims);
    dims[rank - 1] = rows->dims[1];
    if (!fold_constant_shape(shape, fold_known(before->inputs[0]), dims, rank)) return NULL;
    pgy_value *const inputs[] = {before->inputs[0],
                                 pattern_list(p, before, before->inputs[1]->name, shape, rank)};
    return pattern_make(p, before, NULL, "Reshape", inputs, 2);
}

/* Removes the Reshapes around a product whose operand was reshaped to a matrix and whose result
 * gets the leading axes back: FusedMatMul supports leading axes. */
static bool take_reshapes(pattern *p, pgy_node *n)
{
    product q;
    if (!pattern_is(n, "Gemm") || !is_product(n) || pattern_int(n, "transA", 0)) return false;
    pgy_node *before = pattern_inner(n->inputs[A], "Reshape"), *after = pattern_user(n);
    if (!before || before->input_count != 2 || !pattern_is(after, "Reshape") ||
        after->inputs[0] != n->outputs[0])
        return false;
    pgy_value *x = before->inputs[0], *y = after->outputs[0];
    if (pattern_rank(x) < 2 || pattern_rank(y) < 2 || !pattern_same_size(y, -1, n->outputs[0], 1) ||
        !read(&q, p, n))
        return false;
    q.inputs[A] = has_rows_of(x, y, n->inputs[A]) ? x : with_rows_of(p, before, y);
    return q.inputs[A] && put(p, &q, n, after);
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {
        take_reshapes, take_transpose, take_turned_weight, take_factor,
        take_scale,    take_sum,       take_activation,    NULL};
    return pattern_run(g, "fuse_matmul", RULES, changes, err);
}

const pass PASS_fuse_matmul = {
    .name = "fuse_matmul", .summary = "products with what stands around them", .run = run};
