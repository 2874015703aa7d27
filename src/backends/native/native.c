/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in engine as a runner. This is what --trt selects. */
#include <stdlib.h>
#include <string.h>

#include "backends/native/debug.h"
#include "backends/native/options.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/system.h"
#include "engine/build/config.h"
#include "engine/build/progress.h"
#include "engine/build/shapes.h"
#include "engine/context/context.h"
#include "engine/plan/plan.h"
#include "engine/tactics/replay.h"
#include "runner/options.h"

extern const pgy_backend BACKEND_native;

static const char LOG_PATH[] = "backends/native/native.c";
static const char ORIGINAL_PATH[] = "backend/trt/runner.py";

typedef struct native {
    const pgy_backend_model *source;
    native_options options; /* its pointers outlive the runner */
    engine *engine;         /* valid while active, like the members below */
    context *context;
    native_debug *debug; /* NULL: no debug tensors are marked */
    bool tactics_saved;
} native;

static pgy_status probe(char *why, size_t why_size)
{
    if (why_size) why[0] = '\0';
    return PGY_OK;
}

static pgy_status create(void **out, const pgy_backend_model *model, const void *options,
                         pgy_error *err)
{
    if (!model)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "runtime 'trt' needs a model, and none was given");
    native *r = mem_calloc(1, sizeof *r);
    if (!r) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    r->source = model;
    native_options_defaults(&r->options);
    if (options) r->options = *(const native_options *)options;
    *out = r;
    return PGY_OK;
}

static pgy_status open_model(pgy_model **out, const pgy_backend_model *source, pgy_error *err)
{
    if (source->model) {
        *out = pgy_model_retain(source->model);
        return PGY_OK;
    }
    if (source->path) return pgy_model_load(out, source->path, NULL, err);
    return pgy_model_parse(out, source->data, source->data_size, true, NULL, err);
}

static void deactivate(void *runner)
{
    native *r = runner;
    native_debug_destroy(r->debug);
    r->debug = NULL;
    context_destroy(r->context);
    engine_release(r->engine);
    r->context = NULL;
    r->engine = NULL;
}

/* Saves the tactics once, of the program for the first shapes that arrive. */
static pgy_status save_tactics(native *r, const program *p, pgy_error *err)
{
    r->tactics_saved = true;
    return engine_save_tactics(r->engine, p, err);
}

static pgy_status save_engine(native *r, pgy_error *err)
{
    program *p = NULL;
    if (!r->options.save_engine) return PGY_OK;
    LOG_ORIGINAL(INFO, "Saving engine to %s", r->options.save_engine);
    pgy_status st = engine_save(r->engine, r->options.save_engine, err);
    if (!st) st = engine_program_for(&p, r->engine, 0, err);
    if (!st) st = save_tactics(r, p, err);
    program_release(p);
    return st;
}

static pgy_status create_context(native *r, pgy_error *err)
{
    const profile_set *profiles = engine_profiles(r->engine);
    size_t profile;
    pgy_status st =
        native_options_check(&profile, &r->options, profiles ? profiles_count(profiles) : 1, err);
    const pgy_context_options o = {.size = sizeof o,
                                   .allocation = native_options_allocation(&r->options)};
    if (!st) st = pgy_context_create(&r->context, r->engine, &o, err);
    if (!st && profile == PROFILE_ANY && profiles && profiles_count(profiles) == 1) profile = 0;
    if (!st && profile != PROFILE_ANY) st = pgy_context_set_profile(r->context, profile, err);
    return st ? st : native_debug_create(&r->debug, r->context, engine_config(r->engine), err);
}

/* Builds the profiles whose shapes are known before the first inference. */
static pgy_status build_profiles(native *r, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < profiles_count(engine_profiles(r->engine)); i++) {
        program *p = NULL;
        engine_expect_program(r->engine, i, r->options.save_engine != NULL);
        if (profiles_are_given(engine_profiles(r->engine), i))
            st = engine_program_for(&p, r->engine, i, err);
        program_release(p);
    }
    return st;
}

/* Builds all programs and writes the plan, as one task for progress reports. */
static pgy_status build_all(native *r, pgy_error *err)
{
    const pgy_build_config *c = r->options.config;
    pgy_model *model = NULL;
    pgy_status st = open_model(&model, r->source, err);
    if (!st) st = engine_build(&r->engine, model, c, err);
    pgy_model_destroy(model);
    if (!st) st = create_context(r, err);
    if (st) return st;
    native_log_build(c, engine_profiles(r->engine));
    st = build_profiles(r, err);
    progress_expect(1);
    return st ? st : save_engine(r, err);
}

static pgy_status build(native *r, pgy_error *err)
{
    const int64_t start = clock_ns();
    r->tactics_saved = false;
    progress_begin(PROGRESS_ENGINE, 0);
    const pgy_status st = build_all(r, err);
    progress_end();
    if (!st)
        LOG_ORIGINAL(INFO, "Finished engine building in %.3f seconds",
                     (double)(clock_ns() - start) * 1e-9);
    return st;
}

static bool asks_for_types(const pgy_build_config *c)
{
    return c->fp16 || c->bf16 || c->int8 || c->layer_type_count || c->tensor_type_count ||
           c->save_quantized;
}

static void log_place(const pgy_build_config *c)
{
    str place = {0};
    if (!c || !c->devices.count || !c->devices_first) str_append(&place, "the CPU");
    for (size_t i = 0; c && i < c->devices.count; i++)
        str_printf(&place, "%s%s", place.size ? " and " : "", c->devices.items[i]);
    LOG(WARNING, "TensorRT is not used: the model runs in the built-in engine, on %s",
        str_text(&place));
    str_deinit(&place);
}

/* Loads a plan. Nothing is built, so build options have no effect. */
static pgy_status load(native *r, pgy_error *err)
{
    const pgy_build_config *c = r->options.config;
    pgy_status st = engine_open(&r->engine, r->source->path, err);
    if (st) return st;
    log_place(engine_config(r->engine));
    r->tactics_saved = true;
    if (r->options.save_engine || (c && (c->save_tactics || c->load_tactics || asks_for_types(c))))
        LOG(WARNING, "The model is a plan: options for building an engine have no effect");
    LOG_ORIGINAL(INFO, "Loading bytes from %s", r->source->path);
    return create_context(r, err);
}

/* Checks POLYGRAPHY_TRT, which selects the engine for --trt; so far only the built-in engine
 * exists. */
static pgy_status check_engine(pgy_error *err)
{
    const char *wanted = getenv("POLYGRAPHY_TRT");
    if (!wanted || !*wanted || !strcmp(wanted, "auto") || !strcmp(wanted, "native")) return PGY_OK;
    if (!strcmp(wanted, "tensorrt"))
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "POLYGRAPHY_TRT=tensorrt: this version cannot use TensorRT; auto and "
                             "native select the built-in engine");
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "POLYGRAPHY_TRT is '%s'; expected auto, native or tensorrt", wanted);
}

static pgy_status activate(void *runner, pgy_error *err)
{
    native *r = runner;
    pgy_status st = check_engine(err);
    if (st) return st;
    const bool is_plan = !r->source->model && r->source->path && plan_is_plan_file(r->source->path);
    if (!is_plan) log_place(r->options.config);
    st = is_plan ? load(r, err) : build(r, err);
    if (st) deactivate(r);
    return st;
}

static pgy_status inputs(void *runner, pgy_metadata *out, pgy_error *err)
{
    return shapes_add(out, engine_inputs(((native *)runner)->engine), err);
}

static pgy_status outputs(void *runner, pgy_metadata *out, pgy_error *err)
{
    return shapes_add(out, engine_outputs(((native *)runner)->engine), err);
}

static pgy_status infer_keeping(void *runner, const pgy_tensor_map *feed, pgy_kept_cache *caches,
                                size_t cache_count, pgy_tensor_map *out, int64_t *time_ns,
                                pgy_error *err)
{
    native *r = runner;
    pgy_status st = context_run_keeping(r->context, feed, caches, cache_count, out, time_ns, err);
    if (r->debug) st = native_debug_take(r->debug, st, out, err);
    return st || r->tactics_saved ? st : save_tactics(r, context_program(r->context), err);
}

static pgy_status infer(void *runner, const pgy_tensor_map *feed, pgy_tensor_map *out,
                        int64_t *time_ns, pgy_error *err)
{
    return infer_keeping(runner, feed, NULL, 0, out, time_ns, err);
}

static int64_t preparation_ns(const void *runner)
{
    const native *r = runner;
    return pgy_context_describe_times(r->context).preparation_ns;
}

static void destroy(void *runner)
{
    if (runner) deactivate(runner);
    mem_free(runner);
}

const pgy_backend BACKEND_native = {
    .size = sizeof(pgy_backend),
    .abi = PGY_BACKEND_ABI,
    .name = "trt",
    .runner_prefix = "native-trt-runner",
    .title = "built-in engine",
    .description = "run inference with the built-in engine, on the CPU or the device of --device",
    .options = NATIVE_OPTIONS,
    .options_size = sizeof(native_options),
    .defaults = native_options_defaults,
    .probe = probe,
    .create = create,
    .activate = activate,
    .inputs = inputs,
    .outputs = outputs,
    .infer = infer,
    .deactivate = deactivate,
    .destroy = destroy,
    .version = pgy_version,
    .traits = PGY_BACKEND_RUNS_PLANS | PGY_BACKEND_BUILDS_PLANS | PGY_BACKEND_TAKES_CONFIG |
              PGY_BACKEND_RUNS_RANKS,
    .preparation_ns = preparation_ns,
    .infer_keeping = infer_keeping,
};
