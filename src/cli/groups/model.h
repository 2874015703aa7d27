/* SPDX-License-Identifier: Apache-2.0 */
/* The model and its preparation: loading, shape inference, saving. */
#ifndef CLI_GROUPS_MODEL_H
#define CLI_GROUPS_MODEL_H

#include <polygraphy/gs.h>
#include <polygraphy/loader.h>

#include "cli/command.h"

typedef struct model_args {
    const char *path;       /* NULL if not given */
    const char *old_engine; /* older spelling of a path to a plan */
    const char *type;
    pgy_text_list shape_words;
    pgy_metadata *shapes; /* from --input-shapes; NULL if not given */
} model_args;
extern const option_group GROUP_MODEL_RUN;      /* model optional, type, shapes */
extern const option_group GROUP_MODEL_FILE;     /* model required, nothing else */
extern const option_group GROUP_MODEL_OPTIONAL; /* the same, not required */
extern const option_group GROUP_MODEL_NETWORK;  /* model optional, type */
extern const option_group GROUP_MODEL_TYPE;     /* model required, type */
extern const option_group GROUP_MODEL_CONVERT;  /* model required, type, shapes */
extern const option_group GROUP_MODEL_DATA;     /* model required, shapes */
extern const option_group GROUP_MODEL_RECORD;   /* model required, shapes as --model-input-shapes */
extern const option_group GROUP_MODEL_FIXED;    /* model required, shapes as --model-input-shapes */
extern const option_group GROUP_MODEL_OVERRIDE; /* model required, shapes to be written into it */

/* Is the model a plan of the engine? */
bool model_is_engine(const model_args *s);

typedef struct onnx_load_args {
    const char *external_data_dir;
    bool ignore_external_data, allow_outside;
    pgy_text_list outputs, exclude, by_type;
    bool fp16, bf16;
    pgy_text_list keep; /* nodes that stay float32 */
    bool mark_all;      /* outputs is "mark all" or "*" */
    bool layerwise;     /* older spelling of "*" for all runners */
} onnx_load_args;
extern const pgy_text_list OUTPUTS_ALL; /* "*" */
/* Do the names of outputs ask for all tensors: "*", or the older "mark all"? */
bool outputs_mark_all(const pgy_text_list *names, const args *line);
extern const option_group GROUP_ONNX_LOAD; /* all of it */
extern const option_group GROUP_ONNX_READ; /* without outputs */
extern const option_group GROUP_ONNX_EDIT; /* all of it, outputs as --outputs */

typedef struct onnx_shape_args {
    bool infer, no_onnxruntime, no_folding;
} onnx_shape_args;
extern const option_group GROUP_ONNX_SHAPE;

typedef struct onnx_save_args {
    const char *path;
    pgy_text_list external; /* one item per use of --save-external-data: its value, or "" */
    const char *threshold_text;
    uint64_t threshold;
    bool one_file_per_tensor;
} onnx_save_args;
extern const option_group GROUP_ONNX_SAVE;  /* --save-onnx of run */
extern const option_group GROUP_ONNX_WRITE; /* the command has an output option of its own */

/* Do the options require reading and changing the file before a runtime gets it? */
bool model_is_edited(const args *line);
/* A loader with all steps that the groups of this line ask for, in the documented order. */
pgy_status model_loader(pgy_loader **out, const args *line, pgy_error *err) PGY_MUST_CHECK;
/* Like model_loader, but with `outputs` instead of --onnx-outputs, and with the step of --save-onnx
 * only if `save`. */
pgy_status model_loader_with(pgy_loader **out, const args *line,
                             const pgy_output_selection *outputs, bool save,
                             pgy_error *err) PGY_MUST_CHECK;
/* model_loader in two parts, for commands that insert a step: first all steps before the conversion
 * to 16 bits, then that conversion. */
pgy_status model_loader_wide(pgy_loader **out, const args *line, pgy_error *err) PGY_MUST_CHECK;
pgy_status model_loader_half(pgy_loader **loader, const args *line, pgy_error *err) PGY_MUST_CHECK;
/* The model file of this line; NULL: none. */
const char *model_path(const args *line);
/* Do the options ask for changes other than outputs and saving? */
bool model_is_edited_inside(const args *line);
/* Adds the step that saves to `path`, as GROUP_ONNX_WRITE says. */
pgy_status model_loader_save(pgy_loader **loader, const args *line, const char *path,
                             pgy_error *err) PGY_MUST_CHECK;
/* What the loader's steps get: the parts of it, for the script that `run` writes. */
bool model_selects_outputs(const onnx_load_args *s); /* by --onnx-outputs and the like */
pgy_output_selection model_outputs(const onnx_load_args *s);
pgy_model_load_options model_load_options(const onnx_load_args *s);      /* NULL: defaults */
bool model_half_options(pgy_half_options *out, const onnx_load_args *s); /* false: no conversion */
pgy_model_save_options model_save_options(const args *line);
/* Saves a loaded model. If `options` is NULL, GROUP_ONNX_WRITE applies. */
pgy_status model_save(pgy_model *model, const args *line, const char *path,
                      const pgy_model_save_options *options, pgy_error *err) PGY_MUST_CHECK;
pgy_status model_save_graph(pgy_gs_graph *g, const args *line, const char *path,
                            const pgy_model_save_options *options, pgy_error *err) PGY_MUST_CHECK;

#endif
