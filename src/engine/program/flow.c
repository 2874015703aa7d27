/* SPDX-License-Identifier: Apache-2.0 */
/* Runs levels item by item, and finds the items when a run first comes to them. */
#include "engine/program/flow.h"

#include <string.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/system.h"
#include "engine/program/flow_parts.h"
#include "evaluate/execute.h"
#include "evaluate/interface.h"

/* ---- Nodes that run alone ------------------------------------------------------------------- */

static pgy_status run_operator(flow *f, flow_frame *frame, pgy_node *n, pgy_error *err)
{
    const execute_operators *own = interpreter_operators(f->interpreter);
    const op_node node = node_op(n);
    if (node_box_of(n)->function || n->subgraph_count) return flow_control_run(f, frame, n, err);
    return own->run(n, &node, frame->in, frame->out, frame->wanted, &f->host, own->user, err);
}

/* Shows the results of a node that ran alone. */
static pgy_status show_results(const flow *f, const pgy_node *n, const op_tensor *results,
                               pgy_error *err)
{
    bool goes_on = true;
    for (size_t i = 0; goes_on && i < n->output_count; i++) {
        op_tensor t = op_tensor_retain(&results[i]);
        if (n->outputs[i] && t.value && t.dtype != PGY_STRING && !flow_settle(&t, err)) {
            str name = {0};
            str_printf(&name, "%s%s", str_text(&f->path), n->outputs[i]->name);
            const program_tensor shown = {.name = n->outputs[i]->name,
                                          .dtype = t.dtype,
                                          .rank = (int32_t)pgy_tensor_rank(t.value),
                                          .shape = pgy_tensor_shape(t.value)};
            goes_on =
                f->watch->show(f->watch->user, str_text(&name), &shown, pgy_tensor_data(t.value));
            str_deinit(&name);
        }
        op_tensor_release(&t);
    }
    return goes_on ? PGY_OK : pgy_error_set(err, PGY_E_CANCELLED, "the run was cancelled");
}

static pgy_status run_node(flow *f, flow_frame *frame, size_t index, pgy_error *err)
{
    pgy_node *n = frame->level->order[index];
    const flow_watch *w = f->watch;
    const bool timed = w && w->time && !n->graph->parent;
    const int64_t start = timed ? clock_ns() : 0;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < n->input_count; i++)
        st = flow_fetch(&frame->in[i], f, frame, n->inputs[i], err);
    for (size_t i = 0; i < n->output_count; i++) {
        frame->out[i] = (op_tensor){0};
        frame->wanted[i] = n->outputs[i] != NULL;
    }
    flow_frame *before = f->frame;
    f->frame = frame;
    f->count.node_runs++;
    if (!st) st = run_operator(f, frame, n, err);
    f->frame = before;
    if (!st && timed) w->time(w->user, n, node_label(n), clock_ns() - start);
    if (!st && w && w->show) st = show_results(f, n, frame->out, err);
    for (size_t i = 0; i < n->output_count; i++)
        flow_store(f, frame, n->outputs[i], &frame->out[i]);
    for (size_t i = 0; i < n->input_count; i++) flow_use_up(f, frame, n->inputs[i], 1);
    const node_box *box = node_box_of(n);
    for (size_t i = 0; i < box->captured_count; i++) flow_use_up(f, frame, box->captured[i], 1);
    return st;
}

/* ---- Items ---------------------------------------------------------------------------------- */

static pgy_status add_item(flow *f, flow_frame *frame, size_t first, bool values, pgy_error *err)
{
    flow_level *level = frame->level;
    flow_item item = {.first = first, .end = first + 1};
    const pgy_status st = flow_segment_find(&item.segment, &item.end, f, frame, first, values, err);
    if (st) return st;
    if (!mem_grow((void **)&level->items, &level->item_capacity, level->item_count + 1,
                  sizeof *level->items))
        return flow_no_memory(err);
    level->items[level->item_count++] = item;
    return PGY_OK;
}

static pgy_status run_item(bool *again, flow *f, flow_frame *frame, size_t index, pgy_error *err)
{
    const flow_item item = frame->level->items[index];
    bool done = false;
    *again = false;
    if (item.segment) {
        bool split = false;
        pgy_status st = flow_segment_run(&done, &split, item.segment, f, frame, err);
        if (st) return st;
        if (split) {
            /* The segment stays in the list of all, and so do its programs. */
            frame->level->item_count = index;
            *again = true;
            return add_item(f, frame, item.first, false, err);
        }
    }
    pgy_status st = PGY_OK;
    for (size_t i = item.first; !st && !done && i < item.end; i++) {
        st = flow_check(f, err);
        if (!st) st = run_node(f, frame, i, err);
    }
    return st;
}

static pgy_status run_level(flow *f, flow_frame *frame, pgy_error *err)
{
    flow_level *level = frame->level;
    const bool reports = !frame->outer && !level->plan->graph->parent;
    pgy_status st = PGY_OK;
    if (reports) progress_begin("Running nodes", level->node_count);
    for (size_t i = 0, next = 0; !st && next < level->node_count;) {
        bool again = false;
        st = flow_check(f, err);
        if (!st && i == level->item_count) st = add_item(f, frame, next, true, err);
        if (!st) st = run_item(&again, f, frame, i, err);
        if (st || again) continue;
        next = level->items[i++].end;
        if (reports) progress_advance(next);
    }
    if (reports) progress_end();
    return st;
}

/* ---- Life ----------------------------------------------------------------------------------- */

/* Segments are made after the passes of the whole graph, on the host, by estimated times. */
static pgy_build_config config_of(const pgy_build_config *given)
{
    pgy_build_config c = *given;
    c.fp16 = c.bf16 = c.int8 = c.fp8 = false;
    c.layer_type_count = c.tensor_type_count = 0;
    c.calibration = NULL;
    c.save_quantized = c.save_tactics = c.load_tactics = NULL;
    c.devices.count = 0;
    c.monitor = NULL;
    c.rewrite_watch = NULL;
    return c;
}

pgy_status flow_create(flow **out, pgy_graph *g, const flow_options *o, pgy_error *err)
{
    flow *f = mem_calloc(1, sizeof *f);
    if (!f) return flow_no_memory(err);
    f->graph = g;
    f->o = *o;
    f->o.packed = o->packed ? packed_table_retain(o->packed) : NULL;
    f->config = config_of(o->config);
    f->run_level = run_level;
    f->host = (op_host){.run_graph = flow_run_graph,
                        .infer_graph = flow_describe_graph,
                        .graph_port = interface_port,
                        .max_bytes = memory_limit_bytes(),
                        .user = f};
    pgy_status st = plan_build(&f->plan, g, err);
    if (!st) st = interpreter_create(&f->interpreter, o->team, err);
    if (!st) interpreter_stop_by(f->interpreter, o->failed);
    if (!st) interpreter_place_by(f->interpreter, flow_room, f);
    if (st)
        flow_destroy(f);
    else
        *out = f;
    return st;
}

void flow_destroy(flow *f)
{
    if (!f) return;
    flow_segments_destroy(f);
    flow_levels_destroy(f);
    interpreter_destroy(f->interpreter);
    graph_plan_deinit(&f->plan);
    packed_table_release(f->o.packed);
    mem_free_block(f->memory, f->memory_bytes);
    str_deinit(&f->path);
    describe_deinit(&f->described);
    mem_free(f);
}

void flow_watch_by(flow *f, const flow_watch *watch)
{
    f->watch = watch;
}

flow_count flow_counted(const flow *f)
{
    return f->count;
}

/* ---- A whole graph -------------------------------------------------------------------------- */

static pgy_status feed_inputs(const flow *f, flow_frame *frame, const pgy_tensor_map *feed,
                              pgy_error *err)
{
    const pgy_graph *g = f->graph;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->input_count; i++) {
        op_tensor t = {0};
        const pgy_value *v = g->inputs[i];
        pgy_tensor *given = pgy_tensor_map_find(feed, v->name);
        const bool as_it_is = v->kind == PGY_VALUE_TENSOR && given;
        st = as_it_is ? pgy_tensor_load(&t.value, given, err) : interface_feed(&t, v, feed, err);
        if (st) return st;
        if (as_it_is) t.dtype = pgy_tensor_dtype(given);
        flow_store(f, frame, v, &t);
    }
    return st;
}

/* A graph may list a value twice; it is added once. */
static pgy_status take_outputs(flow *f, flow_frame *frame, pgy_tensor_map *out, pgy_error *err)
{
    const pgy_graph *g = f->graph;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->output_count; i++) {
        op_tensor t;
        bool taken = false;
        for (size_t k = 0; k < i; k++) taken |= g->outputs[k] == g->outputs[i];
        if (taken) continue;
        st = flow_fetch(&t, f, frame, g->outputs[i], err);
        if (!st) st = interface_take(out, g->outputs[i], &t, err);
    }
    return st;
}

pgy_status flow_run(flow *f, const pgy_tensor_map *feed, const flow_rooms *rooms,
                    pgy_tensor_map *out, pgy_error *err)
{
    flow_frame *frame = NULL;
    str_clear(&f->path);
    f->rooms = rooms;
    pgy_status st = flow_frame_enter(&frame, f, f->graph, NULL, err);
    if (!st) st = feed_inputs(f, frame, feed, err);
    if (!st) st = run_level(f, frame, err);
    if (!st) st = take_outputs(f, frame, out, err);
    flow_frame_leave(frame);
    f->rooms = NULL;
    return st;
}

/* ---- A step of a program -------------------------------------------------------------------- */

static void keep(void *data, void *user)
{
    (void)data, (void)user;
}

static pgy_status wrap(op_tensor *out, const program_tensor *t, void *data, pgy_error *err)
{
    static char empty[64];
    out->dtype = t->dtype;
    return pgy_tensor_wrap(&out->value, data ? data : empty, t->dtype, (size_t)t->rank, t->shape,
                           keep, NULL, err);
}

static pgy_status load_inputs(flow *f, flow_frame *frame, const program *p, const program_step *s,
                              const pgy_node *n, void *const *addresses, pgy_error *err)
{
    const node_box *box = node_box_of(n);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < s->input_count; i++)
        if (s->tensors[i] != PROGRAM_NO_TENSOR)
            st = wrap(&frame->in[i], &p->tensors[s->tensors[i]], addresses[i], err);
    for (size_t i = 0; !st && i < s->captured_count; i++) {
        const size_t at = s->input_count + i;
        op_tensor t = {0};
        const pgy_value *v = box->captured[i];
        if (s->tensors[at] == PROGRAM_NO_TENSOR || v->graph != n->graph) continue;
        st = wrap(&t, &p->tensors[s->tensors[at]], addresses[at], err);
        if (st) return st;
        frame->left[plan_slot(&f->plan, v)] = UINT32_MAX;
        flow_store(f, frame, v, &t);
    }
    return st;
}

static bool overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes)
{
    const char *x = a, *y = b;
    return a_bytes && b_bytes && x < y + b_bytes && y < x + a_bytes;
}

/* Tells where results may be written at once: not where the step still reads. */
static void offer_places(flow_frame *frame, const program *p, const program_step *s,
                         void *const *addresses, flow_place *places)
{
    const size_t reads = (size_t)s->input_count + s->captured_count;
    (void)frame;
    for (size_t i = 0; i < s->output_count; i++) {
        const uint32_t tensor = s->tensors[reads + i];
        places[i] = (flow_place){0};
        if (tensor == PROGRAM_NO_TENSOR) continue;
        places[i] = (flow_place){addresses[reads + i], p->tensors[tensor].size_bytes};
        for (size_t k = 0; k < reads; k++)
            if (s->tensors[k] != PROGRAM_NO_TENSOR &&
                overlap(places[i].data, places[i].size_bytes, addresses[k],
                        p->tensors[s->tensors[k]].size_bytes))
                places[i].data = NULL;
    }
}

static pgy_status store_result(const program_tensor *t, void *data, op_tensor *value,
                               const program_step *s, pgy_error *err)
{
    if (!value->value)
        return pgy_error_set(err, PGY_E_INTERNAL, "%s '%s' did not compute '%s'", s->op_type,
                             s->label, t->name);
    value->dtype = t->dtype;
    const pgy_status st = flow_settle(value, err);
    if (st) return st;
    if (pgy_tensor_rank(value->value) != (size_t)t->rank ||
        pgy_tensor_size_bytes(value->value) != t->size_bytes)
        return pgy_error_set(err, PGY_E_SHAPE,
                             "%s '%s': the shape of '%s' differs from the inferred shape",
                             s->op_type, s->label, t->name);
    if (t->size_bytes && pgy_tensor_data(value->value) != data)
        memmove(data, pgy_tensor_data(value->value), t->size_bytes);
    return PGY_OK;
}

static pgy_status run_step(flow *f, flow_frame *frame, const program *p, const program_step *s,
                           pgy_node *n, void *const *addresses, pgy_error *err)
{
    const size_t reads = (size_t)s->input_count + s->captured_count;
    for (size_t i = 0; i < n->input_count; i++) frame->in[i] = (op_tensor){0};
    for (size_t i = 0; i < n->output_count; i++) {
        frame->out[i] = (op_tensor){0};
        frame->wanted[i] = n->outputs[i] != NULL;
    }
    flow_place *places = mem_calloc(s->output_count + 1, sizeof *places);
    if (!places) return flow_no_memory(err);
    pgy_status st = load_inputs(f, frame, p, s, n, addresses, err);
    offer_places(frame, p, s, addresses, places);
    f->frame = frame;
    f->step_places = places;
    f->count.node_runs++;
    if (!st) st = flow_control_run(f, frame, n, err);
    f->step_places = NULL;
    f->frame = NULL;
    for (size_t i = 0; !st && i < s->output_count; i++)
        if (s->tensors[reads + i] != PROGRAM_NO_TENSOR)
            st = store_result(&p->tensors[s->tensors[reads + i]], addresses[reads + i],
                              &frame->out[i], s, err);
    for (size_t i = 0; i < n->output_count; i++) op_tensor_release(&frame->out[i]);
    for (size_t i = 0; i < n->input_count; i++) op_tensor_release(&frame->in[i]);
    mem_free(places);
    return st;
}

pgy_status flow_run_step(flow *f, const program *p, const program_step *s, pgy_node *n,
                         void *const *addresses, pgy_error *err)
{
    flow_frame *frame = NULL;
    str_clear(&f->path);
    pgy_status st = flow_check(f, err);
    if (!st) st = flow_frame_enter(&frame, f, n->graph, NULL, err);
    if (!st) st = run_step(f, frame, p, s, n, addresses, err);
    flow_frame_leave(frame);
    return st;
}
