/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the latest programs by the shapes of the inputs. A graph whose shapes depend on data is
 * interpreted by the reference executor, in a copy that belongs to the context. */
#include "engine/context/context.h"

#include <string.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "base/ranges.h"
#include "base/sized.h"
#include "base/system.h"
#include "base/tracer.h"
#include "engine/build/shapes.h"
#include "engine/context/state.h"
#include "evaluate/execute.h"
#include "tensor/tensor.h"

static void forget(prepared *p)
{
    program_context_destroy(p->run);
    program_release(p->program);
    flow_destroy(p->flow);
    pgy_graph_destroy(p->bodies);
    pgy_metadata_destroy(p->shapes);
    *p = (prepared){0};
}

/* Drops a program, and lets the next one of its range have its context. */
static void retire(context *c, prepared *p)
{
    if (p->program && p->program->range) {
        forget(&c->resting);
        c->resting = (prepared){.run = p->run, .keeps = p->keeps, .memory = p->memory};
        program_context_rest(p->run);
        p->run = NULL;
    }
    forget(p);
}

/* ---- Life ----------------------------------------------------------------------------------- */

static pgy_status take_team(context *c, const pgy_context_options *o, pgy_error *err)
{
    const size_t threads = o->threads ? o->threads : engine_config(c->engine)->threads;
    if (!o->team) return pgy_team_create(&c->team, threads, err);
    c->team = pgy_team_retain(o->team);
    return PGY_OK;
}

pgy_status pgy_context_create(pgy_context **out, pgy_engine *e, const pgy_context_options *given,
                              pgy_error *err)
{
    pgy_context_options taken = {.size = sizeof taken};
    const pgy_context_options *o = &taken;
    pgy_error own;
    pgy_allocator allocator = {.size = sizeof allocator};
    ranges_detect();
    pgy_status st = SIZED_TAKE(pgy_context_options, &taken, given, err);
    if (!st) st = SIZED_TAKE(pgy_allocator, &allocator, taken.allocator, err);
    if (!st && !allocator.allocate != !allocator.release)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "context.allocator: %s is NULL; give both functions or neither",
                           allocator.allocate ? "release" : "allocate");
    if (st) return st;
    context *c = mem_calloc(1, sizeof *c);
    if (!c) return context_no_memory(err);
    if (!err) err = &own;
    c->profile = PROFILE_ANY;
    c->engine = engine_retain(e);
    c->allocation = o->allocation;
    c->allocator = allocator;
    st = take_team(c, o, err);
    if (!st) st = context_bind_names(c, err);
    if (!st) st = context_plan_memory(c, err);
    if (!st) engine_prefetch(e);
    context_tell(c, st, err);
    if (st)
        context_destroy(c);
    else
        *out = c;
    return st;
}

pgy_status context_create(context **out, engine *e, size_t threads, pgy_error *err)
{
    const pgy_context_options o = {.size = sizeof o, .threads = threads};
    return pgy_context_create(out, e, &o, err);
}

void context_destroy(context *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->kept_count; i++) forget(&c->kept[i]);
    forget(&c->resting);
    context_give_up(c);
    context_watch_deinit(c);
    flow_destroy(c->flow);
    pgy_team_release(c->team);
    pgy_graph_destroy(c->graph);
    pgy_error_recorder_release(c->recorder);
    engine_release(c->engine);
    mem_free(c->bounds);
    mem_free(c);
}

void context_follow(context *c)
{
    const uint64_t version = engine_version(c->engine);
    if (version == c->version) return;
    for (size_t i = 0; i < c->kept_count; i++) forget(&c->kept[i]);
    forget(&c->resting);
    c->kept_count = 0;
    c->current = NULL;
    c->last = NULL;
    flow_destroy(c->flow);
    pgy_graph_destroy(c->graph);
    c->flow = NULL;
    c->graph = NULL;
    c->version = version;
}

void pgy_context_destroy(pgy_context *c)
{
    context_destroy(c);
}

pgy_engine *pgy_context_engine(const pgy_context *c)
{
    return c->engine;
}

void pgy_context_set_error_recorder(pgy_context *c, pgy_error_recorder *r)
{
    pgy_error_recorder *before = c->recorder;
    c->recorder = r ? pgy_error_recorder_retain(r) : NULL;
    pgy_error_recorder_release(before);
}

void context_set_profile(context *c, size_t profile)
{
    c->profile = profile;
    c->current = NULL;
}

pgy_status pgy_context_set_profile(pgy_context *c, size_t profile, pgy_error *err)
{
    const profile_set *profiles = engine_profiles(c->engine);
    const size_t count = profiles ? profiles_count(profiles) : 1, before = c->profile;
    pgy_error own;
    if (!err) err = &own;
    pgy_status st = PGY_OK;
    if (profile >= count)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "profile %zu does not exist; the engine has %zu, counted from 0",
                           profile, count);
    if (!st) {
        context_set_profile(c, profile);
        st = context_plan_memory(c, err);
        if (st) context_set_profile(c, before);
    }
    return context_tell(c, st, err);
}

const program *context_program(const context *c)
{
    return c->last;
}

void pgy_context_cancel(pgy_context *c)
{
    int none = PGY_OK;
    atomic_compare_exchange_strong(&c->failed, &none, PGY_E_CANCELLED);
}

/* ---- Programs by shape ---------------------------------------------------------------------- */

/* Drops the oldest program if there is no room for another. The last one takes its place. */
static void make_room(context *c)
{
    if (c->kept_count < MAX_PREPARED) return;
    prepared *oldest = &c->kept[0], *end = &c->kept[--c->kept_count];
    for (prepared *p = oldest + 1; p <= end; p++)
        if (p->used < oldest->used) oldest = p;
    if (oldest->program == c->last) c->last = NULL;
    if (oldest == c->current) c->current = NULL;
    retire(c, oldest);
    if (oldest == end) return;
    if (c->current == end) c->current = oldest;
    *oldest = *end;
    *end = (prepared){0};
}

static pgy_status create_flow(flow **out, context *c, pgy_graph *g, pgy_error *err)
{
    packed_table *packed = engine_packed_table(c->engine);
    const flow_options o = {.config = engine_config(c->engine),
                            .packed = packed,
                            .team = team_within(c->team),
                            .failed = &c->failed};
    const pgy_status st = flow_create(out, g, &o, err);
    packed_table_release(packed);
    return st;
}

static pgy_status run_bodies(void *user, const program *p, const program_step *s, pgy_node *n,
                             void *const *addresses, pgy_error *err)
{
    return flow_run_step(user, p, s, n, addresses, err);
}

/* Binds steps with subgraphs to a copy of the graph, inferred for these shapes. */
static pgy_status bind_bodies(prepared *p, context *c, pgy_error *err)
{
    const pgy_infer_options o = {.size = sizeof o, .inputs = p->shapes};
    if (!program_needs_graph(p->program)) return PGY_OK;
    pgy_status st = engine_copy_graph(&p->bodies, c->engine, err);
    if (!st) st = pgy_graph_infer_shapes(p->bodies, &o, err);
    if (!st) st = create_flow(&p->flow, c, p->bodies, err);
    const program_bodies bodies = {.user = p->flow, .run = run_bodies};
    return st ? st : program_context_bind(p->run, p->bodies, &bodies, err);
}

static pgy_status make_run(prepared *made, context *c, pgy_error *err)
{
    if (c->resting.run && program_context_renew(c->resting.run, made->program)) {
        made->run = c->resting.run;
        made->keeps = c->resting.keeps;
        made->memory = c->resting.memory;
        c->resting = (prepared){0};
        return PGY_OK;
    }
    pgy_status st = program_context_create(&made->run, made->program, team_within(c->team), err);
    if (!st) st = bind_bodies(made, c, err);
    if (!st) program_context_stop_by(made->run, &c->failed);
    return st;
}

static pgy_status prepare(prepared **out, context *c, pgy_metadata *shapes, pgy_error *err)
{
    prepared made = {.shapes = shapes};
    const int64_t begin = clock_ns();
    bool is_new = false;
    /* What the caller gave memory for: a range needs a little more than the largest shapes alone.
     */
    const bool alone = c->allocation == PGY_ALLOCATION_USER;
    make_room(c); /* first, so that a range can turn the program that goes into the new one */
    pgy_status st = alone ? engine_program_alone(&made.program, &is_new, c->engine, shapes, err)
                          : engine_program(&made.program, &is_new, c->engine, shapes, err);
    if (!st && made.program) st = make_run(&made, c, err);
    if (st) {
        forget(&made);
        return st;
    }
    *out = &c->kept[c->kept_count++];
    **out = made;
    if (is_new) c->preparing_ns += clock_ns() - begin;
    return PGY_OK;
}

pgy_status context_prepare(prepared **out, context *c, pgy_metadata *shapes, pgy_error *err)
{
    for (size_t i = 0; i < c->kept_count; i++) {
        if (!shapes_equal(c->kept[i].shapes, shapes)) continue;
        *out = &c->kept[i];
        pgy_metadata_destroy(shapes);
        return PGY_OK;
    }
    return prepare(out, c, shapes, err);
}

static pgy_status find_prepared(prepared **out, context *c, const pgy_tensor_map *feed,
                                pgy_error *err)
{
    pgy_metadata *shapes = NULL;
    *out = NULL;
    context_follow(c);
    for (size_t i = 0; i < c->kept_count; i++) {
        if (!shapes_fit(c->kept[i].shapes, feed)) continue;
        *out = &c->kept[i];
        return PGY_OK;
    }
    const pgy_status st = shapes_of(&shapes, engine_inputs(c->engine), feed, err);
    return st || !shapes ? st : prepare(out, c, shapes, err);
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Places a program's memory again if the context has moved it since the last run. */
static pgy_status place(context *c, prepared *p, const team *t, pgy_error *err)
{
    const int64_t begin = c->preparing_ns ? clock_ns() : 0;
    const pgy_status st = context_hold(c, program_memory_bytes(p->program, team_size(t)), err);
    if (!st && p->memory != c->memory) {
        program_context_place(p->run, c->memory);
        p->memory = c->memory;
    }
    if (c->preparing_ns) c->preparing_ns += clock_ns() - begin;
    return st;
}

/* Notes the times of a run that took run_ns, in which a flow made programs for some time; what was
 * prepared before the run is not part of that. */
static void note_times(context *c, int64_t run_ns, int64_t flow_ns)
{
    c->run_times = (pgy_context_times){.whole_ns = run_ns + c->preparing_ns,
                                       .preparation_ns = flow_ns + c->preparing_ns};
}

pgy_context_times pgy_context_describe_times(const pgy_context *c)
{
    return c->run_times;
}

static int64_t making_ns(const flow *f)
{
    return f ? flow_counted(f).making_ns : 0;
}

pgy_status context_run_program(context *c, prepared *p, const void *const *inputs,
                               void *const *outputs, pgy_error *err)
{
    const int64_t made_ns = making_ns(p->flow);
    int64_t took = 0;
    program_watch w;
    flow_watch nodes;
    p->used = ++c->clock;
    c->last = p->program;
    pgy_status st = place(c, p, team_take(c->team), err);
    if (!st) {
        const program_watch *watch = context_watch(&w, c, p->program);
        const uint32_t run = tracer_is_on() ? tracer_run_begin(engine_name(c->engine)) : TRACE_NONE;
        program_context_trace(p->run);
        if (p->flow) flow_watch_by(p->flow, context_watch_nodes(&nodes, c, false));
        atomic_store_explicit(&c->failed, PGY_OK, memory_order_relaxed);
        const int64_t start = clock_ns();
        st = program_execute(p->run, inputs, outputs, watch, err);
        took = clock_ns() - start;
        if (!st) tracer_run_took(start, start + took);
        if (!st && tracer_is_on()) context_trace_values(p, inputs, outputs);
        if (st)
            tracer_run_drop(run);
        else
            tracer_run_end(run, start, start + took, tracer_is_warm_up());
    }
    team_give_back(c->team);
    if (c->has_profiler) context_report(c, p->program, st, took);
    if (!st) note_times(c, took, making_ns(p->flow) - made_ns);
    return st;
}

/* Outputs that have an address already lie in a buffer of the caller. */
static pgy_status create_outputs(pgy_tensor **made, void **data, const program *p, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < p->output_count; i++) {
        const program_tensor *t = &p->tensors[p->outputs[i]];
        if (data[i]) continue;
        st = tensor_create_raw(&made[i], t->dtype, (size_t)t->rank, t->shape, err);
        if (!st) data[i] = pgy_tensor_data(made[i]);
    }
    return st;
}

/* What a run reads and writes. */
typedef struct run_maps {
    const pgy_tensor_map *feed;
    pgy_kept_cache *caches;
    size_t cache_count;
    pgy_tensor_map *out;
} run_maps;

static pgy_status run_on_maps(context *c, prepared *p, const run_maps *m, pgy_error *err)
{
    const pgy_metadata *in = engine_inputs(c->engine), *to = engine_outputs(c->engine);
    const size_t input_count = pgy_metadata_count(in), output_count = pgy_metadata_count(to);
    arena memory = {0};
    const void **inputs = arena_alloc_array(&memory, input_count, sizeof *inputs);
    void **data = arena_alloc_array(&memory, output_count, sizeof *data);
    pgy_tensor **made = arena_alloc_array(&memory, output_count, sizeof *made);
    pgy_status st = inputs && data && made ? PGY_OK : context_no_memory(err);
    for (size_t i = 0; !st && i < input_count; i++)
        inputs[i] = pgy_tensor_data(pgy_tensor_map_find(m->feed, pgy_metadata_at(in, i)->name));
    if (!st) context_bind_caches(inputs, data, c, m->caches, m->cache_count);
    if (!st) st = create_outputs(made, data, p->program, err);
    if (!st) st = context_run_program(c, p, inputs, data, err);
    for (size_t i = 0; !st && i < output_count; i++)
        if (made[i]) st = pgy_tensor_map_set(m->out, pgy_metadata_at(to, i)->name, made[i], err);
    for (size_t i = 0; made && i < output_count; i++) pgy_tensor_release(made[i]);
    arena_deinit(&memory);
    return st;
}

static pgy_status prepare_flow(context *c, pgy_error *err)
{
    const pgy_status st = c->graph ? PGY_OK : engine_copy_graph(&c->graph, c->engine, err);
    return st || c->flow ? st : create_flow(&c->flow, c, c->graph, err);
}

pgy_status context_interpret(context *c, const pgy_tensor_map *feed, const flow_rooms *rooms,
                             pgy_tensor_map *out, pgy_error *err)
{
    flow_watch w;
    const int64_t begin = c->flow ? 0 : clock_ns();
    pgy_status st = prepare_flow(c, err);
    if (st) return st;
    if (begin) c->preparing_ns += clock_ns() - begin;
    const int64_t made_ns = making_ns(c->flow);
    c->last = NULL;
    team_take(c->team);
    flow_watch_by(c->flow, context_watch_nodes(&w, c, true));
    atomic_store_explicit(&c->failed, PGY_OK, memory_order_relaxed);
    const uint32_t run = tracer_is_on() ? tracer_run_begin(engine_name(c->engine)) : TRACE_NONE;
    const int64_t start = clock_ns();
    st = flow_run(c->flow, feed, rooms, out, err);
    const int64_t took = clock_ns() - start;
    if (st)
        tracer_run_drop(run);
    else
        tracer_run_end(run, start, start + took, tracer_is_warm_up());
    team_give_back(c->team);
    if (c->has_profiler) context_report(c, NULL, st, took);
    if (!st) note_times(c, took, making_ns(c->flow) - made_ns);
    return st;
}

static pgy_status run_prepared(context *c, prepared *p, const run_maps *m, pgy_error *err)
{
    if (p) p->used = ++c->clock;
    return p && p->program ? run_on_maps(c, p, m, err)
                           : context_interpret(c, m->feed, NULL, m->out, err);
}

static pgy_status run(context *c, const run_maps *m, pgy_error *err)
{
    const profile_set *profiles = engine_profiles(c->engine);
    prepared *p = NULL;
    pgy_status st = profiles ? profiles_check(profiles, c->profile, m->feed, err) : PGY_OK;
    c->preparing_ns = 0;
    if (!st) st = find_prepared(&p, c, m->feed, err);
    if (!st) st = context_find_caches(p, c, m->caches, m->cache_count, err);
    if (st || !m->cache_count) return st ? st : run_prepared(c, p, m, err);
    run_maps own = *m;
    pgy_tensor_map *feed = NULL;
    st = context_copy_caches(&feed, m->feed, m->caches, m->cache_count, err);
    own.feed = feed;
    if (!st) st = run_prepared(c, p, &own, err);
    pgy_tensor_map_destroy(feed);
    return st;
}

pgy_status context_run_keeping(context *c, const pgy_tensor_map *feed, pgy_kept_cache *caches,
                               size_t cache_count, pgy_tensor_map *out, int64_t *time_ns,
                               pgy_error *err)
{
    const run_maps m = {.feed = feed, .caches = caches, .cache_count = cache_count, .out = out};
    pgy_error own;
    if (!err) err = &own;
    const pgy_status st = context_tell(c, run(c, &m, err), err);
    if (!st && time_ns) *time_ns = c->run_times.whole_ns;
    return st;
}

pgy_status context_run(context *c, const pgy_tensor_map *feed, pgy_tensor_map *out,
                       int64_t *time_ns, pgy_error *err)
{
    return context_run_keeping(c, feed, NULL, 0, out, time_ns, err);
}

pgy_status pgy_context_run(pgy_context *c, const pgy_tensor_map *feed, pgy_tensor_map *out,
                           pgy_error *err)
{
    return context_run(c, feed, out, NULL, err);
}
