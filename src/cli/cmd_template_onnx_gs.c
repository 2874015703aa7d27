/* SPDX-License-Identifier: Apache-2.0 */
/* template onnx-gs: writes a Python script that loads a model with onnx-graphsurgeon, leaves room
 * for edits, and saves it again. The script needs only the packages onnx and onnx-graphsurgeon. */
#include <polygraphy/gs_script.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/groups/model.h"

static const char LOG_PATH[] = "tools/script.py";

/* Size limit of a protobuf file, in bytes. */
static const uint64_t ONE_FILE_LIMIT = 2000000000;

typedef struct template_args {
    const char *output;
} template_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", template_args, output, .required = true, .meta = "PATH",
                 .help = "file for the script; - is the standard output"),
    PGY_OPT_END,
};

static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(template_args)};
static const option_group *const GROUPS[] = {
    &OWN, &GROUP_LOGGING, &GROUP_MODEL_DATA, &GROUP_ONNX_SHAPE, &GROUP_ONNX_LOAD, NULL};

/* ---- The command ---------------------------------------------------------------------------- */

static bool is_large(const char *path)
{
    const pgy_model_load_options o = {.size = sizeof o, .allow_outside = true};
    pgy_model *model = NULL;
    if (!file_exists(path) || pgy_model_load(&model, path, &o, NULL)) return false;
    const bool large = pgy_model_size_bytes(model) >= ONE_FILE_LIMIT;
    pgy_model_destroy(model);
    return large;
}

static pgy_status make_executable(const char *path, pgy_error *err)
{
    struct stat info;
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
        chmod(path, info.st_mode | S_IXUSR | S_IXGRP | S_IXOTH))
        return pgy_error_set(err, PGY_E_IO, "cannot make '%s' executable: %s", path,
                             strerror(errno));
    return PGY_OK;
}

static pgy_status write_script(const char *path, const char *text, pgy_error *err)
{
    if (strcmp(path, "-") == 0) {
        const bool whole = fputs(text, stdout) != EOF;
        return whole && !fflush(stdout)
                   ? PGY_OK
                   : pgy_error_set(err, PGY_E_IO, "cannot write to the standard output: %s",
                                   strerror(errno));
    }
    LOG(INFO, "Writing script to: %s", path);
    pgy_status st = file_write_all(path, text, strlen(text), err);
    return st ? st : make_executable(path, err);
}

/* Takes the outputs from --onnx-outputs and its related options. */
static void take_outputs(pgy_gs_template_options *o, const onnx_load_args *load)
{
    static const char *const ALL[] = {"*"};
    o->outputs = load->mark_all ? ALL : load->outputs.items;
    o->output_count = load->mark_all ? 1 : load->outputs.count;
    o->types = load->by_type.items;
    o->type_count = load->by_type.count;
    o->excludes = load->exclude.items;
    o->exclude_count = load->exclude.count;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const template_args *s = args_get(line, &OWN);
    const onnx_load_args *load = ARGS_OF(line, onnx_load_args);
    const char *path = model_path(line);
    pgy_gs_template_options o = {.size = sizeof o,
                                 .external_data_dir = load->external_data_dir,
                                 .ignore_external_data = load->ignore_external_data,
                                 .infer_shapes = ARGS_OF(line, onnx_shape_args)->infer,
                                 .half = load->fp16,
                                 .external_data = is_large(path)};
    char *text = NULL;
    (void)passed;
    if (load->bf16 || load->keep.given)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "scripts do not support --fp-to-bf16 and --keep-fp32; convert the "
                             "model with '%s convert' first",
                             line->dialect->program);
    take_outputs(&o, load);
    o.writer = arena_printf(&line->memory, "%s " PGY_VERSION, line->dialect->program);
    pgy_status st = pgy_gs_template_text(&text, path, &o, err);
    if (!st) st = write_script(s->output, text, err);
    pgy_text_free(text);
    return st;
}

const command COMMAND_template_onnx_gs = {
    .tool = "template",
    .subtool = "onnx-gs",
    .summary = "Write a Python script that edits a model.",
    .description = "Write a Python script that loads a model with onnx-graphsurgeon, has a place "
                   "for edits with examples of common ones, and saves the result beside the model "
                   "as <model>_updated.onnx. The script needs the packages onnx and "
                   "onnx-graphsurgeon; scripts of 'surgeon edit' need neither.",
    .groups = GROUPS,
    .run = run,
};
