/* SPDX-License-Identifier: Apache-2.0 */
/* trace summary: shows where the time of recorded timelines goes. */
#include <stdlib.h>

#include <polygraphy/tensor.h>
#include <polygraphy/trace_summary.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cli/command.h"

static const char LOG_PATH[] = "cli/cmd_trace_summary.c";

typedef struct trace_summary_args {
    pgy_text_list paths;
    const char *output, *category, *peaks, *gaps;
    bool all, with_warm_up, roofline, measure_peaks;
} trace_summary_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_POSITIONAL("paths", trace_summary_args, paths, .nargs = PGY_ONE_OR_MORE,
                       .help = "timelines: files of --export-trace (JSON), ONNX Runtime's "
                               "profiles, PyTorch's traces, files of trtexec --exportTimes and "
                               "--exportProfile, any of them also compressed by gzip; tables of "
                               "'nsys stats --format csv', and databases of 'nsys export --type "
                               "sqlite'"),
    PGY_OPT_TEXT("-o --output", trace_summary_args, output, .meta = "PATH",
                 .help = "save the figures of all layers as JSON to this file"),
    PGY_OPT_TEXT("--category", trace_summary_args, category, .meta = "CATEGORY",
                 .help = "sum up the slices of this category, such as kernel, memcpy or phase; "
                         "default layer, or kernel in files of Nsight Systems without layers"),
    PGY_OPT_TEXT("--gaps", trace_summary_args, gaps, .meta = "US",
                 .help = "list the gaps between layers of a run that last at least this many "
                         "microseconds; default 1"),
    PGY_OPT_FLAG("--roofline", trace_summary_args, roofline,
                 .help = "compare each layer's operations and bytes per second with the peaks of "
                         "this machine, those far from both first; the peaks are measured for two "
                         "seconds, and kept in the user's cache folder"),
    PGY_OPT_FLAG("--measure-peaks", trace_summary_args, measure_peaks,
                 .help = "with --roofline: measure the peaks again"),
    PGY_OPT_TEXT("--peaks", trace_summary_args, peaks, .meta = "GFLOPS,GB",
                 .help =
                     "with --roofline: take these peaks, in GFLOP/s and GB/s, for example for a "
                     "file of another machine"),
    PGY_OPT_FLAG("-a --all", trace_summary_args, all,
                 .help = "show all layers instead of the longest ones"),
    PGY_OPT_FLAG("--with-warm-up", trace_summary_args, with_warm_up,
                 .help = "count warm-up runs, too"),
    PGY_OPT_END,
};
static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(trace_summary_args)};
static const option_group *const GROUPS[] = {&OWN, &GROUP_LOGGING, NULL};

/* 0: the default. */
static pgy_status read_gap(double *us, const char *text, pgy_error *err)
{
    const double most = 1e12;
    char *end = NULL;
    if (!text) return PGY_OK;
    *us = strtod(text, &end);
    if (end != text && !*end && *us > 0 && *us < most) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "--gaps is '%s'; expected a number of microseconds greater than 0", text);
}

static pgy_status summarize(pgy_trace_summary **out, const char *path, const trace_summary_args *s,
                            const pgy_machine_peaks *peaks, pgy_error *err)
{
    pgy_trace_summary_options o = {.size = sizeof o,
                                   .name = path,
                                   .category = s->category,
                                   .with_warm_up = s->with_warm_up,
                                   .peaks = peaks};
    const pgy_trace_report_options report = {
        .size = sizeof report, .all = s->all, .more = ", see --all"};
    pgy_trace *trace = NULL;
    char *text = NULL;
    pgy_status st = read_gap(&o.gap_us, s->gaps, err);
    if (!st) st = pgy_trace_load(&trace, path, err);
    if (!st) st = pgy_trace_summary_create(out, trace, &o, err);
    if (!st) st = pgy_trace_summary_text(&text, *out, &report, err);
    if (!st) LOG(INFO, "%s", text);
    pgy_text_free(text);
    pgy_trace_destroy(trace);
    return st;
}

/* Two numbers greater than 0. */
static pgy_status read_peaks(pgy_machine_peaks *out, const char *text, pgy_error *err)
{
    const double most = 1e12;
    char *comma = NULL, *end = NULL;
    *out = (pgy_machine_peaks){.gflops = strtod(text, &comma)};
    if (*comma == ',') out->gb_per_s = strtod(comma + 1, &end);
    if (end && end != comma + 1 && !*end && out->gflops > 0 && out->gb_per_s > 0 &&
        out->gflops < most && out->gb_per_s < most)
        return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "--peaks is '%s'; expected two numbers greater than 0, in GFLOP/s and "
                         "GB/s, such as 200,30",
                         text);
}

static pgy_status get_peaks(pgy_machine_peaks *out, const trace_summary_args *s, pgy_error *err)
{
    const pgy_machine_options o = {.size = sizeof o, .again = s->measure_peaks};
    if (!s->roofline && (s->measure_peaks || s->peaks))
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s belongs to --roofline; give both",
                             s->peaks ? "--peaks" : "--measure-peaks");
    if (s->measure_peaks && s->peaks)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--peaks and --measure-peaks exclude each other: the peaks are given, "
                             "or measured");
    if (s->peaks) return read_peaks(out, s->peaks, err);
    return s->roofline ? pgy_machine_peaks_get(out, &o, err) : PGY_OK;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const trace_summary_args *s = args_get(line, &OWN);
    const size_t count = s->paths.count;
    pgy_machine_peaks peaks;
    pgy_trace_summary **items = mem_calloc(count + 1, sizeof *items);
    pgy_status st = items ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)passed;
    if (!st) st = get_peaks(&peaks, s, err);
    for (size_t i = 0; !st && i < count; i++)
        st = summarize(&items[i], s->paths.items[i], s, s->roofline ? &peaks : NULL, err);
    if (!st && s->output)
        st = pgy_trace_summary_save(s->output, (const pgy_trace_summary *const *)items, count, err);
    if (!st && s->output) LOG(INFO, "Saved the figures to %s", s->output);
    for (size_t i = 0; items && i < count; i++) pgy_trace_summary_destroy(items[i]);
    mem_free(items);
    return st;
}

const command COMMAND_trace_summary = {
    .tool = "trace",
    .subtool = "summary",
    .summary = "Show where the time of a recorded timeline goes.",
    .description =
        "Show where the time of recorded timelines goes: for each layer and op the "
        "calls, the total and its share, mean, median, least and greatest time; runs; "
        "and the time outside layers. Slices inside others are not counted twice. "
        "--roofline tells which layers use neither the arithmetic nor the memory of this "
        "machine well.",
    .groups = GROUPS,
    .run = run,
};
