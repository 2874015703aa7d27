/* SPDX-License-Identifier: Apache-2.0 */
/* Each level that runs has a frame: one slot per value, with the number of remaining uses. A weight
 * is read and converted at its first use, and every value is released after its last use, so memory
 * holds live values only. Each run of a subgraph or function body has a frame of its own; a value
 * of an enclosing level is looked up in the enclosing frames. */
#include "evaluate/execute.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/progress.h"
#include "evaluate/describe.h"
#include "evaluate/interface.h"
#include "onnx/elements.h"

enum { MAX_FRAMES = 256, ELEMENTS_OF_A_STEP = 4096 };

typedef struct frame {
    const graph_plan *whole;
    const level_plan *plan;
    op_tensor *values;   /* indexed by slot */
    uint32_t *left;      /* indexed by slot: reads still to come; at 0 the value is released */
    op_tensor *in, *out; /* inputs and outputs of the node that runs */
    bool *wanted;
    struct frame *outer; /* frame of the enclosing level or of the caller */
    const attr_scope *scope;
    bool declared; /* inputs and weights stay in their declared types */
} frame;

typedef struct executor {
    const graph_plan *plan;
    frame *frame; /* frame of the node that runs */
    const pgy_node *node;
    describe described;
    size_t depth;
    uint64_t steps, max_steps;
    bool weighs;                        /* count a large result as several steps */
    const execute_operators *operators; /* NULL: op_run */
    const execute_watch *watch;
    op_host host;
} executor;

static pgy_status run_level(executor *e, frame *f, pgy_error *err);

/* ---- Frames --------------------------------------------------------------------------------- */

static pgy_status frame_init(frame *f, const graph_plan *whole, const level_plan *plan,
                             frame *outer, pgy_error *err)
{
    const size_t wide = plan->widest_node;
    *f = (frame){.whole = whole,
                 .plan = plan,
                 .outer = outer,
                 .scope = outer ? outer->scope : NULL,
                 .declared = outer && outer->declared};
    f->values = mem_calloc(plan->slot_count + 1, sizeof *f->values);
    f->left = mem_alloc((plan->slot_count + 1) * sizeof *f->left);
    f->in = mem_calloc(wide + 1, sizeof *f->in);
    f->out = mem_calloc(wide + 1, sizeof *f->out);
    f->wanted = mem_calloc(wide + 1, sizeof *f->wanted);
    if (!f->values || !f->left || !f->in || !f->out || !f->wanted)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while running graph '%s'",
                             plan->graph->name);
    memcpy(f->left, plan->uses, plan->slot_count * sizeof *f->left);
    return PGY_OK;
}

static void frame_deinit(frame *f)
{
    for (size_t i = 0; f->values && i < f->plan->slot_count; i++) op_tensor_release(&f->values[i]);
    mem_free(f->values);
    mem_free(f->left);
    mem_free(f->in);
    mem_free(f->out);
    mem_free(f->wanted);
}

static size_t slot_of(const frame *f, const pgy_value *v)
{
    return plan_slot(f->whole, v);
}

static frame *frame_of(frame *f, const pgy_value *v)
{
    while (f && f->plan->graph != v->graph) f = f->outer;
    return f;
}

static void use_up(frame *f, pgy_value *v)
{
    if (!v || v->graph != f->plan->graph) return;
    const size_t slot = slot_of(f, v);
    if (f->left[slot] && --f->left[slot] == 0) op_tensor_release(&f->values[slot]);
}

/* ---- Values --------------------------------------------------------------------------------- */

static pgy_status load_weight(op_tensor *out, pgy_value *v, const pgy_onnx_tensor *t,
                              const frame *f, pgy_error *err)
{
    pgy_tensor *stored = NULL, *value = NULL;
    const bool narrow = t && ((f->declared && !v->is_output) || f->plan->narrow[slot_of(f, v)]) &&
                        pgy_dtype_from_onnx(t->data_type) == PGY_F32;
    pgy_status st = narrow ? onnx_tensor_load_anywhere(&stored, v->graph->model, t, err)
                    : t    ? pgy_onnx_tensor_load(&stored, v->graph->model, t, err)
                           : pgy_graph_value_data(&stored, v, err);
    if (!st && (narrow || f->declared))
        st = pgy_tensor_load(&value, stored, err);
    else if (!st)
        st = op_to_storage(&value, stored, err);
    if (!st) *out = (op_tensor){.dtype = pgy_tensor_dtype(stored), .value = value};
    pgy_tensor_release(stored);
    return st;
}

/* Reads the value of v for one use. *out is borrowed; it is empty if v is NULL (an omitted input).
 */
static pgy_status fetch(op_tensor *out, frame *from, pgy_value *v, pgy_error *err)
{
    frame *f = v ? frame_of(from, v) : NULL;
    *out = (op_tensor){0};
    if (!f) return PGY_OK;
    op_tensor *held = &f->values[slot_of(f, v)];
    if (!held->value && !held->sequence) {
        const pgy_onnx_tensor *t = v->initializer ? v->initializer
                                   : v->producer  ? node_constant(v->producer)
                                                  : NULL;
        if (t || v->sparse) {
            const pgy_status st = load_weight(held, v, t, f, err);
            if (st) return st;
        }
    }
    *out = *held;
    return PGY_OK;
}

pgy_status execute_value(op_tensor *out, execute_level *level, pgy_value *v, pgy_error *err)
{
    return fetch(out, level, v, err);
}

static void store(frame *f, pgy_value *v, op_tensor *t)
{
    const size_t slot = v ? slot_of(f, v) : 0;
    if (!v || f->left[slot] == 0) {
        op_tensor_release(t);
        return;
    }
    op_tensor_release(&f->values[slot]);
    f->values[slot] = *t;
    *t = (op_tensor){0};
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

static pgy_status run_operator(executor *e, frame *f, pgy_node *n, pgy_error *err)
{
    const node_box *box = node_box_of(n);
    arena memory = {0};
    op_node node = node_op(n);
    pgy_status st = node_attrs(&node.attrs, &node.attr_count, n, f->scope, &memory, err);
    if (!st && box->has_refs) st = op_check_node(&node, err);
    const execute_operators *own = e->operators;
    e->node = n;
    if (!st && own)
        st = own->run(n, &node, f->in, f->out, f->wanted, &e->host, own->user, err);
    else if (!st)
        st = op_run(&node, f->in, f->out, f->wanted, &e->host, err);
    arena_deinit(&memory);
    return st;
}

static pgy_status run_body(executor *e, frame *f, pgy_node *n, const pgy_graph *body,
                           pgy_error *err)
{
    frame inner = {0};
    if (n->input_count > body->input_count || n->output_count > body->output_count)
        return node_error(
            n, err, PGY_E_FORMAT,
            "the call has %zu inputs and %zu outputs, but the function has %zu and %zu",
            n->input_count, n->output_count, body->input_count, body->output_count);
    arena memory = {0};
    attr_scope scope = {0};
    const op_attr *attrs = NULL;
    size_t count = 0;
    pgy_status st = node_attrs(&attrs, &count, n, f->scope, &memory, err);
    if (!st) st = function_scope(&scope, node_box_of(n)->function, n, attrs, count, &memory, err);
    if (!st) st = frame_init(&inner, e->plan, plan_of(e->plan, body), f, err);
    inner.scope = &scope;
    for (size_t i = 0; !st && i < n->input_count; i++) {
        op_tensor given = op_tensor_retain(&f->in[i]);
        store(&inner, body->inputs[i], &given);
    }
    if (!st) st = run_level(e, &inner, err);
    for (size_t i = 0; !st && i < n->output_count; i++) {
        op_tensor result;
        st = fetch(&result, &inner, body->outputs[i], err);
        if (!st) f->out[i] = op_tensor_retain(&result);
    }
    if (inner.plan) frame_deinit(&inner);
    arena_deinit(&memory);
    return st;
}

/* The steps to add for large outputs of node n: a loop over large tensors takes as long as one over
 * many small nodes. */
static uint64_t weight_of(const frame *f, const pgy_node *n)
{
    uint64_t elements = 0;
    for (size_t i = 0; i < n->output_count; i++)
        if (f->out[i].value) elements += pgy_tensor_count(f->out[i].value);
    return elements / ELEMENTS_OF_A_STEP;
}

static pgy_status run_node(executor *e, frame *f, pgy_node *n, pgy_error *err)
{
    pgy_graph *body = NULL;
    pgy_status st = PGY_OK;
    if (node_constant(n)) return PGY_OK; /* a constant is read like a weight when it is needed */
    for (size_t i = 0; !st && i < n->input_count; i++) st = fetch(&f->in[i], f, n->inputs[i], err);
    for (size_t i = 0; i < n->output_count; i++) {
        f->out[i] = (op_tensor){0};
        f->wanted[i] = n->outputs[i] != NULL;
    }
    e->frame = f;
    graph_function *function = node_box_of(n)->function;
    if (!st && e->watch && e->watch->starts) st = e->watch->starts(n, e->watch->user, err);
    if (!st && function) {
        st = function_body(&body, function, n->graph, err);
        if (!st) st = run_body(e, f, n, body, err);
        if (st) pgy_error_prefix(err, st, "%s '%s': ", n->op_type, node_label(n));
    } else if (!st) {
        st = run_operator(e, f, n, err);
    }
    e->frame = f;
    if (!st && e->weighs) e->steps += weight_of(f, n);
    if (!st && e->watch && e->watch->ran) st = e->watch->ran(n, f->in, f->out, e->watch->user, err);
    for (size_t i = 0; i < n->output_count; i++) store(f, n->outputs[i], &f->out[i]);
    for (size_t i = 0; i < n->input_count; i++) use_up(f, n->inputs[i]);
    const node_box *box = node_box_of(n);
    for (size_t i = 0; i < box->captured_count; i++) use_up(f, box->captured[i]);
    return st;
}

static pgy_status count_step(executor *e, pgy_error *err)
{
    const pgy_status st = cancel_check(err);
    if (st || e->steps++ < e->max_steps || !e->max_steps) return st;
    return pgy_error_set(err, PGY_E_UNSUPPORTED,
                         "the run stopped at the limit of %llu nodes; perhaps a loop does not end",
                         (unsigned long long)e->max_steps);
}

static pgy_status run_level(executor *e, frame *f, pgy_error *err)
{
    pgy_status st = count_step(e, err);
    if (++e->depth > MAX_FRAMES && !st)
        st = pgy_error_set(err, PGY_E_FORMAT,
                           "subgraphs and functions are nested more than %d deep", MAX_FRAMES);
    if (!st && e->watch && e->watch->begins)
        st = e->watch->begins(f->plan->graph, f, e->watch->user, err);
    const bool reports = e->depth == 1;
    if (reports) progress_begin("Running nodes", f->plan->graph->node_count);
    for (size_t i = 0; !st && i < f->plan->graph->node_count; i++) {
        st = count_step(e, err);
        if (!st) st = run_node(e, f, f->plan->order[i], err);
        if (reports) progress_advance(i + 1);
    }
    if (reports) progress_end();
    e->depth--;
    return st;
}

/* ---- Subgraphs ------------------------------------------------------------------------------ */

static pgy_status retain_stored(op_tensor *out, const op_tensor *t, pgy_error *err)
{
    op_tensor made = *t;
    if (!t->value) {
        *out = op_tensor_retain(t);
        return PGY_OK;
    }
    const pgy_status st = op_to_storage(&made.value, t->value, err);
    if (!st) *out = made;
    return st;
}

static pgy_status run_subgraph(void *graph, const op_tensor *inputs, size_t input_count,
                               op_tensor *outputs, size_t output_count, void *user, pgy_error *err)
{
    executor *e = user;
    const pgy_graph *g = graph;
    frame inner = {0}, *outer = e->frame;
    size_t made = 0;
    if (!g) return pgy_error_set(err, PGY_E_FORMAT, "a subgraph is missing");
    const graph_level *level = level_of(g);
    if (input_count > level->declared_count || output_count > g->output_count)
        return pgy_error_set(
            err, PGY_E_FORMAT,
            "subgraph '%s' has %zu inputs and %zu outputs, but the node needs %zu and %zu", g->name,
            level->declared_count, g->output_count, input_count, output_count);
    pgy_status st = frame_init(&inner, e->plan, plan_of(e->plan, g), outer, err);
    for (size_t i = 0; !st && i < input_count; i++) {
        op_tensor given = op_tensor_retain(&inputs[i]);
        store(&inner, level->declared[i], &given);
    }
    if (!st) st = run_level(e, &inner, err);
    for (; !st && made < output_count; made++) {
        op_tensor result;
        st = fetch(&result, &inner, g->outputs[made], err);
        if (!st) st = retain_stored(&outputs[made], &result, err);
        if (st) break;
    }
    for (size_t i = 0; st && i < made; i++) op_tensor_release(&outputs[i]);
    frame_deinit(&inner);
    e->frame = outer;
    return st;
}

/* Describes a subgraph of the node that runs, whose loop may run no iteration. */
static pgy_status describe_subgraph(void *graph, const op_value *inputs, size_t input_count,
                                    op_value *outputs, size_t output_count, void *user,
                                    pgy_error *err)
{
    executor *e = user;
    const pgy_node *n = e->node;
    const node_box *box = node_box_of(n);
    pgy_status st = PGY_OK;
    (void)inputs, (void)input_count;
    describe_start(&e->described);
    for (size_t i = 0; !st && i < n->input_count; i++)
        st = describe_note(&e->described, n->inputs[i], e->frame->in[i].value, err);
    for (size_t i = 0; !st && i < box->captured_count; i++) {
        const frame *f = frame_of(e->frame, box->captured[i]);
        if (f)
            st = describe_note(&e->described, box->captured[i],
                               f->values[slot_of(f, box->captured[i])].value, err);
    }
    return st ? st : describe_outputs(&e->described, graph, outputs, output_count, err);
}

/* ---- The whole ------------------------------------------------------------------------------ */

static pgy_status feed_inputs(frame *f, const pgy_graph *g, const pgy_tensor_map *feed,
                              pgy_error *err)
{
    for (size_t i = 0; i < g->input_count; i++) {
        op_tensor t = {0};
        const pgy_value *v = g->inputs[i];
        pgy_tensor *given = pgy_tensor_map_find(feed, v->name);
        const bool as_it_is = f->declared && v->kind == PGY_VALUE_TENSOR && given;
        pgy_status st =
            as_it_is ? pgy_tensor_load(&t.value, given, err) : interface_feed(&t, v, feed, err);
        if (st) return st;
        if (as_it_is) t.dtype = pgy_tensor_dtype(given);
        store(f, g->inputs[i], &t);
    }
    return PGY_OK;
}

static pgy_status take_output(frame *f, pgy_value *v, pgy_tensor_map *out, pgy_error *err)
{
    op_tensor result;
    pgy_status st = fetch(&result, f, v, err);
    if (!st) st = interface_take(out, v, &result, err);
    if (!st) use_up(f, v);
    return st;
}

/* Adds the outputs of g to `out`. A graph may list a value twice; it is added once. */
static pgy_status take_outputs(frame *f, const pgy_graph *g, pgy_tensor_map *out, pgy_error *err)
{
    pgy_status st = PGY_OK;
    bool *taken = mem_calloc(f->plan->slot_count + 1, sizeof *taken);
    if (!taken) return graph_no_memory(err);
    for (size_t i = 0; !st && i < g->output_count; i++) {
        bool *this = &taken[slot_of(f, g->outputs[i])];
        if (!*this) st = take_output(f, g->outputs[i], out, err);
        *this = true;
    }
    mem_free(taken);
    return st;
}

pgy_status execute_graph(const graph_plan *plan, pgy_graph *g, const pgy_tensor_map *feed,
                         pgy_tensor_map *out, bool model_precision, const execute_limits *limits,
                         pgy_error *err)
{
    executor e = {.plan = plan,
                  .max_steps = limits->max_steps,
                  .operators = limits->operators,
                  .watch = limits->watch,
                  .host = {.run_graph = run_subgraph,
                           .infer_graph = describe_subgraph,
                           .graph_port = interface_port,
                           .max_bytes = limits->max_bytes,
                           .model_precision = model_precision}};
    frame f = {0};
    e.host.user = &e;
    pgy_status st = frame_init(&f, plan, plan_of(plan, g), NULL, err);
    f.declared = e.operators && !e.operators->storage;
    if (!st) st = feed_inputs(&f, g, feed, err);
    if (!st) st = run_level(&e, &f, err);
    if (!st) st = take_outputs(&f, g, out, err);
    frame_deinit(&f);
    describe_deinit(&e.described);
    if (limits->spent) *limits->spent += e.steps;
    return st;
}

/* ---- One node ------------------------------------------------------------------------------- */

enum { MAX_LEVELS = GRAPH_MAX_DEPTH + 1 };

/* Frames for the node's level and the enclosing ones, innermost first; they hold the captured
 * values. */
typedef struct surroundings {
    frame frames[MAX_LEVELS];
    level_plan plans[MAX_LEVELS];
    size_t count;
} surroundings;

static pgy_status surround(surroundings *s, graph_plan *plan, const pgy_node *n,
                           const op_tensor *captured, uint32_t *uses, pgy_error *err)
{
    const node_box *box = node_box_of(n);
    const size_t wide = n->input_count > n->output_count ? n->input_count : n->output_count;
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < box->captured_count; i++) uses[i] = UINT32_MAX;
    for (pgy_graph *g = n->graph; g && !st && s->count < MAX_LEVELS; g = g->parent) {
        const size_t at = s->count++;
        s->plans[at] = (level_plan){
            .graph = g, .slot_count = box->captured_count, .uses = uses, .widest_node = wide};
        st = frame_init(&s->frames[at], plan, &s->plans[at], NULL, err);
        if (at) s->frames[at - 1].outer = &s->frames[at];
    }
    for (size_t i = 0; !st && i < box->captured_count; i++) {
        const pgy_value *v = box->captured[i];
        const frame *f = frame_of(&s->frames[0], v);
        uint32_t *slot = slot_table_at(&plan->slots, value_id(v));
        if (!slot) return graph_no_memory(err);
        *slot = (uint32_t)i;
        if (f) f->values[i] = op_tensor_retain(&captured[i]);
    }
    return st;
}

static pgy_status run_alone(executor *e, frame *f, pgy_node *n, const op_tensor *inputs,
                            pgy_error *err)
{
    pgy_graph *body = NULL;
    graph_function *function = node_box_of(n)->function;
    if (n->input_count) memcpy(f->in, inputs, n->input_count * sizeof *inputs);
    for (size_t i = 0; i < n->output_count; i++) f->wanted[i] = n->outputs[i] != NULL;
    e->frame = f;
    if (!function) return run_operator(e, f, n, err);
    pgy_status st = function_body(&body, function, n->graph, err);
    if (!st) st = run_body(e, f, n, body, err);
    return st ? pgy_error_prefix(err, st, "%s '%s': ", n->op_type, node_label(n)) : PGY_OK;
}

static pgy_status run_simple(executor *e, pgy_node *n, const op_tensor *inputs, op_tensor *outputs,
                             arena *memory, pgy_error *err)
{
    frame f = {.in = (op_tensor *)inputs,
               .out = outputs,
               .wanted = arena_alloc_array(memory, n->output_count, sizeof *f.wanted)};
    if (!f.wanted) return graph_no_memory(err);
    for (size_t i = 0; i < n->output_count; i++) f.wanted[i] = n->outputs[i] != NULL;
    return run_operator(e, &f, n, err);
}

static pgy_status run_surrounded(executor *e, graph_plan *plan, pgy_node *n,
                                 const op_tensor *inputs, const op_tensor *captured,
                                 op_tensor *outputs, pgy_error *err)
{
    surroundings *s = mem_calloc(1, sizeof *s);
    uint32_t *uses = arena_alloc_array(&plan->memory, node_box_of(n)->captured_count, sizeof *uses);
    pgy_status st = s && uses ? surround(s, plan, n, captured, uses, err) : graph_no_memory(err);
    for (size_t i = 0; !st && i < s->count; i++)
        s->frames[i].declared = e->operators && !e->operators->storage;
    if (!st) st = run_alone(e, &s->frames[0], n, inputs, err);
    for (size_t i = 0; !st && i < n->output_count; i++) outputs[i] = s->frames[0].out[i];
    for (size_t i = 0; s && i < s->count; i++) frame_deinit(&s->frames[i]);
    mem_free(s);
    return st;
}

pgy_status execute_node(pgy_node *n, const op_tensor *inputs, const op_tensor *captured,
                        op_tensor *outputs, bool model_precision, const execute_limits *limits,
                        pgy_error *err)
{
    graph_plan plan = {0};
    executor e = {.plan = &plan,
                  .max_steps = limits->max_steps,
                  .operators = limits->operators,
                  .weighs = limits->spent && n->subgraph_count,
                  .host = {.run_graph = run_subgraph,
                           .infer_graph = describe_subgraph,
                           .graph_port = interface_port,
                           .max_bytes = limits->max_bytes,
                           .model_precision = model_precision}};
    e.host.user = &e;
    pgy_status st = plan_build_node(&plan, n, err);
    if (!st && !n->subgraph_count && !node_box_of(n)->function)
        st = run_simple(&e, n, inputs, outputs, &plan.memory, err);
    else if (!st)
        st = run_surrounded(&e, &plan, n, inputs, captured, outputs, err);
    graph_plan_deinit(&plan);
    describe_deinit(&e.described);
    if (limits->spent) *limits->spent += e.steps;
    return st;
}
