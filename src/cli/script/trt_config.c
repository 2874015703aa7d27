/* SPDX-License-Identifier: Apache-2.0 */
/* The builder's configuration as Python. */
#include <stdlib.h>
#include <string.h>

#include "cli/args/values.h"
#include "cli/groups/model.h"
#include "cli/groups/trt.h"
#include "cli/script/script.h"

static const char MODULE[] = "backend.trt";

/* ---- Arguments with a form of their own ----------------------------------------------------- */

static void put_range(py_call *c, const char *key, const int64_t *dims, size_t count)
{
    str *out = py_argument(c, key);
    str_append_char(out, '[');
    /* a dimension without a number is 1, as in the original */
    for (size_t i = 0; i < count; i++)
        str_printf(out, "%s%lld", i ? ", " : "", (long long)(dims[i] < 0 ? 1 : dims[i]));
    str_append_char(out, ']');
}

static pgy_status put_profiles(py_script *s, py_call *c, const char *key, pgy_error *err)
{
    const model_args *model = ARGS_OF(s->line, model_args);
    const trt_config_args *t = ARGS_OF(s->line, trt_config_args);
    const pgy_profile *profiles = NULL;
    size_t count = 0;
    str text = {0};
    const pgy_status st = trt_profiles_resolve(&profiles, &count, t, model ? model->shapes : NULL,
                                               (args *)s->line, err);
    if (st || !count) return st;
    str_append(&text, "[\n");
    for (size_t i = 0; i < count; i++) {
        str_append(&text, "    Profile()");
        for (size_t k = 0; k < profiles[i].range_count; k++) {
            const pgy_profile_range *r = &profiles[i].ranges[k];
            py_call add = py_call_of(".add");
            py_value(&add, NULL, r->name);
            put_range(&add, "min", r->min, r->count);
            put_range(&add, "opt", r->opt, r->count);
            put_range(&add, "max", r->max, r->count);
            str_append(&text, py_call_end(s, &add));
        }
        str_append(&text, i + 1 < count ? ",\n" : "\n");
    }
    str_append_char(&text, ']');
    if (text.failed) s->failed = true;
    py_import(s, MODULE, "Profile");
    py_raw(c, key, py_variable(s, &s->loaders, "profiles", str_text(&text)));
    str_deinit(&text);
    return PGY_OK;
}

static pgy_status put_tactics(py_script *s, py_call *c, const char *key, pgy_error *err)
{
    const trt_config_args *t = ARGS_OF(s->line, trt_config_args);
    const bool records = t->save_tactics != NULL;
    (void)err;
    if (!records && !t->load_tactics) return PGY_OK;
    const char *class = records ? "TacticRecorder" : "TacticReplayer";
    py_call call = py_call_of(class);
    py_value(&call, records ? "record" : "replay", records ? t->save_tactics : t->load_tactics);
    py_import(s, MODULE, class);
    py_raw(c, key, py_call_end(s, &call));
    return PGY_OK;
}

static pgy_status put_pools(py_script *s, py_call *c, const char *key, pgy_error *err)
{
    const trt_config_args *t = ARGS_OF(s->line, trt_config_args);
    const key_value *pairs = NULL;
    size_t count = 0;
    pgy_status st = values_split(&pairs, &count, &t->pool_words, s->memory, err);
    if (st || (!count && !t->old_workspace)) return st;
    str *out = py_argument(c, key);
    str_append_char(out, '{');
    if (t->old_workspace)
        str_printf(out, "trt.MemoryPoolType.WORKSPACE: %llu%s",
                   (unsigned long long)t->config.workspace_bytes, count ? ", " : "");
    for (size_t i = 0; !st && i < count; i++) {
        const char *pool = "";
        uint64_t bytes = 0;
        st = trt_name(&pool, pairs[i].key, &TRT_POOLS, err);
        if (!st) st = value_bytes(&bytes, pairs[i].value, "--pool-limit", err);
        str_printf(out, "%strt.MemoryPoolType.%s: %llu", i ? ", " : "", pool,
                   (unsigned long long)bytes);
    }
    str_append_char(out, '}');
    return st;
}

static pgy_status put_constraints(py_script *s, py_call *c, const char *key, pgy_error *err)
{
    const trt_config_args *t = ARGS_OF(s->line, trt_config_args);
    (void)err;
    if (t->precision_constraints && strcmp(t->precision_constraints, "none") != 0)
        py_value(c, key, t->precision_constraints);
    return PGY_OK;
}

#define MEMBER(key_, kind_, member_)                                             \
    {                                                                            \
        .key = key_, .kind = kind_, .offset = offsetof(trt_config_args, member_) \
    }
#define NAME(key_, kind_, member_, prefix_)                                       \
    {                                                                             \
        .key = key_, .kind = kind_, .offset = offsetof(trt_config_args, member_), \
        .prefix = prefix_                                                         \
    }
#define OTHER(key_, write_)                            \
    {                                                  \
        .key = key_, .kind = PY_OTHER, .write = write_ \
    }

static const py_row CALIBRATOR[] = {
    MEMBER("cache", PY_TEXT, calibration_cache),
    NAME("BaseClass", PY_NAME, calibration_class, "trt"),
    MEMBER("quantile", PY_REAL, quantile),
    MEMBER("regression_cutoff", PY_REAL, regression_cutoff),
};

static pgy_status put_calibrator(py_script *s, py_call *c, const char *key, pgy_error *err)
{
    const trt_config_args *t = ARGS_OF(s->line, trt_config_args);
    if (!t->config.int8) return PGY_OK;
    if (!s->loader && !s->data.size) {
        const pgy_status st = script_data(s, err);
        if (st) return st;
    }
    py_call call = py_call_of("Calibrator");
    py_raw(&call, "data_loader", s->loader ? s->loader : "DataLoader()");
    const pgy_status st =
        py_rows(s, &call, CALIBRATOR, sizeof CALIBRATOR / sizeof *CALIBRATOR, t, err);
    py_import(s, MODULE, "Calibrator");
    py_import(s, "comparator", "DataLoader");
    py_raw(c, key, py_call_end(s, &call));
    return st;
}

/* ---- The configuration ---------------------------------------------------------------------- */

static const py_row ROWS[] = {
    OTHER("precision_constraints", put_constraints),
    MEMBER("restricted", PY_FLAG, config.safety_restricted),
    OTHER("profiles", put_profiles),
    MEMBER("load_timing_cache", PY_TEXT, load_timing_cache),
    OTHER("algorithm_selector", put_tactics),
    MEMBER("sparse_weights", PY_FLAG, config.sparse_weights),
    NAME("tactic_sources", PY_NAMES, tactic_sources, "trt.TacticSource"),
    OTHER("memory_pool_limits", put_pools),
    MEMBER("refittable", PY_FLAG, config.refittable),
    MEMBER("strip_plan", PY_FLAG, config.strip_plan),
    NAME("preview_features", PY_NAMES, preview_features, "trt.PreviewFeature"),
    MEMBER("direct_io", PY_FLAG, config.direct_io),
    MEMBER("builder_optimization_level", PY_INT, optimization_level),
    NAME("hardware_compatibility_level", PY_NAME, hardware_level, "trt.HardwareCompatibilityLevel"),
    NAME("profiling_verbosity", PY_NAME, profiling_verbosity, "trt.ProfilingVerbosity"),
    MEMBER("max_aux_streams", PY_INT, max_aux_streams),
    MEMBER("version_compatible", PY_FLAG, config.version_compatible),
    MEMBER("exclude_lean_runtime", PY_FLAG, config.exclude_lean_runtime),
    NAME("quantization_flags", PY_NAMES, quantization_flags, "trt.QuantizationFlag"),
    MEMBER("error_on_timing_cache_miss", PY_FLAG, config.error_on_timing_cache_miss),
    MEMBER("disable_compilation_cache", PY_FLAG, config.disable_compilation_cache),
    MEMBER("weight_streaming", PY_FLAG, config.weight_streaming),
    NAME("runtime_platform", PY_NAME, runtime_platform, "trt.RuntimePlatform"),
    NAME("tiling_optimization_level", PY_NAME, tiling_level, "trt.TilingOptimizationLevel"),
    MEMBER("tf32", PY_FLAG, config.tf32),
    MEMBER("fp16", PY_FLAG, config.fp16),
    MEMBER("bf16", PY_FLAG, config.bf16),
    MEMBER("int8", PY_FLAG, config.int8),
    MEMBER("fp8", PY_FLAG, config.fp8),
    OTHER("calibrator", put_calibrator),
    MEMBER("use_dla", PY_FLAG, use_dla),
    MEMBER("allow_gpu_fallback", PY_FLAG, config.gpu_fallback),
};

static pgy_status postprocess(const char **out, py_script *s, const char *config, const char *text,
                              pgy_error *err)
{
    const char *path = NULL, *function = NULL;
    const pgy_status st = value_script(&path, &function, text, s->memory, err);
    if (st) return st;
    py_call invoke = py_call_of("InvokeFromScript"), c = py_call_of("PostprocessTrtConfig");
    py_value(&invoke, NULL, path);
    py_value(&invoke, "name", function ? function : "postprocess_config");
    py_raw(&c, NULL, config);
    py_raw(&c, "func", py_call_end(s, &invoke));
    py_import(s, "backend.common", "InvokeFromScript");
    py_import(s, MODULE, "PostprocessConfig as PostprocessTrtConfig");
    *out = py_variable(s, &s->loaders, "postprocess_trt_config", py_call_end(s, &c));
    return PGY_OK;
}

pgy_status script_trt_config(const char **out, bool *plain, py_script *s, const char *base,
                             bool short_class, pgy_error *err)
{
    const trt_config_args *t = ARGS_OF(s->line, trt_config_args);
    py_call c = py_call_of("CreateTrtConfig");
    pgy_status st = py_rows(s, &c, ROWS, sizeof ROWS / sizeof *ROWS, t, err);
    *plain = !c.any && !t->config_postprocess;
    const char *text = py_call_end(s, &c);
    if (st) return st;
    py_import_trt(s);
    const bool short_name = *plain && short_class;
    if (short_name) text = "CreateConfig()";
    py_import(s, MODULE, short_name ? "CreateConfig" : "CreateConfig as CreateTrtConfig");
    *out = py_variable(s, &s->loaders, base, text);
    return t->config_postprocess ? postprocess(out, s, *out, t->config_postprocess, err) : PGY_OK;
}
