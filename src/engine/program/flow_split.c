/* SPDX-License-Identifier: Apache-2.0 */
/* Finds segments: the longest run of nodes whose shapes inference knows from the shapes of what
 * enters the segment, and from the elements of those small inputs that a shape depends on. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "engine/build/debug.h"
#include "engine/passes/pass.h"
#include "engine/program/flow_parts.h"

static const char LOG_PATH[] = "engine/program/flow_split.c";

enum { SMALL = 64 }; /* elements of an input that shapes may depend on */

/* ---- Inputs --------------------------------------------------------------------------------- */

pgy_status flow_take(op_tensor *out, bool *fits, flow *f, flow_frame *frame, pgy_value *v,
                     pgy_error *err)
{
    op_tensor held;
    pgy_status st = flow_fetch(&held, f, frame, v, err);
    *out = (op_tensor){0};
    *fits = !st && held.value && held.dtype != PGY_STRING;
    if (st || !*fits) return st;
    *out = op_tensor_retain(&held);
    return flow_settle(out, err);
}

pgy_status flow_describe(pgy_metadata **out, const pgy_graph *g, const op_tensor *inputs,
                         pgy_error *err)
{
    pgy_metadata *m = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < g->input_count; i++) {
        const pgy_tensor_info info = {.name = g->inputs[i]->name,
                                      .dtype = inputs[i].dtype,
                                      .rank = (int32_t)pgy_tensor_rank(inputs[i].value),
                                      .shape = pgy_tensor_shape(inputs[i].value)};
        st = pgy_metadata_set(m, &info, err);
    }
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

/* Copies, because the graph keeps them, and the memory of a run does not last. */
static pgy_status list_values(pgy_tensor_map *values, const pgy_graph *g, const op_tensor *inputs,
                              const bool *by_value, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->input_count; i++) {
        pgy_tensor *copy = NULL;
        if (!by_value[i]) continue;
        st = pgy_tensor_copy(&copy, pgy_tensor_view(inputs[i].value), err);
        if (!st) st = pgy_tensor_map_adopt(values, g->inputs[i]->name, copy, err);
    }
    return st;
}

pgy_status flow_infer(pgy_graph *g, const op_tensor *inputs, const bool *by_value, pgy_error *err)
{
    pgy_metadata *shapes = NULL;
    pgy_tensor_map *values = NULL;
    pgy_status st = flow_describe(&shapes, g, inputs, err);
    if (!st && by_value) st = pgy_tensor_map_create(&values, err);
    if (!st && by_value) st = list_values(values, g, inputs, by_value, err);
    const pgy_infer_options o = {.size = sizeof o, .inputs = shapes, .values = values};
    if (!st) st = pgy_graph_infer_shapes(g, &o, err);
    pgy_tensor_map_destroy(values);
    pgy_metadata_destroy(shapes);
    return st;
}

/* ---- Which nodes ---------------------------------------------------------------------------- */

static bool is_numeric(pgy_value *v)
{
    const op_value *known = &box_of(v)->known;
    return v->kind == PGY_VALUE_TENSOR && known->dtype && known->dtype != PGY_STRING &&
           !known->sequence && known->rank >= 0;
}

/* Can n be part of a segment, as far as types tell? */
static bool can_join(const pgy_node *n)
{
    const node_box *box = node_box_of(n);
    bool can = !n->subgraph_count && !box->function && !box->has_refs && box->def;
    for (size_t i = 0; can && i < n->input_count; i++)
        can = !n->inputs[i] || is_numeric(n->inputs[i]);
    for (size_t i = 0; can && i < n->output_count; i++)
        can = !n->outputs[i] || is_numeric(n->outputs[i]);
    return can;
}

/* Inputs have numbers for sizes, so a name is one that the model declares for a size that depends
 * on data. */
static bool is_static(const pgy_node *n)
{
    for (size_t i = 0; i < n->output_count; i++) {
        const op_value *known = n->outputs[i] ? &box_of(n->outputs[i])->known : NULL;
        if (known && !value_is_known(known)) return false;
        for (int32_t d = 0; known && d < known->rank; d++)
            if (!dim_is_const(known->dims[d])) return false;
    }
    return true;
}

/* Do these find elements, so that their shapes change with the data rather than with sizes? */
static bool selects(const pgy_node *n)
{
    static const char *const THEM[] = {"NonZero", "NonMaxSuppression", "Unique", "Compress"};
    for (size_t i = 0; i < sizeof THEM / sizeof *THEM; i++)
        if (node_is(n, THEM[i])) return true;
    return false;
}

/* The number of nodes in front of the first one whose shapes are unknown. From node `first` on,
 * those that select do not count: a program for each result would help nobody. */
static pgy_status count_static(size_t *out, pgy_graph *g, const op_tensor *inputs,
                               const bool *by_value, size_t first, pgy_error *err)
{
    const pgy_status st = flow_infer(g, inputs, by_value, err);
    *out = 0;
    for (size_t i = 0; !st && i < g->node_count; i++) {
        if (node_constant(g->nodes[i])) continue;
        if (!is_static(g->nodes[i]) || (*out >= first && selects(g->nodes[i]))) break;
        ++*out;
    }
    return st;
}

/* May shapes depend on the elements of t? */
static bool may_count(const pgy_tensor *t)
{
    const pgy_dtype dtype = pgy_tensor_dtype(t);
    return pgy_tensor_count(t) <= SMALL && pgy_tensor_rank(t) <= 1 &&
           (dtype == PGY_I64 || dtype == PGY_I32 || dtype == PGY_F32);
}

/* Finds the inputs whose elements must be known, so that as many nodes as possible are static. */
static pgy_status find_values(size_t *count, bool *by_value, bool *any, const flow_cut *c,
                              const op_tensor *inputs, size_t nodes, pgy_error *err)
{
    size_t most = 0, small = 0;
    *any = false;
    pgy_status st = count_static(count, c->graph, inputs, NULL, SIZE_MAX, err);
    if (st || *count == nodes) return st;
    for (size_t i = 0; i < c->input_count; i++) {
        by_value[i] = may_count(inputs[i].value);
        small += by_value[i];
    }
    if (small) st = count_static(&most, c->graph, inputs, by_value, *count, err);
    *any = !st && small && most > *count;
    if (!*any) {
        memset(by_value, 0, c->input_count * sizeof *by_value);
        return st;
    }
    for (size_t i = 0; !st && i < c->input_count; i++) {
        size_t without = 0;
        if (!by_value[i]) continue;
        by_value[i] = false;
        st = count_static(&without, c->graph, inputs, by_value, *count, err);
        by_value[i] = without < most;
    }
    *count = most;
    return st;
}

/* ---- Passes --------------------------------------------------------------------------------- */

/* Which tensors of the segment are marked for debugging? A pattern for tensors of bodies begins
 * with the path of the body, whose iterations are not known yet, so its last part decides. */
static bool is_marked(const flow_segment *s, const flow *f, const char *name)
{
    const pgy_build_config *config = f->o.config;
    if (!s->in_body) return debug_is_marked(config, name);
    for (size_t i = 0; i < config->debug_tensors.count; i++) {
        const char *last = strrchr(config->debug_tensors.items[i], '/');
        if (last && (strcmp(last + 1, name) == 0 || str_match_wildcard(last + 1, name)))
            return true;
    }
    return config->debug_unfused;
}

static pgy_status mark_tensors(flow_segment *s, const flow *f, pgy_error *err)
{
    const strmap *values = &level_of(s->cut.graph)->values;
    s->config = f->config;
    s->config.debug_tensors.count = 0;
    if (!f->o.config->debug_tensors.count) return PGY_OK;
    const char **names = arena_alloc_array(&s->cut.memory, values->count + 1, sizeof *names);
    if (!names) return flow_no_memory(err);
    size_t count = 0;
    for (size_t i = 0; i < values->count; i++) {
        const pgy_value *v = values->entries[i].value;
        if (!v->producer || !v->name[0] || !is_marked(s, f, v->name)) continue;
        names[count] = arena_strdup(&s->cut.memory, v->name);
        if (!names[count++]) return flow_no_memory(err);
    }
    s->config.debug_tensors.items = names;
    s->config.debug_tensors.count = count;
    return PGY_OK;
}

static pgy_status optimise(flow_segment *s, pgy_error *err)
{
    const pass_target target = {.config = &s->config, .is_part = true};
    pgy_graph *g = s->cut.graph;
    size_t pinned = 0;
    pgy_status st = pgy_graph_infer_shapes(g, NULL, err);
    if (!st) st = debug_pin(g, &s->config, &pinned, err);
    if (!st) st = passes_run(g, &target, err);
    if (!st) debug_unpin(g, pinned);
    return st;
}

/* ---- Outputs that need no copy -------------------------------------------------------------- */

static pgy_value *viewed(const pgy_value *v)
{
    static const char *const VIEWS[] = {"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"};
    const pgy_node *n = v->producer;
    for (size_t i = 0; n && i < sizeof VIEWS / sizeof *VIEWS; i++)
        if (node_is(n, VIEWS[i]) && n->input_count) return n->inputs[0];
    return NULL;
}

static uint32_t place_of(pgy_value *const *list, size_t count, const pgy_value *v)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == v) return i;
    return FLOW_MADE;
}

/* An output that only shows an input, or another output, in another shape shares its memory. */
static void find_views(flow_cut *c)
{
    const pgy_graph *g = c->graph;
    for (size_t i = 0; i < c->output_count; i++) {
        flow_port *port = &c->outputs[i];
        for (const pgy_value *v = viewed(g->outputs[i]); v; v = viewed(v)) {
            const uint32_t output = place_of(g->outputs, c->output_count, v);
            const uint32_t input = place_of(g->inputs, c->input_count, v);
            if (output == FLOW_MADE && input == FLOW_MADE) continue;
            port->like = output != FLOW_MADE ? output : input;
            port->of_output = output != FLOW_MADE;
        }
    }
}

/* ---- The segment ---------------------------------------------------------------------------- */

static pgy_status allocate(flow_segment *s, pgy_error *err)
{
    arena *m = &s->cut.memory;
    const size_t in = s->cut.input_count + 1, out = s->cut.output_count + 1;
    s->in = arena_alloc_array(m, in, sizeof *s->in);
    s->made = arena_alloc_array(m, out, sizeof *s->made);
    s->inputs = arena_alloc_array(m, in, sizeof *s->inputs);
    s->outputs = arena_alloc_array(m, out, sizeof *s->outputs);
    s->key_room = in * (PGY_MAX_RANK + 1 + SMALL);
    s->key = arena_alloc_array(m, s->key_room, sizeof *s->key);
    return s->in && s->made && s->inputs && s->outputs && s->key ? PGY_OK : flow_no_memory(err);
}

static pgy_status finish(flow_segment *s, flow *f, const flow_level *level, size_t first,
                         size_t end, pgy_error *err)
{
    pgy_error why = {0};
    pgy_status st = mark_tensors(s, f, err);
    if (!st && s->in_body) {
        st = optimise(s, &why);
        if (st == PGY_E_MEMORY || st == PGY_E_CANCELLED)
            return pgy_error_set(err, st, "%s", why.text);
        if (st || s->cut.graph->output_count != s->cut.output_count ||
            s->cut.graph->input_count != s->cut.input_count) {
            LOG(WARNING, "A part of body '%s' runs without fusion: %s", level->plan->graph->name,
                why.text);
            flow_cut_deinit(&s->cut);
            st = flow_cut_make(&s->cut, f, level, first, end, err);
            if (!st) st = mark_tensors(s, f, err);
        }
    }
    if (st) return st;
    find_views(&s->cut);
    return allocate(s, err);
}

static pgy_status make_segment(flow_segment **out, flow *f, const flow_level *level, flow_cut *c,
                               const bool *by_value, bool any, size_t first, size_t end,
                               pgy_error *err)
{
    flow_segment *s = mem_calloc(1, sizeof *s);
    if (!s) return flow_no_memory(err);
    s->cut = *c;
    *c = (flow_cut){0};
    s->in_body = level->plan->graph->parent != NULL;
    s->next = f->segments;
    f->segments = s;
    f->count.segments++;
    const pgy_status st = finish(s, f, level, first, end, err);
    if (st) return st;
    s->by_value = arena_alloc_array(&s->cut.memory, s->cut.input_count + 1, sizeof *s->by_value);
    if (!s->by_value) return flow_no_memory(err);
    s->any_value = any;
    if (any) memcpy(s->by_value, by_value, s->cut.input_count * sizeof *s->by_value);
    LOG(VERBOSE, "Nodes %zu to %zu of '%s' are a segment with %zu inputs and %zu outputs", first,
        end - 1, level->plan->graph->name, s->cut.input_count, s->cut.output_count);
    *out = s;
    return PGY_OK;
}

/* The same cut may have fewer inputs than the longer one that the values were found for. */
static void keep_values(bool *by_value, bool *any, const flow_cut *from, const flow_cut *to)
{
    *any = false;
    for (size_t i = 0, k = 0; i < to->input_count; i++) {
        while (from->inputs[k].value != to->inputs[i].value) k++;
        by_value[i] = by_value[k];
        *any |= by_value[i];
    }
}

pgy_status flow_segment_find(flow_segment **out, size_t *end, flow *f, flow_frame *frame,
                             size_t first, bool values, pgy_error *err)
{
    const flow_level *level = frame->level;
    flow_cut c = {0}, shorter = {0};
    pgy_error why = {0};
    size_t last = first, count = 0;
    bool any = false, fits = true;
    *out = NULL;
    *end = first + 1;
    while (last < level->node_count && can_join(level->order[last])) last++;
    if (last == first) return PGY_OK;
    pgy_status st = flow_cut_make(&c, f, level, first, last, err);
    if (st) return st;
    op_tensor *inputs = arena_alloc_array(&c.memory, c.input_count + 1, sizeof *inputs);
    bool *by_value = arena_alloc_array(&c.memory, c.input_count + 1, sizeof *by_value);
    if (!inputs || !by_value) st = flow_no_memory(err);
    for (size_t i = 0; !st && fits && i < c.input_count; i++)
        st = flow_take(&inputs[i], &fits, f, frame, c.inputs[i].value, err);
    if (st || !fits) goto done;
    /* A shape that is wrong is reported by the node that has it. */
    const pgy_status found =
        values ? find_values(&count, by_value, &any, &c, inputs, last - first, &why)
               : count_static(&count, c.graph, inputs, NULL, SIZE_MAX, &why);
    if (found == PGY_E_MEMORY || found == PGY_E_CANCELLED)
        st = pgy_error_set(err, found, "%s", why.text);
    if (st || found || !count) goto done;
    *end = first + count;
    st = flow_cut_make(&shorter, f, level, first, *end, err);
    if (st) goto done;
    keep_values(by_value, &any, &c, &shorter);
    st = make_segment(out, f, level, &shorter, by_value, any, first, *end, err);
done:
    for (size_t i = 0; inputs && i < c.input_count; i++) op_tensor_release(&inputs[i]);
    flow_cut_deinit(&shorter);
    flow_cut_deinit(&c);
    return st;
}
