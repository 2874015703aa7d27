/* SPDX-License-Identifier: Apache-2.0 */
/* For CUDA devices: products of one tensor of few rows by constant matrices become one product and
 * a Split. Their time is that of reading the matrices, and each step costs some microseconds. */
#include <string.h>

#include "engine/passes/pass.h"
#include "transform/pattern.h"

enum { MOST_PARTS = 8, MOST_ROWS = 8, A = 0, B = 1 };

typedef struct products {
    pgy_node *at[MOST_PARTS];
    pgy_tensor *b[MOST_PARTS];
    size_t count;
    int64_t rows, widths[MOST_PARTS], width; /* of the matrices; width: of all together */
} products;

/* Rows of a tensor with a known shape; 0: not known, or too many. */
static int64_t rows_of(const pgy_value *v)
{
    int64_t rows = 1;
    for (int32_t d = 0; d + 1 < pattern_rank(v); d++) {
        const int64_t size = pattern_size(v, d);
        if (size < 1 || size > MOST_ROWS) return 0;
        rows *= size;
        if (rows > MOST_ROWS) return 0;
    }
    return pattern_rank(v) < 2 ? 0 : rows;
}

static bool is_product(const pattern *p, const pgy_node *n)
{
    const pgy_value *b = n->input_count > B ? n->inputs[B] : NULL;
    const pgy_dtype t = pattern_dtype(n->inputs[A]);
    return pattern_is(n, "MatMul") && pattern_rank(b) == 2 && pattern_is_constant(p, b) &&
           pattern_dtype(b) == t && (t == PGY_F16 || t == PGY_BF16 || t == PGY_F32);
}

/* Finds the products of n's tensor; false: n is not the first of several. */
static bool find(products *q, pattern *p, pgy_node *n)
{
    const pgy_value *x = n->inputs[A];
    *q = (products){.rows = pattern_size(n->inputs[B], 0)};
    for (size_t i = 0; i < x->consumer_count && q->count < MOST_PARTS; i++) {
        pgy_node *other = x->consumers[i];
        if (other->graph != n->graph || other->inputs[A] != x || !is_product(p, other) ||
            pattern_size(other->inputs[B], 0) != q->rows || pattern_size(other->inputs[B], 1) < 1)
            continue;
        if (!q->count && other != n) return false;
        q->widths[q->count] = pattern_size(other->inputs[B], 1);
        q->width += q->widths[q->count];
        q->at[q->count++] = other;
    }
    return q->count > 1 && q->rows > 0;
}

/* The matrices side by side. */
static pgy_value *join(products *q, pattern *p, pgy_graph *level)
{
    const size_t item = pgy_dtype_describe(pattern_dtype(q->at[0]->inputs[B]))->bits / 8;
    const int64_t shape[] = {q->rows, q->width};
    pgy_tensor *all = NULL;
    for (size_t i = 0; i < q->count; i++)
        if ((p->status = fold_constant(&q->b[i], &p->f, q->at[i]->inputs[B], p->err)) || !q->b[i])
            return NULL;
    p->status = pgy_tensor_create(&all, pattern_dtype(q->at[0]->inputs[B]), 2, shape, p->err);
    if (p->status) return NULL;
    char *to = pgy_tensor_data(all);
    for (int64_t row = 0; row < q->rows; row++)
        for (size_t i = 0; i < q->count; i++) {
            const size_t bytes = (size_t)q->widths[i] * item;
            memcpy(to, (const char *)pgy_tensor_data(q->b[i]) + (size_t)row * bytes, bytes);
            to += bytes;
        }
    pgy_value *made = pattern_tensor(p, level, q->at[0]->inputs[B]->name, all);
    pgy_tensor_release(all);
    return made;
}

static bool put(products *q, pattern *p, pgy_node *n)
{
    pgy_value *outputs[MOST_PARTS];
    pgy_value *const inputs[] = {n->inputs[A], join(q, p, n->graph)};
    pgy_value *const parts[] = {pattern_make(p, n, NULL, "MatMul", inputs, 2),
                                pattern_list(p, n, n->inputs[B]->name, q->widths, q->count)};
    if (!parts[0] || !parts[1]) return false;
    for (size_t i = 0; i < q->count; i++) outputs[i] = q->at[i]->outputs[0];
    pgy_node *made = pattern_put_outputs(p, n, "Split", parts, 2, outputs, q->count);
    pattern_set_int(p, made, "axis", -1);
    for (size_t i = 1; i < q->count; i++) pattern_drop(p, q->at[i]);
    return true;
}

static bool join_products(pattern *p, pgy_node *n)
{
    products q;
    if (!is_product(p, n) || !rows_of(n->inputs[A]) || !find(&q, p, n)) return false;
    const bool done = put(&q, p, n);
    for (size_t i = 0; i < q.count; i++) pgy_tensor_release(q.b[i]);
    return done;
}

static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {join_products, NULL};
    return pass_is_for_cuda(target) ? pattern_run(g, "join_products", RULES, changes, err) : PGY_OK;
}

const pass PASS_join_products = {
    .name = "join_products",
    .summary = "products of one tensor of few rows become one, for CUDA devices",
    .run_for = run};
