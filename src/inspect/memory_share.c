/* SPDX-License-Identifier: Apache-2.0 */
/* Finds tensors that can share the memory of another one: views of an input, and results of
 * elementwise operators in place of an input at the end of its live range. */
#include <string.h>

#include "inspect/memory.h"

static const char *const VIEWS[] = {"Reshape",   "Flatten",  "Squeeze",
                                    "Unsqueeze", "Identity", "Dropout"};
static const char *const ELEMENTWISE[] = {
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "And",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BitShift",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "Cast",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Cosh",
    "Div",
    "Elu",
    "Equal",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "Greater",
    "GreaterOrEqual",
    "HardSigmoid",
    "HardSwish",
    "IsInf",
    "IsNaN",
    "LeakyRelu",
    "Less",
    "LessOrEqual",
    "Log",
    "Max",
    "Mean",
    "Min",
    "Mish",
    "Mod",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "PRelu",
    "Pow",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Sub",
    "Sum",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Where",
    "Xor",
};

static bool is_among(const pgy_node *n, const char *const *names, size_t count)
{
    if (!domain_is_default(n->domain)) return false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(n->op_type, names[i]) == 0) return true;
    return false;
}

static void join(memory_walk *w, size_t out, size_t root)
{
    memory_buffer *to = &w->buffers[root];
    const memory_buffer *from = &w->buffers[out];
    if (from->last > to->last) to->last = from->last;
    w->roots[out] = root;
    w->tensors[out].shares_with = w->tensors[root].name;
}

/* Are both sizes known? Equal upper bounds would not make the sizes equal. */
static bool is_shareable(const memory_walk *w, size_t out, size_t root)
{
    return root != out && !w->tensors[out].unknown_why && !w->tensors[root].unknown_why;
}

void memory_share_output(memory_walk *w, const pgy_node *n)
{
    const bool view = is_among(n, VIEWS, sizeof VIEWS / sizeof *VIEWS);
    if (!view && !is_among(n, ELEMENTWISE, sizeof ELEMENTWISE / sizeof *ELEMENTWISE)) return;
    if (!n->output_count || !n->outputs[0]) return;
    const size_t out = id_places_get(&w->places, value_id(n->outputs[0]));
    for (size_t k = 0; k < n->input_count && (!view || !k); k++) {
        const pgy_value *v = n->inputs[k];
        const size_t in = v && v->graph == w->g ? id_places_get(&w->places, value_id(v)) : 0;
        if (!out || !in) continue;
        const size_t root = w->roots[in - 1];
        const memory_buffer *b = &w->buffers[root];
        if (!is_shareable(w, out - 1, root) || b->size_bytes != w->buffers[out - 1].size_bytes)
            continue;
        if (!view && (b->held || b->last > n->index)) continue;
        join(w, out - 1, root);
        return;
    }
}

void memory_spread_lives(memory_walk *w)
{
    for (size_t i = 0; i < w->count; i++) {
        w->tensors[i].first = w->buffers[w->roots[i]].first;
        w->tensors[i].last = w->buffers[w->roots[i]].last;
    }
}
