/* SPDX-License-Identifier: Apache-2.0 */
/* template shard-hints: writes a file that says where a model may be divided among devices. The
 * user corrects it and passes it to 'multi-device shard'. */
#include "base/log.h"
#include "base/str.h"
#include "cli/groups/model.h"
#include "cli/groups/shard.h"

static const char LOG_PATH[] = "tools/template/subtool/shard_hint.py";

typedef struct hints_args {
    const char *output;
} hints_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", hints_args, output, .required = true, .meta = "PATH",
                 .help = "file for the hints; its extension must be .json"),
    PGY_OPT_END,
};

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    const hints_args *s = settings;
    (void)line;
    if (str_ends_with(s->output, ".json")) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT, "Output file must be a json: '%s' does not end so",
                         s->output);
}

static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(hints_args), .finish = finish};
static const option_group *const GROUPS[] = {
    &OWN, &GROUP_LOGGING, &GROUP_MODEL_FILE, &GROUP_ONNX_READ, &GROUP_SHARD, NULL};

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const hints_args *s = args_get(line, &OWN);
    const shard_args *shard = ARGS_OF(line, shard_args);
    pgy_loader *loader = NULL;
    pgy_model *model = NULL;
    pgy_gs_graph *graph = NULL;
    pgy_shard_hints *hints = NULL;
    (void)passed;
    pgy_status st = model_loader(&loader, line, err);
    if (!st) st = pgy_loader_call(&model, loader, err);
    if (!st) st = pgy_gs_import(&graph, model, err);
    if (!st) st = pgy_shard_suggest(&hints, graph, &shard->options, err);
    if (!st) LOG(INFO, "Saving shard hints to %s", s->output);
    if (!st) st = pgy_shard_hints_save(hints, s->output, err);
    pgy_shard_hints_destroy(hints);
    pgy_gs_destroy(graph);
    pgy_model_destroy(model);
    pgy_loader_destroy(loader);
    return st;
}

const command COMMAND_template_shard_hints = {
    .tool = "template",
    .subtool = "shard-hints",
    .summary = "Write hints on how to divide a model among devices.",
    .description = "Find the attention layers of a model and the inputs and outputs connected to "
                   "them, and write hints for 'multi-device shard' to a file.",
    .groups = GROUPS,
    .run = run,
};
