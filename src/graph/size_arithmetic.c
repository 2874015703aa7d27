/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/size_arithmetic.h"

enum { MAX_DEPTH = 64 };

/* Operators with inputs whose elements are sizes, indices or counts; bit i of the number stands for
 * input i. */
static const struct {
    const char *op_type;
    uint32_t inputs;
} SIZES[] = {
    {"Reshape", 2},  {"Expand", 2},          {"Tile", 2},    {"Pad", 2},
    {"Slice", 0x1e}, {"ConstantOfShape", 1}, {"Range", 7},   {"Resize", 0xe},
    {"TopK", 2},     {"OneHot", 6},          {"Split", 2},   {"Upsample", 2},
    {"Gather", 2},   {"CenterCropPad", 2},   {"EyeLike", 1}, {"Trilu", 2},
};

/* Operators that exporters use to compute sizes; the search goes back through them. */
static const char *const ARITHMETIC[] = {
    "Add",    "Sub",   "Mul",     "Div",       "Floor", "Ceil", "Round",      "Cast",      "Concat",
    "Gather", "Slice", "Squeeze", "Unsqueeze", "Sqrt",  "Min",  "Max",        "Mod",       "Where",
    "Neg",    "Abs",   "Reshape", "Identity",  "Clip",  "Pow",  "ReduceProd", "ReduceMax", "Range",
};

static bool is_arithmetic(const pgy_node *n)
{
    for (size_t i = 0; i < sizeof ARITHMETIC / sizeof *ARITHMETIC; i++)
        if (node_is(n, ARITHMETIC[i])) return true;
    return false;
}

static pgy_status mark_back(id_marks *values, pgy_value *v, int depth, pgy_error *err)
{
    pgy_node *n = v ? v->producer : NULL;
    if (!n || depth > MAX_DEPTH || id_marks_get(values, value_id(v))) return PGY_OK;
    const int32_t rank = box_of(v)->known.rank;
    if (rank > 1 || rank < 0 || !is_arithmetic(n)) return PGY_OK;
    if (!id_marks_set(values, value_id(v))) return graph_no_memory(err);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < n->input_count; i++)
        st = mark_back(values, n->inputs[i], depth + 1, err);
    return st;
}

static pgy_status mark_node(id_marks *values, const pgy_node *n, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t k = 0; k < sizeof SIZES / sizeof *SIZES; k++) {
        if (!node_is(n, SIZES[k].op_type)) continue;
        for (size_t j = 0; !st && j < n->input_count && j < 32; j++)
            if (SIZES[k].inputs >> j & 1) st = mark_back(values, n->inputs[j], 0, err);
    }
    return st;
}

pgy_status graph_size_arithmetic_mark(id_marks *values, pgy_graph *g, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++) {
        const pgy_node *n = g->nodes[i];
        for (size_t k = 0; !st && k < n->subgraph_count; k++)
            st = graph_size_arithmetic_mark(values, n->subgraphs[k], err);
        if (!st) st = mark_node(values, n, err);
    }
    return st;
}
