/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: built from a model or loaded from a plan, and saved. */
#include <polygraphy/refit.h>

#include <inttypes.h>
#include <string.h>

#include "base/cancel.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "cli/trtexec/formats.h"
#include "cli/trtexec/trtexec.h"

static const char LOG_PATH[] = "cli/trtexec/build.c";

static double seconds_since(int64_t begin)
{
    return (double)(clock_ns() - begin) * 1e-9;
}

/* ---- Configuration -------------------------------------------------------------------------- */

/* One of a NULL-ended list of words; their places are the values of the enumeration. */
static pgy_status choose(int *out, const char *text, const char *const *words, const char *option,
                         pgy_error *err)
{
    str list = {0};
    for (int i = 0; words[i]; i++) {
        if (!strcmp(text, words[i])) {
            *out = i;
            str_deinit(&list);
            return PGY_OK;
        }
        str_printf(&list, "%s%s", i ? ", " : "", words[i]);
    }
    const pgy_status st = pgy_error_set(err, PGY_E_ARGUMENT, "%s: '%s' is not one of %s", option,
                                        text, str_text(&list));
    str_deinit(&list);
    return st;
}

static pgy_status set_verbosity(pgy_build_config *c, const char *text, pgy_error *err)
{
    static const char *const WORDS[] = {"detailed", "layer_names_only", "none", NULL};
    int value = PGY_VERBOSITY_LAYER_NAMES_ONLY;
    pgy_status st = PGY_OK;
    if (text && !strcmp(text, "verbose")) text = "detailed";
    if (text && !strcmp(text, "default")) text = "layer_names_only";
    if (text) st = choose(&value, text, WORDS, "--profilingVerbosity", err);
    c->profiling_verbosity = (pgy_profiling_verbosity)value;
    return st;
}

static pgy_status set_memory(pgy_build_config *c, trtexec_session *s, pgy_error *err)
{
    trtexec_pair *pairs = NULL;
    size_t count = 0;
    pgy_status st = PGY_OK;
    if (s->a->workspace)
        st = trtexec_bytes(&c->workspace_bytes, s->a->workspace, "--workspace", 1 << 20, err);
    if (!st && s->a->memory)
        st = trtexec_pairs(&pairs, &count, s->a->memory, "--memPoolSize", &s->line->memory, err);
    for (size_t i = 0; !st && i < count; i++) {
        if (strcmp(pairs[i].name, "workspace"))
            st = pgy_error_set(err, PGY_E_ARGUMENT,
                               "--memPoolSize: there is no pool '%s'; expected workspace",
                               pairs[i].name);
        else
            st = trtexec_bytes(&c->workspace_bytes, pairs[i].value, "--memPoolSize", 1 << 20, err);
    }
    c->has_workspace_limit = s->a->workspace || s->a->memory;
    return st;
}

static pgy_dtype layer_type(const char *name)
{
    static const struct {
        const char *name;
        pgy_dtype dtype;
    } TYPES[] = {{"fp32", PGY_F32}, {"fp16", PGY_F16}, {"bf16", PGY_BF16}, {"int8", PGY_I8}};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (!strcmp(name, TYPES[i].name)) return TYPES[i].dtype;
    return PGY_DTYPE_NONE;
}

static pgy_status set_layer_types(pgy_build_config *c, trtexec_session *s, pgy_error *err)
{
    static const char *const WORDS[] = {"none", "prefer", "obey", NULL};
    int constraints = 0;
    trtexec_pair *pairs = NULL;
    pgy_type_choice *types = NULL;
    pgy_status st = PGY_OK;
    if (s->a->constraints)
        st = choose(&constraints, s->a->constraints, WORDS, "--precisionConstraints", err);
    c->constraints = (pgy_constraints)constraints;
    if (st || !s->a->layer_types) return st;
    if (constraints == PGY_CONSTRAINTS_NONE)
        LOG(WARNING, "--layerPrecisions are hints only; --precisionConstraints=obey enforces them");
    st = trtexec_pairs(&pairs, &c->layer_type_count, s->a->layer_types, "--layerPrecisions",
                       &s->line->memory, err);
    if (!st) types = arena_alloc_array(&s->line->memory, c->layer_type_count + 1, sizeof *types);
    if (!st && !types) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < c->layer_type_count; i++) {
        types[i] = (pgy_type_choice){pairs[i].name, layer_type(pairs[i].value)};
        if (types[i].dtype == PGY_DTYPE_NONE)
            st = pgy_error_set(err, PGY_E_ARGUMENT,
                               "--layerPrecisions: '%s' is no type of a layer; expected fp32, "
                               "fp16, bf16 or int8",
                               pairs[i].value);
    }
    c->layer_types = types;
    return st;
}

static pgy_status set_debug(pgy_build_config *c, trtexec_session *s, pgy_error *err)
{
    if (!s->a->mark_debug) return PGY_OK;
    const size_t most = strlen(s->a->mark_debug) + 1;
    const char **names = arena_alloc_array(&s->line->memory, most, sizeof *names);
    size_t count = 0;
    if (!names) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (const char *at = s->a->mark_debug; *at;) {
        const size_t size = strcspn(at, ",");
        if (size) names[count++] = arena_strndup(&s->line->memory, at, size);
        if (size && !names[count - 1]) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        at += size + (at[size] == ',');
    }
    c->debug_tensors = (pgy_name_list){names, count, true};
    return PGY_OK;
}

static pgy_status set_sparsity(pgy_build_config *c, const char *text, pgy_error *err)
{
    static const char *const WORDS[] = {"disable", "enable", NULL};
    int value = 0;
    if (!text) return PGY_OK;
    if (!strcmp(text, "force"))
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "--sparsity=force is refused: it would change the weights");
    const pgy_status st = choose(&value, text, WORDS, "--sparsity", err);
    c->sparse_weights = value == 1;
    return st;
}

static void set_flags(pgy_build_config *c, const trtexec_args *a)
{
    c->fp16 = a->fp16 || a->best;
    c->int8 = a->int8 || a->best;
    c->bf16 = a->bf16;
    c->fp8 = a->fp8;
    c->tf32 = !a->no_tf32;
    c->refittable = a->refit || a->strip;
    c->strip_plan = a->strip;
    c->debug_unfused = a->debug_unfused;
    c->has_optimization_level = a->level >= 0;
    c->optimization_level = a->level;
    c->error_on_timing_cache_miss = a->cache_miss_is_error;
}

static pgy_status set_files(pgy_build_config *c, trtexec_session *s, pgy_error *err)
{
    const char *cache = NULL;
    pgy_status st = PGY_OK;
    if (s->a->timing_cache && !s->a->no_builder_cache)
        st = trtexec_path(&cache, s->a->timing_cache, &s->line->memory, err);
    if (!st && cache) {
        c->load_timing_cache = file_exists(cache) ? cache : NULL;
        c->save_timing_cache = cache;
    }
    return st;
}

/* Ranges for int8 come from the cache, or else from generated data, with the usual shapes. */
static pgy_status make_calibration(pgy_calibration *out, const pgy_build_config *c,
                                   trtexec_session *s, pgy_error *err)
{
    pgy_random_options o = pgy_random_options_default();
    pgy_metadata *shapes = NULL;
    pgy_status st = PGY_OK;
    *out = (pgy_calibration){.size = sizeof *out, .data_is_random = true};
    if (s->a->calibration) st = trtexec_path(&out->cache, s->a->calibration, &s->line->memory, err);
    if (!st) st = pgy_metadata_create(&shapes, err);
    for (size_t i = 0; !st && i < c->profiles->range_count; i++) {
        const pgy_profile_range *r = &c->profiles->ranges[i];
        const pgy_tensor_info one = {.name = r->name, .rank = (int32_t)r->count, .shape = r->opt};
        st = pgy_metadata_set(shapes, &one, err);
    }
    o.inputs = shapes;
    if (!st) st = pgy_random_loader_create(&out->data, &o, err);
    pgy_metadata_destroy(shapes);
    return st;
}

/* ---- Building ------------------------------------------------------------------------------- */

pgy_status session_config(pgy_build_config *c, trtexec_session *s, pgy_error *err)
{
    *c = (pgy_build_config){.size = sizeof *c};
    set_flags(c, s->a);
    pgy_status st = set_verbosity(c, s->a->verbosity, err);
    if (!st) st = set_memory(c, s, err);
    if (!st) st = set_layer_types(c, s, err);
    if (!st) st = set_debug(c, s, err);
    if (!st) st = set_sparsity(c, s->a->sparsity, err);
    if (!st) st = set_files(c, s, err);
    if (!st && s->a->route) st = pgy_route_parse(&s->route, s->a->route, err);
    if (!st && s->route) st = pgy_route_apply(s->route, c, NULL, err);
    return st;
}

static pgy_status build(trtexec_session *s, pgy_model *model, pgy_error *err)
{
    pgy_build_config c;
    pgy_calibration calibration = {.size = sizeof calibration};
    pgy_model *typed = NULL;
    const int64_t begin = clock_ns();
    pgy_status st = session_config(&c, s, err);
    if (!st) st = formats_set(&c, s, model, err);
    if (!st) st = output_types_apply(&typed, &c, s, model, err);
    if (!st) st = shapes_profiles(&c.profiles, &c.profile_count, s, model, err);
    if (!st && c.int8) st = make_calibration(&calibration, &c, s, err);
    if (!st && c.int8) c.calibration = &calibration;
    if (!st && s->route) st = pgy_route_apply(s->route, NULL, &calibration, err);
    if (!st) st = pgy_engine_build(&s->engine, typed ? typed : model, &c, err);
    s->engine_s = seconds_since(begin);
    if (!st) LOG(INFO, "Engine built in %g sec.", s->engine_s);
    pgy_data_loader_destroy(calibration.data);
    pgy_model_destroy(typed);
    return st;
}

static pgy_status load_model(pgy_model **out, trtexec_session *s, pgy_error *err)
{
    const char *path = NULL;
    const int64_t begin = clock_ns();
    pgy_status st = trtexec_path(&path, s->a->onnx, &s->line->memory, err);
    if (!st) LOG(INFO, "Start parsing network model.");
    if (!st) st = pgy_model_load(out, path, NULL, err);
    if (!st) LOG(INFO, "Finished parsing network model. Parse time: %g", seconds_since(begin));
    return st;
}

static pgy_status refit_engine(trtexec_session *s, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_refitter *r = NULL;
    pgy_status st = load_model(&model, s, err);
    if (!st) st = pgy_refitter_create(&r, s->engine, err);
    if (!st) st = pgy_refitter_set_model(r, model, err);
    if (!st) st = pgy_refitter_refit(r, err);
    if (!st) LOG(INFO, "Engine refitted from %s.", s->a->onnx);
    pgy_refitter_destroy(r);
    pgy_model_destroy(model);
    return st;
}

static pgy_status load(trtexec_session *s, pgy_error *err)
{
    const char *path = NULL;
    uint64_t bytes = 0;
    const int64_t begin = clock_ns();
    pgy_status st = trtexec_path(&path, s->a->load_engine, &s->line->memory, err);
    if (!st) st = pgy_engine_open(&s->engine, path, err);
    if (!st) st = file_size(&bytes, path, err);
    if (st) return st;
    LOG(INFO, "Loaded engine with size: %g MiB", (double)bytes / (1 << 20));
    s->engine_s = seconds_since(begin);
    s->plan_bytes = bytes;
    LOG(INFO, "Engine loaded in %g sec.", s->engine_s);
    st = settings_print_devices(path, err);
    return !st && s->a->refit_from_onnx ? refit_engine(s, err) : st;
}

pgy_status session_engine(trtexec_session *s, pgy_error *err)
{
    pgy_model *model = NULL;
    const char *path = NULL;
    uint64_t bytes = 0;
    if (s->a->load_engine) return load(s, err);
    pgy_status st = load_model(&model, s, err);
    if (!st) st = build(s, model, err);
    pgy_model_destroy(model);
    if (st || !s->a->save_engine) return st;
    st = trtexec_path(&path, s->a->save_engine, &s->line->memory, err);
    if (!st) st = pgy_engine_save(s->engine, path, err);
    if (!st) st = file_size(&bytes, path, err);
    s->plan_bytes = bytes;
    if (!st) LOG(INFO, "Created engine with size: %g MiB in %s", (double)bytes / (1 << 20), path);
    return st;
}

/* ---- Loading times -------------------------------------------------------------------------- */

enum { WARM_UP_LOADS = 2, LOADS = 20 };

static pgy_status time_load(double *ms, const char *path, pgy_error *err)
{
    pgy_engine *engine = NULL;
    const int64_t begin = clock_ns();
    const pgy_status st = pgy_engine_open(&engine, path, err);
    *ms = seconds_since(begin) * 1e3;
    pgy_engine_release(engine);
    return st;
}

pgy_status session_time_loading(trtexec_session *s, pgy_error *err)
{
    const char *path = NULL;
    double first = 0, ms = 0, sum = 0;
    const char *file = s->a->load_engine ? s->a->load_engine : s->a->save_engine;
    if (!file)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--timeDeserialize needs a plan: give --loadEngine or --saveEngine");
    pgy_status st = trtexec_path(&path, file, &s->line->memory, err);
    for (int i = 0; !st && i < WARM_UP_LOADS; i++) st = time_load(&ms, path, err);
    if (!st) st = time_load(&first, path, err);
    for (int i = 0; !st && i < LOADS; i++) {
        st = time_load(&ms, path, err);
        sum += ms;
    }
    if (st) return st;
    LOG(INFO, "First deserialization time = %g milliseconds.", first);
    LOG(INFO, "Average deserialization time of %d loads = %g milliseconds.", LOADS, sum / LOADS);
    if (first <= 2 * sum / LOADS) return PGY_OK;
    return pgy_error_set(err, PGY_E_BACKEND,
                         "the first load took %g ms, more than twice the average of %g ms", first,
                         sum / LOADS);
}

/* ---- Refit times ---------------------------------------------------------------------------- */

enum { REFITS = 10 };

static pgy_status time_refit(double *ms, pgy_engine *engine, pgy_model *model, pgy_error *err)
{
    pgy_refitter *r = NULL;
    const int64_t begin = clock_ns();
    pgy_status st = pgy_refitter_create(&r, engine, err);
    if (!st) st = pgy_refitter_set_model(r, model, err);
    if (!st) st = pgy_refitter_refit(r, err);
    *ms = seconds_since(begin) * 1e3;
    pgy_refitter_destroy(r);
    return st;
}

pgy_status session_time_refit(trtexec_session *s, pgy_error *err)
{
    pgy_model *model = NULL;
    const char *path = NULL;
    double ms = 0, sum = 0;
    pgy_status st = trtexec_path(&path, s->a->onnx, &s->line->memory, err);
    if (!st) st = pgy_model_load(&model, path, NULL, err);
    if (!st) st = time_refit(&ms, s->engine, model, err); /* warm-up */
    for (int i = 0; !st && i < REFITS; i++) {
        st = cancel_check(err);
        if (!st) st = time_refit(&ms, s->engine, model, err);
        sum += ms;
    }
    if (!st) LOG(INFO, "Average refit time of %d refits = %g milliseconds.", REFITS, sum / REFITS);
    pgy_model_destroy(model);
    return st;
}
