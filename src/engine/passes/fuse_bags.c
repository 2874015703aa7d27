/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table that are gathered, maybe weighted, and reduced bag by bag: EmbeddingBag of pgy.
 * The rows are never written to memory. */
#include "engine/passes/bag_loops.h"
#include "engine/passes/pass.h"

static void put(pattern *p, pgy_node *last, const bag_form *b)
{
    pgy_value *inputs[] = {b->table, b->indices, b->offsets, b->weights};
    pgy_node *made = pattern_put(p, last, "pgy:EmbeddingBag", inputs, 4);
    pattern_set_text(p, made, "mode", b->mode);
    if (b->keepdims) pattern_set_int(p, made, "keepdims", 1);
    if (b->empty_is_zero) pattern_set_int(p, made, "empty_is_zero", 1);
    if (b->last_to_end) pattern_set_int(p, made, "last_to_end", 1);
}

/* ---- A matrix of indices -------------------------------------------------------------------- */

static bool rule_matrix(pattern *p, pgy_node *n)
{
    bag_form b = {0};
    if (!pattern_is(n, "ReduceSum") && !pattern_is(n, "ReduceMean") && !pattern_is(n, "ReduceMax"))
        return false;
    pgy_value *x = n->inputs[0];
    if (!pattern_is_inner(x) || !bag_rows_read(&b, p, x)) return false;
    const pgy_node *mul = pattern_from(x, "Mul");
    const int32_t rank = pattern_rank(b.indices);
    if (mul && !pattern_inner(mul->inputs[0], "Gather") && !pattern_inner(mul->inputs[1], "Gather"))
        return false;
    if (rank < 2 || !(b.mode = bag_reduction(p, n, rank - 1, rank + 1))) return false;
    b.keepdims = pattern_int(n, "keepdims", 1) != 0;
    put(p, n, &b);
    return true;
}

/* ---- Loops ---------------------------------------------------------------------------------- */

/* Is v the list 0, each, 2 each ... of the first indices of the rows of a matrix? */
static bool is_row_starts(pattern *p, const pgy_value *v, const bag_form *b, pgy_value *matrix)
{
    const pgy_node *range = pattern_from(v, "Range");
    if (!range || range->input_count != 3 || !bag_is_constant(p, range->inputs[0], 0) ||
        !bag_is_constant(p, range->inputs[2], pattern_size(matrix, 1)))
        return false;
    if (bag_value_is(p, range->inputs[1], fold_known(b->indices)->dims[0])) return true;
    const pgy_node *product = pattern_from(range->inputs[1], "ReduceProd");
    const pgy_node *shape =
        product && product->input_count == 1 ? pattern_from(product->inputs[0], "Shape") : NULL;
    return shape && !shape->attribute_count && shape->inputs[0] == matrix;
}

static bool are_rows(pattern *p, const bag_form *b, pgy_value *matrix)
{
    const int64_t each = pattern_size(matrix, 1), *ints;
    size_t count;
    if (pattern_ints(p, b->offsets, &ints, &count)) {
        if ((int64_t)count - 1 != pattern_size(matrix, 0)) return false;
        for (size_t i = 0; i < count; i++)
            if (ints[i] != (int64_t)i * each) return false;
        return true;
    }
    const pgy_node *concat = pattern_from(b->offsets, "Concat");
    return concat && concat->input_count == 2 && is_row_starts(p, concat->inputs[0], b, matrix) &&
           bag_value_is(p, concat->inputs[1], fold_known(b->indices)->dims[0]);
}

/* Offsets that only divide a matrix of indices into its rows are not needed. */
static void drop_offsets(pattern *p, bag_form *b)
{
    const pgy_node *flat = pattern_from(b->indices, "Reshape");
    pgy_value *matrix = flat ? flat->inputs[0] : NULL;
    if (pattern_rank(matrix) != 2 || pattern_size(matrix, 1) < 1 || !are_rows(p, b, matrix)) return;
    b->indices = matrix;
    b->offsets = NULL;
    b->empty_is_zero = b->last_to_end = false;
}

/* Does g see v, which may be omitted? */
static bool is_visible(const pgy_graph *g, const pgy_value *v)
{
    while (v && g && v->graph != g) g = g->parent;
    return g != NULL;
}

static bool rule_loop(pattern *p, pgy_node *n)
{
    bag_form b = {0};
    if (!bag_loop_scan(&b, p, n) && !bag_loop_sequence(&b, p, n)) return false;
    if (!is_visible(n->graph, b.table) || !is_visible(n->graph, b.indices) ||
        !is_visible(n->graph, b.offsets) || !is_visible(n->graph, b.weights))
        return false;
    drop_offsets(p, &b);
    put(p, n, &b);
    return true;
}

/* CUDA devices have kernels of Gather and reductions; loops run on the host in any case. */
static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule ALL[] = {rule_matrix, rule_loop, NULL}, LOOPS[] = {rule_loop, NULL};
    return pattern_run(g, "fuse_bags", pass_is_for_cuda(target) ? LOOPS : ALL, changes, err);
}

const pass PASS_fuse_bags = {
    .name = "fuse_bags",
    .summary = "rows of a table that are gathered and reduced, also by the loops of EmbeddingBag",
    .run_for = run};
