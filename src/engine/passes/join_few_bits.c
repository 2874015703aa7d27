/* SPDX-License-Identifier: Apache-2.0 */
/* For CUDA devices: products of one tensor of few rows with weights of 4 bits become one product
 * and a Split, as join_products does for other matrices. */
#include <string.h>

#include "engine/passes/pass.h"
#include "transform/pattern.h"

enum { MOST_PARTS = 8, MOST_ROWS = 8 };
enum { A, B, SCALES, ZEROS, GROUPS, BIAS, INPUTS };

typedef struct few_bits {
    pgy_node *at[MOST_PARTS];
    size_t count;
    int64_t widths[MOST_PARTS], width; /* columns; width: of all together */
} few_bits;

/* Has v at most MOST_ROWS rows? */
static bool has_few_rows(const pgy_value *v)
{
    int64_t rows = 1;
    for (int32_t d = 0; d + 1 < pattern_rank(v); d++) {
        const int64_t size = pattern_size(v, d);
        if (size < 1 || size > MOST_ROWS) return false;
        rows *= size;
        if (rows > MOST_ROWS) return false;
    }
    return pattern_rank(v) >= 2;
}

/* Constant weights of whole blocks, and their middle as the zero point. */
static bool is_product(const pattern *p, const pgy_node *n)
{
    if (!pattern_is(n, "com.microsoft:MatMulNBits") || pattern_int(n, "bits", 4) != 4 ||
        pattern_input(n, ZEROS) || pattern_input(n, GROUPS))
        return false;
    for (size_t i = B; i < n->input_count; i++)
        if (pattern_input(n, i) && !pattern_is_constant(p, n->inputs[i])) return false;
    return pattern_int(n, "N", 0) > 0;
}

static bool is_like(const pgy_node *n, const pgy_node *other)
{
    static const char *const SAME[] = {"K", "block_size", "accuracy_level"};
    for (size_t i = 0; i < sizeof SAME / sizeof *SAME; i++)
        if (pattern_int(n, SAME[i], 0) != pattern_int(other, SAME[i], 0)) return false;
    return !pattern_input(n, BIAS) == !pattern_input(other, BIAS) &&
           pattern_dtype(n->inputs[SCALES]) == pattern_dtype(other->inputs[SCALES]);
}

/* Finds the products of n's tensor; false: n is not the first of several. */
static bool find(few_bits *q, pattern *p, pgy_node *n)
{
    const pgy_value *x = n->inputs[A];
    *q = (few_bits){0};
    for (size_t i = 0; i < x->consumer_count && q->count < MOST_PARTS; i++) {
        pgy_node *other = x->consumers[i];
        if (other->graph != n->graph || !is_product(p, other) || other->inputs[A] != x ||
            !is_like(n, other))
            continue;
        if (!q->count && other != n) return false;
        q->widths[q->count] = pattern_int(other, "N", 0);
        q->width += q->widths[q->count];
        q->at[q->count++] = other;
    }
    return q->count > 1;
}

/* Input `input` of all products, one behind the other: each has as many elements for a column. */
static pgy_value *join(few_bits *q, pattern *p, size_t input)
{
    pgy_value *const first = q->at[0]->inputs[input], *made = NULL;
    pgy_tensor *parts[MOST_PARTS] = {NULL}, *all = NULL;
    size_t bytes = 0;
    for (size_t i = 0; !p->status && i < q->count; i++) {
        p->status = fold_constant(&parts[i], &p->f, q->at[i]->inputs[input], p->err);
        if (parts[i]) bytes += pgy_tensor_size_bytes(parts[i]);
    }
    const pgy_dtype type = pattern_dtype(first);
    const int64_t each = (int64_t)(bytes / (pgy_dtype_describe(type)->bits / 8)) / q->width;
    const int64_t shape[] = {q->width, each};
    if (!p->status && each > 0)
        p->status = pgy_tensor_create(&all, type, input == BIAS ? 1 : 2, shape, p->err);
    if (all && pgy_tensor_size_bytes(all) == bytes) {
        char *to = pgy_tensor_data(all);
        for (size_t i = 0; i < q->count; i++) {
            memcpy(to, pgy_tensor_data(parts[i]), pgy_tensor_size_bytes(parts[i]));
            to += pgy_tensor_size_bytes(parts[i]);
        }
        made = pattern_tensor(p, q->at[0]->graph, first->name, all);
    }
    for (size_t i = 0; i < q->count; i++) pgy_tensor_release(parts[i]);
    pgy_tensor_release(all);
    return made;
}

static bool join_few_bits(pattern *p, pgy_node *n)
{
    static const char *const KEPT[] = {"K", "block_size", "accuracy_level"};
    few_bits q;
    pgy_value *inputs[INPUTS] = {NULL}, *outputs[MOST_PARTS];
    if (!is_product(p, n) || !has_few_rows(n->inputs[A]) || !find(&q, p, n)) return false;
    const bool biased = pattern_input(n, BIAS) != NULL;
    inputs[A] = n->inputs[A];
    inputs[B] = join(&q, p, B);
    inputs[SCALES] = join(&q, p, SCALES);
    if (biased) inputs[BIAS] = join(&q, p, BIAS);
    if (!inputs[B] || !inputs[SCALES] || (biased && !inputs[BIAS])) return false;
    pgy_value *const parts[] = {
        pattern_make(p, n, NULL, "com.microsoft:MatMulNBits", inputs, biased ? INPUTS : ZEROS),
        pattern_list(p, n, n->inputs[B]->name, q.widths, q.count)};
    if (!parts[0] || !parts[1]) return false;
    pattern_set_int(p, parts[0]->producer, "N", q.width);
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++)
        pattern_copy(p, parts[0]->producer, n, KEPT[i]);
    for (size_t i = 0; i < q.count; i++) outputs[i] = q.at[i]->outputs[0];
    pgy_node *made = pattern_put_outputs(p, n, "Split", parts, 2, outputs, q.count);
    pattern_set_int(p, made, "axis", -1);
    for (size_t i = 1; i < q.count; i++) pattern_drop(p, q.at[i]);
    return true;
}

static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {join_few_bits, NULL};
    return pass_is_for_cuda(target) ? pattern_run(g, "join_few_bits", RULES, changes, err) : PGY_OK;
}

const pass PASS_join_few_bits = {
    .name = "join_few_bits",
    .summary = "products of one tensor of few rows with weights of 4 bits, for CUDA devices",
    .run_for = run};
