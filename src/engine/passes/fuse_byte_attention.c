/* SPDX-License-Identifier: Apache-2.0 */
/* For CUDA devices: attention between Q/DQ becomes one step, pgy:QLinearAttention, which reads
 * query, key and value side by side: slices of one tensor, products of one tensor that become a
 * single one, or what a Concat joins. A table of the bytes of a QGemm, or of a product and a row,
 * becomes part of the product. */
#include <string.h>

#include "engine/passes/pass.h"
#include "engine/passes/pattern_quantized.h"
#include "engine/passes/side_by_side.h"

static const char MATMUL[] = "pgy:QLinearMatMul", SOFTMAX[] = "com.microsoft:QLinearSoftmax";
static const char ADD[] = "com.microsoft:QLinearAdd", GEMM[] = "com.microsoft:QGemm";

enum {
    A,
    A_SCALE,
    B = 3,
    B_SCALE,
    B_ZERO,
    Y_SCALE,
    MATMUL_INPUTS = 8,
    PARTS = SIDE_BY_SIDE,
    RANK = 4
};
enum { R = 8, R_SCALE, SUM_SCALE = 11, SUM_INPUTS = 13, GEMM_INPUTS = 9 };
enum { MASK = 15, INPUTS = 20, MOST_ROWS = 256, LEAST_OPSET = 13 }; /* as the kernel has them */

/* ---- Grids ---------------------------------------------------------------------------------- */

static bool read_integer(pattern *p, pgy_value *v, int64_t *out)
{
    pgy_tensor *stored = NULL, *wide = NULL;
    const bool fine = v && pattern_is_constant(p, v) &&
                      fold_constant(&stored, &p->f, v, NULL) == PGY_OK && stored &&
                      op_to_storage(&wide, stored, NULL) == PGY_OK && pgy_tensor_count(wide) == 1;
    if (fine) *out = op_i64(wide)[0];
    pgy_tensor_release(stored);
    pgy_tensor_release(wide);
    return fine;
}

/* Are all elements of a constant of integers 0? */
static bool are_zeros(pattern *p, pgy_value *v)
{
    pgy_tensor *stored = NULL, *wide = NULL;
    bool yes = v && pattern_is_constant(p, v) && fold_constant(&stored, &p->f, v, NULL) == PGY_OK &&
               stored && op_to_storage(&wide, stored, NULL) == PGY_OK;
    for (size_t i = 0; yes && i < pgy_tensor_count(wide); i++) yes = op_i64(wide)[i] == 0;
    pgy_tensor_release(stored);
    pgy_tensor_release(wide);
    return yes;
}

/* Is the scale at place i of a, with the zero point behind it, that at place k of b? */
static bool is_same_grid(pattern *p, const pgy_node *a, size_t i, const pgy_node *b, size_t k)
{
    double x, y;
    int64_t x_zero, y_zero;
    return pattern_scalar(p, a->inputs[i], &x) && pattern_scalar(p, b->inputs[k], &y) && x == y &&
           read_integer(p, a->inputs[i + 1], &x_zero) &&
           read_integer(p, b->inputs[k + 1], &y_zero) && x_zero == y_zero;
}

static bool is_grid(pattern *p, const pgy_node *n, size_t i, pgy_dtype type)
{
    double scale;
    int64_t zero;
    return pattern_scalar(p, n->inputs[i], &scale) && scale > 0 &&
           read_integer(p, n->inputs[i + 1], &zero) && pattern_dtype(n->inputs[i + 1]) == type;
}

static void put_grid(pgy_value **to, const pgy_node *n, size_t i)
{
    to[0] = n->inputs[i];
    to[1] = n->inputs[i + 1];
}

/* ---- What an attention is made of ----------------------------------------------------------- */

typedef struct attention {
    pgy_node *values, *softmax, *sum, *scores; /* sum: with a mask, or NULL */
    size_t plain;                              /* operand of the sum that is the scores */
    pgy_value *parts[PARTS];                   /* query, key and value: [batch, rows, width] */
    pgy_dtype type;
    int64_t rows, heads, size;
} attention;

static bool has_order(const pgy_node *n, const int64_t *order)
{
    const pgy_onnx_attribute *perm = n ? node_attribute(n, "perm") : NULL;
    return perm && perm->int_count == RANK && memcmp(perm->ints, order, RANK * sizeof *order) == 0;
}

/* [batch, rows, width] of which v has the heads, [batch, heads, rows, size]; or NULL. */
static pgy_value *find_part(const pgy_value *v)
{
    static const int64_t ORDER[RANK] = {0, 2, 1, 3};
    const pgy_node *turn = pattern_inner(v, "Transpose");
    if (!has_order(turn, ORDER)) return NULL;
    const pgy_node *reshape = pattern_inner(turn->inputs[0], "Reshape");
    pgy_value *x = reshape ? reshape->inputs[0] : NULL, *heads = turn->inputs[0];
    if (!x || pattern_rank(x) != 3 || pattern_rank(heads) != RANK ||
        !pattern_same_size(x, 0, heads, 0) || !pattern_same_size(x, 1, heads, 1))
        return NULL;
    return x;
}

static bool is_product(const pgy_node *n)
{
    return n && n->input_count == MATMUL_INPUTS;
}

/* The product that makes the scores: of v, or of one operand of the sum v. */
static bool find_scores(attention *q, const pgy_value *v)
{
    q->scores = pattern_inner(v, MATMUL);
    if (q->scores) return true;
    q->sum = pattern_inner(v, ADD);
    if (!q->sum || q->sum->input_count != MATMUL_INPUTS) return false;
    for (q->plain = A; q->plain <= B; q->plain += B) {
        q->scores = pattern_inner(q->sum->inputs[q->plain], MATMUL);
        if (q->scores) return true;
    }
    return false;
}

static bool is_last_axis(pgy_node *softmax)
{
    const int64_t axis = pattern_int(softmax, "axis", -1);
    return (axis == -1 || axis == RANK - 1) && pattern_int(softmax, "opset", 0) >= LEAST_OPSET &&
           softmax->input_count == 5;
}

static bool find(attention *q, const pgy_value *heads)
{
    *q = (attention){.values = pattern_inner(heads, "QLinearMatMul")};
    if (!q->values) q->values = pattern_inner(heads, MATMUL);
    if (!is_product(q->values) || pattern_int(q->values, "transB", 0)) return false;
    q->softmax = pattern_inner(q->values->inputs[A], SOFTMAX);
    if (!q->softmax || !is_last_axis(q->softmax) || !find_scores(q, q->softmax->inputs[0]) ||
        !is_product(q->scores) || !pattern_int(q->scores, "transB", 0))
        return false;
    pgy_value *const from[PARTS] = {q->scores->inputs[A], q->scores->inputs[B],
                                    q->values->inputs[B]};
    for (size_t i = 0; i < PARTS; i++)
        if (!(q->parts[i] = find_part(from[i])) ||
            pattern_dtype(from[i]) != pattern_dtype(from[0]) ||
            !pattern_same_shape(from[i], from[0]))
            return false;
    q->type = pattern_dtype(from[0]);
    q->heads = pattern_size(from[0], 1);
    q->rows = pattern_size(from[0], 2);
    q->size = pattern_size(from[0], 3);
    return q->heads > 0 && q->rows > 0 && q->rows <= MOST_ROWS && (q->size == 32 || q->size == 64);
}

/* Do bytes have, where they are read, the scales and zero points with which they are made? */
static bool has_same_grids(attention *q, pattern *p)
{
    int64_t share_zero = 0;
    const size_t grids[] = {A_SCALE, B_SCALE, Y_SCALE};
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++)
        if (!is_grid(p, q->scores, grids[i], q->type) || !is_grid(p, q->values, grids[i], q->type))
            return false;
    return is_grid(p, q->softmax, 1, q->type) &&
           is_same_grid(p, q->softmax, 3, q->values, A_SCALE) &&
           read_integer(p, q->values->inputs[A_SCALE + 1], &share_zero) &&
           share_zero == (q->type == PGY_I8 ? INT8_MIN : 0) &&
           (!q->sum ||
            (is_same_grid(p, q->sum, Y_SCALE, q->softmax, 1) &&
             is_grid(p, q->sum, A_SCALE, q->type) && is_grid(p, q->sum, B_SCALE, q->type)));
}

/* Is the mask one row for each batch, or for all? */
static bool has_mask(const attention *q)
{
    const pgy_value *mask = q->sum ? q->sum->inputs[B - q->plain] : NULL;
    if (!mask) return true;
    const pgy_value *scores = q->sum->inputs[q->plain];
    return pattern_rank(mask) == RANK && pattern_dtype(mask) == q->type &&
           (pattern_size(mask, 0) == 1 || pattern_same_size(mask, 0, scores, 0)) &&
           pattern_size(mask, 1) == 1 && pattern_size(mask, 2) == 1 &&
           pattern_size(mask, 3) == q->rows;
}

/* ---- Query, key and value side by side ------------------------------------------------------ */

/* Can the weights of product n lie beside those of `first`? Both multiply the same tensor, and each
 * adds one row to all rows of its result. */
static bool is_joinable(pattern *p, const pgy_node *n, const pgy_node *first)
{
    if (!n || n->input_count != SUM_INPUTS || pattern_int(n, "transB", 0) ||
        n->inputs[A] != first->inputs[A] || !is_same_grid(p, n, A_SCALE, first, A_SCALE) ||
        pattern_rank(n->inputs[B]) != 2 || !pattern_same_shape(n->inputs[B], first->inputs[B]) ||
        pattern_dtype(n->inputs[B]) != PGY_I8 ||
        !pattern_same_size(n->inputs[R], -1, n->inputs[B], 1) || !are_zeros(p, n->inputs[B_ZERO]))
        return false;
    for (size_t i = B; i < SUM_INPUTS; i++)
        if (!pattern_is_constant(p, n->inputs[i])) return false;
    return true;
}

/* The elements of input i of all products, one row of each behind the other; rows have `width`
 * elements, of which one may stand for all. */
static pgy_value *join(pattern *p, pgy_node *const *from, size_t i, int64_t rows, int64_t width)
{
    const pgy_value *like = from[0]->inputs[i];
    const int64_t shape[] = {rows, PARTS * width};
    pgy_tensor *all = NULL;
    if ((p->status = pgy_tensor_create(&all, pattern_dtype(like), rows > 1 ? 2 : 1,
                                       rows > 1 ? shape : shape + 1, p->err)))
        return NULL;
    const size_t item = pgy_dtype_describe(pattern_dtype(like))->bits / 8;
    bool fine = true;
    for (size_t k = 0; fine && k < PARTS; k++) {
        pgy_tensor *t = NULL;
        p->status = fold_constant(&t, &p->f, from[k]->inputs[i], p->err);
        const size_t count = !p->status && t ? pgy_tensor_count(t) : 0;
        fine = count == 1 || count == (size_t)(rows * width);
        for (int64_t e = 0; fine && e < rows * width; e++)
            memcpy((char *)pgy_tensor_data(all) +
                       (size_t)(e / width * PARTS * width + (int64_t)k * width + e % width) * item,
                   (const char *)pgy_tensor_data(t) + (count == 1 ? 0 : (size_t)e * item), item);
        pgy_tensor_release(t);
    }
    pgy_value *made = fine ? pattern_tensor(p, from[0]->graph, like->name, all) : NULL;
    pgy_tensor_release(all);
    return made;
}

/* One product of what three products multiply; NULL: they cannot be joined. */
static pgy_value *join_products(const attention *q, pattern *p, pgy_node *before)
{
    pgy_node *from[PARTS];
    pgy_value *inputs[SUM_INPUTS];
    for (size_t i = 0; i < PARTS; i++) {
        from[i] = pattern_inner(q->parts[i], MATMUL);
        if (!from[i] || !is_joinable(p, from[i], from[0])) return NULL;
    }
    const int64_t depth = pattern_size(from[0]->inputs[B], 0),
                  width = pattern_size(from[0]->inputs[B], 1);
    if (depth < 2 || width < 1) return NULL;
    static const double ZERO[1] = {0};
    for (size_t i = 0; i < SUM_INPUTS; i++) {
        if (i < B)
            inputs[i] = from[0]->inputs[i];
        else if (i == B_ZERO)
            inputs[i] = pattern_weight(p, before->graph, "zero", PGY_I8, 0, NULL, ZERO);
        else
            inputs[i] =
                join(p, from, i, i == B ? depth : 1, i == B || i == B_SCALE || i == R ? width : 1);
        if (!inputs[i]) return NULL;
    }
    pgy_value *made = pattern_make(p, before, q->parts[0]->name, MATMUL, inputs, SUM_INPUTS);
    if (made) pattern_set_int(p, made->producer, "parts", PARTS);
    return made;
}

static pgy_value *put_side_by_side(const attention *q, pattern *p, pgy_node *before)
{
    pgy_value *x = find_side_by_side(p, q->parts);
    if (!x && !p->status) x = join_products(q, p, before);
    if (x || p->status) return x;
    x = pattern_make(p, before, q->parts[0]->name, "Concat", q->parts, PARTS);
    if (x) pattern_set_int(p, x->producer, "axis", 2);
    return x;
}

/* ---- Rules ---------------------------------------------------------------------------------- */

static bool fuse_attention(pattern *p, pgy_node *n)
{
    static const int64_t ORDER[RANK] = {0, 2, 1, 3};
    attention q;
    pgy_value *inputs[INPUTS] = {NULL};
    const pgy_node *turn =
        pattern_is(n, "Reshape") ? pattern_inner(n->inputs[0], "Transpose") : NULL;
    if (!has_order(turn, ORDER) || !find(&q, turn->inputs[0]) || !has_same_grids(&q, p) ||
        !has_mask(&q))
        return false;
    inputs[0] = put_side_by_side(&q, p, n);
    if (!inputs[0]) return false;
    put_grid(inputs + 1, q.scores, A_SCALE);
    put_grid(inputs + 3, q.scores, B_SCALE);
    put_grid(inputs + 5, q.values, B_SCALE);
    put_grid(inputs + 7, q.scores, Y_SCALE);
    put_grid(inputs + 9, q.sum ? q.sum : q.softmax, q.sum ? q.plain + 1 : 1);
    put_grid(inputs + 11, q.values, A_SCALE);
    put_grid(inputs + 13, q.values, Y_SCALE);
    for (size_t i = 0; q.sum && i < 3; i++) inputs[MASK + i] = q.sum->inputs[B - q.plain + i];
    if (q.sum) put_grid(inputs + MASK + 3, q.sum, Y_SCALE);
    pgy_value *const shaped[] = {pattern_make(p, n, q.values->outputs[0]->name,
                                              "pgy:QLinearAttention", inputs,
                                              q.sum ? INPUTS : MASK),
                                 n->inputs[1]};
    if (!shaped[0]) return false;
    pattern_set_int(p, shaped[0]->producer, "num_heads", q.heads);
    pattern_copy(p, pattern_put(p, n, "Reshape", shaped, 2), n, "allowzero");
    return true;
}

/* A QGemm of bytes of which all but A is known. */
static bool is_gemm(pattern *p, const pgy_node *n)
{
    if (!n || n->input_count != GEMM_INPUTS) return false;
    for (size_t i = 1; i < GEMM_INPUTS; i++)
        if (n->inputs[i] && !pattern_is_constant(p, n->inputs[i])) return false;
    return n->inputs[GEMM_INPUTS - 2] && n->inputs[GEMM_INPUTS - 1];
}

/* A table of a QGemm's bytes, perhaps in another shape. */
static bool fuse_table(pattern *p, pgy_node *n)
{
    static const char *const KEPT[] = {"alpha", "transA", "transB"};
    if (!pattern_is(n, "pgy:Lookup") || !pattern_is_constant(p, n->inputs[1])) return false;
    const pgy_node *reshape = pattern_inner(n->inputs[0], "Reshape");
    const pgy_node *gemm = pattern_inner(reshape ? reshape->inputs[0] : n->inputs[0], GEMM);
    pgy_value *inputs[GEMM_INPUTS + 1];
    if (!is_gemm(p, gemm) ||
        pattern_dtype(n->inputs[1]) != pattern_dtype(gemm->inputs[GEMM_INPUTS - 1]))
        return false;
    for (size_t i = 0; i < GEMM_INPUTS; i++) inputs[i] = gemm->inputs[i];
    inputs[GEMM_INPUTS] = n->inputs[1];
    pgy_node *made;
    if (reshape) {
        pgy_value *const shaped[] = {
            pattern_make(p, n, gemm->outputs[0]->name, "pgy:QGemm", inputs, GEMM_INPUTS + 1),
            reshape->inputs[1]};
        if (!shaped[0]) return false;
        made = shaped[0]->producer;
        pattern_copy(p, pattern_put(p, n, "Reshape", shaped, 2), reshape, "allowzero");
    } else {
        made = pattern_put(p, n, "pgy:QGemm", inputs, GEMM_INPUTS + 1);
    }
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++) pattern_copy(p, made, gemm, KEPT[i]);
    return true;
}

/* Is it a product of bytes plus a row, whose inputs but A are constants? */
static bool is_sum(pattern *p, const pgy_node *n)
{
    if (!n || n->input_count != SUM_INPUTS || pattern_int(n, "parts", 1) != 1) return false;
    for (size_t i = 1; i < SUM_INPUTS; i++)
        if (!n->inputs[i] || !pattern_is_constant(p, n->inputs[i])) return false;
    return true;
}

/* Moves a table that is applied to such a sum into the product. */
static bool fuse_sum_table(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "pgy:Lookup") || !pattern_is_constant(p, n->inputs[1])) return false;
    const pgy_node *product = pattern_inner(n->inputs[0], MATMUL);
    pgy_value *inputs[SUM_INPUTS + 1];
    if (!is_sum(p, product) ||
        pattern_dtype(n->inputs[1]) != pattern_dtype(product->inputs[SUM_INPUTS - 1]))
        return false;
    for (size_t i = 0; i < SUM_INPUTS; i++) inputs[i] = product->inputs[i];
    inputs[SUM_INPUTS] = n->inputs[1];
    pattern_copy(p, pattern_put(p, n, MATMUL, inputs, SUM_INPUTS + 1), product, "transB");
    return true;
}

static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse_attention, fuse_table, fuse_sum_table, NULL};
    return pass_is_for_cuda(target) ? pattern_run(g, "fuse_byte_attention", RULES, changes, err)
                                    : PGY_OK;
}

const pass PASS_fuse_byte_attention = {
    .name = "fuse_byte_attention",
    .summary = "attention between Q/DQ, and tables behind products of bytes, for CUDA devices",
    .run_for = run};
