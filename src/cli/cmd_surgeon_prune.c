/* SPDX-License-Identifier: Apache-2.0 */
/* surgeon prune: gives weights 2:4 structured sparsity, for tests of runtimes that use it. */
#include <polygraphy/weights.h>

#include "cli/groups/model.h"
#include "cli/surgeon.h"

typedef struct prune_args {
    const char *output;
} prune_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", prune_args, output, .required = true, .meta = "PATH",
                 .help = "file for the new model"),
    PGY_OPT_END,
};
static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(prune_args)};
static const option_group *const GROUPS[] = {
    &OWN, &GROUP_LOGGING, &GROUP_MODEL_FILE, &GROUP_ONNX_READ, &GROUP_ONNX_WRITE, NULL};

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    (void)passed;
    const prune_args *s = args_get(line, &OWN);
    pgy_model *model = NULL, *pruned = NULL;
    pgy_status st = surgeon_load(&model, line, err);
    if (!st) st = pgy_model_prune(&pruned, model, err);
    if (!st) st = surgeon_save(pruned, line, s->output, pgy_model_has_external_data(model), err);
    pgy_model_destroy(pruned);
    pgy_model_destroy(model);
    return st;
}

const command COMMAND_surgeon_prune = {
    .tool = "surgeon",
    .subtool = "prune",
    .summary = "Give weights 2:4 structured sparsity.",
    .description = "Set the two smallest of every four neighbouring elements in the weights of "
                   "Conv, Gemm and MatMul nodes to zero. This changes the results of the model; "
                   "use it to test kernels and tools for sparse weights.",
    .groups = GROUPS,
    .frames = true,
    .run = run,
};
