/* SPDX-License-Identifier: Apache-2.0 */
/* check lint: finds errors of a model, node by node. It checks the structure first, then runs the
 * whole model in a runtime, and, if that fails, each node alone on the data that reach it. */
#include <polygraphy/lint.h>

#include <string.h>

#include "base/log.h"
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/groups/runners.h"

static const char LOG_PATH[] = "tools/check/subtool/lint.py";
static const char RUNTIME[] = "onnxrt";
static const char DATA_ADVICE[] =
    "Dynamic dimensions are 1 unless --input-shapes sets them, and values are in [0, 1] unless "
    "--val-range sets the range; --load-inputs and --data-loader-script use your own data";

typedef struct lint_args {
    const char *output, *sarif;
    bool without_runtime, strict;
} lint_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", lint_args, output, .meta = "PATH",
                 .help = "write the findings as JSON to this file"),
    PGY_OPT_TEXT(
        "--sarif", lint_args, sarif, .meta = "PATH",
        .help =
            "write the findings as SARIF to this file, with their rules and the paths of nodes"),
    PGY_OPT_FLAG("--static", lint_args, without_runtime,
                 .help = "check the model only; do not run it"),
    PGY_OPT_FLAG("--strict", lint_args, strict,
                 .help = "also report violations of the ONNX specification that runtimes accept, "
                         "such as an output without a shape"),
    PGY_OPT_END,
};
static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(lint_args)};

/* ONNX Runtime's own options (providers and the like) belong to this command too. */
static const option_group *const *groups(void)
{
    static const option_group *all[8];
    if (all[0]) return all;
    size_t n = 0;
    all[n++] = &OWN;
    all[n++] = &GROUP_LOGGING;
    all[n++] = &GROUP_MODEL_DATA;
    all[n++] = &GROUP_ONNX_READ;
    all[n++] = &GROUP_DATA;
    all[n++] = &GROUP_OPERATORS;
    const option_group *runtime = group_backend_options(RUNTIME);
    if (runtime) all[n++] = runtime;
    return all;
}

static void show(const pgy_lint_finding *finding, void *user)
{
    static const pgy_severity SEVERITIES[] = {PGY_LOG_ERROR, PGY_LOG_WARNING, PGY_LOG_INFO};
    char *text = NULL;
    (void)user;
    if (pgy_lint_finding_text(&text, finding, NULL)) return;
    pgy_log_write(SEVERITIES[finding->level], LOG_PATH, __LINE__, "LINT | %s", text);
    pgy_text_free(text);
}

/* The library's error names its own field, so this replaces it by the option. */
static pgy_status name_option(pgy_status st, const args *line, pgy_error *err)
{
    static const char FIELD[] = "inputs ";
    if (!st || strncmp(err->text, FIELD, sizeof FIELD - 1) != 0) return st;
    const pgy_error why = *err;
    const char *text = why.text + sizeof FIELD - 1;
    if (st != PGY_E_SHAPE) return pgy_error_set(err, st, "--input-shapes %s", text);
    return pgy_error_set(err, st, "--input-shapes %s: %s surgeon sanitize --override-input-shapes",
                         text, line->dialect->program);
}

static pgy_status lint(pgy_lint **out, const args *line, const pgy_loader *loader,
                       pgy_data_loader *data, pgy_error *err)
{
    const lint_args *s = args_get(line, &OWN);
    const model_args *model = args_get(line, &GROUP_MODEL_DATA);
    const pgy_backend *runtime = pgy_backend_find(RUNTIME);
    const pgy_random_options random = data_random_options(line);
    pgy_backend_options *options = NULL;
    pgy_status st = runtime ? runners_options(&options, line, runtime, err) : PGY_OK;
    if (st) return st;
    const pgy_lint_options o = {.size = sizeof o,
                                .static_only = s->without_runtime,
                                .strict = s->strict,
                                .inputs = model->shapes,
                                .backend = runtime,
                                .backend_options = options,
                                .data = data,
                                .random = &random,
                                .data_advice = DATA_ADVICE,
                                .found = show};
    st = pgy_lint_create(out, loader, &o, err);
    pgy_backend_options_destroy(options);
    return name_option(st, line, err);
}

static pgy_status save(const pgy_lint *l, const lint_args *s, const char *model, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (s->output) LOG(INFO, "Saving linting report to %s", s->output);
    if (s->output) st = pgy_lint_save_json(l, s->output, err);
    if (!st && s->sarif) LOG(INFO, "Saving linting report to %s", s->sarif);
    if (!st && s->sarif) st = pgy_lint_save_sarif(l, s->sarif, model, err);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const lint_args *s = args_get(line, &OWN);
    const model_args *model = args_get(line, &GROUP_MODEL_DATA);
    pgy_loader *loader = NULL;
    pgy_data_loader *data = NULL;
    pgy_lint *l = NULL;
    pgy_status st = model_loader(&loader, line, err);
    if (!st && !s->without_runtime && data_is_given(line))
        st = data_loader_create(&data, line, NULL, err);
    if (!st) st = lint(&l, line, loader, data, err);
    if (!st) st = save(l, s, model->path, err);
    if (!st) *passed = pgy_lint_passed(l);
    pgy_lint_destroy(l);
    pgy_data_loader_destroy(data);
    pgy_loader_destroy(loader);
    return st;
}

const command COMMAND_check_lint = {
    .tool = "check",
    .subtool = "lint",
    .summary = "Find errors in a model, node by node.",
    .description = "Check the structure, operators, types and shapes of a model, then run the "
                   "whole model and, if that fails, each node alone on its own input data. The "
                   "exit status is 1 if the model cannot run.",
    .make_groups = groups,
    .frames = true,
    .run = run,
};
