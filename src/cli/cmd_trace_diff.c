/* SPDX-License-Identifier: Apache-2.0 */
/* trace diff: shows two recorded timelines side by side. */
#include <polygraphy/tensor.h>
#include <polygraphy/trace_summary.h>

#include "base/log.h"
#include "cli/command.h"

static const char LOG_PATH[] = "cli/cmd_trace_diff.c";

typedef struct trace_diff_args {
    const char *before, *after, *output, *category, *process_a, *process_b;
    bool all, with_warm_up;
} trace_diff_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_POSITIONAL("timeline_a", trace_diff_args, before,
                       .help = "first timeline; 'trace summary' lists the files that are read"),
    PGY_OPT_POSITIONAL("timeline_b", trace_diff_args, after,
                       .help = "timeline that is compared with it"),
    PGY_OPT_TEXT("-o --output", trace_diff_args, output, .meta = "PATH",
                 .help = "save all rows as JSON to this file"),
    PGY_OPT_TEXT("--category", trace_diff_args, category, .meta = "CATEGORY",
                 .help = "compare the slices of this category, such as kernel; default layer"),
    PGY_OPT_TEXT("--process-a", trace_diff_args, process_a, .meta = "NAME",
                 .help = "process of the first timeline, by a part of its name such as "
                         "'runner 1'; default the only one that has layers"),
    PGY_OPT_TEXT("--process-b", trace_diff_args, process_b, .meta = "NAME",
                 .help = "process of the second timeline"),
    PGY_OPT_FLAG("-a --all", trace_diff_args, all,
                 .help = "show all layers instead of those that changed most"),
    PGY_OPT_FLAG("--with-warm-up", trace_diff_args, with_warm_up,
                 .help = "count warm-up runs, too"),
    PGY_OPT_END,
};
static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(trace_diff_args)};
static const option_group *const GROUPS[] = {&OWN, &GROUP_LOGGING, NULL};

static pgy_status summarize(pgy_trace_summary **out, const char *path, const trace_diff_args *s,
                            pgy_error *err)
{
    const pgy_trace_summary_options o = {
        .size = sizeof o, .name = path, .category = s->category, .with_warm_up = s->with_warm_up};
    pgy_trace *trace = NULL;
    pgy_status st = pgy_trace_load(&trace, path, err);
    if (!st) st = pgy_trace_summary_create(out, trace, &o, err);
    pgy_trace_destroy(trace);
    return st;
}

static pgy_status show(const pgy_trace_diff *d, const trace_diff_args *s, pgy_error *err)
{
    const pgy_trace_report_options report = {
        .size = sizeof report, .all = s->all, .more = ", see --all"};
    char *text = NULL;
    pgy_status st = pgy_trace_diff_text(&text, d, &report, err);
    if (!st) LOG(INFO, "%s", text);
    if (!st && s->output) st = pgy_trace_diff_save(s->output, d, err);
    if (!st && s->output) LOG(INFO, "Saved the comparison to %s", s->output);
    pgy_text_free(text);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const trace_diff_args *s = args_get(line, &OWN);
    const pgy_trace_diff_options o = {
        .size = sizeof o, .process_a = s->process_a, .process_b = s->process_b};
    pgy_trace_summary *a = NULL, *b = NULL;
    pgy_trace_diff *d = NULL;
    pgy_status st = summarize(&a, s->before, s, err);
    (void)passed;
    if (!st) st = summarize(&b, s->after, s, err);
    if (!st) st = pgy_trace_diff_create(&d, a, b, &o, err);
    if (!st) st = show(d, s, err);
    pgy_trace_diff_destroy(d);
    pgy_trace_summary_destroy(a);
    pgy_trace_summary_destroy(b);
    return st;
}

const command COMMAND_trace_diff = {
    .tool = "trace",
    .subtool = "diff",
    .summary = "Show two recorded timelines side by side.",
    .description =
        "Show two recorded timelines side by side: runs, layers and ops with their times per run, "
        "the ratio, and whether the runs show a difference; and the layers that only one of them "
        "has. A difference is claimed if both have at least 8 runs.",
    .groups = GROUPS,
    .run = run,
};
