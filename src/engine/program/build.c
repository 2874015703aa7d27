/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a program from a graph: inputs, nodes in running order, outputs, memory. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "engine/build/debug.h"
#include "engine/build/progress.h"
#include "engine/program/range_parts.h"

static const char LOG_PATH[] = "engine/program/build.c";

static pgy_status bind_inputs(builder *b, pgy_error *err)
{
    pgy_graph *g = b->graph;
    for (size_t i = 0; i < g->input_count; i++) {
        uint32_t tensor;
        pgy_status st = build_tensor_add(&tensor, b, g->inputs[i], PROGRAM_INPUT, err);
        if (st) return st;
        b->tensors[tensor].t.offset = i;
        st = build_bind(b, g->inputs[i], tensor, err);
        if (st) return st;
    }
    return PGY_OK;
}

/* Does one step of the host compute this tensor, by a kernel that looks at no buffer of the caller?
 */
static bool is_computed(const builder *b, uint32_t tensor)
{
    enum { CACHES = KERNEL_JOINS_CACHES | KERNEL_SHARES_CACHES | KERNEL_GROWS_CACHES };
    for (uint32_t i = 0; i < b->p->step_count; i++) {
        const program_step *s = &b->p->steps[i];
        const uint32_t first = s->input_count + s->captured_count;
        for (uint32_t k = first; k < first + s->output_count; k++)
            if (s->tensors[k] == tensor)
                return s->act == PROGRAM_RUN && !s->space &&
                       !(s->kernel && s->kernel->flags & CACHES);
    }
    return false;
}

/* Lets the step that computes the elements of view `from` write them into the caller's memory for
 * output i. */
static bool write_through(builder *b, uint32_t from, size_t i)
{
    const uint32_t root = build_root(b, from);
    const program_tensor *view = &b->tensors[from].t;
    program_tensor *t = &b->tensors[root].t;
    if (root == from || t->place != PROGRAM_ARENA || b->tensors[root].constant || t->space ||
        t->layout != KERNEL_LINEAR || view->layout != KERNEL_LINEAR || t->dtype != view->dtype ||
        t->size_bytes != view->size_bytes || build_within(b, from) || !is_computed(b, root))
        return false;
    t->place = PROGRAM_OUTPUT;
    t->offset = i;
    return true;
}

/* Adds the steps for outputs that no step writes directly: inputs, constants, blocked layouts, and
 * views of them. */
static pgy_status bind_outputs(builder *b, pgy_error *err)
{
    pgy_graph *g = b->graph;
    uint32_t *outputs = arena_alloc_array(&b->p->memory, g->output_count, sizeof *outputs);
    if (!outputs) return graph_no_memory(err);
    b->p->outputs = outputs;
    for (size_t i = 0; i < g->output_count; i++) {
        uint32_t from;
        pgy_status st = build_tensor_of(&from, b, g->outputs[i], err);
        if (st) return st;
        const program_tensor *t = &b->tensors[from].t;
        outputs[i] = from;
        if (b->tensors[from].root == from && t->place == PROGRAM_OUTPUT && t->offset == i) continue;
        if (write_through(b, from, i)) continue;
        st = build_tensor_add(&outputs[i], b, g->outputs[i], PROGRAM_OUTPUT, err);
        if (st) return st;
        b->tensors[outputs[i]].t.offset = i;
        st = build_deliver(b, from, outputs[i], err);
        if (st) return st;
    }
    return PGY_OK;
}

static pgy_status build_steps(builder *b, pgy_error *err)
{
    arena memory = {0};
    pgy_node **order = NULL;
    pgy_status st = graph_order(&order, b->graph, &memory, err);
    if (!st) st = bind_inputs(b, err);
    if (!st) st = build_nodes(b, order, b->graph->node_count, err);
    if (!st) st = bind_outputs(b, err);
    arena_deinit(&memory);
    return st;
}

static pgy_status keep_tensors(builder *b, pgy_error *err)
{
    program *p = b->p;
    p->tensors = arena_alloc_array(&p->memory, b->tensor_count, sizeof *p->tensors);
    if (!p->tensors) return graph_no_memory(err);
    for (size_t i = 0; i < b->tensor_count; i++) p->tensors[i] = b->tensors[i].t;
    p->tensor_count = b->tensor_count;
    return PGY_OK;
}

static pgy_status build_all(builder *b, pgy_error *err)
{
    const pgy_build_config *config = b->options->config;
    pgy_status st = build_steps(b, err);
    if (!st) st = progress_step(config, PROGRESS_PROGRAM, 0, err);
    if (!st) st = build_joins(b, err);
    if (!st) st = build_order(b, err);
    if (!st) st = debug_find_marks(b, err);
    if (!st) st = progress_step(config, PROGRESS_PROGRAM, 1, err);
    if (!st) st = build_arena(b, err);
    if (!st) st = keep_tensors(b, err);
    if (!st && b->options->range) st = range_note_tensors(b, err);
    return st ? st : progress_step(config, PROGRESS_PROGRAM, 2, err);
}

/* Logs how many layers each device runs, and names each layer on the host, since it may cost two
 * copies. */
static void log_places(const program *p)
{
    size_t layers[PROGRAM_MAX_SPACES] = {0};
    str text = {0};
    if (p->space_count == 1) return;
    for (size_t i = 0; i < p->step_count; i++) {
        const program_step *s = &p->steps[i];
        layers[s->space] += s->act == PROGRAM_RUN;
        if (s->act == PROGRAM_RUN && !s->space)
            LOG(VERBOSE, "On the host: %s '%s'", s->op_type, s->label);
    }
    for (uint32_t i = 0; i < p->space_count; i++)
        str_printf(&text, "%s%zu on %s", i ? ", " : "", layers[i], p->spaces[i].name);
    LOG(INFO, "Layers: %s", str_text(&text));
    str_deinit(&text);
}

pgy_status program_build(program **out, pgy_graph *g, const build_options *o, pgy_error *err)
{
    static const pgy_build_config NONE = {.size = sizeof NONE};
    static const build_options DEFAULTS = {.config = &NONE, .threads = 1};
    builder b = {.graph = g, .options = o ? o : &DEFAULTS, .p = mem_calloc(1, sizeof *b.p)};
    packed_table *shared = b.options->packed;
    b.packed = shared ? packed_table_retain(shared) : packed_table_create();
    if (!b.p || !b.packed) {
        packed_table_release(b.packed);
        mem_free(b.p);
        return graph_no_memory(err);
    }
    atomic_init(&b.p->users, 1);
    b.p->input_count = g->input_count;
    b.p->output_count = g->output_count;
    progress_start(b.options->config, PROGRESS_PROGRAM, NULL, 3);
    pgy_status st = program_find_spaces(b.p, b.options->config, err);
    if (!st) st = build_all(&b, err);
    progress_finish(b.options->config, PROGRESS_PROGRAM);
    for (size_t i = 0; i < b.tensor_count; i++) pgy_tensor_release(b.tensors[i].constant);
    mem_free(b.tensors);
    id_places_deinit(&b.bound);
    packed_table_release(b.packed);
    if (!st) log_places(b.p);
    if (st)
        program_release(b.p);
    else
        *out = b.p;
    return st;
}

program *program_retain(program *p)
{
    atomic_fetch_add_explicit(&p->users, 1, memory_order_relaxed);
    return p;
}

void program_release(program *p)
{
    if (!p || atomic_fetch_sub_explicit(&p->users, 1, memory_order_acq_rel) > 1) return;
    if (p->recycle && p->recycle(p)) return;
    for (size_t i = 0; !p->mapped && i < p->step_count; i++) kernel_plan_deinit(&p->steps[i].plan);
    mem_free(p->steps);
    program_release_spaces(p);
    arena_deinit(&p->memory);
    if (p->release_owner) p->release_owner(p->owner);
    mem_free(p);
}
