/* SPDX-License-Identifier: Apache-2.0 */
/* inspect diff: shows the differences of two ONNX models, and how much their weights differ. */
#include <polygraphy/diff.h>

#include "base/log.h"
#include "base/pytext.h"
#include "cli/groups/model.h"

static const char LOG_PATH[] = "cli/cmd_inspect_diff.c";

typedef struct inspect_diff_args {
    const char *before, *after, *json, *atol_text, *rtol_text;
    bool all, weights_only, structure_only, order, ignore_names, ignore_notes;
    double atol, rtol;
} inspect_diff_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_POSITIONAL("model_a", inspect_diff_args, before,
                       .help = "path to the model before the change"),
    PGY_OPT_POSITIONAL("model_b", inspect_diff_args, after,
                       .help = "path to the model after the change"),
    PGY_OPT_FLAG("-a --all", inspect_diff_args, all,
                 .help = "show every difference instead of the first of each kind"),
    PGY_OPT_TEXT("--json", inspect_diff_args, json, .meta = "PATH",
                 .help = "save all differences as JSON to this file"),
    PGY_OPT_FLAG("--structure-only", inspect_diff_args, structure_only, .exclusive = "only",
                 .help = "compare the types and shapes of weights, but not their values"),
    PGY_OPT_FLAG("--weights-only", inspect_diff_args, weights_only, .exclusive = "only",
                 .help = "report weights only"),
    PGY_OPT_TEXT("--atol", inspect_diff_args, atol_text, .meta = "TOL",
                 .help = "absolute tolerance for elements of weights; default 0"),
    PGY_OPT_TEXT("--rtol", inspect_diff_args, rtol_text, .meta = "TOL",
                 .help = "relative tolerance for elements of weights, added to --atol: RTOL times "
                         "the element of model_a; default 0"),
    PGY_OPT_FLAG("--order", inspect_diff_args, order,
                 .help = "also report nodes at other places in the file"),
    PGY_OPT_FLAG("--ignore-names", inspect_diff_args, ignore_names,
                 .help = "do not report renamed nodes, weights and intermediate tensors"),
    PGY_OPT_FLAG(
        "--ignore-notes", inspect_diff_args, ignore_notes,
        .help = "do not report changed doc strings, metadata, producers and versions of the model"),
    PGY_OPT_END,
};

static pgy_status tolerance(double *out, const char *text, const char *option, pgy_error *err)
{
    char *end = NULL;
    if (!text) return PGY_OK;
    *out = text_to_double(text, &end);
    if (end == text || *end || !(*out >= 0))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "%s: '%s' is not a tolerance; expected a number such as 1e-5", option,
                             text);
    return PGY_OK;
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    (void)line;
    inspect_diff_args *s = settings;
    pgy_status st = tolerance(&s->atol, s->atol_text, "--atol", err);
    if (!st) st = tolerance(&s->rtol, s->rtol_text, "--rtol", err);
    return st;
}

static const option_group OWN = {
    .options = OPTIONS, ARGS_TYPE(inspect_diff_args), .finish = finish};
static const option_group *const GROUPS[] = {&OWN, &GROUP_LOGGING, &GROUP_ONNX_READ, NULL};

static pgy_status load(pgy_model **out, const char *path, const onnx_load_args *read,
                       pgy_error *err)
{
    const pgy_model_load_options o = {.size = sizeof o,
                                      .external_data_dir = read->external_data_dir,
                                      .ignore_external_data = read->ignore_external_data,
                                      .allow_outside = read->allow_outside};
    LOG(INFO, "Loading model: %s", path);
    return pgy_model_load(out, path, &o, err);
}

static pgy_status show(const pgy_diff *d, const inspect_diff_args *s, bool ignore_unread,
                       pgy_error *err)
{
    const pgy_diff_report_options o = {.size = sizeof o,
                                       .before = s->before,
                                       .after = s->after,
                                       .all = s->all,
                                       .more = ", see --all",
                                       .ignore_unread = ignore_unread};
    char *text = NULL;
    pgy_status st = pgy_diff_text(&text, d, &o, err);
    if (!st) LOG(INFO, "%s", text);
    if (!st && s->json) st = pgy_diff_save_json(d, s->json, &o, err);
    if (!st && s->json) LOG(INFO, "Saving differences to %s", s->json);
    pgy_text_free(text);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const inspect_diff_args *s = args_get(line, &OWN);
    const onnx_load_args *read = args_get(line, &GROUP_ONNX_READ);
    const pgy_diff_options o = {.size = sizeof o,
                                .structure_only = s->structure_only,
                                .weights_only = s->weights_only,
                                .order = s->order,
                                .ignore_names = s->ignore_names,
                                .ignore_notes = s->ignore_notes,
                                .atol = s->atol,
                                .rtol = s->rtol};
    pgy_model *before = NULL, *after = NULL;
    pgy_diff *d = NULL;
    pgy_status st = load(&before, s->before, read, err);
    if (!st) st = load(&after, s->after, read, err);
    if (!st) st = pgy_diff_create(&d, before, after, &o, err);
    /* Weights that the user asked not to read do not count as a difference. */
    if (!st) *passed = pgy_diff_is_equal(d, read->ignore_external_data);
    if (!st) st = show(d, s, read->ignore_external_data, err);
    pgy_diff_destroy(d);
    pgy_model_destroy(before);
    pgy_model_destroy(after);
    return st;
}

const command COMMAND_inspect_diff = {
    .tool = "inspect",
    .subtool = "diff",
    .summary = "Show the differences between two ONNX models.",
    .description =
        "Show the differences between two ONNX models: structure, attributes, types, shapes, and "
        "how much the values of weights changed. Renamed nodes and tensors are recognised by their "
        "neighbours. The exit status is 0 if the models are equal and 1 if they differ.",
    .groups = GROUPS,
    .run = run,
};
