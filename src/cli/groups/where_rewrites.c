/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the search for a rewrite, and the search. */
#include "cli/groups/where_rewrites.h"

#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/groups/runners.h"
#include "cli/groups/where_unused.h"

static const char LOG_PATH[] = "cli/groups/where_rewrites.c";

static const pgy_option OPTIONS[] = {
    PGY_OPT_FLAG("--bisect-passes", where_rewrite_args, passes, .exclusive = "rewrites",
                 .help = "find the pass of the built-in engine (--b trt), and the rewrite in it, "
                         "that makes its outputs differ from side A"),
    PGY_OPT_FLAG("--bisect-ort", where_rewrite_args, ort, .exclusive = "rewrites",
                 .help = "find the optimization level of ONNX Runtime (--b onnxrt), and the "
                         "optimizers in it, that make its outputs differ from side A"),
    PGY_OPT_END,
};
const option_group GROUP_WHERE_REWRITES = {
    .title = "Rewrites",
    .description = "Options related to finding the rewrite that makes outputs differ",
    .options = OPTIONS,
    ARGS_TYPE(where_rewrite_args),
};

bool where_rewrites_asked(const args *line)
{
    const where_rewrite_args *s = args_get(line, &GROUP_WHERE_REWRITES);
    return s->passes || s->ort;
}

/* Only the rewrites of one runner are searched, on the model that both sides have. */
static pgy_status check_sides(const pgy_where_side *a, const pgy_where_side *b, bool passes,
                              pgy_error *err)
{
    const char *option = passes ? "--bisect-passes" : "--bisect-ort",
               *wanted = passes ? "trt" : "onnxrt";
    if (strcmp(b->backend->name, wanted) != 0)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument %s: the rewrites of '%s' are searched, but side B is '%s'; "
                             "give --b %s",
                             option, wanted, b->backend->name, wanted);
    if (b->plan)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument %s: '%s' is a plan, whose rewrites are done; give an ONNX "
                             "model",
                             option, b->plan);
    if (!a->results && a->model != b->model)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument %s: both sides must have the same model, or side A stored "
                             "outputs; with two models the difference need not be a rewrite",
                             option);
    return PGY_OK;
}

static pgy_status show(const pgy_rewrite_report *r, const char *path, pgy_error *err)
{
    char *text = NULL, *json = NULL;
    pgy_status st = pgy_rewrite_report_text(&text, r, err);
    if (!st) LOG(INFO, "%s\nTrials: %zu", text, pgy_rewrite_report_trials(r));
    if (!st && path) st = pgy_rewrite_report_json(&json, r, err);
    if (!st && path) st = file_write_all(path, json, strlen(json), err);
    pgy_text_free(text);
    pgy_text_free(json);
    return st;
}

/* Each trial would overwrite it with another plan. */
static pgy_status check_saved(const args *line, pgy_error *err)
{
    const option_group *engine = group_backend_options("trt");
    if (!engine || !where_given(line, engine, "--save-engine")) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "argument --save-engine: a search for rewrites builds many plans; leave "
                         "it out");
}

pgy_status where_rewrites_run(const args *line, const pgy_where_side *a, const pgy_where_side *b,
                              pgy_backend_options *b_options, const pgy_where_options *o,
                              const char *json, bool *passed, pgy_error *err)
{
    const where_rewrite_args *s = args_get(line, &GROUP_WHERE_REWRITES);
    pgy_results *stored = NULL;
    pgy_rewrite_report *report = NULL;
    pgy_status st = check_sides(a, b, s->passes, err);
    if (!st) st = check_saved(line, err);
    if (!st && a->results) st = pgy_results_load(&stored, a->results, err);
    const pgy_rewrite_options how = {.size = sizeof how,
                                     .config = b->config,
                                     .runner_options = b_options,
                                     .data = o->data,
                                     .reference = stored       ? NULL
                                                  : a->backend ? a->backend->name
                                                               : "",
                                     .outputs = stored,
                                     .where = o,
                                     .reference_options = a->options};
    if (!st && s->passes) st = pgy_bisect_passes(&report, b->model, &how, err);
    if (!st && !s->passes) st = pgy_bisect_ort(&report, b->model, &how, err);
    if (!st) {
        *passed = pgy_rewrite_report_cause(report) == PGY_REWRITE_AGREES;
        st = show(report, json, err);
    }
    pgy_rewrite_report_destroy(report);
    pgy_results_destroy(stored);
    return st;
}
