/* SPDX-License-Identifier: Apache-2.0 */
/* The network that --trt builds from a model: its outputs, and options for single tensors and
 * layers. */
#include <string.h>

#include "cli/args/values.h"
#include "cli/groups/model.h"
#include "cli/groups/trt.h"

#define NAME_LIST(name_, member_, meta_, help_)                                             \
    PGY_OPT_LIST(name_, trt_network_args, member_, .nargs = PGY_ONE_OR_MORE, .meta = meta_, \
                 .help = help_)
static const pgy_option OPTIONS[] = {
    NAME_LIST("--trt-outputs", outputs, "NAME",
              "make these tensors the network's outputs; names may be wildcards; '*' alone (or the "
              "older 'mark all') selects every tensor"),
    NAME_LIST("--trt-exclude-outputs", exclude, "NAME",
              "then remove these outputs; names may be wildcards"),
    NAME_LIST("--trt-outputs-by-type", by_type, "TYPE",
              "also make the outputs of these layer types (CONVOLUTION, SOFTMAX, ...) or operators "
              "(Conv, Softmax, ...) outputs of the network"),
    NAME_LIST("--layer-precisions", layer_precisions, "LAYER:TYPE",
              "compute these layers in float32, float16, bfloat16 or int8; names may be wildcards"),
    NAME_LIST("--tensor-dtypes --tensor-datatypes", tensor_dtypes, "TENSOR:TYPE",
              "set the types of these inputs and outputs; names may be wildcards"),
    PGY_OPT_TEXT("--all-tensor-dtypes --all-tensor-datatypes", trt_network_args, all_dtypes,
                 .meta = "TYPE", .help = "set the type of all inputs and outputs"),
    NAME_LIST("--tensor-formats", tensor_formats, "TENSOR:[FORMAT,...]",
              "memory formats of these inputs and outputs; only LINEAR is supported"),
    NAME_LIST("--all-tensor-formats", all_formats, "FORMAT",
              "memory formats of all inputs and outputs; only LINEAR is supported"),
    PGY_OPT_FLAG(
        "--decomposable-attentions", trt_network_args, decomposable_attentions,
        .help =
            "allow attention to be computed in several steps; no effect: this is always allowed"),
    PGY_OPT_FLAG(
        "--strongly-typed", trt_network_args, strongly_typed,
        .help =
            "no effect: without options such as --fp16 the engine keeps the types of the model"),
    NAME_LIST("--mark-debug", mark_debug, "NAME",
              "add these tensors to the results; no fusion removes them; names may be wildcards"),
    PGY_OPT_FLAG("--mark-unfused-tensors-as-debug-tensors", trt_network_args, mark_unfused,
                 .help = "add all tensors that fusion keeps to the results"),
    NAME_LIST("--onnx-flags", onnx_flags, "NAME", "flags of TensorRT's ONNX parser; no effect"),
    PGY_OPT_FLAG(
        "--plugin-instancenorm", trt_network_args, plugin_instancenorm,
        .help = "use a plug-in for InstanceNormalization; no effect: the operator is built in"),
    PGY_OPT_FLAG("--enable-uint8-asymmetric-quantization-dla", trt_network_args, uint8_dla,
                 .help = "a flag of TensorRT's ONNX parser; no effect",
                 .deprecated = "is deprecated; use --onnx-flags "
                               "ENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA"),
    NAME_LIST("--trt-network-postprocess-script --trt-npps", postprocess, "LIBRARY[:FUNC]",
              "shared objects with a function (default postprocess_network) that changes the "
              "network; they run in this order"),
    PGY_OPT_END,
};

/* ---- Checks --------------------------------------------------------------------------------- */

static bool is_among(const char *text, size_t size, const char *const *names)
{
    for (size_t i = 0; names[i]; i++)
        if (strlen(names[i]) == size && !strncmp(names[i], text, size)) return true;
    return false;
}

static pgy_status not_among(const char *text, const char *const *names, const char *option,
                            pgy_error *err)
{
    str valid = {0};
    for (size_t i = 0; names[i]; i++) str_printf(&valid, "%s%s", i ? ", " : "", names[i]);
    const pgy_status st = pgy_error_set(err, PGY_E_ARGUMENT, "%s: '%s' is not one of %s", option,
                                        text, str_text(&valid));
    str_deinit(&valid);
    return st;
}

static pgy_status check_pairs(const pgy_text_list *list, const char *const *names,
                              const char *option, const char *form, arena *a, pgy_error *err)
{
    const key_value *pairs = NULL;
    size_t count = 0;
    pgy_status st = values_split(&pairs, &count, list, a, err);
    for (size_t i = 0; !st && i < count; i++) {
        if (!*pairs[i].key)
            st = pgy_error_set(err, PGY_E_ARGUMENT, "%s: '%s' is not in the form %s", option,
                               pairs[i].value, form);
        else if (!is_among(pairs[i].value, strlen(pairs[i].value), names))
            st = not_among(pairs[i].value, names, option, err);
    }
    return st;
}

static pgy_status check_format(const char *text, const char *option, arena *a, pgy_error *err)
{
    char *upper = arena_strdup(a, text);
    if (!upper) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (char *c = upper; *c; c++)
        if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
    return is_among(upper, strlen(upper), TRT_FORMATS) ? PGY_OK
                                                       : not_among(text, TRT_FORMATS, option, err);
}

static pgy_status check_tensor_formats(const pgy_text_list *list, arena *a, pgy_error *err)
{
    const key_value *pairs = NULL;
    size_t count = 0;
    pgy_status st = values_split(&pairs, &count, list, a, err);
    for (size_t i = 0; !st && i < count; i++) {
        cast_value v;
        if (!*pairs[i].key)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "--tensor-formats: '%s' is not in the form TENSOR:[FORMAT,...], "
                                 "as in 'image:[LINEAR,CHW4]'",
                                 pairs[i].value);
        st = value_cast(&v, pairs[i].value, a, err);
        if (!st && v.kind != CAST_LIST) st = check_format(v.text, "--tensor-formats", a, err);
        for (size_t k = 0; !st && v.kind == CAST_LIST && k < v.count; k++)
            st = check_format(v.items[k].text ? v.items[k].text : "", "--tensor-formats", a, err);
    }
    return st;
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    trt_network_args *s = settings;
    arena *a = &line->memory;
    pgy_name_list flags;
    const onnx_load_args *onnx = ARGS_OF(line, onnx_load_args);
    if (onnx && onnx->layerwise && !s->outputs.given) s->outputs = OUTPUTS_ALL;
    s->mark_all = outputs_mark_all(&s->outputs, line);
    pgy_status st = trt_name_list(&flags, &s->onnx_flags, &TRT_ONNX_FLAGS, a, err);
    if (!st)
        st = check_pairs(&s->layer_precisions, TRT_DTYPES, "--layer-precisions",
                         "LAYER:TYPE, as in 'conv1:float16'", a, err);
    if (!st)
        st = check_pairs(&s->tensor_dtypes, TRT_DTYPES, "--tensor-dtypes",
                         "TENSOR:TYPE, as in 'image:float16'", a, err);
    if (!st && s->all_dtypes && !is_among(s->all_dtypes, strlen(s->all_dtypes), TRT_DTYPES))
        st = not_among(s->all_dtypes, TRT_DTYPES, "--all-tensor-dtypes", err);
    if (!st) st = check_tensor_formats(&s->tensor_formats, a, err);
    for (size_t i = 0; !st && i < s->all_formats.count; i++)
        st = check_format(s->all_formats.items[i], "--all-tensor-formats", a, err);
    return st;
}

const option_group GROUP_TRT_NETWORK = {
    .title = "Engine Network",
    .description = "Options related to the network that --trt builds from a model",
    .options = OPTIONS,
    ARGS_TYPE(trt_network_args),
    .finish = finish,
};

/* ---- The model for the engine --------------------------------------------------------------- */

bool trt_selects_outputs(const trt_network_args *s)
{
    return s && (s->outputs.given || s->exclude.given || s->by_type.given);
}

bool trt_model_is_edited(const args *line)
{
    return trt_selects_outputs(ARGS_OF(line, trt_network_args)) || model_is_edited_inside(line);
}

pgy_status trt_outputs(pgy_output_selection *out, strvec *operators, const args *line,
                       pgy_error *err)
{
    const trt_network_args *s = ARGS_OF(line, trt_network_args);
    pgy_status st = PGY_OK;
    if (s->by_type.given) st = trt_layer_operators(operators, &s->by_type, model_path(line), err);
    *out = (pgy_output_selection){
        .size = sizeof *out,
        .names = s->mark_all ? NULL : s->outputs.items,
        .name_count = s->mark_all ? 0 : s->outputs.count,
        .mark_all = s->mark_all,
        .op_types = (const char *const *)operators->items,
        .op_type_count = operators->count,
        .exclude = s->exclude.items,
        .exclude_count = s->exclude.count,
    };
    return st;
}

pgy_status trt_model_loader(pgy_loader **out, const args *line, bool save, pgy_error *err)
{
    strvec operators = {0};
    pgy_output_selection outputs;
    if (!trt_selects_outputs(ARGS_OF(line, trt_network_args)))
        return model_loader_with(out, line, NULL, save, err);
    pgy_status st = trt_outputs(&outputs, &operators, line, err);
    if (!st) st = model_loader_with(out, line, &outputs, save, err);
    strvec_deinit(&operators);
    return st;
}
