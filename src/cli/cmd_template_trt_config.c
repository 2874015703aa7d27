/* SPDX-License-Identifier: Apache-2.0 */
/* template trt-config: writes a Python script for the original's package, ready to be filled in. */
#include "base/file.h"
#include "base/log.h"
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/groups/script.h"
#include "cli/groups/trt.h"
#include "cli/script/script.h"

static const char LOG_PATH[] = "cli/cmd_template_trt_config.c";

static const option_group *const GROUPS[] = {&GROUP_TEMPLATE, &GROUP_LOGGING,    &GROUP_MODEL_RUN,
                                             &GROUP_DATA,     &GROUP_TRT_CONFIG, NULL};

/* The script calibrates with what its data loader gives, and here that is generated. */
static void warn_of_random_data(const args *line)
{
    const trt_config_args *s = ARGS_OF(line, trt_config_args);
    if (!s->config.int8 || data_is_given(line)) return;
    if (s->calibration_cache && file_exists(s->calibration_cache)) return;
    LOG(WARNING, "Calibration uses random data, so the int8 ranges fit random data and not yours; "
                 "give samples by --load-inputs or --data-loader-script");
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const template_args *s = args_get(line, &GROUP_TEMPLATE);
    str text = {0};
    (void)passed;
    pgy_status st = script_check_options(line, "template trt-config", err);
    if (!st) st = script_template_config(&text, line, err);
    if (!st && text.failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) warn_of_random_data(line);
    if (!st) st = script_write(s->output, str_text(&text), err);
    str_deinit(&text);
    return st;
}

const command COMMAND_template_trt_config = {
    .tool = "template",
    .subtool = "trt-config",
    .summary = "Write a Python script that configures TensorRT's builder.",
    .description = "Write a Python script for the original's package whose function load_config "
                   "changes the configuration of TensorRT's builder. The options for the "
                   "configuration become lines of the script. The script needs TensorRT and the "
                   "package.",
    .groups = GROUPS,
    .run = run,
};
