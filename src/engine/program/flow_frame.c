/* SPDX-License-Identifier: Apache-2.0 */
/* Each run of a level has a frame: one slot for each value, with the reads still to come. A value
 * is released after its last read. Weights that nodes read outside of programs are read once for
 * the level. A value of an enclosing level is read where it lies, in the frame of that level. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "engine/program/flow_parts.h"

pgy_status flow_no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while running control flow");
}

pgy_status flow_check(const flow *f, pgy_error *err)
{
    if (!atomic_load_explicit(f->o.failed, memory_order_relaxed) && !cancel_requested())
        return PGY_OK;
    return pgy_error_set(err, PGY_E_CANCELLED, "the run was cancelled");
}

static size_t slot_of(const flow *f, const pgy_value *v)
{
    return plan_slot(&f->plan, v);
}

/* ---- Levels --------------------------------------------------------------------------------- */

static void destroy_frame(flow_frame *frame)
{
    if (!frame) return;
    mem_free(frame->values);
    mem_free(frame->left);
    mem_free(frame->places);
    mem_free(frame->in);
    mem_free(frame->out);
    mem_free(frame->wanted);
    mem_free(frame);
}

static void destroy_level(flow_level *level)
{
    if (!level) return;
    for (size_t i = 0; level->constants && i < level->plan->slot_count; i++)
        op_tensor_release(&level->constants[i]);
    while (level->spare) {
        flow_frame *next = level->spare->next;
        destroy_frame(level->spare);
        level->spare = next;
    }
    mem_free(level->constants);
    mem_free(level->order);
    mem_free(level->items);
    mem_free(level->places);
    mem_free(level);
}

void flow_levels_destroy(flow *f)
{
    const size_t count = state_of(f->graph)->level_count;
    for (size_t i = 0; i < count; i++) destroy_level(flow_levels_get(&f->levels, i));
    flow_levels_deinit(&f->levels);
}

static pgy_status make_level(flow_level **out, const level_plan *plan, pgy_error *err)
{
    const pgy_graph *g = plan->graph;
    flow_level *level = mem_calloc(1, sizeof *level);
    if (!level) return flow_no_memory(err);
    level->plan = plan;
    level->order = mem_alloc((g->node_count + 1) * sizeof(void *));
    level->places = mem_calloc(g->node_count + 1, sizeof *level->places);
    level->constants = mem_calloc(plan->slot_count + 1, sizeof *level->constants);
    if (!level->order || !level->places || !level->constants) {
        destroy_level(level);
        return flow_no_memory(err);
    }
    for (size_t i = 0; i < g->node_count; i++) {
        pgy_node *n = plan->order[i];
        if (node_constant(n)) continue;
        level->order[level->node_count++] = n;
        level->places[n->index] = level->node_count;
    }
    *out = level;
    return PGY_OK;
}

pgy_status flow_level_of(flow_level **out, flow *f, const pgy_graph *g, pgy_error *err)
{
    const level_plan *plan = plan_of(&f->plan, g);
    flow_level **place = flow_levels_at(&f->levels, level_id(g));
    if (!place) return flow_no_memory(err);
    if (!plan) return pgy_error_set(err, PGY_E_INTERNAL, "graph '%s' has no plan", g->name);
    const pgy_status st = *place ? PGY_OK : make_level(place, plan, err);
    *out = *place;
    return st;
}

/* ---- Frames --------------------------------------------------------------------------------- */

static pgy_status make_frame(flow_frame **out, flow_level *level, pgy_error *err)
{
    const size_t slots = level->plan->slot_count + 1, wide = level->plan->widest_node + 1;
    flow_frame *frame = mem_calloc(1, sizeof *frame);
    if (!frame) return flow_no_memory(err);
    frame->level = level;
    frame->values = mem_calloc(slots, sizeof *frame->values);
    frame->left = mem_calloc(slots, sizeof *frame->left);
    frame->places = mem_calloc(slots, sizeof *frame->places);
    frame->in = mem_calloc(wide, sizeof *frame->in);
    frame->out = mem_calloc(wide, sizeof *frame->out);
    frame->wanted = mem_calloc(wide, sizeof *frame->wanted);
    if (!frame->values || !frame->left || !frame->places || !frame->in || !frame->out ||
        !frame->wanted) {
        destroy_frame(frame);
        return flow_no_memory(err);
    }
    *out = frame;
    return PGY_OK;
}

void flow_frame_renew(flow_frame *frame)
{
    const level_plan *plan = frame->level->plan;
    for (size_t i = 0; i < plan->slot_count; i++)
        if (frame->values[i].value || frame->values[i].sequence)
            op_tensor_release(&frame->values[i]);
    if (plan->slot_count) memcpy(frame->left, plan->uses, plan->slot_count * sizeof *frame->left);
}

pgy_status flow_frame_enter(flow_frame **out, flow *f, const pgy_graph *g, flow_frame *outer,
                            pgy_error *err)
{
    flow_level *level = NULL;
    pgy_status st = flow_level_of(&level, f, g, err);
    flow_frame *frame = st ? NULL : level->spare;
    if (frame)
        level->spare = frame->next;
    else if (!st)
        st = make_frame(&frame, level, err);
    if (st) return st;
    frame->outer = outer;
    frame->next = NULL;
    flow_frame_renew(frame);
    *out = frame;
    return PGY_OK;
}

void flow_frame_leave(flow_frame *frame)
{
    if (!frame) return;
    flow_frame_renew(frame);
    memset(frame->places, 0, frame->level->plan->slot_count * sizeof *frame->places);
    frame->next = frame->level->spare;
    frame->level->spare = frame;
}

/* ---- Values --------------------------------------------------------------------------------- */

bool flow_is_constant(const pgy_value *v)
{
    return v->initializer || v->sparse || (v->producer && node_constant(v->producer));
}

static pgy_status load_constant(op_tensor *held, pgy_value *v, pgy_error *err)
{
    pgy_tensor *stored = NULL, *value = NULL;
    pgy_status st = pgy_graph_value_data(&stored, v, err);
    if (!st) st = pgy_tensor_load(&value, stored, err);
    if (!st) *held = (op_tensor){.dtype = pgy_tensor_dtype(stored), .value = value};
    pgy_tensor_release(stored);
    return st;
}

static pgy_status fetch_constant(op_tensor *out, flow *f, pgy_value *v, pgy_error *err)
{
    flow_level *level = NULL;
    pgy_status st = flow_level_of(&level, f, v->graph, err);
    op_tensor *held = st ? NULL : &level->constants[slot_of(f, v)];
    if (!st && !held->value) st = load_constant(held, v, err);
    if (!st) *out = *held;
    return st;
}

pgy_status flow_fetch(op_tensor *out, flow *f, flow_frame *from, pgy_value *v, pgy_error *err)
{
    *out = (op_tensor){0};
    if (!v) return PGY_OK;
    flow_frame *frame = from;
    while (frame && frame->level->plan->graph != v->graph) frame = frame->outer;
    const op_tensor *held = frame ? &frame->values[slot_of(f, v)] : NULL;
    if (held && (held->value || held->sequence))
        *out = *held;
    else if (flow_is_constant(v))
        return fetch_constant(out, f, v, err);
    return PGY_OK;
}

pgy_status flow_note_sizes(flow *f, flow_frame *frame, const pgy_node *n, pgy_error *err)
{
    const node_box *box = node_box_of(n);
    pgy_status st = PGY_OK;
    describe_start(&f->described);
    for (size_t i = 0; !st && i < n->input_count; i++)
        st = describe_note(&f->described, n->inputs[i], frame->in[i].value, err);
    for (size_t i = 0; !st && i < box->captured_count; i++) {
        op_tensor t;
        st = flow_fetch(&t, f, frame, box->captured[i], err);
        if (!st) st = describe_note(&f->described, box->captured[i], t.value, err);
    }
    return st;
}

void flow_store(const flow *f, flow_frame *frame, const pgy_value *v, op_tensor *t)
{
    const size_t slot = v ? slot_of(f, v) : 0;
    if (!v || frame->left[slot] == 0) {
        op_tensor_release(t);
        return;
    }
    op_tensor_release(&frame->values[slot]);
    frame->values[slot] = *t;
    *t = (op_tensor){0};
}

void flow_use_up(const flow *f, flow_frame *frame, const pgy_value *v, uint32_t times)
{
    if (!v || v->graph != frame->level->plan->graph) return;
    const size_t slot = slot_of(f, v);
    const uint32_t left = frame->left[slot];
    frame->left[slot] = left > times ? left - times : 0;
    if (left && left <= times) op_tensor_release(&frame->values[slot]);
}

pgy_status flow_settle(op_tensor *t, pgy_error *err)
{
    pgy_tensor *made = NULL;
    if (!t->value || pgy_tensor_dtype(t->value) == t->dtype) return PGY_OK;
    const pgy_status st = op_from_storage(&made, t->value, t->dtype, err);
    if (st) return st;
    pgy_tensor_release(t->value);
    t->value = made;
    return PGY_OK;
}

/* ---- Where a run is ------------------------------------------------------------------------- */

void *flow_room(void *user, const pgy_value *v, pgy_dtype dtype, size_t rank, const int64_t *shape)
{
    const flow *f = user;
    if (!f->rooms || !v || v->graph != f->graph) return NULL;
    for (size_t i = 0; i < f->graph->output_count; i++)
        if (f->graph->outputs[i] == v)
            return f->rooms->find(f->rooms->user, v->name, dtype, rank, shape);
    return NULL;
}

const flow_place *flow_take_places(flow *f)
{
    const flow_place *places = f->step_places;
    f->step_places = NULL;
    return places;
}

void flow_path_cut(flow *f, size_t size)
{
    if (f->path.size <= size) return;
    f->path.size = size;
    f->path.data[size] = 0;
}
