/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the optimised graph of an engine from a model. */
#include "engine/build/engine_state.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "engine/build/config.h"
#include "engine/build/debug.h"
#include "engine/build/hooks.h"
#include "engine/build/progress.h"
#include "engine/build/shapes.h"
#include "engine/passes/pass.h"
#include "engine/precision/precision.h"
#include "evaluate/interface.h"
#include "evaluate/plan.h"

static const char LOG_PATH[] = "backend/trt/loader.py";

static const double CALIBRATION_S = 2; /* seconds expected for calibration: a guess, since the
                                          number of samples is unknown */

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
    ranges_deinit(&e->ranges);
    tactics_destroy(e->replay);
    timing_destroy(e->timing);
    profiles_destroy(e->profiles);
    pgy_metadata_destroy(e->inputs);
    pgy_metadata_destroy(e->outputs);
    packed_table_release(e->packed);
    pgy_graph_destroy(e->graph);
    pgy_model_destroy(e->original);
    plan_close(e->file);
    mem_free(e->bytes);
    arena_deinit(&e->memory);
    pgy_error_recorder_release(e->recorder);
    pthread_cond_destroy(&e->built);
    pthread_mutex_destroy(&e->measuring);
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
    pthread_mutex_init(&e->measuring, NULL);
    pthread_cond_init(&e->built, NULL);
    e->packed = packed_table_create();
    const pgy_status st =
        e->packed ? config_copy(&e->config, config, &e->memory, err) : engine_no_memory(err);
    if (!st) ranges_init(&e->ranges, e->config);
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

packed_count engine_packed(engine *e)
{
    pthread_mutex_lock(&e->lock);
    const packed_count c = packed_table_count(e->packed);
    pthread_mutex_unlock(&e->lock);
    return c;
}

packed_table *engine_packed_table(engine *e)
{
    pthread_mutex_lock(&e->lock);
    packed_table *t = e->packed ? packed_table_retain(e->packed) : NULL;
    pthread_mutex_unlock(&e->lock);
    return t;
}

/* ---- Building ------------------------------------------------------------------------------- */

/* Hash of the model's file, which plans show. */
uint64_t engine_hash_model(pgy_model *model)
{
    file_map map = {0};
    const char *path = pgy_model_path(model);
    if (!path[0] || file_map_open(&map, path, NULL)) return 0;
    const uint64_t hash = hash_xxh64(map.data, map.size_bytes, 0);
    file_map_close(&map);
    return hash;
}

void engine_import_deinit(engine_import *m)
{
    pgy_graph_destroy(m->graph);
    pgy_metadata_destroy(m->inputs);
    pgy_metadata_destroy(m->outputs);
    *m = (engine_import){0};
}

/* Runs the passes. Debug tensors are outputs meanwhile, so that no pass removes them. */
static pgy_status optimise(pgy_graph *g, const pass_target *target, pgy_error *err)
{
    const pgy_build_config *config = target->config;
    size_t pinned = 0;
    pgy_status st = debug_pin(g, config, &pinned, err);
    if (!st) st = passes_run(g, target, err);
    if (!st) debug_unpin(g, pinned);
    return st;
}

/* Removes repeated outputs: a model may list one twice, but the engine finds outputs by name. */
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
    pgy_status st = pgy_graph_import(&m.graph, model, err);
    pgy_graph *g = m.graph;
    if (!st) graph_set_newer(g, NEWER_WARNED);
    if (!st) list_outputs_once(g);
    if (!st) st = plan_check(g, err); /* fails on unknown operators, also in subgraphs */
    if (!st) st = pgy_graph_infer_shapes(g, NULL, err);
    /* Kernels trust sizes. A declared one may differ from what the data says at run time. */
    if (!st && graph_forget_claims(g)) st = pgy_graph_infer_shapes(g, NULL, err);
    if (!st) st = precision_interface(g, config, err);
    if (!st) st = engine_describe(&m.inputs, g->inputs, g->input_count, err);
    if (!st) st = engine_describe(&m.outputs, g->outputs, g->output_count, err);
    if (st)
        engine_import_deinit(&m);
    else
        *out = m;
    return st;
}

pgy_status engine_optimise(engine_import *m, const pgy_build_config *config,
                           const calibration_runner *runner, pgy_error *err)
{
    const pass_target target = {config, runner};
    return optimise(m->graph, &target, err);
}

/* Keeps the model if the engine is to be refittable. PGY_E_UNSUPPORTED after calibration: its
 * ranges are not part of the model, so a refit could not repeat the build. */
static pgy_status keep_original(engine *e, pgy_model *model, const pgy_graph *g, pgy_error *err)
{
    const pgy_build_config *c = e->config;
    if (c->strip_plan) e->config->refittable = true;
    if (!c->refittable) return PGY_OK;
    if (c->int8 && c->calibration && !precision_is_explicit(g))
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "config.refittable: an engine with int8 ranges from calibration "
                             "cannot be refitted; save the quantized model by "
                             "config.save_quantized and build a refittable engine from it");
    e->original = pgy_model_retain(model);
    return PGY_OK;
}

static build_costs engine_costs(const engine *e)
{
    return build_expect_costs(e->graph, e->timing ? e->timing->left_ns : 0);
}

void engine_expect_program(const engine *e, size_t profile, bool writes)
{
    const build_costs c = engine_costs(e);
    const double one = c.kernels + c.times + c.packing;
    const size_t later = profiles_count(e->profiles) - profile - 1;
    progress_expect_costs(one, one * (double)later + (writes ? c.writing : 0));
}

static pgy_status import(engine *e, pgy_model *model, const calibration_runner *runner,
                         pgy_error *err)
{
    engine_import m = {0};
    cpu_level level;
    pgy_status st = config_cpu_level(&level, e->config, err);
    if (!st) st = program_check_devices(e->config, err);
    if (!st) st = engine_import_model(&m, model, e->config, err);
    if (st) return st;
    const char *name = m.graph->name;
    e->graph = m.graph;
    e->inputs = m.inputs;
    e->outputs = m.outputs;
    e->name = arena_strdup(&e->memory, name ? name : "");
    if (!e->name) return engine_no_memory(err);
    st = keep_original(e, model, m.graph, err);
    if (!st) st = profiles_create(&e->profiles, e->config, e->inputs, err);
    if (st) return st;
    const build_costs c = engine_costs(e);
    const bool calibrates = e->config->int8 && e->config->calibration;
    const double programs = (c.kernels + c.times + c.packing) * (double)profiles_count(e->profiles);
    progress_expect_costs(c.passes + (calibrates ? CALIBRATION_S : 0), programs + c.writing);
    return engine_optimise(&m, e->config, runner, err);
}

static pgy_status load_replay(engine *e, pgy_error *err)
{
    const char *path = e->config->load_tactics;
    if (!path) return PGY_OK;
    LOG(INFO, "Loading tactic replay file from %s", path);
    return tactics_load(&e->replay, path, err);
}

static pgy_status build_model(engine **out, pgy_model *model, const pgy_build_config *config,
                              const calibration_runner *runner, pgy_error *err)
{
    engine *e = NULL;
    pgy_status st = engine_create(&e, config, err);
    if (st) return st;
    e->model_hash = engine_hash_model(model);
    st = load_replay(e, err);
    if (!st) st = timing_create(&e->timing, e->config, err);
    if (!st) st = import(e, model, runner, err);
    if (st)
        engine_release(e);
    else
        *out = e;
    return st;
}

pgy_status engine_build_with(engine **out, pgy_model *model, const pgy_build_config *config,
                             const calibration_runner *runner, pgy_error *err)
{
    pgy_build_config changed;
    pgy_model *edited = NULL;
    const char *devices[PROGRAM_MAX_SPACES];
    pgy_status st = config_take(&changed, config, err);
    if (!st) st = hooks_apply(&edited, &changed, model, err);
    if (!st) program_drop_devices(&changed, devices);
    if (!st) st = build_model(out, edited, &changed, runner, err);
    pgy_model_destroy(edited);
    return st;
}
