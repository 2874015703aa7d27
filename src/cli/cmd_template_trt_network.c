/* SPDX-License-Identifier: Apache-2.0 */
/* template trt-network: writes a Python script for the original's package, ready to be filled in.
 */
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/groups/script.h"
#include "cli/groups/trt.h"
#include "cli/script/script.h"

typedef struct network_args {
    bool explicit_precision, no_folding; /* older spellings */
} network_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_FLAG("--explicit-precision", network_args, explicit_precision, .hidden = true,
                 .deprecated = "has no effect any more"),
    PGY_OPT_FLAG("--no-const-folding --no-fold-constant", network_args, no_folding, .hidden = true,
                 .deprecated = "has no effect any more"),
    PGY_OPT_END,
};

static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(network_args)};
static const option_group *const GROUPS[] = {&GROUP_TEMPLATE,  &OWN,
                                             &GROUP_LOGGING,   &GROUP_MODEL_NETWORK,
                                             &GROUP_ONNX_LOAD, &GROUP_TRT_NETWORK,
                                             &GROUP_OPERATORS, NULL};

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const template_args *s = args_get(line, &GROUP_TEMPLATE);
    str text = {0};
    (void)passed;
    pgy_status st = script_check_options(line, "template trt-network", err);
    const model_args *model = ARGS_OF(line, model_args);
    if (!st && model_is_engine(model))
        st = pgy_error_set(err, PGY_E_ARGUMENT, "'%s' is a plan: it has no network to start from",
                           model->path);
    if (!st) st = script_template_network(&text, line, err);
    if (!st && text.failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) st = script_write(s->output, str_text(&text), err);
    str_deinit(&text);
    return st;
}

const command COMMAND_template_trt_network = {
    .tool = "template",
    .subtool = "trt-network",
    .summary = "Write a Python script that defines a TensorRT network.",
    .description = "Write a Python script for the original's package whose function load_network "
                   "defines a network, or changes the one of a model. The options for networks "
                   "become lines of the script. The script needs TensorRT and the package.",
    .groups = GROUPS,
    .run = run,
};
