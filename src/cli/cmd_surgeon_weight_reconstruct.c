/* SPDX-License-Identifier: Apache-2.0 */
/* surgeon weight-reconstruct: fills stripped weights with random numbers. */
#include <polygraphy/weights.h>

#include "cli/groups/model.h"
#include "cli/surgeon.h"

typedef struct reconstruct_args {
    const char *output;
    int64_t seed;
    bool keep_marks;
} reconstruct_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", reconstruct_args, output, .required = true, .meta = "PATH",
                 .help = "file for the new model"),
    PGY_OPT_INT(
        "--seed", reconstruct_args, seed, .meta = "SEED",
        .help = "seed of the first weight; each further weight uses the next number; default 1"),
    PGY_OPT_FLAG("--keep-marks", reconstruct_args, keep_marks,
                 .help = "keep the marks of stripped weights in the model, as the original does"),
    PGY_OPT_END,
};

static void defaults(void *settings)
{
    ((reconstruct_args *)settings)->seed = 1;
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    (void)line;
    const reconstruct_args *s = settings;
    if (s->seed < 0 || s->seed > UINT32_MAX)
        return pgy_error_set(err, PGY_E_ARGUMENT, "--seed: %lld is not between 0 and 4294967295",
                             (long long)s->seed);
    return PGY_OK;
}

static const option_group OWN = {
    .options = OPTIONS, ARGS_TYPE(reconstruct_args), .defaults = defaults, .finish = finish};
static const option_group *const GROUPS[] = {
    &OWN, &GROUP_LOGGING, &GROUP_MODEL_FILE, &GROUP_ONNX_READ, &GROUP_ONNX_WRITE, NULL};

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    (void)passed;
    const reconstruct_args *s = args_get(line, &OWN);
    const pgy_reconstruct_options o = {
        .size = sizeof o, .seed = (uint32_t)s->seed, .keep_marks = s->keep_marks};
    pgy_model *model = NULL, *filled = NULL;
    pgy_status st = surgeon_load(&model, line, err);
    if (!st) st = pgy_model_reconstruct_weights(&filled, NULL, model, &o, err);
    if (!st) st = surgeon_save(filled, line, s->output, pgy_model_has_external_data(model), err);
    pgy_model_destroy(filled);
    pgy_model_destroy(model);
    return st;
}

const command COMMAND_surgeon_weight_reconstruct = {
    .tool = "surgeon",
    .subtool = "weight-reconstruct",
    .summary = "Fill stripped weights with random numbers.",
    .description = "Fill the weights that 'weight-strip' emptied with normally distributed "
                   "numbers, so that the model can run. Weights that had 2:4 structured sparsity "
                   "get it again. The same seed gives the same model.",
    .groups = GROUPS,
    .frames = true,
    .run = run,
};
