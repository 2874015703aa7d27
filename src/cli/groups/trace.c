/* SPDX-License-Identifier: Apache-2.0 */
/* Options that record a timeline. The file is opened before the command runs, so that a path that
 * cannot be written costs no time; it appears only when the command has ended without an error. */
#include "cli/groups/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static const char LOG_PATH[] = "cli/groups/trace.c";

#define FILE_OPTION(what)                                                                        \
    PGY_OPT_TEXT("--export-trace", trace_args, path, .meta = "PATH",                             \
                 .help = "record a timeline of " what " and write it as Chrome's JSON, or with " \
                         "the extension .pftrace as Perfetto's protobuf; with .gz behind it, "   \
                         "compressed. ui.perfetto.dev and chrome://tracing show it")

static const pgy_option OPTIONS[] = {
    FILE_OPTION("phases, runs and layers"),
    PGY_OPT_TEXT("--trace-runs", trace_args, runs_text, .meta = "N|all",
                 .help = "number of runs of each runner whose layers the timeline shows: the "
                         "first, the last, the slowest and a sample; default 20"),
    PGY_OPT_FLAG("--trace-clock", trace_args, keeps_clock,
                 .help = "keep the times of the clock; by default run i of all runners starts at "
                         "the same place of the timeline"),
    PGY_OPT_END,
};

static const pgy_option BUILD_OPTIONS[] = {FILE_OPTION("the build"), PGY_OPT_END};

pgy_status trace_runs_read(int64_t *out, const char *text, const char *option, pgy_error *err)
{
    char *end = NULL;
    if (!text) return PGY_OK;
    errno = 0;
    const long long value = strcmp(text, "all") ? strtoll(text, &end, 10) : -1;
    if (end && (end == text || *end || errno || value < 0))
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s: '%s' is neither a number of runs nor 'all'",
                             option, text);
    *out = value;
    return PGY_OK;
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    trace_args *s = settings;
    (void)line;
    s->options = pgy_trace_options_default();
    s->options.align = !s->keeps_clock;
    return trace_runs_read(&s->options.runs, s->runs_text, "--trace-runs", err);
}

const option_group GROUP_TRACE = {.title = "Timeline",
                                  .description = "Options that record a timeline",
                                  .options = OPTIONS,
                                  ARGS_TYPE(trace_args),
                                  .finish = finish};
const option_group GROUP_TRACE_BUILD = {.title = "Timeline",
                                        .description = "Options that record a timeline",
                                        .options = BUILD_OPTIONS,
                                        ARGS_TYPE(trace_args),
                                        .finish = finish};

pgy_status trace_begin(trace_session *s, const char *path, const pgy_trace_options *o,
                       pgy_error *err)
{
    if (!path) return PGY_OK;
    pgy_status st = pgy_trace_file_open(&s->file, path, err);
    if (!st) st = pgy_trace_start(o, err);
    if (st) {
        pgy_trace_file_close(s->file);
        s->file = NULL;
    }
    s->path = path;
    return st;
}

static pgy_status write_trace(trace_session *s, const char *tool, const char *line,
                              const char *model, pgy_error *err)
{
    pgy_trace *t = NULL;
    pgy_status st = pgy_trace_stop(&t, err);
    if (!st) st = pgy_trace_describe(t, tool, line, model, err);
    for (size_t i = 0; !st && i < sizeof s->facts / sizeof *s->facts && s->facts[i].name; i++)
        st = pgy_trace_set_number(t, s->facts[i].name, s->facts[i].value, err);
    if (!st) st = pgy_trace_file_write(s->file, t, err);
    if (!st) LOG(INFO, "Saved a timeline with %zu events to %s", pgy_trace_event_count(t), s->path);
    pgy_trace_destroy(t);
    return st;
}

pgy_status trace_end(trace_session *s, pgy_status st, const char *tool, const char *line,
                     const char *model, pgy_error *err)
{
    if (!s->file) return st;
    if (!st)
        st = write_trace(s, tool, line, model, err);
    else if (pgy_trace_stop(NULL, NULL))
        LOG(WARNING, "The timeline was not being recorded any more");
    pgy_trace_file_close(s->file);
    s->file = NULL;
    return st;
}
