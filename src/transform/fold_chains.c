/* SPDX-License-Identifier: Apache-2.0 */
/* Merges two consecutive nodes: Transpose of Transpose, and any two of Reshape, Flatten, Squeeze,
 * Unsqueeze and a Transpose that only moves axes of size 1, which together are a Reshape. The first
 * node stays if it has other consumers. Concat and Slice are in fold_slices.c. */
#include <string.h>

#include "transform/fold.h"

/* The producer of n's first input if it has no other output. */
static pgy_node *before(const pgy_node *n)
{
    const pgy_value *v = n->input_count ? n->inputs[0] : NULL;
    pgy_node *p = v ? v->producer : NULL;
    return p && p->output_count == 1 && p->input_count && p->inputs[0] ? p : NULL;
}

static bool permutation(int64_t *perm, const pgy_node *n, int32_t rank)
{
    const pgy_onnx_attribute *a = node_attribute(n, "perm");
    bool seen[PGY_MAX_RANK] = {0};
    if (rank < 0 || rank > PGY_MAX_RANK || (a && a->int_count != (size_t)rank)) return false;
    for (int32_t i = 0; i < rank; i++) {
        perm[i] = a ? a->ints[i] : rank - 1 - i;
        if (perm[i] < 0 || perm[i] >= rank || seen[perm[i]]) return false;
        seen[perm[i]] = true;
    }
    return true;
}

/* True if a Transpose only moves axes of size 1, so that no element moves. */
static bool is_still(const pgy_node *n)
{
    const op_value *x = fold_known(n->inputs[0]);
    int64_t perm[PGY_MAX_RANK], last = -1;
    if (!node_is(n, "Transpose") || !permutation(perm, n, x->rank)) return false;
    for (int32_t i = 0; i < x->rank; i++) {
        const dim size = x->dims[perm[i]];
        if (dim_is_const(size) && size.value == 1) continue;
        if (perm[i] < last) return false;
        last = perm[i];
    }
    return true;
}

static pgy_status merge_views(folder *f, pgy_node *n, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    pgy_value *inputs[2] = {NULL, NULL};
    pgy_node *first = before(n);
    if (!first || !(fold_is_view(first) || is_still(first)) || !n->outputs[0] ||
        level_of(n->graph)->is_function)
        return PGY_OK;
    inputs[0] = first->inputs[0];
    const op_value *in = fold_known(inputs[0]), *out = fold_known(n->outputs[0]);
    if (out->rank < 0 || out->rank > PGY_MAX_RANK || in->rank < 0 ||
        !fold_constant_shape(shape, in, out->dims, (size_t)out->rank))
        return PGY_OK;
    pgy_status st = value_create_ints(&inputs[1], n->graph, "shape", shape, (size_t)out->rank, err);
    return st ? st : fold_rewrite(f, n, "Reshape", inputs, 2, NULL, err);
}

static int32_t rank_of(const pgy_node *first, const pgy_node *second)
{
    const pgy_onnx_attribute *a = node_attribute(first, "perm"),
                             *b = node_attribute(second, "perm");
    if (a) return a->int_count <= PGY_MAX_RANK ? (int32_t)a->int_count : -1;
    if (b) return b->int_count <= PGY_MAX_RANK ? (int32_t)b->int_count : -1;
    return fold_known(first->inputs[0])->rank;
}

static pgy_status merge_transposes(folder *f, pgy_node *n, pgy_error *err)
{
    int64_t one[PGY_MAX_RANK], two[PGY_MAX_RANK], both[PGY_MAX_RANK];
    pgy_node *first = before(n);
    if (!first || !node_is(first, "Transpose")) return PGY_OK;
    const int32_t rank = rank_of(first, n);
    if (!permutation(one, first, rank) || !permutation(two, n, rank)) return PGY_OK;
    for (int32_t i = 0; i < rank; i++) both[i] = one[two[i]];
    pgy_value *input = first->inputs[0];
    const pgy_onnx_attribute *perm =
        attribute_create_ints(f->graph->model, "perm", both, (size_t)rank);
    return perm ? fold_rewrite(f, n, "Transpose", &input, 1, perm, err) : graph_no_memory(err);
}

/* Merges a Transpose that moves no element into the view before it, if nothing else uses the view.
 */
static pgy_status merge_transpose(folder *f, pgy_node *n, pgy_error *err)
{
    const pgy_node *first = before(n);
    const pgy_value *v = first ? n->inputs[0] : NULL;
    const bool view = first && fold_is_view(first) && v->consumer_count == 1 && !v->is_output;
    return view && is_still(n) ? merge_views(f, n, err) : merge_transposes(f, n, err);
}

pgy_status fold_chains(folder *f, pgy_graph *level, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < level->node_count; i++) {
        pgy_node *n = level->nodes[i];
        if (n->output_count != 1 || !domain_is_default(n->domain)) continue;
        if (node_is(n, "Transpose"))
            st = merge_transpose(f, n, err);
        else if (fold_is_view(n))
            st = merge_views(f, n, err);
        else if (node_is(n, "Concat"))
            st = fold_merge_concats(f, n, err);
        else if (node_is(n, "Slice"))
            st = fold_merge_slices(f, n, err);
    }
    return st;
}
