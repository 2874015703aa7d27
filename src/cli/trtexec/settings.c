/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the options against each other, and the sections that repeat the settings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/system.h"
#include "cli/trtexec/trtexec.h"

static const char LOG_PATH[] = "cli/trtexec/settings.c";

/* ---- Checks --------------------------------------------------------------------------------- */

static pgy_status read_percentiles(trtexec_session *s, pgy_error *err)
{
    const char *text = s->a->percentiles ? s->a->percentiles : "90,95,99";
    for (const char *at = text;;) {
        char *end = NULL;
        const double p = strtod(at, &end);
        if (end == at || (*end && *end != ',') || !(p >= 0 && p <= 100))
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "--percentile: '%s' is not a list of numbers from 0 to 100", text);
        if (s->percentile_count == sizeof s->percentiles / sizeof *s->percentiles)
            return pgy_error_set(err, PGY_E_ARGUMENT, "--percentile: more than %zu numbers",
                                 s->percentile_count);
        s->percentiles[s->percentile_count++] = p;
        if (!*end) return PGY_OK;
        at = end + 1;
    }
}

static pgy_status check_model(const trtexec_args *a, pgy_error *err)
{
    if (a->save_engine && a->load_engine)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--saveEngine and --loadEngine exclude each other");
    if (!a->onnx && !a->load_engine)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "a model is missing: give --onnx or --loadEngine");
    if (a->onnx && a->load_engine && !a->refit_from_onnx)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--onnx and --loadEngine exclude each other, unless --refitFromOnnx "
                             "takes the weights of the model");
    if (a->refit_from_onnx && !(a->onnx && a->load_engine))
        return pgy_error_set(err, PGY_E_ARGUMENT, "--refitFromOnnx needs --onnx and --loadEngine");
    if (a->time_refit && !(a->onnx && (a->refit || a->refit_from_onnx)))
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "--timeRefit needs weights to refit with: give --onnx with --refit, or "
            "--loadEngine and --onnx with --refitFromOnnx");
    if (a->plan_version_only && !a->load_engine)
        return pgy_error_set(err, PGY_E_ARGUMENT, "--getPlanVersionOnly needs --loadEngine");
    return PGY_OK;
}

static pgy_status check_numbers(const trtexec_args *a, pgy_error *err)
{
    if (a->streams < 1 || a->streams > 1024)
        return pgy_error_set(err, PGY_E_ARGUMENT, "--infStreams: %lld is not in [1, 1024]",
                             (long long)a->streams);
    if (a->iterations < 0 || a->average_runs < 1 || a->op_threads < 0)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--iterations and --threads-per-op must not be negative, and "
                             "--avgRuns must be at least 1");
    if (a->device)
        return pgy_error_set(err, PGY_E_ARGUMENT, "--device: there is no device %lld; expected 0",
                             (long long)a->device);
    if (trtexec_given(a, "--useProfile") && a->use_profile < 0)
        return pgy_error_set(err, PGY_E_ARGUMENT, "--useProfile: %lld is negative",
                             (long long)a->use_profile);
    if (trtexec_given(a, "--builderOptimizationLevel") && (a->level < 0 || a->level > 5))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--builderOptimizationLevel: %lld is not in [0, 5]",
                             (long long)a->level);
    if (a->no_copies && a->copies)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--noDataTransfers and --includeDataTransfers exclude each other");
    return PGY_OK;
}

pgy_status session_check(trtexec_session *s, pgy_error *err)
{
    const trtexec_args *a = s->a;
    pgy_perf_options *o = &s->loop;
    *o = pgy_perf_options_default();
    pgy_status st = check_model(a, err);
    if (!st) st = check_numbers(a, err);
    if (!st && a->warm_up) st = trtexec_real(&o->warm_up_ms, a->warm_up, "--warmUp", 0, err);
    if (!st && a->duration) st = trtexec_real(&o->duration_s, a->duration, "--duration", -1, err);
    if (!st && a->sleep) st = trtexec_real(&o->sleep_ms, a->sleep, "--sleepTime", 0, err);
    if (!st && a->idle) st = trtexec_real(&o->idle_ms, a->idle, "--idleTime", 0, err);
    if (!st && o->duration_s < 0 && o->duration_s != -1)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "--duration: %g is neither -1 nor at least 0",
                           o->duration_s);
    if (!st) st = read_percentiles(s, err);
    if (st) return st;
    o->iterations = a->iterations;
    o->streams = (size_t)a->streams;
    o->threads = (size_t)a->op_threads;
    o->no_copies = a->no_copies;
    o->has_profile = a->use_profile >= 0;
    o->profile = a->use_profile >= 0 ? (size_t)a->use_profile : 0;
    return PGY_OK;
}

/* ---- Sections ------------------------------------------------------------------------------- */

static const char *enabled(bool on)
{
    return on ? "Enabled" : "Disabled";
}

static const char *or_none(const char *text)
{
    return text ? text : "";
}

static void print_build(const trtexec_session *s)
{
    const trtexec_args *a = s->a;
    str precision = {0};
    str_append(&precision, "FP32");
    if (a->fp16 || a->best) str_append(&precision, "+FP16");
    if (a->bf16) str_append(&precision, "+BF16");
    if (a->int8 || a->best) str_append(&precision, "+INT8");
    if (a->fp8) str_append(&precision, "+FP8");
    LOG(INFO, "=== Build Options ===");
    LOG(INFO, "Memory Pools: workspace: %s",
        a->memory      ? a->memory
        : a->workspace ? a->workspace
                       : "default");
    LOG(INFO, "Precision: %s", str_text(&precision));
    LOG(INFO, "Layer output types: %s", or_none(a->output_types));
    LOG(INFO, "Input formats: %s", a->input_formats ? a->input_formats : "the model's types, chw");
    LOG(INFO, "Output formats: %s",
        a->output_formats ? a->output_formats : "the model's types, chw");
    LOG(INFO, "Calibration: %s",
        a->calibration       ? a->calibration
        : a->int8 || a->best ? "Dynamic"
                             : "");
    LOG(INFO, "Refit: %s", enabled(a->refit));
    LOG(INFO, "Strip weights: %s", enabled(a->strip));
    LOG(INFO, "Sparsity: %s", a->sparsity ? a->sparsity : "Disabled");
    LOG(INFO, "Builder optimization level: %lld", a->level >= 0 ? (long long)a->level : 3LL);
    LOG(INFO, "Profiling verbosity: %s", a->verbosity ? a->verbosity : "layer_names_only");
    if (a->route) LOG(INFO, "Build route: %s", a->route);
    LOG(INFO, "timingCacheFile: %s", or_none(a->timing_cache));
    LOG(INFO, "Save engine: %s", or_none(a->save_engine));
    for (size_t i = 0; i < a->word_count; i++)
        if (a->words[i].row->offset == offsetof(trtexec_args, shapes))
            LOG(INFO, "Input build shapes: %s=%s", a->words[i].name, a->words[i].value);
    str_deinit(&precision);
}

static void print_inference(const trtexec_session *s)
{
    const pgy_perf_options *o = &s->loop;
    LOG(INFO, "=== Inference Options ===");
    LOG(INFO, "Batch: Explicit");
    LOG(INFO, "Iterations: %lld", (long long)o->iterations);
    LOG(INFO, "Duration: %gs (+ %gms warm up)", o->duration_s, o->warm_up_ms);
    LOG(INFO, "Sleep time: %gms", o->sleep_ms);
    LOG(INFO, "Idle time: %gms", o->idle_ms);
    LOG(INFO, "Inference Streams: %zu", o->streams);
    LOG(INFO, "ExposeDMA: %s", enabled(false));
    LOG(INFO, "Data transfers: %s", enabled(!o->no_copies));
    LOG(INFO, "Spin-wait: %s", enabled(false));
    LOG(INFO, "Multithreading: %s", enabled(o->streams > 1));
    LOG(INFO, "CUDA Graph: %s", enabled(false));
    LOG(INFO, "Separate profiling: %s", enabled(true));
    LOG(INFO, "Time Deserialize: %s", enabled(s->a->time_deserialize));
    LOG(INFO, "Skip inference: %s", enabled(s->a->skip_inference));
    LOG(INFO, "Inputs: %s", or_none(s->a->load_inputs));
}

static void print_reporting(const trtexec_session *s)
{
    const trtexec_args *a = s->a;
    str list = {0};
    for (size_t i = 0; i < s->percentile_count; i++)
        str_printf(&list, "%s%g", i ? "," : "", s->percentiles[i]);
    LOG(INFO, "=== Reporting Options ===");
    LOG(INFO, "Verbose: %s", enabled(a->verbose));
    LOG(INFO, "Averages: %lld inferences", (long long)a->average_runs);
    LOG(INFO, "Percentiles: %s", str_text(&list));
    LOG(INFO, "Dump refittable layers: %s", enabled(a->dump_refit));
    LOG(INFO, "Dump output: %s", enabled(a->dump_output));
    LOG(INFO, "Profile: %s", enabled(a->dump_profile));
    LOG(INFO, "Export timing to JSON file: %s", or_none(a->export_times));
    LOG(INFO, "Export output to JSON file: %s", or_none(a->export_output));
    LOG(INFO, "Export profile to JSON file: %s", or_none(a->export_profile));
    LOG(INFO, "Export layer info to JSON file: %s", or_none(a->export_layers));
    LOG(INFO, "Export timeline to file: %s", or_none(a->export_trace));
    str_deinit(&list);
}

static void print_host(void)
{
    LOG(INFO, "Selected Device: host, %zu processors, %s", cpu_count(),
        cpu_level_name(cpu_features()));
}

/* The name of a device after `last`, in alphabetical order, that runs layers; NULL: there is none.
 */
static const char *next_device(const pgy_plan *p, const char *last)
{
    const char *next = NULL;
    for (size_t i = 0; i < pgy_plan_profile_count(p); i++) {
        const pgy_plan_profile *f = pgy_plan_profile_at(p, i);
        for (size_t k = 0; k < f->layer_count; k++) {
            const char *name = f->layers[k].device;
            if (name && (!last || strcmp(name, last) > 0) && (!next || strcmp(name, next) < 0))
                next = name;
        }
    }
    return next;
}

pgy_status settings_print_devices(const char *path, pgy_error *err)
{
    pgy_plan *p = NULL;
    const pgy_status st = pgy_plan_open(&p, path, err);
    if (st) return st;
    const char *name = next_device(p, NULL);
    if (!name) print_host();
    for (; name; name = next_device(p, name)) LOG(INFO, "Selected Device: %s", name);
    pgy_plan_close(p);
    return PGY_OK;
}

void settings_print(const trtexec_session *s)
{
    const trtexec_args *a = s->a;
    LOG(INFO, "=== Model Options ===");
    LOG(INFO, "Format: %s", a->onnx ? "ONNX" : "*");
    LOG(INFO, "Model: %s", or_none(a->onnx));
    if (!a->load_engine) print_build(s);
    LOG(INFO, "=== System Options ===");
    LOG(INFO, "Device: %lld", (long long)a->device);
    print_inference(s);
    print_reporting(s);
    LOG(INFO, "=== Device Information ===");
    if (!a->load_engine) print_host();
    LOG(INFO, "libpolygraphy version: %s", pgy_version());
}
