/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensors in 16-bit floats are held as float32. On the host, kernels compute them in float32
 * (kernels/half_adapter.h). Where steps of that kind follow each other, the values between them are
 * rounded to 16 bits, but stored as float32: then no step narrows what the next one widens again.
 * Tensors that a step only copies from one to another are held alike. */
#include <string.h>

#include "base/alloc.h"
#include "engine/build/debug.h"
#include "engine/program/build.h"
#include "kernels/half.h"

/* What is known of a tensor; all tensors of a group are held alike. */
typedef struct wide_tensor {
    uint32_t group; /* a tensor of the same group, or itself */
    bool refused, pays;
} wide_tensor;

typedef struct wide {
    builder *b;
    wide_tensor *tensors; /* indexed by tensor */
} wide;

static uint32_t group_of(const wide *w, uint32_t tensor)
{
    while (w->tensors[tensor].group != tensor) tensor = w->tensors[tensor].group;
    return tensor;
}

static void join(wide *w, uint32_t a, uint32_t b)
{
    const uint32_t from = group_of(w, a), to = group_of(w, b);
    w->tensors[from].group = to;
    w->tensors[to].refused |= w->tensors[from].refused;
    w->tensors[to].pays |= w->tensors[from].pays;
}

static bool is_half(const wide *w, uint32_t tensor)
{
    return tensor != PROGRAM_NO_TENSOR && half_is(w->b->tensors[tensor].t.dtype);
}

static size_t tensor_count(const build_node *n)
{
    return n->input_count + n->captured_count + n->output_count;
}

/* ---- What a step allows --------------------------------------------------------------------- */

typedef enum wide_use {
    WIDE_NEVER, /* its tensors keep 16 bits */
    WIDE_EACH,  /* it supports each tensor in 16 bits or as float32, whatever the others are */
    WIDE_ALIKE  /* it copies elements, so all its tensors are held alike */
} wide_use;

static bool only_copies(const build_node *n)
{
    static const char *const COPIES[] = {"Concat",       "Slice",        "Split",
                                         "Transpose",    "Gather",       "Expand",
                                         "DepthToSpace", "SpaceToDepth", "Tile"};
    for (size_t i = 0; i < sizeof COPIES / sizeof *COPIES; i++)
        if (node_is(n->node, COPIES[i])) return true;
    return node_is(n->node, "Resize") && strcmp(n->kernel->name, "resize_nearest") == 0;
}

/* A Cast to float32 only copies a tensor that is held as float32. */
static bool widens(const build_node *n)
{
    return node_is(n->node, "Cast") && n->problem.outputs[0].dtype == PGY_F32;
}

static void hold_operands(kernel_problem *u, const build_node *n, const bool *held)
{
    for (size_t i = 0; i < u->input_count; i++)
        if (held[i]) u->inputs[i].dtype = PGY_F32;
    for (size_t i = 0; i < u->output_count; i++) {
        kernel_tensor *t = &u->outputs[i];
        if (!held[n->input_count + n->captured_count + i]) continue;
        t->rounds = t->dtype;
        t->dtype = PGY_F32;
    }
}

/* Does the kernel copy float32 between the same layouts? */
static bool copies_float32(const wide *w, const build_node *n)
{
    bool held[KERNEL_MAX_INPUTS + KERNEL_MAX_OUTPUTS] = {false};
    kernel_problem u = n->problem;
    double cost_ns;
    for (size_t i = 0; i < tensor_count(n); i++) held[i] = is_half(w, n->tensors[i]);
    hold_operands(&u, n, held);
    if (!kernel_accept(n->kernel, &u, &cost_ns)) return false;
    for (size_t i = 0; i < u.input_count; i++)
        if (u.inputs[i].layout != n->problem.inputs[i].layout) return false;
    for (size_t i = 0; i < u.output_count; i++)
        if (u.outputs[i].layout != n->problem.outputs[i].layout) return false;
    return true;
}

static wide_use use_of(const wide *w, const build_node *n)
{
    if (n->is_view) return WIDE_ALIKE;
    if (n->problem.input_count != n->input_count || n->problem.output_count != n->output_count)
        return WIDE_NEVER; /* too many tensors for kernels */
    if (!n->kernel || n->problem.space || n->captured_count) return WIDE_NEVER;
    if (n->kernel->flags & KERNEL_WIDENS) return WIDE_EACH;
    if (widens(n) && copies_float32(w, n)) return WIDE_EACH;
    return only_copies(n) && copies_float32(w, n) ? WIDE_ALIKE : WIDE_NEVER;
}

/* Does the step convert whole tensors? Steps that convert rows in a thread's cache lose nothing by
 * it. */
static bool converts_whole(const build_node *n)
{
    return !n->is_view && !n->kernel->free_axes;
}

static void look_at(wide *w, const build_node *n)
{
    const wide_use use = use_of(w, n);
    uint32_t first = PROGRAM_NO_TENSOR;
    for (size_t i = 0; i < tensor_count(n); i++) {
        const uint32_t tensor = n->tensors[i];
        if (!is_half(w, tensor)) continue;
        wide_tensor *t = &w->tensors[group_of(w, tensor)];
        t->refused |= use == WIDE_NEVER;
        t->pays |= use == WIDE_EACH && converts_whole(n);
        if (use != WIDE_ALIKE) continue;
        if (first == PROGRAM_NO_TENSOR) first = tensor;
        join(w, tensor, first);
    }
}

/* Constants, and what is read from outside of the program, keep their type. */
static void start(wide *w)
{
    builder *b = w->b;
    for (uint32_t i = 0; i < b->tensor_count; i++) {
        const build_tensor *t = &b->tensors[i];
        w->tensors[i].group = i;
        w->tensors[i].refused = t->t.place != PROGRAM_ARENA ||
                                b->tensors[build_root(b, i)].constant || t->elements ||
                                debug_is_marked(b->options->config, t->t.name);
    }
    for (size_t i = 0; i < b->graph->output_count; i++) {
        const uint32_t tensor = build_bound(b, b->graph->outputs[i]);
        if (tensor != PROGRAM_NO_TENSOR) w->tensors[tensor].refused = true;
    }
}

/* ---- Holding -------------------------------------------------------------------------------- */

static bool is_held(const wide *w, uint32_t tensor)
{
    const wide_tensor *t = &w->tensors[group_of(w, tensor)];
    return is_half(w, tensor) && t->pays && !t->refused;
}

static void hold(wide *w, build_node *n)
{
    bool held[KERNEL_MAX_INPUTS + KERNEL_MAX_OUTPUTS] = {false};
    if (use_of(w, n) == WIDE_NEVER) return;
    for (size_t i = 0; i < tensor_count(n); i++)
        held[i] = n->tensors[i] != PROGRAM_NO_TENSOR && is_held(w, n->tensors[i]);
    hold_operands(&n->problem, n, held);
}

pgy_status build_hold_wide(builder *b, build_node *nodes, size_t count, arena *memory,
                           pgy_error *err)
{
    wide w = {.b = b};
    w.tensors = arena_alloc_array(memory, b->tensor_count + 1, sizeof *w.tensors);
    if (!w.tensors) return graph_no_memory(err);
    start(&w);
    for (size_t i = 0; i < count; i++) look_at(&w, &nodes[i]);
    for (size_t i = 0; i < count; i++) hold(&w, &nodes[i]);
    for (uint32_t i = 0; i < b->tensor_count; i++) {
        program_tensor *t = &b->tensors[i].t;
        if (!is_held(&w, i)) continue;
        t->dtype = PGY_F32;
        t->size_bytes *= 2;
    }
    return PGY_OK;
}
