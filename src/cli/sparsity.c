/* SPDX-License-Identifier: Apache-2.0 */
/* From each Conv, Gemm and MatMul the weight is searched backwards through operators that keep its
 * values or only move them. An axis counted from the end is negative until the weight, and with it
 * the rank, is known. */
#include "cli/sparsity.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/pytext.h"

static const char LOG_PATH[] = "tools/sparse.py";

#define T uint32_t
#define MAGNITUDE 0x7FFFFFFFu
#define NAME(verb) verb##_32
#include "cli/sparsity.inc"
#undef T
#undef MAGNITUDE
#undef NAME
#define T uint16_t
#define MAGNITUDE 0x7FFFu
#define NAME(verb) verb##_16
#include "cli/sparsity.inc"
#undef T
#undef MAGNITUDE
#undef NAME

bool sparsity_holds(pgy_view weight, size_t axis)
{
    size_t inner = 1, count = pgy_view_count(weight);
    for (size_t i = axis + 1; i < (size_t)weight.rank; i++) inner *= (size_t)weight.shape[i];
    if (count == 0) return true;
    const void *data = pgy_view_data(weight);
    return weight.dtype == PGY_F32 ? holds_32(data, count / 4 / inner, inner)
                                   : holds_16(data, count / 4 / inner, inner);
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

static const pgy_onnx_attribute *attribute(const pgy_node *n, const char *name)
{
    for (size_t i = 0; i < n->attribute_count; i++)
        if (!strcmp(n->attributes[i]->name, name)) return n->attributes[i];
    return NULL;
}

/* The axis before a Transpose; false if its permutation does not have it. */
static bool axis_before(int64_t *axis, const pgy_node *transpose)
{
    const pgy_onnx_attribute *perm = attribute(transpose, "perm");
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

static pgy_status add_weight(sparse_weights *out, strmap *seen, pgy_value *v, int64_t axis,
                             pgy_error *err)
{
    if (strmap_has(seen, v->name)) return PGY_OK;
    if (!strmap_put(seen, v->name, v)) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (axis < 0) axis += (int64_t)v->initializer->dim_count;
    if (!is_eligible(v, axis)) return PGY_OK;
    if (!mem_grow((void **)&out->items, &out->capacity, out->count + 1, sizeof *out->items))
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    out->items[out->count++] = (sparse_weight){v, (size_t)axis};
    return PGY_OK;
}

static pgy_status visit_node(sparse_weights *out, strmap *seen, const pgy_node *n, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < sizeof PLACES / sizeof *PLACES; i++) {
        if (strcmp(PLACES[i].op, n->op_type) || PLACES[i].input >= n->input_count) continue;
        const pgy_onnx_attribute *transposed =
            PLACES[i].transposed ? attribute(n, PLACES[i].transposed) : NULL;
        int64_t axis = transposed && transposed->i ? PLACES[i].transposed_axis : PLACES[i].axis;
        pgy_value *v = find_weight(n->inputs[PLACES[i].input], &axis, n->graph->node_count);
        if (v) st = add_weight(out, seen, v, axis, err);
    }
    return st;
}

pgy_status sparse_weights_find(sparse_weights *out, const pgy_graph *graph, pgy_error *err)
{
    sparse_weights found = {0};
    strmap seen = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < graph->node_count; i++)
        st = visit_node(&found, &seen, graph->nodes[i], err);
    strmap_deinit(&seen);
    if (!st) {
        *out = found;
        found = (sparse_weights){0};
    }
    sparse_weights_deinit(&found);
    return st;
}

void sparse_weights_deinit(sparse_weights *w)
{
    mem_free(w->items);
    *w = (sparse_weights){0};
}
