/* SPDX-License-Identifier: Apache-2.0 */
/* check lint: what is wrong with a model, node by node: structure first, then the whole
 * model in a runtime, then, if that fails, each node alone on the data that reach it. */
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/groups/runners.h"
#include "cli/lint_work.h"

typedef struct lint_args {
    const char *output, *sarif;
    bool without_runtime, strict;
} lint_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", lint_args, output, .meta = "PATH",
                 .help = "write the findings as JSON"),
    PGY_OPT_TEXT("--sarif", lint_args, sarif, .meta = "PATH",
                 .help = "write the findings as SARIF, with their rules and the paths of nodes"),
    PGY_OPT_FLAG("--static", lint_args, without_runtime,
                 .help = "only look at the model: no runtime is opened and nothing is run"),
    PGY_OPT_FLAG("--strict", lint_args, strict,
                 .help = "also report what the ONNX specification demands and runtimes do without, "
                         "such as the shape of an output"),
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
    const option_group *runtime = group_backend_options("onnxrt");
    if (runtime) all[n++] = runtime;
    return all;
}

static pgy_status look_and_run(linter *l, pgy_error *err)
{
    pgy_status st = lint_take_shapes(l, err);
    if (!st) st = lint_check_names(&l->report, l->stored, l->graph->node_count, err);
    if (!st) st = lint_look(l, err);
    if (st) return st;
    if (!l->is_static) {
        const bool is_graph = !lint_add_as_checker(l);
        st = lint_run(l, is_graph, err);
    } else {
        for (size_t i = 0; i < l->graph->node_count; i++)
            lint_pass(&l->report, l->graph->nodes[i]->name);
    }
    if (st) return st;
    lint_add_errors(l);
    lint_add_warnings(l);
    return PGY_OK;
}

static void linter_deinit(linter *l)
{
    pgy_tensor_map_destroy(l->values);
    pgy_metadata_destroy(l->inputs);
    strmap_deinit(&l->first_of_node);
    pgy_graph_destroy(l->graph);
    pgy_model_destroy(l->model);
    lint_report_deinit(&l->report);
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const lint_args *s = args_get(line, &OWN);
    const model_args *model = args_get(line, &GROUP_MODEL_DATA);
    linter l = {.line = line, .is_static = s->without_runtime, .strict = s->strict};
    pgy_status st = lint_load(&l, err);
    if (!st && l.graph) st = look_and_run(&l, err);
    if (!st && l.report.failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st && s->output) st = lint_report_save(&l.report, s->output, err);
    if (!st && s->sarif) st = lint_report_save_sarif(&l.report, s->sarif, model->path, err);
    if (!st) *passed = !lint_has_exception(&l.report);
    linter_deinit(&l);
    return st;
}

const command COMMAND_check_lint = {
    .tool = "check",
    .subtool = "lint",
    .summary = "Find what is wrong with a model, node by node.",
    .description = "Check a model: structure, operators, types and shapes, then inference of the "
                   "whole model and, if it fails, of each node alone on the data that reach it. "
                   "Exit status 1 if anything would keep the model from running.",
    .make_groups = groups,
    .frames = true,
    .run = run,
};
