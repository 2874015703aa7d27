/* SPDX-License-Identifier: Apache-2.0 */
/* Runs segments. A segment keeps a program for each of the latest kinds of inputs: their types,
 * shapes and, where shapes depend on them, elements. The programs of a flow share one block of
 * memory, because one runs at a time. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"
#include "engine/program/flow_parts.h"
#include "tensor/tensor.h"

static const char LOG_PATH[] = "engine/program/flow_segment.c";

enum {
    EXACT = 3,         /* variants before a range is tried */
    RANGE_NODES = 8,   /* a shorter segment is built as fast */
    BY_VALUE = 6,      /* variants that differ in elements, before the segment is split */
    KEPT_NODES = 4096, /* in all variants of a segment */
    FEWEST = 16,
    MOST = 256,
    RECENT = 2048 /* runs after which earlier hits and misses count half */
};

/* ---- Life ----------------------------------------------------------------------------------- */

static void forget(flow_variant *v)
{
    program_context_destroy(v->run);
    program_release(v->program);
    mem_free(v->key);
    mem_free(v->forms);
    *v = (flow_variant){0};
}

static void destroy(flow_segment *s)
{
    for (size_t i = 0; i < s->variant_count; i++) forget(&s->variants[i]);
    mem_free(s->variants);
    mem_free(s->hashes);
    range_release(s->range);
    pgy_metadata_destroy(s->sample);
    flow_cut_deinit(&s->cut);
    mem_free(s);
}

void flow_segments_destroy(flow *f)
{
    for (flow_segment *s = f->segments, *next; s; s = next) {
        next = s->next;
        destroy(s);
    }
    f->segments = NULL;
}

/* ---- Keys ----------------------------------------------------------------------------------- */

static int64_t element(const pgy_tensor *t, size_t i)
{
    const size_t bytes = pgy_dtype_describe(pgy_tensor_dtype(t))->bits / 8;
    int64_t v = 0;
    memcpy(&v, (const char *)pgy_tensor_data(t) + i * bytes, bytes);
    return v;
}

/* Types, shapes and elements that matter. */
static size_t make_key(flow_segment *s)
{
    int64_t *to = s->key;
    for (size_t i = 0; i < s->cut.input_count; i++) {
        const pgy_tensor *t = s->in[i].value;
        const size_t rank = pgy_tensor_rank(t);
        const int64_t *shape = pgy_tensor_shape(t);
        *to++ = (int64_t)s->in[i].dtype * 256 + (int64_t)rank;
        for (size_t d = 0; d < rank; d++) *to++ = shape[d];
        if (!s->by_value[i]) continue;
        const size_t count = pgy_tensor_count(t);
        for (size_t k = 0; k < count; k++) *to++ = element(t, k);
    }
    return (size_t)(to - s->key);
}

/* Do the inputs that count by elements fit the room of the key? */
static bool key_fits(const flow_segment *s)
{
    size_t room = 0;
    for (size_t i = 0; i < s->cut.input_count; i++)
        room += 1 + pgy_tensor_rank(s->in[i].value) +
                (s->by_value[i] ? pgy_tensor_count(s->in[i].value) : 0);
    return room <= s->key_room;
}

static uint64_t hash_of(const flow_segment *s, size_t length)
{
    uint64_t h = length;
    for (size_t i = 0; i < length; i++) {
        h = (h ^ (uint64_t)s->key[i]) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    return h;
}

static bool has_key(const flow_segment *s, size_t index, uint64_t hash, size_t length)
{
    const flow_variant *v = &s->variants[index];
    return s->hashes[index] == hash && v->key_length == length &&
           memcmp(v->key, s->key, length * sizeof *v->key) == 0;
}

/* Loops come back to the same variant, or to the one that was made after it. */
static flow_variant *find(flow_segment *s, uint64_t hash, size_t length)
{
    for (size_t i = s->last; i < s->variant_count && i < s->last + 2; i++)
        if (has_key(s, i, hash, length)) {
            s->last = i;
            return &s->variants[i];
        }
    for (size_t i = 0; i < s->variant_count; i++)
        if (has_key(s, i, hash, length)) {
            s->last = i;
            return &s->variants[i];
        }
    return NULL;
}

/* Puts a variant into the list, in place of the oldest one if the list is full. */
static pgy_status keep_variant(flow_variant **out, flow_segment *s, const flow_variant *made,
                               uint64_t hash, pgy_error *err)
{
    size_t at = s->variant_count;
    if (at < s->most_variants) {
        if (!mem_grow((void **)&s->variants, &s->variant_capacity, at + 1, sizeof *s->variants) ||
            !mem_grow((void **)&s->hashes, &s->hash_capacity, at + 1, sizeof *s->hashes))
            return flow_no_memory(err);
        s->variant_count++;
    } else {
        at = 0;
        for (size_t i = 1; i < s->variant_count; i++)
            if (s->variants[i].used < s->variants[at].used) at = i;
        forget(&s->variants[at]);
    }
    s->variants[at] = *made;
    s->hashes[at] = hash;
    s->last = at;
    *out = &s->variants[at];
    return PGY_OK;
}

/* ---- Programs ------------------------------------------------------------------------------- */

static build_options options_of(const flow *f, const flow_segment *s)
{
    return (build_options){
        .config = &s->config, .threads = s->config.threads, .packed = f->o.packed};
}

static void release_graph(void *graph)
{
    pgy_graph_destroy(graph);
}

/* Drops the outputs that have the elements of another value, and notes their shapes. */
static pgy_status drop_views(flow_form **out, const flow_segment *s, pgy_graph *g, pgy_error *err)
{
    size_t kept = 0;
    flow_form *forms = mem_calloc(s->cut.output_count + 1, sizeof *forms);
    if (!forms) return flow_no_memory(err);
    *out = forms;
    for (size_t i = 0; i < s->cut.output_count; i++) {
        pgy_value *v = g->outputs[i];
        if (s->cut.outputs[i].like == FLOW_MADE) {
            g->outputs[kept++] = v;
            continue;
        }
        const op_value *known = &box_of(v)->known;
        if (!value_is_known(known) || known->rank > PGY_MAX_RANK)
            return pgy_error_set(err, PGY_E_UNSUPPORTED, "the shape of '%s' is unknown", v->name);
        forms[i] = (flow_form){.dtype = known->dtype, .rank = (size_t)known->rank};
        for (int32_t d = 0; d < known->rank; d++) {
            if (!dim_is_const(known->dims[d]))
                return pgy_error_set(err, PGY_E_UNSUPPORTED, "the shape of '%s' is unknown",
                                     v->name);
            forms[i].shape[d] = known->dims[d].value;
        }
        v->is_output = false;
    }
    g->output_count = kept;
    for (size_t i = 0; i < kept; i++) g->outputs[i]->is_output = true;
    return PGY_OK;
}

static pgy_status build_exact(flow_variant *v, const flow *f, const flow_segment *s, pgy_error *err)
{
    const build_options o = options_of(f, s);
    pgy_graph *g = NULL;
    pgy_status st = graph_clone(&g, s->cut.graph, err);
    if (!st) st = flow_infer(g, s->in, s->any_value ? s->by_value : NULL, err);
    if (!st) st = drop_views(&v->forms, s, g, err);
    if (!st) st = program_build(&v->program, g, &o, err);
    if (!st && program_points_to_graph(v->program)) {
        v->program->owner = g;
        v->program->release_owner = release_graph;
        g = NULL;
    }
    pgy_graph_destroy(g);
    return st;
}

/* Makes the program from a range of shapes, once there were several. */
static pgy_status build_ranged(flow_variant *v, const flow *f, flow_segment *s,
                               const pgy_metadata *shapes, pgy_error *err)
{
    const build_options o = options_of(f, s);
    pgy_error why = {0};
    pgy_status st = PGY_OK;
    if (s->no_range || s->any_value || s->misses <= EXACT || s->cut.graph->node_count < RANGE_NODES)
        return PGY_OK;
    if (!s->range) {
        const pgy_metadata *samples[] = {shapes, s->sample};
        pgy_graph *g = NULL;
        st = graph_clone(&g, s->cut.graph, err);
        if (st) return st;
        st = range_build(&s->range, g, samples, 2, &o, &why);
        if (st) LOG(VERBOSE, "A segment has no range of shapes: %s", why.text);
        s->no_range = st != PGY_OK;
    }
    if (!st && range_covers(s->range, shapes))
        st = range_program(&v->program, s->range, shapes, &why);
    return st == PGY_E_MEMORY || st == PGY_E_CANCELLED ? pgy_error_set(err, st, "%s", why.text)
                                                       : PGY_OK;
}

static pgy_status build_either(flow_variant *v, const flow *f, flow_segment *s, pgy_error *err)
{
    pgy_metadata *shapes = NULL;
    pgy_error why = {0};
    pgy_status st = flow_describe(&shapes, s->cut.graph, s->in, err);
    if (!st) st = build_ranged(v, f, s, shapes, err);
    if (!st && !v->program) {
        st = build_exact(v, f, s, &why);
        if (st == PGY_E_MEMORY || st == PGY_E_CANCELLED) {
            pgy_error_set(err, st, "%s", why.text);
        } else if (st) {
            /* Its nodes run alone, and the one that fails says why. */
            LOG(VERBOSE, "Nodes of a segment run one by one: %s", why.text);
            st = PGY_OK;
        }
    }
    pgy_metadata_destroy(s->sample);
    s->sample = shapes;
    return st;
}

static pgy_status make_variant(flow_variant **out, flow *f, flow_segment *s, uint64_t hash,
                               size_t length, pgy_error *err)
{
    flow_variant made = {.key = mem_alloc((length + 1) * sizeof *made.key), .key_length = length};
    const int64_t begin = clock_ns();
    if (!made.key) return flow_no_memory(err);
    if (length) memcpy(made.key, s->key, length * sizeof *made.key);
    pgy_status st = build_either(&made, f, s, err);
    if (!st && made.program) st = program_context_create(&made.run, made.program, f->o.team, err);
    if (!st && made.program) {
        program_context_stop_by(made.run, f->o.failed);
        f->count.programs++;
    }
    if (!st) st = keep_variant(out, s, &made, hash, err);
    if (st) forget(&made);
    f->count.making_ns += clock_ns() - begin;
    return st;
}

/* ---- A run ---------------------------------------------------------------------------------- */

static pgy_status place(flow *f, flow_variant *v, pgy_error *err)
{
    const uint64_t wanted = program_memory_bytes(v->program, team_size(f->o.team));
    if (wanted > f->memory_bytes) {
        mem_free_block(f->memory, f->memory_bytes);
        f->memory = mem_alloc_block(wanted);
        f->memory_bytes = f->memory ? wanted : 0;
        if (!f->memory)
            return pgy_error_set(err, PGY_E_MEMORY, "out of memory for an arena of %llu bytes",
                                 (unsigned long long)wanted);
    }
    if (v->memory == f->memory) return PGY_OK;
    program_context_place(v->run, f->memory);
    v->memory = f->memory;
    return PGY_OK;
}

static void keep(void *data, void *user)
{
    (void)data, (void)user;
}

/* Makes an output, in the caller's memory if that fits. */
static pgy_status create_output(op_tensor *out, const flow_place *at, const program_tensor *t,
                                pgy_error *err)
{
    const uint64_t limit = memory_limit_bytes();
    *out = (op_tensor){.dtype = t->dtype};
    if (at->data && at->size_bytes == t->size_bytes)
        return pgy_tensor_wrap(&out->value, at->data, t->dtype, (size_t)t->rank, t->shape, keep,
                               NULL, err);
    if (limit && t->size_bytes > limit)
        return pgy_error_set(err, PGY_E_MEMORY, "an output of %llu bytes exceeds %s",
                             (unsigned long long)t->size_bytes,
                             memory_limit_describe_other(limit).text);
    return tensor_create_raw(&out->value, t->dtype, (size_t)t->rank, t->shape, err);
}

/* Where the caller, or the step that runs, wants output `port`. */
static flow_place place_of(flow *f, const flow_frame *frame, const flow_port *port,
                           const program_tensor *t)
{
    flow_place at = frame->places[plan_slot(&f->plan, port->value)];
    if (at.data) return at;
    at.data = flow_room(f, port->value, t->dtype, (size_t)t->rank, t->shape);
    at.size_bytes = t->size_bytes;
    return at;
}

static pgy_status create_outputs(flow_segment *s, flow *f, const flow_frame *frame,
                                 const flow_variant *v, pgy_error *err)
{
    const program *p = v->program;
    size_t index = 0;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < s->cut.output_count; i++) {
        const flow_port *port = &s->cut.outputs[i];
        if (v->forms && port->like != FLOW_MADE) continue;
        const program_tensor *t = &p->tensors[p->outputs[index]];
        const flow_place at = place_of(f, frame, port, t);
        st = create_output(&s->made[i], &at, t, err);
        if (!st) s->outputs[index++] = pgy_tensor_data(s->made[i].value);
    }
    return st;
}

/* Outputs that show another value in their own shape. */
static pgy_status share_outputs(flow_segment *s, const flow_variant *v, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && v->forms && i < s->cut.output_count; i++) {
        const flow_port *port = &s->cut.outputs[i];
        const flow_form *form = &v->forms[i];
        if (port->like == FLOW_MADE) continue;
        const op_tensor *from = port->of_output ? &s->made[port->like] : &s->in[port->like];
        s->made[i].dtype = form->dtype;
        st = pgy_tensor_reshape(&s->made[i].value, from->value, form->rank, form->shape, err);
    }
    return st;
}

/* ---- Watched runs ---------------------------------------------------------------------------- */

static bool show_mark(void *user, const program *p, const program_mark *m, const void *data)
{
    const flow *f = user;
    const program_tensor *t = &p->tensors[m->tensor];
    str name = {0};
    str_printf(&name, "%s%s", str_text(&f->path), t->name);
    const bool goes_on = f->watch->show(f->watch->user, str_text(&name), t, data);
    str_deinit(&name);
    return goes_on;
}

static pgy_status run_watched(flow *f, flow_segment *s, flow_variant *v, bool timed, pgy_error *err)
{
    const program *p = v->program;
    int64_t *times = timed ? mem_calloc(p->step_count + 1, sizeof *times) : NULL;
    if (timed && !times) return flow_no_memory(err);
    const program_watch w = {
        .times = times, .show = f->watch->show && p->mark_count ? show_mark : NULL, .user = f};
    const pgy_status st = program_execute(v->run, s->inputs, s->outputs, &w, err);
    for (size_t i = 0; !st && timed && i < p->step_count; i++)
        f->watch->time(f->watch->user, NULL, p->steps[i].label, times[i]);
    mem_free(times);
    return st;
}

static pgy_status execute(flow *f, flow_segment *s, flow_variant *v, pgy_error *err)
{
    const bool timed = f->watch && f->watch->time && !s->in_body;
    f->count.program_runs++;
    if (timed || (f->watch && f->watch->show && v->program->mark_count))
        return run_watched(f, s, v, timed, err);
    return program_execute(v->run, s->inputs, s->outputs, NULL, err);
}

static pgy_status run_variant(flow_segment *s, flow *f, flow_frame *frame, flow_variant *v,
                              pgy_error *err)
{
    pgy_status st = place(f, v, err);
    for (size_t i = 0; i < s->cut.input_count; i++) s->inputs[i] = pgy_tensor_data(s->in[i].value);
    if (!st) st = create_outputs(s, f, frame, v, err);
    if (!st && v->program->step_count) st = execute(f, s, v, err);
    if (!st) st = share_outputs(s, v, err);
    for (size_t i = 0; i < s->cut.input_count; i++)
        flow_use_up(f, frame, s->cut.inputs[i].value, st ? 0 : s->cut.inputs[i].times);
    for (size_t i = 0; i < s->cut.output_count; i++) {
        const flow_port *port = &s->cut.outputs[i];
        if (st) {
            op_tensor_release(&s->made[i]);
            continue;
        }
        flow_store(f, frame, port->value, &s->made[i]);
        if (port->times) flow_use_up(f, frame, port->value, port->times);
    }
    return st;
}

/* Do most runs need another program than those that are kept? */
static bool changes_much(flow_segment *s, size_t fewest)
{
    if (s->hits + s->misses > RECENT) {
        s->hits /= 2;
        s->misses /= 2;
    }
    return s->misses >= fewest && s->hits < 3 * s->misses;
}

pgy_status flow_segment_run(bool *done, bool *split, flow_segment *s, flow *f, flow_frame *frame,
                            pgy_error *err)
{
    flow_variant *v = NULL;
    bool fits = true;
    size_t taken = 0;
    pgy_status st = PGY_OK;
    *done = *split = false;
    if (!s->most_variants) {
        const size_t most = KEPT_NODES / (s->cut.graph->node_count + 1);
        s->most_variants = most < FEWEST ? FEWEST : most > MOST ? MOST : most;
    }
    for (; !st && fits && taken < s->cut.input_count; taken++)
        st = flow_take(&s->in[taken], &fits, f, frame, s->cut.inputs[taken].value, err);
    if (!st && fits && key_fits(s)) {
        const size_t length = make_key(s);
        const uint64_t hash = hash_of(s, length);
        v = find(s, hash, length);
        s->hits += v != NULL;
        s->misses += v == NULL;
        *split = !v && s->any_value && changes_much(s, BY_VALUE);
        if (!v && !*split && (s->range || !changes_much(s, 2 * s->most_variants)))
            st = make_variant(&v, f, s, hash, length, err);
    }
    if (!st && v && v->program) {
        v->used = ++s->clock;
        st = run_variant(s, f, frame, v, err);
        *done = true;
    }
    for (size_t i = 0; i < taken; i++) op_tensor_release(&s->in[i]);
    return st;
}
