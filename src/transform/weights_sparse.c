/* SPDX-License-Identifier: Apache-2.0 */
/* 2:4 sparsity: which weights it matters for, whether they have it, and how they get it. From each
 * Conv, Gemm and MatMul the weight is searched backwards through operators that keep its values or
 * only move them. An axis counted from the end is negative until the weight, and with it the rank,
 * is known. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/pytext.h"
#include "graph/graph.h"
#include "onnx/elements.h"
#include "onnx/model.h"
#include "transform/weights.h"

static const char LOG_PATH[] = "tools/sparse.py";

typedef uint32_t vector_32 __attribute__((vector_size(16)));
typedef uint16_t vector_16 __attribute__((vector_size(16)));

#define T uint32_t
#define VECTOR vector_32
#define MAGNITUDE 0x7FFFFFFFu
#define NAME(verb) verb##_32
#include "transform/weights_sparse.inc"
#undef T
#undef VECTOR
#undef MAGNITUDE
#undef NAME
#define T uint16_t
#define VECTOR vector_16
#define MAGNITUDE 0x7FFFu
#define NAME(verb) verb##_16
#include "transform/weights_sparse.inc"
#undef T
#undef VECTOR
#undef MAGNITUDE
#undef NAME

/* Elements behind the axis. */
static size_t inner_count(pgy_view v, size_t axis)
{
    size_t inner = 1;
    for (size_t i = axis + 1; i < (size_t)v.rank; i++) inner *= (size_t)v.shape[i];
    return inner;
}

static bool holds(pgy_view v, size_t axis)
{
    const size_t inner = inner_count(v, axis), count = pgy_view_count(v);
    const void *data = pgy_view_data(v);
    if (count == 0) return true;
    return v.dtype == PGY_F32 ? holds_32(data, count / 4 / inner, inner)
                              : holds_16(data, count / 4 / inner, inner);
}

void weight_prune(pgy_view v, size_t axis)
{
    const size_t inner = inner_count(v, axis), count = pgy_view_count(v);
    if (count == 0) return;
    if (v.dtype == PGY_F32)
        prune_32(pgy_view_data(v), count / 4 / inner, inner);
    else
        prune_16(pgy_view_data(v), count / 4 / inner, inner);
}

/* ---- Which weights -------------------------------------------------------------------------- */

/* Inputs that may be weights; the axis, or its place when the attribute is set. Both axes of a
 * MatMul count from the end: in a stack of matrices the sums run along the last two. */
static const struct {
    const char *op;
    size_t input;
    const char *transposed;
    int64_t axis, transposed_axis;
} PLACES[] = {
    {"Conv", 1, NULL, 1, 1},     {"Gemm", 0, "transA", 1, 0}, {"Gemm", 1, "transB", 0, 1},
    {"MatMul", 0, NULL, -1, -1}, {"MatMul", 1, NULL, -2, -2},
};

static const char *const TRANSPARENT[] = {"QuantizeLinear", "DequantizeLinear",
                                          "TRT_FP8QuantizeLinear", "TRT_FP8DequantizeLinear",
                                          "Cast"};
/* What computes or rearranges: common before these operators and no reason for a warning. */
static const char *const ENDS[] = {"LayerNormalization", "Reshape", "Concat", "Slice", "Shape",
                                   "Unsqueeze",          "Gather",  "Mul",    "Add"};

static bool is_one_of(const char *const *list, size_t count, const char *op)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i], op)) return true;
    return false;
}

/* The axis before a Transpose; false if its permutation does not have it. */
static bool axis_before(int64_t *axis, const pgy_node *transpose)
{
    const pgy_onnx_attribute *perm = node_attribute(transpose, "perm");
    if (!perm || !perm->int_count) {
        *axis = -1 - *axis;
        return true;
    }
    int64_t at = *axis < 0 ? *axis + (int64_t)perm->int_count : *axis;
    if (at < 0 || at >= (int64_t)perm->int_count) return false;
    *axis = perm->ints[at];
    return true;
}

/* Walks back to a stored weight; NULL if there is none. */
static pgy_value *find_weight(pgy_value *v, int64_t *axis, size_t steps)
{
    for (; v && !v->initializer && v->producer && steps; steps--) {
        const pgy_node *n = v->producer;
        bool moves = !strcmp(n->op_type, "Transpose");
        if (!moves &&
            !is_one_of(TRANSPARENT, sizeof TRANSPARENT / sizeof *TRANSPARENT, n->op_type)) {
            if (!is_one_of(ENDS, sizeof ENDS / sizeof *ENDS, n->op_type))
                LOG(WARNING, "(%s) produced by %s type: %s is unsupported!", v->name, n->name,
                    n->op_type);
            return NULL;
        }
        if (moves && !axis_before(axis, n)) return NULL;
        v = n->input_count ? n->inputs[0] : NULL;
    }
    return v && v->initializer ? v : NULL;
}

static bool is_eligible(const pgy_value *v, int64_t axis)
{
    const pgy_onnx_tensor *t = v->initializer;
    pgy_dtype dtype = pgy_dtype_from_onnx(t->data_type);
    if (dtype != PGY_F32 && dtype != PGY_F16 && dtype != PGY_BF16) {
        LOG(WARNING, "Skipping tensor: %s due to unsupported type: %s", v->name,
            pgy_dtype_name(dtype));
        return false;
    }
    if (axis < 0 || axis >= (int64_t)t->dim_count) {
        LOG(VERBOSE, "Skipping %s since it has no axis %lld.", v->name, (long long)axis);
        return false;
    }
    if (t->dims[axis] % 4 == 0) return true;
    str shape = {0};
    str_append_py_ints(&shape, t->dims, t->dim_count);
    LOG(VERBOSE, "Skipping %s since the length of axis %lld (%lld in %s) is not a multiple of 4.",
        v->name, (long long)axis, (long long)t->dims[axis], str_text(&shape));
    str_deinit(&shape);
    return false;
}

/* ---- Gathering them ------------------------------------------------------------------------- */

typedef struct candidate {
    pgy_value *value;
    int64_t axis;
} candidate;

typedef struct candidates {
    candidate *items;
    size_t count, capacity;
    strmap by_name; /* place + 1 */
} candidates;

static void candidates_deinit(candidates *c)
{
    mem_free(c->items);
    strmap_deinit(&c->by_name);
}

/* Of a weight that is used along several axes the last one counts. */
static pgy_status add_candidate(candidates *c, pgy_value *v, int64_t axis, pgy_error *err)
{
    if (axis < 0) axis += (int64_t)v->initializer->dim_count;
    const uintptr_t known = (uintptr_t)strmap_get(&c->by_name, v->name);
    if (known) {
        c->items[known - 1].axis = axis;
        return PGY_OK;
    }
    void *items = c->items;
    const bool grown = mem_grow(&items, &c->capacity, c->count + 1, sizeof *c->items);
    c->items = items;
    if (!grown || !strmap_put(&c->by_name, v->name, (void *)(uintptr_t)(c->count + 1)))
        return graph_no_memory(err);
    c->items[c->count++] = (candidate){v, axis};
    return PGY_OK;
}

static pgy_status visit_node(candidates *out, const pgy_node *n, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < sizeof PLACES / sizeof *PLACES; i++) {
        if (strcmp(PLACES[i].op, n->op_type) || PLACES[i].input >= n->input_count) continue;
        const pgy_onnx_attribute *transposed =
            PLACES[i].transposed ? node_attribute(n, PLACES[i].transposed) : NULL;
        int64_t axis = transposed && transposed->i ? PLACES[i].transposed_axis : PLACES[i].axis;
        pgy_value *v = find_weight(n->inputs[PLACES[i].input], &axis, n->graph->node_count);
        if (v) st = add_candidate(out, v, axis, err);
    }
    return st;
}

/* Keeps the eligible ones. */
static pgy_status select_weights(const pgy_sparse_weight **out, size_t *count, pgy_graph *g,
                                 const candidates *found, const strmap *skip, pgy_error *err)
{
    pgy_sparse_weight *items =
        arena_alloc_array(&state_of(g)->memory, found->count + 1, sizeof *items);
    size_t n = 0;
    if (!items) return graph_no_memory(err);
    for (size_t i = 0; i < found->count; i++) {
        const candidate *c = &found->items[i];
        if (skip && strmap_has(skip, c->value->name))
            LOG(WARNING, "Skipping tensor: %s since it was marked to skip pruning", c->value->name);
        else if (is_eligible(c->value, c->axis))
            items[n++] = (pgy_sparse_weight){c->value, (size_t)c->axis};
    }
    LOG(INFO, "Found: %zu weight tensor(s) eligible for pruning.", n);
    *out = items;
    *count = n;
    return PGY_OK;
}

pgy_status sparse_weights_find(const pgy_sparse_weight **out, size_t *count, pgy_graph *g,
                               const strmap *skip, pgy_error *err)
{
    candidates found = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++) st = visit_node(&found, g->nodes[i], err);
    if (!st) st = select_weights(out, count, g, &found, skip, err);
    candidates_deinit(&found);
    return st;
}

pgy_status pgy_graph_sparse_weights(const pgy_sparse_weight **out, size_t *count, pgy_graph *g,
                                    pgy_error *err)
{
    if (!out || !count || !g) return pgy_error_set(err, PGY_E_ARGUMENT, "no graph to look at");
    return sparse_weights_find(out, count, g, NULL, err);
}

/* ---- Their elements ------------------------------------------------------------------------- */

/* Pages of the file that were read for this tensor need not stay in memory. */
static void forget(pgy_model *m, const pgy_onnx_tensor *stored, const pgy_tensor *t)
{
    size_t offset = 0;
    const bool inside = stored->raw_data.size > 0;
    const void *data = inside ? stored->raw_data.data : pgy_tensor_data(t);
    const size_t size = inside ? stored->raw_data.size : pgy_tensor_size_bytes(t);
    const file_map *map = model_find_map(m, data, size, &offset);
    if (map) file_map_forget(map, offset, size);
}

pgy_status pgy_sparse_weight_holds(bool *out, const pgy_sparse_weight *w, pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_status st = pgy_graph_value_data(&t, w->value, err);
    if (st) return st;
    *out = holds(pgy_tensor_view(t), w->axis);
    forget(w->value->graph->model, w->value->initializer, t);
    pgy_tensor_release(t);
    return PGY_OK;
}

pgy_status sparse_weight_pruned(pgy_tensor **out, pgy_model *m, const pgy_onnx_tensor *t,
                                size_t axis, pgy_error *err)
{
    pgy_tensor *stored = NULL, *pruned = NULL;
    pgy_status st = onnx_tensor_load_anywhere(&stored, m, t, err);
    if (!st) st = pgy_tensor_copy(&pruned, pgy_tensor_view(stored), err);
    if (stored) forget(m, t, stored);
    pgy_tensor_release(stored);
    if (st) return st;
    weight_prune(pgy_tensor_view(pruned), axis);
    *out = pruned;
    return PGY_OK;
}

pgy_status sparse_weights_check(strmap *sparse, pgy_graph *g, pgy_error *err)
{
    const pgy_sparse_weight *weights;
    size_t count;
    pgy_status st = sparse_weights_find(&weights, &count, g, NULL, err);
    if (!st) LOG(START, "Checking the sparsity pattern of %zu tensors.", count);
    for (size_t i = 0; !st && i < count; i++) {
        const pgy_value *v = weights[i].value;
        bool is_sparse = false;
        if (weight_is_stripped(v->initializer)) continue;
        st = pgy_sparse_weight_holds(&is_sparse, &weights[i], err);
        if (!st && is_sparse) {
            LOG(INFO, "Found sparse tensor: %s", v->name);
            if (!strmap_put(sparse, v->name, sparse)) st = graph_no_memory(err);
        } else if (!st) {
            LOG(WARNING, "Found non-sparse tensor: %s", v->name);
        }
    }
    if (!st) LOG(FINISH, "Finished checking %zu tensors. ", count);
    return st;
}
