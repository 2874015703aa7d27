/* SPDX-License-Identifier: Apache-2.0 */
/* Live ranges of a graph's tensors. Each level (the graph and every subgraph) is visited once.
 * Tensors get the first and the last step at which they are needed, and tensors that share memory
 * become one buffer. The bytes alive at each step follow from the live ranges that begin and end
 * there. A subgraph adds its own peak at the node that holds it. */
#include "inspect/memory.h"

#include <string.h>

#include "base/alloc.h"
#include "base/sized.h"
#include "graph/inline.h"
#include "onnx/elements.h"

struct pgy_memory {
    arena memory;
    pgy_memory_options options;
    pgy_memory_summary summary;
    pgy_memory_step *steps;
    size_t step_count;
    pgy_memory_tensor *tensors;
    size_t tensor_count;
    pgy_memory_tensor *unknown, *bounds;
    size_t unknown_capacity, bound_capacity;
    pgy_graph *flat; /* the graph with its local functions inlined; NULL: it has no functions */
    size_t depth;
};

static const size_t MOST_BYTES = SIZE_MAX / 4;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while following the tensors of a graph");
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

static pgy_status add_to(pgy_memory_tensor **list, size_t *count, size_t *capacity,
                         const pgy_memory_tensor *t, pgy_error *err)
{
    void *items = *list;
    const bool grown = mem_grow(&items, capacity, *count + 1, sizeof **list);
    *list = items;
    if (!grown) return no_memory(err);
    (*list)[(*count)++] = *t;
    return PGY_OK;
}

static pgy_status add_unknown(pgy_memory *m, const pgy_memory_tensor *t, pgy_error *err)
{
    return add_to(&m->unknown, &m->summary.unknown_count, &m->unknown_capacity, t, err);
}

static pgy_status add_bound(pgy_memory *m, const pgy_memory_tensor *t, pgy_error *err)
{
    return add_to(&m->bounds, &m->summary.bound_count, &m->bound_capacity, t, err);
}

static const char *why_unknown(const memory_walk *w, const pgy_value *v)
{
    static const char *const KINDS[] = {[PGY_VALUE_SEQUENCE] = "it is a sequence",
                                        [PGY_VALUE_OPTIONAL] = "it is optional",
                                        [PGY_VALUE_MAP] = "it is a map",
                                        [PGY_VALUE_SPARSE] = "it is a sparse tensor"};
    if (v->kind != PGY_VALUE_TENSOR) return KINDS[v->kind];
    if (v->dtype == PGY_STRING) return "it holds strings";
    if (v->unknown_why) return v->unknown_why;
    if (v->dtype == PGY_DTYPE_NONE) return "its type is unknown";
    if (v->rank < 0) return "its rank is unknown";
    for (int32_t i = 0; i < v->rank; i++) {
        if (v->dims[i].value >= 0) continue;
        const char *why = v->dims[i].text
                              ? arena_printf(&w->m->memory, "its dimension %d is '%.200s'", (int)i,
                                             v->dims[i].text)
                              : arena_printf(&w->m->memory, "its dimension %d is unknown", (int)i);
        return why ? why : "a dimension is unknown";
    }
    return NULL;
}

/* Replaces unknown sizes by their upper bounds. False if a size has no upper bound, or the product
 * overflows. */
static bool bound_shape(int64_t *shape, const pgy_value *v)
{
    const value_box *box = box_of((pgy_value *)v);
    const op_value *known = &box->known;
    size_t count, size;
    if (v->kind != PGY_VALUE_TENSOR || v->dtype == PGY_STRING || !v->dtype || v->rank < 0 ||
        known->rank != v->rank)
        return false;
    for (int32_t i = 0; i < v->rank; i++)
        if (shape[i] < 0 && !dim_upper(&shape[i], known->dims[i]) &&
            !(v->producer && box->sizes && dim_upper(&shape[i], box->sizes[i])))
            return false;
    return pgy_shape_count(&count, (size_t)v->rank, shape, NULL) == PGY_OK &&
           pgy_dtype_size_bytes(&size, v->dtype, count, NULL) == PGY_OK && size <= MOST_BYTES;
}

static pgy_status measure(memory_walk *w, pgy_memory_tensor *t, const pgy_value *v, pgy_error *err)
{
    size_t count = 1, size = 0;
    t->name = v->name;
    t->dtype = v->dtype;
    t->rank = v->rank;
    t->unknown_why = why_unknown(w, v);
    int64_t *shape =
        arena_alloc_array(&w->m->memory, v->rank > 0 ? (size_t)v->rank : 1, sizeof *shape);
    if (!shape) return no_memory(err);
    for (int32_t i = 0; i < v->rank; i++) shape[i] = v->dims[i].value;
    t->shape = shape;
    t->is_bound = t->unknown_why && bound_shape(shape, v);
    for (int32_t i = 0; t->unknown_why && !t->is_bound && i < v->rank; i++)
        shape[i] = v->dims[i].value;
    if (t->unknown_why && !t->is_bound) return add_unknown(w->m, t, err);
    pgy_status st = pgy_shape_count(&count, (size_t)v->rank, shape, err);
    if (!st) st = pgy_dtype_size_bytes(&size, v->dtype, count, err);
    if (!st && size > MOST_BYTES)
        st = pgy_error_set(err, PGY_E_SHAPE, "%zu bytes exceed the address space", size);
    if (st) return pgy_error_prefix(err, st, "tensor '%.200s': ", v->name);
    t->size_bytes = size;
    return t->is_bound ? add_bound(w->m, t, err) : PGY_OK;
}

/* ---- Weights --------------------------------------------------------------------------------- */

static void count_tensor(pgy_memory *m, const pgy_onnx_tensor *t)
{
    size_t size = 0;
    m->summary.weight_count++;
    if (tensor_needs_bytes(&size, t, NULL) || pgy_dtype_from_onnx(t->data_type) == PGY_STRING)
        return;
    m->summary.weight_bytes += size;
}

static void count_weights(pgy_memory *m, const pgy_graph *g)
{
    for (size_t i = 0; i < g->initializer_count; i++) {
        const pgy_value *v = g->initializers[i];
        if (v->initializer) count_tensor(m, v->initializer);
        if (v->sparse && v->sparse->values) count_tensor(m, v->sparse->values);
        if (v->sparse && v->sparse->indices) count_tensor(m, v->sparse->indices);
    }
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_onnx_tensor *t = node_constant(g->nodes[i]);
        if (t) count_tensor(m, t);
    }
}

/* ---- Lives ----------------------------------------------------------------------------------- */

static bool is_weight(const pgy_value *v)
{
    return v->initializer || v->sparse || (v->producer && node_is(v->producer, "Constant"));
}

/* The node of g that is n or whose subgraphs contain n; NULL if n is not inside g. */
static const pgy_node *holder_of(const pgy_graph *g, const pgy_node *n)
{
    while (n && n->graph != g) n = n->graph ? level_of(n->graph)->owner : NULL;
    return n;
}

static void find_life(const memory_walk *w, pgy_memory_tensor *t, const pgy_value *v)
{
    t->first = v->producer ? v->producer->index : 0;
    t->last = t->first;
    t->producer = v->producer ? node_label(v->producer) : "";
    t->last_user = "";
    t->is_input = !v->producer;
    t->is_output = v->is_output;
    size_t last = 0;
    for (size_t i = 0; i < v->consumer_count; i++) {
        const pgy_node *user = holder_of(w->g, v->consumers[i]);
        if (!user) continue;
        if (user->index < t->first) w->m->summary.out_of_order = true;
        if (user->index < t->first) t->first = user->index;
        if (user->index > t->last) t->last = user->index;
        if (*t->last_user && user->index < last) continue;
        last = user->index;
        t->last_user = node_label(user);
    }
    const size_t end = w->step_count ? w->step_count - 1 : 0;
    if (t->is_output || (t->is_input && !w->m->options.free_inputs)) t->last = end;
}

static pgy_status add_tensor(memory_walk *w, pgy_value *v, pgy_error *err)
{
    pgy_memory_tensor *t = &w->tensors[w->count];
    if (is_weight(v)) return PGY_OK;
    *t = (pgy_memory_tensor){0};
    find_life(w, t, v);
    pgy_status st = measure(w, t, v, err);
    if (st) return st;
    size_t *place = id_places_at(&w->places, value_id(v));
    if (!place) return no_memory(err);
    *place = w->count + 1;
    w->buffers[w->count] = (memory_buffer){t->first, t->last, t->size_bytes,
                                           t->is_input && !w->m->options.free_inputs};
    w->roots[w->count] = w->count;
    w->count++;
    return PGY_OK;
}

static pgy_status add_tensors(memory_walk *w, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < w->g->input_count; i++) st = add_tensor(w, w->g->inputs[i], err);
    for (size_t i = 0; !st && i < w->g->node_count; i++)
        for (size_t k = 0; !st && k < w->g->nodes[i]->output_count; k++)
            if (w->g->nodes[i]->outputs[k]) st = add_tensor(w, w->g->nodes[i]->outputs[k], err);
    return st;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

static pgy_status walk_level(pgy_memory *m, pgy_graph *g, uint64_t *peak, pgy_error *err);

static pgy_status inner_peak(memory_walk *w, const pgy_node *n, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t k = 0; !st && k < n->subgraph_count; k++) {
        uint64_t peak = 0;
        st = walk_level(w->m, n->subgraphs[k], &peak, err);
        if (peak > w->inner[n->index]) w->inner[n->index] = peak;
    }
    if (!st && node_box_of(n)->function) {
        const pgy_memory_tensor t = {
            .name = node_label(n),
            .rank = -1,
            .producer = node_label(n),
            .last_user = "",
            .first = n->index,
            .last = n->index,
            .unknown_why = "the call is too large to count the memory of its function body"};
        st = add_unknown(w->m, &t, err);
    }
    return st;
}

static uint64_t sum_steps(memory_walk *w, pgy_memory_step *steps, size_t *peak_step)
{
    uint64_t live = 0, peak = 0;
    for (size_t i = 0; i < w->count; i++) {
        if (w->roots[i] != i) continue;
        w->starts[w->buffers[i].first] += w->buffers[i].size_bytes;
        w->ends[w->buffers[i].last] += w->buffers[i].size_bytes;
    }
    for (size_t i = 0; i < w->step_count || i == 0; i++) {
        live += w->starts[i];
        const uint64_t now = live + w->inner[i];
        if (now > peak) *peak_step = i;
        if (now > peak) peak = now;
        if (steps && i < w->step_count)
            steps[i] = (pgy_memory_step){node_label(w->g->nodes[i]), w->g->nodes[i]->op_type, now,
                                         w->inner[i]};
        live -= w->ends[i];
    }
    return peak;
}

static pgy_status walk_init(memory_walk *w, pgy_error *err)
{
    size_t count = w->g->input_count + 1;
    for (size_t i = 0; i < w->g->node_count; i++) count += w->g->nodes[i]->output_count;
    arena *a = &w->m->memory;
    w->step_count = w->g->node_count;
    w->tensors = arena_alloc_array(a, count, sizeof *w->tensors);
    w->buffers = arena_alloc_array(a, count, sizeof *w->buffers);
    w->roots = arena_alloc_array(a, count, sizeof *w->roots);
    w->starts = arena_alloc_array(a, w->step_count + 1, sizeof *w->starts);
    w->ends = arena_alloc_array(a, w->step_count + 1, sizeof *w->ends);
    w->inner = arena_alloc_array(a, w->step_count + 1, sizeof *w->inner);
    return w->tensors && w->buffers && w->roots && w->starts && w->ends && w->inner
               ? PGY_OK
               : no_memory(err);
}

static pgy_status walk_level(pgy_memory *m, pgy_graph *g, uint64_t *peak, pgy_error *err)
{
    memory_walk w = {.m = m, .g = g};
    size_t at = 0;
    if (m->depth >= GRAPH_MAX_DEPTH)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "subgraphs are nested more than %d levels deep", GRAPH_MAX_DEPTH);
    m->depth++;
    pgy_status st = walk_init(&w, err);
    count_weights(m, g);
    if (!st) st = add_tensors(&w, err);
    for (size_t i = 0; !st && m->options.in_place && i < g->node_count; i++)
        memory_share_output(&w, g->nodes[i]);
    if (!st) memory_spread_lives(&w);
    id_places_deinit(&w.places);
    for (size_t i = 0; !st && i < g->node_count; i++) st = inner_peak(&w, g->nodes[i], err);
    m->depth--;
    if (st) return st;
    const bool top = m->depth == 0;
    if (top) {
        m->steps = arena_alloc_array(&m->memory, w.step_count, sizeof *m->steps);
        if (!m->steps) return no_memory(err);
        m->step_count = w.step_count;
        m->tensors = w.tensors;
        m->tensor_count = w.count;
    }
    *peak = sum_steps(&w, top ? m->steps : NULL, &at);
    if (top) m->summary.peak_step = at;
    return PGY_OK;
}

static void sum_interface(pgy_memory *m)
{
    for (size_t i = 0; i < m->tensor_count; i++) {
        const pgy_memory_tensor *t = &m->tensors[i];
        if (t->is_input) m->summary.input_bytes += t->size_bytes;
        if (t->is_output) m->summary.output_bytes += t->size_bytes;
    }
}

/* ---- Public ---------------------------------------------------------------------------------- */

/* Inlines functions, so that their tensors are measured, too. */
static pgy_status flatten(pgy_memory *m, pgy_graph **g, const pgy_infer_options *infer,
                          pgy_error *err)
{
    const inline_choice choice = {.any_opset = true};
    size_t calls = 0;
    pgy_status st = graph_clone(&m->flat, *g, err);
    if (!st) st = graph_inline_calls(m->flat, &choice, &calls, err);
    if (!st) st = pgy_graph_infer_shapes(m->flat, infer, err);
    if (!st) *g = m->flat;
    return st;
}

pgy_status pgy_memory_create(pgy_memory **out, pgy_graph *g, const pgy_memory_options *options,
                             pgy_error *err)
{
    uint64_t peak = 0;
    if (!out || !g) return pgy_error_set(err, PGY_E_ARGUMENT, "the graph must not be NULL");
    pgy_memory_options o = {.size = sizeof o};
    pgy_status st = SIZED_TAKE(pgy_memory_options, &o, options, err);
    if (st) return st;
    pgy_memory *m = mem_calloc(1, sizeof *m);
    if (!m) return no_memory(err);
    m->options = o;
    const pgy_infer_options infer = {.size = sizeof infer, .inputs = m->options.inputs};
    st = graph_check_inputs(g, m->options.inputs, false, err);
    if (!st && m->options.sort) st = pgy_graph_sort(g, err);
    if (!st) st = pgy_graph_infer_shapes(g, &infer, err);
    if (!st && state_of(g)->functions.count) st = flatten(m, &g, &infer, err);
    if (!st) st = walk_level(m, g, &peak, err);
    m->options.inputs = NULL;
    if (st) {
        pgy_memory_destroy(m);
        return st;
    }
    m->summary.peak_bytes = peak;
    sum_interface(m);
    *out = m;
    return PGY_OK;
}

void pgy_memory_destroy(pgy_memory *m)
{
    if (!m) return;
    mem_free(m->unknown);
    mem_free(m->bounds);
    pgy_graph_destroy(m->flat);
    arena_deinit(&m->memory);
    mem_free(m);
}

const pgy_memory_summary *pgy_memory_summarize(const pgy_memory *m)
{
    return &m->summary;
}

size_t pgy_memory_step_count(const pgy_memory *m)
{
    return m->step_count;
}

const pgy_memory_step *pgy_memory_step_at(const pgy_memory *m, size_t i)
{
    return i < m->step_count ? &m->steps[i] : NULL;
}

size_t pgy_memory_tensor_count(const pgy_memory *m)
{
    return m->tensor_count;
}

const pgy_memory_tensor *pgy_memory_tensor_at(const pgy_memory *m, size_t i)
{
    return i < m->tensor_count ? &m->tensors[i] : NULL;
}

const pgy_memory_tensor *pgy_memory_unknown_at(const pgy_memory *m, size_t i)
{
    return i < m->summary.unknown_count ? &m->unknown[i] : NULL;
}

const pgy_memory_tensor *pgy_memory_bound_at(const pgy_memory *m, size_t i)
{
    return i < m->summary.bound_count ? &m->bounds[i] : NULL;
}
