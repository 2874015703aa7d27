/* SPDX-License-Identifier: Apache-2.0 */
/* surgeon weight-strip: saves a model without the elements of its weights. */
#include <polygraphy/weights.h>

#include <string.h>

#include "base/file.h"
#include "cli/groups/model.h"
#include "cli/surgeon.h"

typedef struct strip_args {
    const char *output;
} strip_args;

typedef struct exclude_args {
    const char *path;
    const char **names; /* names of weights, one per line of the file at `path` */
    size_t count;
} exclude_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", strip_args, output, .required = true, .meta = "PATH",
                 .help = "file for the new model"),
    PGY_OPT_END,
};
static const pgy_option EXCLUDE_OPTIONS[] = {
    PGY_OPT_TEXT("--exclude-list", exclude_args, path, .meta = "PATH",
                 .help = "text file with the names of weights to keep, one in each line"),
    PGY_OPT_END,
};

/* Splits a text into lines, trims blanks, and drops empty lines. */
static pgy_status split_lines(exclude_args *s, char *text, arena *memory, pgy_error *err)
{
    size_t lines = 1;
    for (const char *p = text; *p; p++) lines += *p == '\n';
    s->names = arena_alloc_array(memory, lines, sizeof *s->names);
    if (!s->names) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    while (text && *text) {
        char *next = strchr(text, '\n');
        char *end = next ? next : text + strlen(text);
        while (end > text && strchr(" \t\r\v\f", end[-1])) end--;
        *end = '\0';
        if (*text) s->names[s->count++] = text;
        text = next ? next + 1 : NULL;
    }
    return PGY_OK;
}

static pgy_status read_exclude(void *settings, args *line, pgy_error *err)
{
    exclude_args *s = settings;
    str text = {0};
    if (!s->path) return PGY_OK;
    pgy_status st = file_read(&text, s->path, err);
    char *copy = st ? NULL : arena_strdup(&line->memory, str_text(&text));
    if (!st && !copy) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) st = split_lines(s, copy, &line->memory, err);
    str_deinit(&text);
    return st ? pgy_error_prefix(err, st, "--exclude-list: ") : PGY_OK;
}

static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(strip_args)};
static const option_group EXCLUDE = {.title = "Weight Stripping",
                                     .description = "Options related to weight stripping",
                                     .options = EXCLUDE_OPTIONS,
                                     ARGS_TYPE(exclude_args),
                                     .finish = read_exclude};
static const option_group *const GROUPS[] = {
    &OWN, &GROUP_LOGGING, &GROUP_MODEL_FILE, &GROUP_ONNX_READ, &GROUP_ONNX_WRITE, &EXCLUDE, NULL};

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    (void)passed;
    const strip_args *s = args_get(line, &OWN);
    const exclude_args *exclude = args_get(line, &EXCLUDE);
    const pgy_strip_options o = {
        .size = sizeof o, .exclude = exclude->names, .exclude_count = exclude->count};
    pgy_model *model = NULL, *stripped = NULL;
    pgy_status st = surgeon_load(&model, line, err);
    if (!st) st = pgy_model_strip_weights(&stripped, NULL, model, &o, err);
    if (!st) st = surgeon_save(stripped, line, s->output, pgy_model_has_external_data(model), err);
    pgy_model_destroy(stripped);
    pgy_model_destroy(model);
    return st;
}

const command COMMAND_surgeon_weight_strip = {
    .tool = "surgeon",
    .subtool = "weight-strip",
    .summary = "Remove the elements of weights from a model.",
    .description =
        "Remove the elements of the weights of a model and mark these weights, so that you can "
        "share the model without them. Shapes, types and everything else stay. Weights with 2:4 "
        "structured sparsity get a separate mark. Fold the model's constants first.",
    .groups = GROUPS,
    .frames = true,
    .run = run,
};
