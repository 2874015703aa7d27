/* SPDX-License-Identifier: Apache-2.0 */
/* Reading, editing and saving ONNX: the options, and the loader that they configure. */
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/args/values.h"
#include "cli/groups/model.h"

static const char LOG_PATH[] = "tools/args/backend/onnx/loader.py";

/* ---- Loading -------------------------------------------------------------------------------- */

#define READ_ROWS                                                                    \
    PGY_OPT_TEXT("--external-data-dir --load-external-data --ext", onnx_load_args,   \
                 external_data_dir, .meta = "DIR",                                   \
                 .help = "folder of external weights; default: the model's folder"), \
        PGY_OPT_FLAG("--ignore-external-data", onnx_load_args, ignore_external_data, \
                     .help = "read the structure only, not the external weights"),   \
        PGY_OPT_FLAG(                                                                \
            "--allow-external-data-outside", onnx_load_args, allow_outside,          \
            .help = "accept external weights outside that folder; by default they are an error")

#define OUTPUT_ROWS(outputs_, exclude_, by_type_)                                                 \
    PGY_OPT_LIST(outputs_, onnx_load_args, outputs, .nargs = PGY_ONE_OR_MORE, .meta = "NAME",     \
                 .help = "make these tensors the model's outputs; names may be wildcards; '*' "   \
                         "alone (or the older 'mark all') selects every tensor"),                 \
        PGY_OPT_LIST(exclude_, onnx_load_args, exclude, .nargs = PGY_ONE_OR_MORE, .meta = "NAME", \
                     .help = "then remove these outputs; names may be wildcards"),                \
        PGY_OPT_LIST(by_type_, onnx_load_args, by_type, .nargs = PGY_ONE_OR_MORE, .meta = "OP",   \
                     .help = "also make the outputs of these operators outputs of the model")

#define HALF_ROWS                                                                               \
    PGY_OPT_FLAG("--fp-to-fp16", onnx_load_args, fp16,                                          \
                 .help = "convert float tensors to float16, but keep the types of the model's " \
                         "inputs and outputs"),                                                 \
        PGY_OPT_FLAG("--fp-to-bf16", onnx_load_args, bf16,                                      \
                     .help = "convert them to bfloat16 instead; needs opset 13 or later"),      \
        PGY_OPT_LIST(                                                                           \
            "--keep-fp32", onnx_load_args, keep, .nargs = PGY_ONE_OR_MORE, .meta = "NODE",      \
            .help = "nodes that stay float32 in this conversion: names, wildcards or operators")

static const pgy_option LOAD_OPTIONS[] = {
    READ_ROWS,
    OUTPUT_ROWS("--onnx-outputs", "--onnx-exclude-outputs", "--onnx-outputs-by-type"),
    HALF_ROWS,
    PGY_OPT_FLAG("--layerwise", onnx_load_args, layerwise, .hidden = true,
                 .deprecated = "is an older spelling; use --onnx-outputs '*' and --trt-outputs "
                               "'*'"),
    PGY_OPT_END,
};
static const pgy_option EDIT_OPTIONS[] = {
    READ_ROWS,
    OUTPUT_ROWS("--outputs", "--exclude-outputs", "--outputs-by-type"),
    HALF_ROWS,
    PGY_OPT_END,
};
static const pgy_option READ_OPTIONS[] = {READ_ROWS, HALF_ROWS, PGY_OPT_END};

static const char *const ALL[] = {"*"};
const pgy_text_list OUTPUTS_ALL = {.items = ALL, .count = 1, .given = true};

bool outputs_mark_all(const pgy_text_list *names, const args *line)
{
    const original *o = line->dialect->original;
    if (names->count == 1 && strcmp(names->items[0], "*") == 0) return true;
    if (names->count != 2 || strcmp(names->items[0], "mark") || strcmp(names->items[1], "all"))
        return false;
    if (o)
        LOG(WARNING, "'mark all' is deprecated and will be removed in %s 0.55. Use '*' instead.",
            o->name);
    return true;
}

static pgy_status finish_load(void *settings, args *line, pgy_error *err)
{
    onnx_load_args *s = settings;
    if (s->fp16 && s->bf16)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--fp-to-fp16 and --fp-to-bf16 cannot be given together");
    if (s->keep.given && !s->fp16 && !s->bf16)
        LOG(WARNING, "--keep-fp32 has no effect without --fp-to-fp16 or --fp-to-bf16");
    if (s->layerwise && !s->outputs.given) s->outputs = OUTPUTS_ALL;
    s->mark_all = outputs_mark_all(&s->outputs, line);
    return PGY_OK;
}

#define LOAD_GROUP(table)                                                                       \
    {                                                                                           \
        .title = "ONNX Model Loading", .description = "Options related to loading ONNX models", \
        .options = table, ARGS_TYPE(onnx_load_args), .finish = finish_load                      \
    }
const option_group GROUP_ONNX_LOAD = LOAD_GROUP(LOAD_OPTIONS);
const option_group GROUP_ONNX_READ = LOAD_GROUP(READ_OPTIONS);
const option_group GROUP_ONNX_EDIT = LOAD_GROUP(EDIT_OPTIONS);

/* ---- Shape inference ------------------------------------------------------------------------ */

static const pgy_option SHAPE_OPTIONS[] = {
    PGY_OPT_FLAG("--shape-inference --do-shape-inference", onnx_shape_args, infer,
                 .help = "infer shapes when loading the model"),
    PGY_OPT_FLAG("--no-onnxruntime-shape-inference", onnx_shape_args, no_onnxruntime,
                 .help = "no effect: the program infers shapes without a runtime",
                 .deprecated = "has no effect: the program infers shapes without a runtime"),
    PGY_OPT_FLAG("--no-const-folding --no-fold-constant", onnx_shape_args, no_folding,
                 .hidden = true, .deprecated = "has no effect any more"),
    PGY_OPT_END,
};
const option_group GROUP_ONNX_SHAPE = {
    .title = "ONNX Shape Inference",
    .description = "Options related to shape inference",
    .options = SHAPE_OPTIONS,
    ARGS_TYPE(onnx_shape_args),
};

/* ---- Saving --------------------------------------------------------------------------------- */

#define SAVE_ROWS                                                                                \
    PGY_OPT_APPEND("--save-external-data --external-data-path", onnx_save_args, external,        \
                   .nargs = PGY_OPTIONAL, .constant = "", .meta = "NAME",                        \
                   .help = "store weights in a separate file of this name beside the model; "    \
                           "without a value the program chooses the name"),                      \
        PGY_OPT_TEXT("--external-data-size-threshold", onnx_save_args, threshold_text,           \
                     .meta = "BYTES",                                                            \
                     .help = "smallest weight that is stored outside the model; K, M and G may " \
                             "follow the number; default 1024"),                                 \
        PGY_OPT_FLAG("--no-save-all-tensors-to-one-file", onnx_save_args, one_file_per_tensor,   \
                     .help = "store each external weight in its own file")

static const pgy_option SAVE_OPTIONS[] = {
    PGY_OPT_TEXT("--save-onnx", onnx_save_args, path, .meta = "PATH",
                 .help = "save the model that the runners get"),
    SAVE_ROWS,
    PGY_OPT_END,
};
static const pgy_option WRITE_OPTIONS[] = {SAVE_ROWS, PGY_OPT_END};

static pgy_status finish_save(void *settings, args *line, pgy_error *err)
{
    (void)line;
    onnx_save_args *s = settings;
    s->threshold = 1024;
    if (!s->external.given && (s->threshold_text || s->one_file_per_tensor))
        LOG(WARNING, "--external-data-size-threshold and --no-save-all-tensors-to-one-file have no "
                     "effect without --save-external-data");
    return s->threshold_text ? value_bytes(&s->threshold, s->threshold_text,
                                           "--external-data-size-threshold", err)
                             : PGY_OK;
}

#define SAVE_GROUP(table)                                                                     \
    {                                                                                         \
        .title = "ONNX Model Saving", .description = "Options related to saving ONNX models", \
        .options = table, ARGS_TYPE(onnx_save_args), .finish = finish_save                    \
    }
const option_group GROUP_ONNX_SAVE = SAVE_GROUP(SAVE_OPTIONS);
const option_group GROUP_ONNX_WRITE = SAVE_GROUP(WRITE_OPTIONS);

/* ---- The loader ----------------------------------------------------------------------------- */

bool model_selects_outputs(const onnx_load_args *s)
{
    return s->outputs.given || s->exclude.given || s->by_type.given;
}

bool model_is_edited_inside(const args *line)
{
    const onnx_load_args *load = ARGS_OF(line, onnx_load_args);
    const onnx_shape_args *shape = ARGS_OF(line, onnx_shape_args);
    return (load && (load->fp16 || load->bf16 || load->external_data_dir ||
                     load->ignore_external_data || load->allow_outside)) ||
           (shape && shape->infer);
}

bool model_is_edited(const args *line)
{
    const onnx_load_args *load = ARGS_OF(line, onnx_load_args);
    const onnx_save_args *save = ARGS_OF(line, onnx_save_args);
    return (load && model_selects_outputs(load)) || model_is_edited_inside(line) ||
           (save && save->path);
}

const char *model_path(const args *line)
{
    const model_args *s = ARGS_OF(line, model_args);
    return s ? s->path : NULL;
}

pgy_output_selection model_outputs(const onnx_load_args *s)
{
    return (pgy_output_selection){
        .size = sizeof(pgy_output_selection),
        .names = s->mark_all ? NULL : s->outputs.items,
        .name_count = s->mark_all ? 0 : s->outputs.count,
        .mark_all = s->mark_all,
        .op_types = s->by_type.items,
        .op_type_count = s->by_type.count,
        .exclude = s->exclude.items,
        .exclude_count = s->exclude.count,
    };
}

pgy_model_save_options model_save_options(const args *line)
{
    const onnx_load_args *load = ARGS_OF(line, onnx_load_args);
    const onnx_save_args *s = ARGS_OF(line, onnx_save_args);
    pgy_model_save_options o = pgy_model_save_options_default();
    o.embed = !load || !load->ignore_external_data; /* weights that were not read stay external */
    o.external_data = s->external.given;
    o.external_data_path = s->external.count ? s->external.items[0] : NULL;
    o.size_threshold = s->threshold;
    o.one_file_per_tensor = s->one_file_per_tensor;
    return o;
}

pgy_status model_loader_save(pgy_loader **loader, const args *line, const char *path,
                             pgy_error *err)
{
    const pgy_model_save_options o = model_save_options(line);
    return pgy_loader_save(loader, path, &o, err);
}

pgy_status model_save(pgy_model *model, const args *line, const char *path,
                      const pgy_model_save_options *options, pgy_error *err)
{
    pgy_loader *loader = NULL;
    pgy_model *saved = NULL;
    pgy_status st = pgy_loader_from_model(&loader, model, err);
    if (!st)
        st = options ? pgy_loader_save(&loader, path, options, err)
                     : model_loader_save(&loader, line, path, err);
    if (!st) st = pgy_loader_call(&saved, loader, err);
    pgy_model_destroy(saved);
    pgy_loader_destroy(loader);
    return st;
}

pgy_status model_save_graph(pgy_gs_graph *g, const args *line, const char *path,
                            const pgy_model_save_options *options, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_status st = pgy_gs_export(&model, g, NULL, err);
    if (!st) st = model_save(model, line, path, options, err);
    pgy_model_destroy(model);
    return st;
}

bool model_half_options(pgy_half_options *out, const onnx_load_args *s)
{
    if (!s || (!s->fp16 && !s->bf16)) return false;
    *out = pgy_half_options_default();
    if (s->bf16) out->dtype = PGY_BF16;
    out->keep = s->keep.items;
    out->keep_count = s->keep.count;
    return true;
}

pgy_model_load_options model_load_options(const onnx_load_args *s)
{
    pgy_model_load_options o = {.size = sizeof o};
    if (!s) return o;
    o.external_data_dir = s->external_data_dir;
    o.ignore_external_data = s->ignore_external_data;
    o.allow_outside = s->allow_outside;
    return o;
}

pgy_status model_loader_half(pgy_loader **loader, const args *line, pgy_error *err)
{
    pgy_half_options o;
    return model_half_options(&o, ARGS_OF(line, onnx_load_args))
               ? pgy_loader_convert_half(loader, &o, err)
               : PGY_OK;
}

static pgy_status load_with(pgy_loader **out, const args *line, const pgy_output_selection *outputs,
                            pgy_error *err)
{
    const onnx_shape_args *shape = ARGS_OF(line, onnx_shape_args);
    const pgy_model_load_options o = model_load_options(ARGS_OF(line, onnx_load_args));
    pgy_loader *loader = NULL;
    pgy_status st = pgy_loader_from_path(&loader, ARGS_OF(line, model_args)->path, &o, err);
    if (!st && shape && shape->infer) st = pgy_loader_infer_shapes(&loader, NULL, err);
    if (!st && outputs) st = pgy_loader_select_outputs(&loader, outputs, err);
    if (st)
        pgy_loader_destroy(loader);
    else
        *out = loader;
    return st;
}

pgy_status model_loader_with(pgy_loader **out, const args *line,
                             const pgy_output_selection *outputs, bool save_too, pgy_error *err)
{
    const onnx_save_args *save = ARGS_OF(line, onnx_save_args);
    pgy_loader *loader = NULL;
    pgy_status st = load_with(&loader, line, outputs, err);
    if (!st) st = model_loader_half(&loader, line, err);
    if (!st && save_too && save && save->path)
        st = model_loader_save(&loader, line, save->path, err);
    if (st)
        pgy_loader_destroy(loader);
    else
        *out = loader;
    return st;
}

pgy_status model_loader_wide(pgy_loader **out, const args *line, pgy_error *err)
{
    const onnx_load_args *load = ARGS_OF(line, onnx_load_args);
    const bool selects = load && model_selects_outputs(load);
    const pgy_output_selection outputs = selects ? model_outputs(load) : (pgy_output_selection){0};
    return load_with(out, line, selects ? &outputs : NULL, err);
}

pgy_status model_loader(pgy_loader **out, const args *line, pgy_error *err)
{
    const onnx_load_args *load = ARGS_OF(line, onnx_load_args);
    const bool selects = load && model_selects_outputs(load);
    const pgy_output_selection outputs = selects ? model_outputs(load) : (pgy_output_selection){0};
    return model_loader_with(out, line, selects ? &outputs : NULL, true, err);
}
