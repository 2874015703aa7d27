/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes with subgraphs. The branches of If, and the bodies of Loop and Scan, get their values in
 * their declared types, without copies. Other operators run by their definitions, which call back
 * to run a body. */
#include <string.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "engine/program/flow_parts.h"
#include "evaluate/execute.h"

/* ---- Bodies that definitions run ------------------------------------------------------------ */

pgy_status flow_run_graph(void *graph, const op_tensor *inputs, size_t input_count,
                          op_tensor *outputs, size_t output_count, void *user, pgy_error *err)
{
    flow *f = user;
    const pgy_graph *g = graph;
    flow_frame *frame = NULL, *outer = f->frame;
    size_t made = 0;
    if (!g) return pgy_error_set(err, PGY_E_FORMAT, "a subgraph is missing");
    const graph_level *level = level_of(g);
    if (input_count > level->declared_count || output_count > g->output_count)
        return pgy_error_set(
            err, PGY_E_FORMAT,
            "subgraph '%s' has %zu inputs and %zu outputs, but the node needs %zu and %zu", g->name,
            level->declared_count, g->output_count, input_count, output_count);
    pgy_status st = flow_frame_enter(&frame, f, g, outer, err);
    for (size_t i = 0; !st && i < input_count; i++) {
        op_tensor given = op_tensor_retain(&inputs[i]);
        flow_store(f, frame, level->declared[i], &given);
    }
    if (!st) st = f->run_level(f, frame, err);
    for (; !st && made < output_count; made++) {
        op_tensor t;
        st = flow_fetch(&t, f, frame, g->outputs[made], err);
        if (st) break;
        outputs[made] = op_tensor_retain(&t);
        if (!t.value) continue;
        pgy_tensor *stored = NULL;
        st = op_to_storage(&stored, t.value, err);
        if (st) op_tensor_release(&outputs[made]);
        if (st) break;
        pgy_tensor_release(outputs[made].value);
        outputs[made].value = stored;
    }
    for (size_t i = 0; st && i < made; i++) op_tensor_release(&outputs[i]);
    flow_frame_leave(frame);
    f->frame = outer;
    return st;
}

pgy_status flow_describe_graph(void *graph, const op_value *inputs, size_t input_count,
                               op_value *outputs, size_t output_count, void *user, pgy_error *err)
{
    flow *f = user;
    (void)inputs, (void)input_count;
    const pgy_status st = flow_note_sizes(f, f->frame, f->node, err);
    return st ? st : describe_outputs(&f->described, graph, outputs, output_count, err);
}

static pgy_status to_storage(op_tensor *list, const op_tensor *from, size_t count, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++) {
        if (!from[i].value) {
            list[i] = op_tensor_retain(&from[i]);
            continue;
        }
        list[i].dtype = from[i].dtype;
        st = op_to_storage(&list[i].value, from[i].value, err);
    }
    return st;
}

/* A function that no pass has inlined runs by the reference's executor. */
static pgy_status run_function(flow *f, flow_frame *frame, pgy_node *n, const op_tensor *in,
                               pgy_error *err)
{
    const node_box *box = node_box_of(n);
    const execute_limits limits = {.max_bytes = memory_limit_bytes(),
                                   .operators = interpreter_operators(f->interpreter)};
    op_tensor *captured = mem_calloc(box->captured_count + 1, sizeof *captured);
    pgy_status st = captured ? PGY_OK : flow_no_memory(err);
    for (size_t i = 0; !st && i < box->captured_count; i++) {
        op_tensor t;
        st = flow_fetch(&t, f, frame, box->captured[i], err);
        if (!st) st = to_storage(&captured[i], &t, 1, err);
    }
    if (!st) st = execute_node(n, in, captured, frame->out, false, &limits, err);
    for (size_t i = 0; captured && i < box->captured_count; i++) op_tensor_release(&captured[i]);
    mem_free(captured);
    return st;
}

static pgy_status run_definition(flow *f, flow_frame *frame, pgy_node *n, pgy_error *err)
{
    const op_node node = node_op(n);
    op_tensor *in = mem_calloc(n->input_count + 1, sizeof *in);
    if (!in) return flow_no_memory(err);
    f->node = n;
    pgy_status st = to_storage(in, frame->in, n->input_count, err);
    if (!st)
        st = node_box_of(n)->function ? run_function(f, frame, n, in, err)
                                      : op_run(&node, in, frame->out, frame->wanted, &f->host, err);
    for (size_t i = 0; i < n->input_count; i++) op_tensor_release(&in[i]);
    mem_free(in);
    return st;
}

/* ---- If ------------------------------------------------------------------------------------- */

static pgy_graph *branch_of(const pgy_node *n, const char *name)
{
    for (size_t i = 0; i < n->subgraph_count; i++)
        if (strcmp(n->subgraph_names[i], name) == 0) return n->subgraphs[i];
    return NULL;
}

static pgy_status run_branch(flow *f, flow_frame *outer, pgy_node *n, const pgy_graph *g,
                             const flow_place *places, pgy_error *err)
{
    flow_frame *frame = NULL;
    if (n->output_count > g->output_count)
        return pgy_error_set(
            err, PGY_E_FORMAT,
            "subgraph '%s' has %zu inputs and %zu outputs, but the node needs %zu and %zu", g->name,
            level_of(g)->declared_count, g->output_count, (size_t)0, n->output_count);
    pgy_status st = flow_frame_enter(&frame, f, g, outer, err);
    for (size_t i = 0; !st && places && i < n->output_count; i++)
        if (g->outputs[i]->graph == g)
            frame->places[plan_slot(&f->plan, g->outputs[i])] = places[i];
    if (!st) st = f->run_level(f, frame, err);
    for (size_t i = 0; !st && i < n->output_count; i++) {
        op_tensor t;
        st = flow_fetch(&t, f, frame, g->outputs[i], err);
        if (!st) outer->out[i] = op_tensor_retain(&t);
    }
    for (size_t i = 0; st && i < n->output_count; i++) op_tensor_release(&outer->out[i]);
    flow_frame_leave(frame);
    return st;
}

static pgy_status run_if(flow *f, flow_frame *frame, pgy_node *n, pgy_error *err)
{
    const flow_place *places = flow_take_places(f);
    const pgy_tensor *condition = frame->in[0].value;
    const op_node node = node_op(n);
    if (!condition || pgy_tensor_dtype(condition) != PGY_BOOL || pgy_tensor_count(condition) != 1)
        return op_error(&node, err, PGY_E_SHAPE, "the condition must be one bool");
    const bool chosen = *(const uint8_t *)pgy_tensor_data(condition) != 0;
    const char *name = chosen ? "then_branch" : "else_branch";
    const pgy_graph *g = branch_of(n, name);
    if (!g) return op_error(&node, err, PGY_E_FORMAT, "attribute '%s' lacks its graph", name);
    const size_t path = f->path.size;
    if (f->watch) str_printf(&f->path, "%s/%s/", node_label(n), name);
    const pgy_status st = run_branch(f, frame, n, g, places, err);
    flow_path_cut(f, path);
    return st;
}

pgy_status flow_control_run(flow *f, flow_frame *frame, pgy_node *n, pgy_error *err)
{
    const bool own = !node_box_of(n)->function;
    if (own && node_is(n, "If")) return run_if(f, frame, n, err);
    if (own && node_is(n, "Loop") && flow_loop_can(n)) return flow_loop_run(f, frame, n, err);
    if (own && node_is(n, "Scan") && flow_scan_can(n)) return flow_scan_run(f, frame, n, err);
    (void)flow_take_places(f);
    return run_definition(f, frame, n, err);
}
