/* SPDX-License-Identifier: Apache-2.0 */
/* Removes zero initial states of recurrent layers, where zeros are the default; the arithmetic that
 * computes their sizes is then dead. */
#include <string.h>

#include "transform/fold.h"

enum { INITIAL_H = 5, INITIAL_C = 6, MAX_DEPTH = 16, MAX_BYTES = 1 << 20 };

/* Compares all bits, because -0 must not count as zero. */
static bool is_all_zero(const pgy_tensor *t)
{
    const char *bytes = pgy_tensor_data(t);
    const size_t size = pgy_tensor_size_bytes(t);
    return pgy_tensor_dtype(t) != PGY_STRING &&
           (size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0));
}

static bool has_zeros(pgy_value *v)
{
    pgy_tensor *t = NULL;
    if (weight_bytes(v->initializer) > MAX_BYTES || pgy_graph_value_data(&t, v, NULL)) return false;
    const bool zero = is_all_zero(t);
    pgy_tensor_release(t);
    return zero;
}

static bool fills_with_zeros(const pgy_node *n)
{
    const pgy_onnx_attribute *a = node_attribute(n, "value");
    pgy_tensor *t = NULL;
    if (!a) return true; /* the default */
    if (*a->ref_attr_name || !a->t ||
        pgy_onnx_tensor_load(&t, n->graph->model, a->t, NULL) != PGY_OK)
        return false;
    const bool zero = is_all_zero(t);
    pgy_tensor_release(t);
    return zero;
}

/* True for operators that only move, repeat or cast the elements of input 0 (Slice, Expand, Cast).
 */
static bool keeps_zeros(const pgy_node *n)
{
    static const char *const OPERATORS[] = {"Slice",   "Reshape",   "Expand",   "Transpose",
                                            "Squeeze", "Unsqueeze", "Identity", "Gather",
                                            "Tile",    "Cast",      "Flatten"};
    for (size_t i = 0; i < sizeof OPERATORS / sizeof *OPERATORS; i++)
        if (node_is(n, OPERATORS[i])) return true;
    return false;
}

static bool is_zeros(const folder *f, pgy_value *v)
{
    for (int depth = 0; v && depth < MAX_DEPTH; depth++) {
        const pgy_node *n = v->producer;
        if (fold_is_constant(f, v)) return v->initializer && has_zeros(v);
        if (!n) return false;
        if (node_is(n, "ConstantOfShape")) return fills_with_zeros(n);
        if (!keeps_zeros(n) || !n->input_count) return false;
        v = n->inputs[0];
    }
    return false;
}

static pgy_status omit_states(folder *f, pgy_node *n, pgy_error *err)
{
    const bool lstm = node_is(n, "LSTM");
    bool changed = false;
    if (!lstm && !node_is(n, "GRU") && !node_is(n, "RNN")) return PGY_OK;
    for (size_t i = INITIAL_H; i <= INITIAL_C && i < n->input_count; i++) {
        if (!n->inputs[i] || (i == INITIAL_C && !lstm) || !is_zeros(f, n->inputs[i])) continue;
        const pgy_status st = node_set_input(n, i, NULL, err);
        if (st) return st;
        changed = true;
    }
    if (!changed) return PGY_OK;
    f->changes++;
    while (!n->inputs[n->input_count - 1]) n->input_count--;
    return PGY_OK;
}

pgy_status fold_states(folder *f, pgy_graph *level, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < level->node_count; i++) st = omit_states(f, level->nodes[i], err);
    return st;
}
