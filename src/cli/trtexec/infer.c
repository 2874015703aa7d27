/* SPDX-License-Identifier: Apache-2.0 */
/* Inference: inputs, the measured loop, the report and the exports. */
#include <ctype.h>
#include <string.h>

#include "base/log.h"
#include "cli/trtexec/accuracy.h"
#include "cli/trtexec/debug.h"
#include "cli/trtexec/report.h"
#include "cli/trtexec/route.h"
#include "cli/trtexec/trtexec.h"

static const char LOG_PATH[] = "cli/trtexec/infer.c";

enum { MAX_NAME = 150 };

/* ---- Inputs --------------------------------------------------------------------------------- */

static bool is_loaded(const trtexec_session *s, const char *name)
{
    str begin = {0};
    str_printf(&begin, "%s:", name);
    const bool found = s->a->load_inputs && strstr(s->a->load_inputs, str_text(&begin));
    str_deinit(&begin);
    return found;
}

static void say_tensor(const trtexec_session *s, const char *kind, const char *name, pgy_tensor *t)
{
    str text = {0};
    append_shape(&text, pgy_tensor_rank(t), pgy_tensor_shape(t));
    if (!strcmp(kind, "Input"))
        LOG(INFO, "Using %s values for input %s",
            is_loaded(s, name) ? "values of a file as" : "random", name);
    LOG(INFO, "%s binding for %s with dimensions %s is created.", kind, name, str_text(&text));
    str_deinit(&text);
}

static pgy_status make_feed(pgy_tensor_map **out, trtexec_session *s, pgy_error *err)
{
    pgy_metadata *shapes = NULL;
    pgy_status st = shapes_wanted(&shapes, s, pgy_engine_inputs(s->engine), err);
    if (!st)
        st = pgy_perf_inputs(out, s->engine, s->loop.profile, shapes, (uint64_t)s->a->seed, err);
    if (!st) st = infer_load_inputs(*out, s->a->load_inputs, s, err);
    pgy_metadata_destroy(shapes);
    return st;
}

/* ---- The report ----------------------------------------------------------------------------- */

static pgy_status report(trtexec_session *s, const pgy_perf_trace *t, pgy_error *err)
{
    const pgy_perf_text_options o = {.size = sizeof o,
                                     .percentiles = s->percentiles,
                                     .percentile_count = s->percentile_count,
                                     .average_runs = s->a->average_runs,
                                     .has_warm_up = true,
                                     .warm_up_ms = s->loop.warm_up_ms};
    char *text = NULL, *doubts = NULL;
    pgy_status st = pgy_perf_text(&text, t, &o, err);
    if (!st) st = pgy_perf_warnings(&doubts, t, s->loop.streams, err);
    if (!st) {
        console_text(text);
        if (doubts[0]) LOG(WARNING, "%s", doubts);
        LOG(VERBOSE, "=== Explanations of the performance metrics ===\n"
                     "Latency: H2D + GPU Compute + D2H of one query, without pauses between them.\n"
                     "Enqueue Time: time of the call that starts a query; calls of this engine "
                     "return when it is done.\n"
                     "H2D Latency, D2H Latency: copies of inputs and outputs.\n"
                     "GPU Compute Time: the run of the engine, here on the host.\n"
                     "Throughput: queries divided by Total Host Walltime.");
    }
    pgy_text_free(text);
    pgy_text_free(doubts);
    return st;
}

/* ---- Outputs -------------------------------------------------------------------------------- */

static pgy_status dump_outputs(const pgy_tensor_map *outputs, pgy_error *err)
{
    LOG(INFO, "Output Tensors:");
    for (size_t i = 0; i < pgy_tensor_map_count(outputs); i++) {
        const pgy_text_options o = {.size = sizeof o, .threshold = INT64_MAX};
        pgy_tensor *t = pgy_tensor_map_at(outputs, i);
        str shape = {0};
        char *values = NULL;
        append_shape(&shape, pgy_tensor_rank(t), pgy_tensor_shape(t));
        const pgy_status st = pgy_view_text(&values, pgy_tensor_view(t), &o, err);
        if (!st)
            LOG(INFO, "%s: (%s)\n%s", pgy_tensor_map_name(outputs, i), str_text(&shape), values);
        str_deinit(&shape);
        pgy_text_free(values);
        if (st) return st;
    }
    return PGY_OK;
}

/* "<name>.input.<d0>.<d1>.<dtype>.raw" */
static pgy_status dump_raw(const pgy_tensor_map *map, const char *kind, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(map); i++) {
        pgy_tensor *t = pgy_tensor_map_at(map, i);
        str path = {0};
        for (const char *c = pgy_tensor_map_name(map, i); *c && path.size < MAX_NAME; c++)
            str_append_char(&path, isalnum((unsigned char)*c) || strchr("._-", *c) ? *c : '_');
        str_printf(&path, ".%s.", kind);
        for (size_t k = 0; k < pgy_tensor_rank(t); k++)
            str_printf(&path, "%lld.", (long long)pgy_tensor_shape(t)[k]);
        str_printf(&path, "%s.raw", pgy_dtype_name(pgy_tensor_dtype(t)));
        st = pgy_raw_save(str_text(&path), pgy_tensor_view(t), err);
        str_deinit(&path);
    }
    return st;
}

static pgy_status show_outputs(trtexec_session *s, const pgy_tensor_map *feed,
                               const pgy_tensor_map *outputs, pgy_error *err)
{
    const char *path = NULL;
    pgy_status st = s->a->dump_output ? dump_outputs(outputs, err) : PGY_OK;
    if (!st && s->a->dump_raw) st = dump_raw(feed, "input", err);
    if (!st && s->a->dump_raw) st = dump_raw(outputs, "output", err);
    if (!st && s->a->export_output) {
        st = trtexec_path(&path, s->a->export_output, &s->line->memory, err);
        if (!st) st = pgy_perf_outputs_save(path, outputs, err);
    }
    return st;
}

/* ---- Layers --------------------------------------------------------------------------------- */

/* The sum of the layers is less than a run without clocks, or more: both are printed. */
static pgy_status show_profile(pgy_perf_profile **out, trtexec_session *s,
                               const pgy_tensor_map *feed, const pgy_perf_trace *trace,
                               pgy_error *err)
{
    pgy_perf_profile *p = NULL;
    pgy_perf_stats compute = {0};
    char *text = NULL;
    const char *path = NULL;
    pgy_status st = pgy_perf_profile_layers(&p, s->engine, feed, &s->loop, err);
    if (!st) st = pgy_perf_profile_text(&text, p, err);
    if (!st) st = pgy_perf_summarize(&compute, trace, PGY_PERF_COMPUTE, err);
    if (!st && s->a->dump_profile) {
        const double layers = pgy_perf_profile_total(p).average_ms;
        console_text(text);
        LOG(INFO,
            "The layers take %g ms per run, timed in runs of their own; a run without their clocks "
            "takes %g ms; overhead: %g ms",
            layers, compute.mean, compute.mean - layers);
    }
    if (!st && s->a->export_profile) {
        st = trtexec_path(&path, s->a->export_profile, &s->line->memory, err);
        if (!st) st = pgy_perf_profile_save(path, p, err);
    }
    pgy_text_free(text);
    *out = p;
    return st;
}

/* ---- The timeline --------------------------------------------------------------------------- */

enum { TRACED_RUNS = 20 };

/* Runs the loop once more, recorded: clocks around layers take time, so the report's runs have
 * none. Both medians go into the file. */
static pgy_status record_runs(trtexec_session *s, const pgy_tensor_map *feed,
                              const pgy_perf_trace *plain, pgy_error *err)
{
    pgy_perf_options o = s->loop;
    pgy_perf_trace *traced = NULL;
    pgy_perf_stats before = {0}, after = {0};
    if (!s->trace.file || pgy_is_cancelled()) return PGY_OK;
    o.duration_s = 0;
    if (o.iterations < TRACED_RUNS) o.iterations = TRACED_RUNS;
    pgy_trace_pause(false);
    pgy_trace_phase_begin("recorded runs");
    pgy_status st = pgy_perf_measure(&traced, NULL, s->engine, feed, &o, err);
    pgy_trace_phase_end();
    if (!st) st = pgy_perf_summarize(&before, plain, PGY_PERF_COMPUTE, err);
    if (!st) st = pgy_perf_summarize(&after, traced, PGY_PERF_COMPUTE, err);
    s->trace.facts[0].name = "compute_ms_median_not_recorded";
    s->trace.facts[0].value = before.median;
    s->trace.facts[1].name = "compute_ms_median_recorded";
    s->trace.facts[1].value = after.median;
    pgy_perf_trace_destroy(traced);
    return st;
}

/* ---- The whole ------------------------------------------------------------------------------ */

pgy_status session_infer(trtexec_session *s, pgy_error *err)
{
    pgy_tensor_map *feed = NULL, *outputs = NULL;
    pgy_perf_trace *trace = NULL;
    pgy_perf_profile *profile = NULL;
    const char *path = NULL;
    pgy_status st = make_feed(&feed, s, err);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(feed); i++)
        say_tensor(s, "Input", pgy_tensor_map_name(feed, i), pgy_tensor_map_at(feed, i));
    if (!st) LOG(INFO, "Starting inference");
    pgy_trace_pause(true);
    if (!st) st = pgy_perf_measure(&trace, &outputs, s->engine, feed, &s->loop, err);
    if (s->loop.duration_s < 0) pgy_cancel_reset(); /* the request has been met: files follow */
    for (size_t i = 0; !st && outputs && i < pgy_tensor_map_count(outputs); i++)
        say_tensor(s, "Output", pgy_tensor_map_name(outputs, i), pgy_tensor_map_at(outputs, i));
    if (!st) st = report(s, trace, err);
    if (!st) st = record_runs(s, feed, trace, err);
    pgy_trace_pause(true);
    if (!st && s->a->export_times) {
        st = trtexec_path(&path, s->a->export_times, &s->line->memory, err);
        if (!st) st = pgy_perf_times_save(path, trace, err);
    }
    if (!st && outputs) st = show_outputs(s, feed, outputs, err);
    if (!st && (s->a->dump_profile || s->a->export_profile))
        st = show_profile(&profile, s, feed, trace, err);
    if (!st) st = report_figures(s, trace, profile, err);
    if (!st) st = debug_save(s, feed, err);
    if (!st) st = accuracy_check(s, feed, err);
    if (!st || s->accuracy_failed) st = route_answer(st, s, trace, outputs, err);
    pgy_perf_profile_destroy(profile);
    pgy_perf_trace_destroy(trace);
    pgy_tensor_map_destroy(outputs);
    pgy_tensor_map_destroy(feed);
    return st;
}
