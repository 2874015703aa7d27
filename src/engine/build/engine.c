/* SPDX-License-Identifier: Apache-2.0 */
/* Building, and programs. Programs are kept by the shapes of the inputs, the latest ones; one
 * lock guards them and the graph, which inference for other shapes changes. */
#include "engine/build/engine_state.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "engine/build/config.h"
#include "engine/build/debug.h"
#include "engine/build/hooks.h"
#include "engine/build/shapes.h"
#include "engine/passes/pass.h"
#include "engine/precision/precision.h"
#include "evaluate/interface.h"
#include "evaluate/plan.h"

static const char LOG_PATH[] = "backend/trt/loader.py";

enum { MAX_PROGRAMS = 8 }; /* beside those of profiles */

pgy_status engine_no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

void engine_forget(built *b)
{
    program_release(b->program);
    pgy_metadata_destroy(b->shapes);
    *b = (built){0};
}

engine *engine_retain(engine *e)
{
    atomic_fetch_add_explicit(&e->users, 1, memory_order_relaxed);
    return e;
}

void engine_release(engine *e)
{
    if (!e || atomic_fetch_sub_explicit(&e->users, 1, memory_order_acq_rel) > 1) return;
    for (size_t i = 0; i < e->kept_count; i++) engine_forget(&e->kept[i]);
    mem_free(e->kept);
    tactics_destroy(e->replay);
    timing_destroy(e->timing);
    profiles_destroy(e->profiles);
    pgy_metadata_destroy(e->inputs);
    pgy_metadata_destroy(e->outputs);
    shared_graph_release(e->graph);
    pgy_model_destroy(e->original);
    plan_close(e->file);
    mem_free(e->bytes);
    arena_deinit(&e->memory);
    pgy_error_recorder_release(e->recorder);
    pthread_mutex_destroy(&e->lock);
    mem_free(e);
}

pgy_status engine_create(engine **out, const pgy_build_config *config, pgy_error *err)
{
    engine *e = mem_calloc(1, sizeof *e);
    if (!e) return engine_no_memory(err);
    atomic_init(&e->users, 1);
    atomic_init(&e->version, 0);
    atomic_init(&e->stripped, false);
    if (pthread_mutex_init(&e->lock, NULL)) {
        mem_free(e);
        return engine_no_memory(err);
    }
    const pgy_status st = config_copy(&e->config, config, &e->memory, err);
    if (st)
        engine_release(e);
    else
        *out = e;
    return st;
}

void engine_let_go(engine *e)
{
    timing_destroy(e->timing);
    e->timing = NULL;
    e->config->calibration = NULL;
    e->config->monitor = NULL;
    e->config->timing_cache = NULL;
}

const pgy_metadata *engine_inputs(const engine *e)
{
    return e->inputs;
}

const pgy_metadata *engine_outputs(const engine *e)
{
    return e->outputs;
}

const pgy_build_config *engine_config(const engine *e)
{
    return e->config;
}

const profile_set *engine_profiles(const engine *e)
{
    return e->profiles;
}

void pgy_engine_set_error_recorder(pgy_engine *e, pgy_error_recorder *r)
{
    pgy_error_recorder *before;
    pthread_mutex_lock(&e->lock);
    before = e->recorder;
    e->recorder = r ? pgy_error_recorder_retain(r) : NULL;
    pthread_mutex_unlock(&e->lock);
    pgy_error_recorder_release(before);
}

void engine_tell(engine *e, pgy_status st, const char *text)
{
    pthread_mutex_lock(&e->lock);
    pgy_error_recorder_report(e->recorder, st, text);
    pthread_mutex_unlock(&e->lock);
}

const char *engine_name(const engine *e)
{
    return e->name;
}

bool engine_is_stripped(const engine *e)
{
    return atomic_load_explicit(&e->stripped, memory_order_acquire);
}

uint64_t engine_version(const engine *e)
{
    return atomic_load_explicit(&e->version, memory_order_acquire);
}

/* ---- Building ------------------------------------------------------------------------------- */

static pgy_status describe(pgy_metadata **out, pgy_value *const *values, size_t count,
                           pgy_error *err)
{
    pgy_status st = pgy_metadata_create(out, err);
    for (size_t i = 0; !st && i < count; i++) {
        int64_t shape[PGY_MAX_RANK];
        const char *names[PGY_MAX_RANK];
        const pgy_tensor_info info = interface_describe(values[i], shape, names);
        st = pgy_metadata_set(*out, &info, err);
    }
    return st;
}

/* Of the file as it was, for those who look at the plan later. */
uint64_t engine_hash_model(pgy_model *model)
{
    file_map map = {0};
    const char *path = pgy_model_path(model);
    if (!path[0] || file_map_open(&map, path, NULL)) return 0;
    const uint64_t hash = hash_xxh64(map.data, map.size_bytes, 0);
    file_map_close(&map);
    return hash;
}

void shared_graph_release(shared_graph *g)
{
    if (!g || atomic_fetch_sub_explicit(&g->users, 1, memory_order_acq_rel) > 1) return;
    pgy_graph_destroy(g->graph);
    mem_free(g);
}

static void release_graph(void *graph)
{
    shared_graph_release(graph);
}

pgy_status shared_graph_create(shared_graph **out, pgy_graph *graph, pgy_error *err)
{
    shared_graph *g = mem_calloc(1, sizeof *g);
    if (!g) {
        pgy_graph_destroy(graph);
        return engine_no_memory(err);
    }
    atomic_init(&g->users, 1);
    g->graph = graph;
    *out = g;
    return PGY_OK;
}

void engine_import_deinit(engine_import *m)
{
    shared_graph_release(m->graph);
    pgy_metadata_destroy(m->inputs);
    pgy_metadata_destroy(m->outputs);
    *m = (engine_import){0};
}

/* Debug tensors are outputs meanwhile, so that no pass swallows them. */
static pgy_status optimise(pgy_graph *g, const pgy_build_config *config, pgy_error *err)
{
    size_t pinned = 0;
    pgy_status st = debug_pin(g, config, &pinned, err);
    if (!st) st = passes_run(g, config, err);
    if (!st) debug_unpin(g, pinned);
    return st;
}

/* One that the model lists again is the same output: names tell them apart. */
static void list_outputs_once(pgy_graph *g)
{
    size_t count = 0;
    for (size_t i = 0; i < g->output_count; i++) {
        pgy_value *v = g->outputs[i];
        if (v->is_output) g->outputs[count++] = v;
        v->is_output = false;
    }
    g->output_count = count;
    for (size_t i = 0; i < count; i++) g->outputs[i]->is_output = true;
}

pgy_status engine_import_model(engine_import *out, pgy_model *model, const pgy_build_config *config,
                               pgy_error *err)
{
    engine_import m = {0};
    pgy_graph *g = NULL;
    pgy_status st = pgy_graph_import(&g, model, err);
    if (!st) st = shared_graph_create(&m.graph, g, err);
    if (!st) graph_set_newer(g, NEWER_WARNED);
    if (!st) list_outputs_once(g);
    if (!st) st = plan_check(g, err); /* operators that nobody knows, in bodies too */
    if (!st) st = pgy_graph_infer_shapes(g, NULL, err);
    if (!st) st = precision_interface(g, config, err);
    if (!st) st = describe(&m.inputs, g->inputs, g->input_count, err);
    if (!st) st = describe(&m.outputs, g->outputs, g->output_count, err);
    if (st)
        engine_import_deinit(&m);
    else
        *out = m;
    return st;
}

pgy_status engine_optimise(engine_import *m, const pgy_build_config *config, pgy_error *err)
{
    return optimise(m->graph->graph, config, err);
}

/* What is calibrated is not the model's own. */
static pgy_status keep_original(engine *e, pgy_model *model, const pgy_graph *g, pgy_error *err)
{
    const pgy_build_config *c = e->config;
    if (c->strip_plan) e->config->refittable = true;
    if (!c->refittable) return PGY_OK;
    if (c->int8 && c->calibration && !precision_is_explicit(g))
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "a plan with int8 ranges from calibration cannot be refittable: "
                             "config.save_quantized saves the model with its ranges, which can");
    e->original = pgy_model_retain(model);
    return PGY_OK;
}

static pgy_status import(engine *e, pgy_model *model, pgy_error *err)
{
    engine_import m = {0};
    cpu_level level;
    pgy_status st = config_cpu_level(&level, e->config, err);
    if (!st) st = engine_import_model(&m, model, e->config, err);
    if (st) return st;
    const char *name = m.graph->graph->name;
    e->graph = m.graph;
    e->inputs = m.inputs;
    e->outputs = m.outputs;
    e->name = arena_strdup(&e->memory, name ? name : "");
    if (!e->name) return engine_no_memory(err);
    st = keep_original(e, model, m.graph->graph, err);
    if (!st) st = profiles_create(&e->profiles, e->config, e->inputs, err);
    return st ? st : engine_optimise(&m, e->config, err);
}

static pgy_status load_replay(engine *e, pgy_error *err)
{
    const char *path = e->config->load_tactics;
    if (!path) return PGY_OK;
    LOG(INFO, "Loading tactic replay file from %s", path);
    return tactics_load(&e->replay, path, err);
}

static pgy_status build_model(engine **out, pgy_model *model, const pgy_build_config *config,
                              pgy_error *err)
{
    engine *e = NULL;
    pgy_status st = engine_create(&e, config, err);
    if (st) return st;
    e->model_hash = engine_hash_model(model);
    st = load_replay(e, err);
    if (!st) st = timing_create(&e->timing, e->config, err);
    if (!st) st = import(e, model, err);
    if (st)
        engine_release(e);
    else
        *out = e;
    return st;
}

pgy_status engine_build(engine **out, pgy_model *model, const pgy_build_config *config,
                        pgy_error *err)
{
    pgy_build_config changed;
    pgy_model *edited = NULL;
    pgy_status st = config_take(&changed, config, err);
    if (!st) st = hooks_apply(&edited, &changed, model, err);
    if (!st) st = build_model(out, edited, &changed, err);
    pgy_model_destroy(edited);
    return st;
}

/* ---- Programs by shape ---------------------------------------------------------------------- */

pgy_status engine_need_graph(engine *e, pgy_error *err)
{
    pgy_graph *g = NULL;
    if (e->graph) return PGY_OK;
    const pgy_status st = plan_graph(&g, e->file, err);
    return st ? st : shared_graph_create(&e->graph, g, err);
}

static pgy_status infer_graph(pgy_graph *g, const pgy_metadata *shapes, pgy_error *err)
{
    const pgy_infer_options o = {.size = sizeof o, .inputs = shapes};
    return pgy_graph_infer_shapes(g, &o, err);
}

pgy_status engine_infer_for(engine *e, const pgy_metadata *shapes, pgy_error *err)
{
    const pgy_status st = engine_need_graph(e, err);
    return st ? st : infer_graph(e->graph->graph, shapes, err);
}

/* The oldest one that may go, or NULL if there is room for more. */
static built *find_oldest(engine *e)
{
    built *oldest = NULL;
    size_t count = 0;
    for (size_t i = 0; i < e->kept_count; i++) {
        built *b = &e->kept[i];
        if (b->pinned) continue;
        count++;
        if (!oldest || b->used < oldest->used) oldest = b;
    }
    return count < MAX_PROGRAMS ? NULL : oldest;
}

pgy_status engine_keep(built **out, engine *e, built *made, pgy_error *err)
{
    built *room = find_oldest(e);
    if (room) {
        engine_forget(room);
    } else if (mem_grow((void **)&e->kept, &e->kept_capacity, e->kept_count + 1, sizeof *e->kept)) {
        room = &e->kept[e->kept_count++];
    } else {
        engine_forget(made);
        return engine_no_memory(err);
    }
    *room = *made;
    *out = room;
    return PGY_OK;
}

static built *find_built(engine *e, const pgy_metadata *shapes)
{
    for (size_t i = 0; i < e->kept_count; i++)
        if (shapes_equal(e->kept[i].shapes, shapes)) return &e->kept[i];
    return NULL;
}

pgy_status engine_build_for(built *out, engine *e, shared_graph *g, const pgy_metadata *shapes,
                            const tactics *replay, pgy_error *err)
{
    const build_options options = {
        .config = e->config, .replay = replay, .timing = e->timing, .threads = e->config->threads};
    pgy_error why = {0};
    built made = {0};
    pgy_status st = shapes_copy(&made.shapes, shapes, err);
    if (!st) st = infer_graph(g->graph, shapes, err);
    if (st) goto done;
    st = program_build(&made.program, g->graph, &options, &why);
    if (st == PGY_E_UNSUPPORTED) {
        LOG(VERBOSE, "The graph is interpreted: %s", why.text);
        st = PGY_OK;
    } else if (st) {
        pgy_error_set(err, st, "%s", why.text);
    } else {
        atomic_fetch_add_explicit(&g->users, 1, memory_order_relaxed);
        made.program->owner = g;
        made.program->release_owner = release_graph;
        if (e->timing) st = timing_save(e->timing, err);
    }
done:
    if (st)
        engine_forget(&made);
    else
        *out = made;
    return st;
}

static pgy_status build(built **out, engine *e, const pgy_metadata *shapes, pgy_error *err)
{
    built made = {0};
    if (engine_is_stripped(e))
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "the plan was stripped of its weights: it must be refitted before it "
                             "can run (convert PLAN --refit-from MODEL.onnx, or refit.h)");
    pgy_status st = engine_need_graph(e, err);
    if (!st) st = engine_build_for(&made, e, e->graph, shapes, e->replay, err);
    return st ? st : engine_keep(out, e, &made, err);
}

static pgy_status find_program(program **out, engine *e, const pgy_metadata *shapes, bool pin,
                               pgy_error *err)
{
    pgy_status st = PGY_OK;
    pthread_mutex_lock(&e->lock);
    built *b = engine_is_stripped(e) ? NULL : find_built(e, shapes);
    if (!b) st = build(&b, e, shapes, err);
    if (!st) {
        b->pinned |= pin;
        b->used = ++e->clock;
        *out = b->program ? program_retain(b->program) : NULL;
    }
    pthread_mutex_unlock(&e->lock);
    return st;
}

pgy_status engine_program(program **out, engine *e, const pgy_metadata *shapes, pgy_error *err)
{
    return find_program(out, e, shapes, false, err);
}

/* Those of a program are all known. */
static pgy_status describe_built(pgy_metadata **out, const engine *e, const program *p,
                                 pgy_error *err)
{
    pgy_metadata *m = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < p->output_count; i++) {
        const program_tensor *t = &p->tensors[p->outputs[i]];
        const pgy_tensor_info info = {.name = pgy_metadata_at(e->outputs, i)->name,
                                      .dtype = t->dtype,
                                      .rank = t->rank,
                                      .shape = t->shape};
        st = pgy_metadata_set(m, &info, err);
    }
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

pgy_status engine_infer_outputs(pgy_metadata **out, engine *e, const pgy_metadata *shapes,
                                const pgy_tensor_map *values, pgy_error *err)
{
    const pgy_infer_options o = {.size = sizeof o, .inputs = shapes, .values = values};
    pgy_metadata *m = NULL;
    pthread_mutex_lock(&e->lock);
    const built *b = find_built(e, shapes);
    pgy_status st = PGY_OK;
    if (b && b->program) {
        st = describe_built(&m, e, b->program, err);
    } else {
        st = engine_need_graph(e, err);
        if (!st) st = pgy_graph_infer_shapes(e->graph->graph, &o, err);
        if (!st) st = describe(&m, e->graph->graph->outputs, e->graph->graph->output_count, err);
    }
    pthread_mutex_unlock(&e->lock);
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

pgy_status engine_program_for(program **out, engine *e, size_t profile, pgy_error *err)
{
    pgy_metadata *usual = NULL, *shapes = NULL;
    *out = NULL;
    if (!shapes_are_numeric(e->inputs)) return PGY_OK;
    pgy_status st = profiles_shapes(&usual, e->profiles, profile, err);
    if (!st) st = shapes_complete(&shapes, e->inputs, usual, err);
    if (!st) st = find_program(out, e, shapes, true, err);
    pgy_metadata_destroy(shapes);
    pgy_metadata_destroy(usual);
    return st;
}

pgy_status engine_copy_graph(pgy_graph **out, engine *e, pgy_error *err)
{
    pgy_model *model = NULL;
    pthread_mutex_lock(&e->lock);
    pgy_status st = engine_need_graph(e, err);
    /* Shapes of the last inference must not be taken for declared ones. */
    if (!st) st = pgy_graph_infer_shapes(e->graph->graph, NULL, err);
    if (!st) st = pgy_graph_export(&model, e->graph->graph, err);
    pthread_mutex_unlock(&e->lock);
    if (!st) st = pgy_graph_import(out, model, err);
    if (!st) graph_set_newer(*out, NEWER_TAKEN);
    pgy_model_destroy(model);
    return st;
}
