/* SPDX-License-Identifier: Apache-2.0 */
/* The model, and the shapes given for its inputs. Commands take one of nine variants of the group;
 * all fill the same struct. */
#include "cli/groups/model.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/args/values.h"

static const char LOG_PATH[] = "tools/args/model.py";

static const char *const TYPES[] = {"onnx", "engine", NULL};

#define TYPE_ROW                                                     \
    PGY_OPT_TEXT("--model-type", model_args, type, .choices = TYPES, \
                 .help = "type of the model; by default the file's extension decides")
#define SHAPES_ROW                                                                                 \
    PGY_OPT_LIST("--input-shapes --inputs", model_args, shape_words, .nargs = PGY_ONE_OR_MORE,     \
                 .meta = "NAME:SHAPE",                                                             \
                 .help = "shapes of the generated input data, for example 'image:{shape}'; names " \
                         "may be wildcards")

static const pgy_option RUN_OPTIONS[] = {
    PGY_OPT_POSITIONAL("model_file", model_args, path, .nargs = PGY_OPTIONAL,
                       .help = "path to the model"),
    PGY_OPT_TEXT("--load-engine", model_args, old_engine, .hidden = true,
                 .deprecated = "is an older spelling; give the plan as the model's file"),
    TYPE_ROW,
    SHAPES_ROW,
    PGY_OPT_END,
};
static const pgy_option FILE_OPTIONS[] = {
    PGY_OPT_POSITIONAL("model_file", model_args, path, .help = "path to the model"),
    PGY_OPT_END,
};
static const pgy_option OPTIONAL_OPTIONS[] = {
    PGY_OPT_POSITIONAL("model_file", model_args, path, .nargs = PGY_OPTIONAL,
                       .help = "path to the model"),
    PGY_OPT_END,
};
static const pgy_option NETWORK_OPTIONS[] = {
    PGY_OPT_POSITIONAL("model_file", model_args, path, .nargs = PGY_OPTIONAL,
                       .help = "path to the model"),
    TYPE_ROW,
    PGY_OPT_END,
};
static const pgy_option TYPE_OPTIONS[] = {
    PGY_OPT_POSITIONAL("model_file", model_args, path, .help = "path to the model"),
    TYPE_ROW,
    PGY_OPT_END,
};
static const pgy_option CONVERT_OPTIONS[] = {
    PGY_OPT_POSITIONAL("model_file", model_args, path, .help = "path to the model"),
    TYPE_ROW,
    SHAPES_ROW,
    PGY_OPT_END,
};
static const pgy_option DATA_OPTIONS[] = {
    PGY_OPT_POSITIONAL("model_file", model_args, path, .help = "path to the model"),
    SHAPES_ROW,
    PGY_OPT_END,
};
static const pgy_option OVERRIDE_OPTIONS[] = {
    PGY_OPT_POSITIONAL("model_file", model_args, path, .help = "path to the model"),
    PGY_OPT_LIST("--override-input-shapes --override-inputs", model_args, shape_words,
                 .nargs = PGY_ONE_OR_MORE, .meta = "NAME:SHAPE",
                 .help = "replace the shapes of these inputs, for example 'image:{shape}'; another "
                         "tensor becomes an input"),
    PGY_OPT_END,
};

static const pgy_option FIXED_OPTIONS[] = {
    PGY_OPT_POSITIONAL("model_file", model_args, path, .help = "path to the model"),
    PGY_OPT_LIST("--model-input-shapes --model-inputs", model_args, shape_words,
                 .nargs = PGY_ONE_OR_MORE, .meta = "NAME:SHAPE",
                 .help = "replace the shapes of these inputs in all iterations, for example "
                         "'image:{shape}', so that no dimension is dynamic"),
    PGY_OPT_END,
};

static const pgy_option RECORD_OPTIONS[] = {
    PGY_OPT_POSITIONAL("model_file", model_args, path, .help = "path to the model"),
    PGY_OPT_LIST("--model-input-shapes --model-inputs", model_args, shape_words,
                 .nargs = PGY_ONE_OR_MORE, .meta = "NAME:SHAPE",
                 .help = "shapes of the data generated to run the whole model, for example "
                         "'image:{shape}'; names may be wildcards"),
    PGY_OPT_END,
};

/* The model type by extension; NULL: the extension does not tell. */
static const char *type_of(const char *path)
{
    if (str_ends_with(path, ".onnx")) return TYPES[0];
    return str_ends_with(path, ".plan") || str_ends_with(path, ".engine") ? TYPES[1] : NULL;
}

/* Extensions of types that the original reads and this program does not (missing.def). */
static const struct {
    const char *extension, *type;
} MISSING_TYPES[] = {{".py", "trt-network-script"},
                     {".graphdef", "frozen"},
                     {".hdf5", "keras"},
                     {".uff", "uff"},
                     {".prototxt", "caffe"}};

static pgy_status refuse_type(const char *path, pgy_error *err)
{
    for (size_t i = 0; i < sizeof MISSING_TYPES / sizeof *MISSING_TYPES; i++)
        if (str_ends_with(path, MISSING_TYPES[i].extension))
            return pgy_error_set(err, PGY_E_UNSUPPORTED,
                                 "'%s': this program cannot read models of type '%s'; "
                                 "docs/parity.md lists what is missing",
                                 path, MISSING_TYPES[i].type);
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "the extension of '%s' does not tell the type of the model: expected "
                         ".onnx, .plan or .engine; otherwise give --model-type",
                         path);
}

/* Makes an existing path absolute, for messages and runtimes. */
static pgy_status make_absolute(const char **path, arena *a, pgy_error *err)
{
    char *absolute = path_absolute(*path);
    const char *kept = absolute ? arena_strdup(a, absolute) : NULL;
    mem_free(absolute);
    if (!kept) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *path = kept;
    return PGY_OK;
}

static pgy_status finish_typed(void *settings, args *line, pgy_error *err)
{
    model_args *s = settings;
    if (s->old_engine && s->path)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--load-engine and the model '%s' exclude each other", s->path);
    if (s->old_engine) {
        s->path = s->old_engine;
        s->type = TYPES[1];
    }
    if (s->path && !s->type) s->type = type_of(s->path);
    if (s->path && !s->type) return refuse_type(s->path, err);
    if (s->path && !file_exists(s->path)) LOG(WARNING, "Model path does not exist: %s", s->path);
    pgy_status st =
        s->path && file_exists(s->path) ? make_absolute(&s->path, &line->memory, err) : PGY_OK;
    if (st) return st;
    if (!s->shape_words.given) return PGY_OK;
    return values_shapes(&s->shapes, &s->shape_words, "--input-shapes", line, err);
}

static pgy_status finish_onnx(void *settings, args *line, pgy_error *err)
{
    model_args *s = settings;
    s->type = TYPES[0];
    return finish_typed(settings, line, err);
}

bool model_is_engine(const model_args *s)
{
    return s->type && strcmp(s->type, TYPES[1]) == 0;
}

static void release(void *settings)
{
    pgy_metadata_destroy(((model_args *)settings)->shapes);
}

#define MODEL_GROUP(table, check)                                                          \
    {                                                                                      \
        .title = "Model", .description = "Options related to the model", .options = table, \
        ARGS_TYPE(model_args), .finish = check, .release = release                         \
    }

const option_group GROUP_MODEL_RUN = MODEL_GROUP(RUN_OPTIONS, finish_typed);
const option_group GROUP_MODEL_FILE = MODEL_GROUP(FILE_OPTIONS, finish_onnx);
const option_group GROUP_MODEL_OPTIONAL = MODEL_GROUP(OPTIONAL_OPTIONS, finish_onnx);
const option_group GROUP_MODEL_NETWORK = MODEL_GROUP(NETWORK_OPTIONS, finish_typed);
const option_group GROUP_MODEL_TYPE = MODEL_GROUP(TYPE_OPTIONS, finish_typed);
const option_group GROUP_MODEL_CONVERT = MODEL_GROUP(CONVERT_OPTIONS, finish_typed);
const option_group GROUP_MODEL_DATA = MODEL_GROUP(DATA_OPTIONS, finish_onnx);
const option_group GROUP_MODEL_RECORD = MODEL_GROUP(RECORD_OPTIONS, finish_onnx);
const option_group GROUP_MODEL_FIXED = MODEL_GROUP(FIXED_OPTIONS, finish_onnx);
const option_group GROUP_MODEL_OVERRIDE = MODEL_GROUP(OVERRIDE_OPTIONS, finish_onnx);
