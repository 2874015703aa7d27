/* SPDX-License-Identifier: Apache-2.0 */
/* The runners and what they load, as Python. One row of RUNNERS for each runner that the original
 * has. */
#include "cli/groups/runners.h"

#include <string.h>

#include "base/log.h"
#include "cli/groups/model.h"
#include "cli/groups/trt.h"
#include "cli/script/runners.h"
#include "cli/script/script.h"

static const char LOG_PATH[] = "tools/run/run.py";
static const char TRT[] = "backend.trt";

static const char *backend_text(const py_script *s, const char *backend, const char *option)
{
    const char *const *at = runner_option(s->line, backend, option);
    return at ? *at : NULL;
}

static const char *add(py_script *s, const char *base, const char *module, const char *class,
                       py_call *c)
{
    py_import(s, module, class);
    return py_variable(s, &s->loaders, base, py_call_end(s, c));
}

/* ---- ONNX Runtime --------------------------------------------------------------------------- */

static bool is_identifier(const char *text)
{
    const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    return *text && !(*text >= '0' && *text <= '9') && !text[strspn(text, letters)];
}

static pgy_status put_onnxrt(str *out, py_script *s, pgy_error *err)
{
    const pgy_text_list *providers = runner_option(s->line, "onnxrt", "--providers");
    const char *level = backend_text(s, "onnxrt", "--graph-optimization-level");
    const char *bytes = script_onnx_bytes(s, true);
    py_call c = py_call_of("SessionFromOnnx");
    if (level && !is_identifier(level))
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "--graph-optimization-level: '%s' is not a name such as ORT_ENABLE_ALL", level);
    if (bytes)
        py_raw(&c, NULL, bytes);
    else
        py_value(&c, NULL, model_path(s->line));
    if (providers && providers->given)
        py_texts(py_argument(&c, "providers"), providers->items, providers->count);
    if (level) {
        py_import_onnxrt(s);
        str_printf(py_argument(&c, "graph_optimization_level"), "onnxrt.GraphOptimizationLevel.%s",
                   level);
    }
    const char *session = add(s, "build_onnxrt_session", "backend.onnxrt", "SessionFromOnnx", &c);
    py_import(s, "backend.onnxrt", "OnnxrtRunner");
    str_printf(out, "OnnxrtRunner(%s)", session);
    return PGY_OK;
}

/* ---- The reference -------------------------------------------------------------------------- */

static pgy_status put_pluginref(str *out, py_script *s, pgy_error *err)
{
    (void)err;
    py_call c = py_call_of("GsFromOnnx");
    LOG(WARNING, "In the script --opref becomes the package's own reference, which knows only "
                 "Identity, InstanceNormalization and MeanVarianceNormalization");
    py_raw(&c, NULL, script_onnx(s, true, true));
    const char *graph = add(s, "pluginref", "backend.onnx", "GsFromOnnx", &c);
    py_import(s, "backend.pluginref", "PluginRefRunner");
    str_printf(out, "PluginRefRunner(%s)", graph);
    return PGY_OK;
}

/* ---- TensorRT ------------------------------------------------------------------------------- */

static const char *build_engine(py_script *s, pgy_error *err, pgy_status *st)
{
    const trt_engine_args *e = ARGS_OF(s->line, trt_engine_args);
    const char *save = backend_text(s, "trt", "--save-engine");
    const char *config = NULL, *network = NULL;
    bool plain = true;
    *st = script_trt_config(&config, &plain, s, "parser_trt_config", false, err);
    if (!*st) *st = script_trt_network(&network, s, config, err);
    if (*st) return NULL;
    py_call c = py_call_of("EngineBytesFromNetwork");
    py_raw(&c, NULL, script_trt_plugins(s, network));
    if (!plain) py_raw(&c, "config", config);
    if (e->save_timing_cache) py_value(&c, "save_timing_cache", e->save_timing_cache);
    const char *bytes = add(s, "build_engine", TRT, "EngineBytesFromNetwork", &c);
    if (!save) return bytes;
    py_call keep = py_call_of("SaveBytes");
    py_raw(&keep, NULL, bytes);
    py_value(&keep, "path", save);
    return add(s, "save_engine_bytes", "backend.common", "SaveBytes", &keep);
}

static const char *read_plan(py_script *s)
{
    py_call c = py_call_of("BytesFromPath");
    py_value(&c, NULL, model_path(s->line));
    return add(s, "load_engine_bytes", "backend.common", "BytesFromPath", &c);
}

static const char *deserialize(py_script *s, const char *bytes)
{
    const trt_engine_args *e = ARGS_OF(s->line, trt_engine_args);
    const char *runtime = NULL;
    if (e->load_runtime) {
        py_call c = py_call_of("LoadRuntime");
        py_value(&c, NULL, e->load_runtime);
        runtime = add(s, "load_runtime", TRT, "LoadRuntime", &c);
    }
    py_call c = py_call_of("EngineFromBytes");
    py_raw(&c, NULL, script_trt_plugins(s, bytes));
    if (runtime) py_raw(&c, "runtime", runtime);
    if (e->dla_strategy) {
        py_import_trt(s);
        str_printf(py_argument(&c, "dla_workspace_allocation_strategy"),
                   "trt.DLAWorkspaceAllocationStrategy.%s", e->dla_strategy);
    }
    return add(s, "deserialize_engine", TRT, "EngineFromBytes", &c);
}

static void put_budget(py_call *c, const trt_engine_args *e)
{
    if (!e->weight_budget) return;
    switch (e->budget) {
    case PGY_WEIGHT_BUDGET_PERCENT:
        py_number(py_argument(c, "weight_streaming_percent"), e->budget_percent);
        break;
    case PGY_WEIGHT_BUDGET_BYTES:
        str_printf(py_argument(c, "weight_streaming_budget"), "%llu",
                   (unsigned long long)e->budget_bytes);
        break;
    default: py_raw(c, "weight_streaming_budget", e->weight_budget);
    }
}

static pgy_status put_trt(str *out, py_script *s, pgy_error *err)
{
    const int64_t *profile = runner_option(s->line, "trt", "--optimization-profile");
    const char *strategy = backend_text(s, "trt", "--allocation-strategy");
    pgy_status st = PGY_OK;
    const char *bytes =
        model_is_engine(ARGS_OF(s->line, model_args)) ? read_plan(s) : build_engine(s, err, &st);
    if (st) return st;
    py_call c = py_call_of("TrtRunner");
    py_raw(&c, NULL, deserialize(s, bytes));
    if (profile && *profile >= 0)
        str_printf(py_argument(&c, "optimization_profile"), "%lld", (long long)*profile);
    if (strategy) py_value(&c, "allocation_strategy", strategy);
    put_budget(&c, ARGS_OF(s->line, trt_engine_args));
    py_import(s, TRT, "TrtRunner");
    str_append(out, py_call_end(s, &c));
    return PGY_OK;
}

/* ---- All ------------------------------------------------------------------------------------ */

static const struct {
    const char *backend, *title;
    pgy_status (*put)(str *out, py_script *s, pgy_error *err);
} RUNNERS[] = {
    {"onnxrt", "ONNX-Runtime", put_onnxrt},
    {"opref", "Plugin CPU Reference", put_pluginref},
    {"trt", "TensorRT", put_trt},
    {"trtexec", "Trtexec Runner", script_trtexec},
};

static size_t row_of(const char *backend)
{
    size_t i = 0;
    while (i < sizeof RUNNERS / sizeof *RUNNERS && strcmp(RUNNERS[i].backend, backend)) i++;
    return i;
}

const char *script_runner_title(const char *backend)
{
    const size_t i = row_of(backend);
    return i < sizeof RUNNERS / sizeof *RUNNERS ? RUNNERS[i].title : backend;
}

pgy_status script_runners(str *out, py_script *s, pgy_error *err)
{
    const runner_args *r = ARGS_OF(s->line, runner_args);
    pgy_status st = PGY_OK;
    str_append(out, r->names.count ? "runners = [\n" : "runners = [");
    for (size_t i = 0; !st && i < r->names.count; i++) {
        const size_t k = row_of(r->names.items[i]);
        if (k == sizeof RUNNERS / sizeof *RUNNERS)
            return pgy_error_set(
                err, PGY_E_UNSUPPORTED,
                "--%s has no counterpart in the Python package, so a script cannot "
                "use it; leave the runner out",
                r->names.items[i]);
        str_append(out, "    ");
        st = RUNNERS[k].put(out, s, err);
        str_append(out, ",\n");
    }
    str_append(out, "]\n");
    return st;
}
