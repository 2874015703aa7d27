/* SPDX-License-Identifier: Apache-2.0 */
/* Building, opening and saving. Programs are kept by the shapes of the inputs, the latest ones; one
 * lock guards them and the graph, which inference for other shapes changes. */
#include "engine/engine.h"

#include <polygraphy/runtime.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "engine/config.h"
#include "engine/debug.h"
#include "engine/hooks.h"
#include "engine/pass.h"
#include "engine/plan.h"
#include "engine/plan_format.h"
#include "engine/precision.h"
#include "engine/shapes.h"
#include "engine/tactics.h"
#include "engine/timing.h"
#include "evaluate/interface.h"

static const char LOG_PATH[] = "backend/trt/loader.py";

enum { MAX_PROGRAMS = 8 };

/* A program for certain input shapes; program NULL: such inputs are interpreted. */
typedef struct built {
    pgy_metadata *shapes; /* of all inputs, in order */
    program *program;
    uint64_t used; /* when, to forget the oldest */
} built;

struct pgy_engine {
    atomic_size_t users;
    arena memory;
    pgy_build_config *config;
    const char *name;
    plan_file *file;  /* it was opened from, or NULL */
    void *bytes;      /* that the file is, if they are the engine's own */
    pgy_graph *graph; /* of a plan: NULL until it is needed */
    uint64_t model_hash;
    tactics *replay; /* to be obeyed; NULL: none */
    timing *timing;  /* NULL: kernels go by estimates */
    profile_set *profiles;
    pgy_metadata *inputs, *outputs;
    pthread_mutex_t lock; /* of what follows, and of the graph */
    built kept[MAX_PROGRAMS];
    size_t kept_count;
    uint64_t clock;
    pgy_error_recorder *recorder; /* of contexts that have none; NULL: none */
};

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static void forget(built *b)
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
    for (size_t i = 0; i < e->kept_count; i++) forget(&e->kept[i]);
    tactics_destroy(e->replay);
    timing_destroy(e->timing);
    profiles_destroy(e->profiles);
    pgy_metadata_destroy(e->inputs);
    pgy_metadata_destroy(e->outputs);
    pgy_graph_destroy(e->graph);
    plan_close(e->file);
    mem_free(e->bytes);
    arena_deinit(&e->memory);
    pgy_error_recorder_release(e->recorder);
    pthread_mutex_destroy(&e->lock);
    mem_free(e);
}

static pgy_status create(engine **out, const pgy_build_config *config, pgy_error *err)
{
    engine *e = mem_calloc(1, sizeof *e);
    if (!e) return no_memory(err);
    atomic_init(&e->users, 1);
    if (pthread_mutex_init(&e->lock, NULL)) {
        mem_free(e);
        return no_memory(err);
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
static uint64_t hash_model(pgy_model *model)
{
    file_map map = {0};
    const char *path = pgy_model_path(model);
    if (!path[0] || file_map_open(&map, path, NULL)) return 0;
    const uint64_t hash = hash_xxh64(map.data, map.size_bytes, 0);
    file_map_close(&map);
    return hash;
}

/* Debug tensors are outputs meanwhile, so that no pass swallows them. */
static pgy_status optimise(engine *e, pgy_error *err)
{
    size_t pinned = 0;
    pgy_status st = debug_pin(e->graph, e->config, &pinned, err);
    if (!st) st = passes_run(e->graph, e->config, err);
    if (!st) debug_unpin(e->graph, pinned);
    return st;
}

static pgy_status import(engine *e, pgy_model *model, pgy_error *err)
{
    pgy_status st = pgy_graph_import(&e->graph, model, err);
    if (!st) e->name = arena_strdup(&e->memory, e->graph->name ? e->graph->name : "");
    if (!st && !e->name) st = no_memory(err);
    if (!st) st = pgy_graph_infer_shapes(e->graph, NULL, err);
    if (!st) st = precision_interface(e->graph, e->config, err);
    if (!st) st = describe(&e->inputs, e->graph->inputs, e->graph->input_count, err);
    if (!st) st = describe(&e->outputs, e->graph->outputs, e->graph->output_count, err);
    if (!st) st = profiles_create(&e->profiles, e->config, e->inputs, err);
    return st ? st : optimise(e, err);
}

static pgy_status load_replay(engine *e, pgy_error *err)
{
    const char *path = e->config->load_tactics;
    if (!path) return PGY_OK;
    LOG(INFO, "Loading tactic replay file from: %s", path);
    return tactics_load(&e->replay, path, err);
}

static pgy_status build_model(engine **out, pgy_model *model, const pgy_build_config *config,
                              pgy_error *err)
{
    engine *e = NULL;
    pgy_status st = create(&e, config, err);
    if (st) return st;
    e->model_hash = hash_model(model);
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
    pgy_build_config changed = {.size = sizeof changed};
    pgy_model *edited = NULL;
    if (config) changed = *config;
    pgy_status st = hooks_apply(&edited, &changed, model, err);
    if (!st) st = build_model(out, edited, &changed, err);
    pgy_model_destroy(edited);
    return st;
}

/* ---- Programs by shape ---------------------------------------------------------------------- */

static pgy_status need_graph(engine *e, pgy_error *err)
{
    return e->graph ? PGY_OK : plan_graph(&e->graph, e->file, err);
}

static pgy_status infer_for(engine *e, const pgy_metadata *shapes, pgy_error *err)
{
    const pgy_infer_options o = {.size = sizeof o, .inputs = shapes};
    const pgy_status st = need_graph(e, err);
    return st ? st : pgy_graph_infer_shapes(e->graph, &o, err);
}

static built *find_room(engine *e)
{
    if (e->kept_count < MAX_PROGRAMS) return &e->kept[e->kept_count++];
    built *oldest = &e->kept[0];
    for (size_t i = 1; i < e->kept_count; i++)
        if (e->kept[i].used < oldest->used) oldest = &e->kept[i];
    forget(oldest);
    return oldest;
}

static built *find_built(engine *e, const pgy_metadata *shapes)
{
    for (size_t i = 0; i < e->kept_count; i++)
        if (shapes_equal(e->kept[i].shapes, shapes)) return &e->kept[i];
    return NULL;
}

static pgy_status build(built **out, engine *e, const pgy_metadata *shapes, pgy_error *err)
{
    const build_options options = {.config = e->config,
                                   .replay = e->replay,
                                   .timing = e->timing,
                                   .threads = e->config->threads};
    pgy_error why = {0};
    built made = {0};
    pgy_status st = shapes_copy(&made.shapes, shapes, err);
    if (!st) st = infer_for(e, shapes, err);
    if (st) goto done;
    st = program_build(&made.program, e->graph, &options, &why);
    if (st == PGY_E_UNSUPPORTED) {
        LOG(VERBOSE, "The graph is interpreted: %s", why.text);
        st = PGY_OK;
    } else if (st) {
        pgy_error_set(err, st, "%s", why.text);
    } else if (e->timing) {
        st = timing_save(e->timing, err);
    }
done:
    if (st) {
        forget(&made);
        return st;
    }
    *out = find_room(e);
    **out = made;
    return PGY_OK;
}

pgy_status engine_program(program **out, engine *e, const pgy_metadata *shapes, pgy_error *err)
{
    pgy_status st = PGY_OK;
    pthread_mutex_lock(&e->lock);
    built *b = find_built(e, shapes);
    if (!b) st = build(&b, e, shapes, err);
    if (!st) {
        b->used = ++e->clock;
        *out = b->program ? program_retain(b->program) : NULL;
    }
    pthread_mutex_unlock(&e->lock);
    return st;
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
                                pgy_error *err)
{
    pgy_metadata *m = NULL;
    pthread_mutex_lock(&e->lock);
    const built *b = find_built(e, shapes);
    pgy_status st = PGY_OK;
    if (b && b->program) {
        st = describe_built(&m, e, b->program, err);
    } else {
        st = infer_for(e, shapes, err);
        if (!st) st = describe(&m, e->graph->outputs, e->graph->output_count, err);
    }
    pthread_mutex_unlock(&e->lock);
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

/* An opened plan has the program that it was written with. */
static pgy_status open_usual(program **out, engine *e)
{
    pthread_mutex_lock(&e->lock);
    if (e->kept_count && e->kept[0].program) *out = program_retain(e->kept[0].program);
    pthread_mutex_unlock(&e->lock);
    return PGY_OK;
}

pgy_status engine_program_for(program **out, engine *e, size_t profile, pgy_error *err)
{
    pgy_metadata *usual = NULL, *shapes = NULL;
    *out = NULL;
    if (!shapes_are_numeric(e->inputs)) return PGY_OK;
    if (!e->profiles) return open_usual(out, e);
    pgy_status st = profiles_shapes(&usual, e->profiles, profile, err);
    if (!st) st = shapes_complete(&shapes, e->inputs, usual, err);
    if (!st) st = engine_program(out, e, shapes, err);
    pgy_metadata_destroy(shapes);
    pgy_metadata_destroy(usual);
    return st;
}

pgy_status engine_copy_graph(pgy_graph **out, engine *e, pgy_error *err)
{
    pgy_model *model = NULL;
    pthread_mutex_lock(&e->lock);
    pgy_status st = need_graph(e, err);
    if (!st) st = pgy_graph_export(&model, e->graph, err);
    pthread_mutex_unlock(&e->lock);
    if (!st) st = pgy_graph_import(out, model, err);
    pgy_model_destroy(model);
    return st;
}

/* ---- Plan files ----------------------------------------------------------------------------- */

static pgy_status open_program(engine *e, pgy_error *err)
{
    built made = {0};
    pgy_status st = plan_program(&made.program, e->file, true, err);
    if (st || !made.program) return st;
    st = plan_program_inputs(&made.shapes, made.program, err);
    if (!st && plan_needs_nodes(made.program)) {
        st = infer_for(e, made.shapes, err);
        if (!st) st = plan_bind(made.program, e->file, e->graph, err);
    }
    if (st)
        forget(&made);
    else
        e->kept[e->kept_count++] = made;
    return st;
}

/* `data` NULL: the file at `path`. */
static pgy_status read_plan(engine *e, const char *path, const void *data, size_t size,
                            pgy_error *err)
{
    pgy_status st =
        data ? plan_parse(&e->file, data, size, false, err) : plan_open(&e->file, path, err);
    if (st) return st;
    const plan_info *info = plan_describe(e->file);
    e->model_hash = info->model_hash;
    e->name = info->name;
    st = plan_metadata(&e->inputs, e->file, false, err);
    if (!st) st = plan_metadata(&e->outputs, e->file, true, err);
    return st ? st : open_program(e, err);
}

pgy_status engine_open(engine **out, const char *path, pgy_error *err)
{
    engine *e = NULL;
    pgy_status st = create(&e, NULL, err);
    if (st) return st;
    st = read_plan(e, path, NULL, 0, err);
    if (st) {
        engine_release(e);
        return pgy_error_prefix(err, st, "'%s': ", path);
    }
    *out = e;
    return PGY_OK;
}

pgy_status engine_load(engine **out, const void *data, size_t size_bytes, bool borrow,
                       pgy_error *err)
{
    engine *e = NULL;
    pgy_status st = create(&e, NULL, err);
    if (st) return st;
    if (!borrow) {
        e->bytes = mem_alloc_aligned(PLAN_ALIGN, size_bytes ? size_bytes : 1);
        if (!e->bytes) st = no_memory(err);
        if (e->bytes && size_bytes) memcpy(e->bytes, data, size_bytes);
        data = e->bytes;
    }
    if (!st) st = read_plan(e, NULL, data, size_bytes, err);
    if (st)
        engine_release(e);
    else
        *out = e;
    return st;
}

/* To a file, or, with `path` NULL, to memory. */
static pgy_status write_plan(engine *e, const char *path, void **data, size_t *size, pgy_error *err)
{
    pgy_model *model = NULL;
    program *p = NULL;
    pgy_status st = engine_program_for(&p, e, 0, err);
    if (st) return st;
    if (!p)
        LOG(WARNING, "Shapes in this model depend on data: the plan holds the graph only, which is "
                     "interpreted");
    pthread_mutex_lock(&e->lock);
    st = need_graph(e, err);
    if (!st) st = pgy_graph_infer_shapes(e->graph, NULL, err);
    if (!st) st = pgy_graph_export(&model, e->graph, err);
    const plan_source source = {.program = p,
                                .graph = e->graph,
                                .model = model,
                                .inputs = e->inputs,
                                .outputs = e->outputs,
                                .model_hash = e->model_hash};
    if (!st) st = path ? plan_write(path, &source, err) : plan_serialize(data, size, &source, err);
    pthread_mutex_unlock(&e->lock);
    pgy_model_destroy(model);
    program_release(p);
    return st;
}

pgy_status engine_save(engine *e, const char *path, pgy_error *err)
{
    return write_plan(e, path, NULL, NULL, err);
}

pgy_status engine_serialize(void **out, size_t *size_bytes, engine *e, pgy_error *err)
{
    return write_plan(e, NULL, out, size_bytes, err);
}

bool engine_is_stripped(const engine *e)
{
    (void)e;
    return false;
}
