/* SPDX-License-Identifier: Apache-2.0 */
/* The ONNX model with its changes as Python's loaders. */
#include "cli/args/values.h"
#include "cli/groups/model.h"
#include "cli/script/script.h"

static const char MODULE[] = "backend.onnx";

static const onnx_shape_args NO_SHAPES;
static const onnx_save_args NO_SAVE;

static const onnx_shape_args *shape_args(const py_script *s)
{
    const onnx_shape_args *found = ARGS_OF(s->line, onnx_shape_args);
    return found ? found : &NO_SHAPES;
}

static const onnx_save_args *save_args(const py_script *s)
{
    const onnx_save_args *found = ARGS_OF(s->line, onnx_save_args);
    return found ? found : &NO_SAVE;
}

bool script_onnx_changes(const py_script *s)
{
    const onnx_load_args *load = ARGS_OF(s->line, onnx_load_args);
    return load->fp16 || load->external_data_dir || shape_args(s)->infer || save_args(s)->path;
}

static const char *add(py_script *s, const char *base, const char *class, py_call *c)
{
    py_import(s, MODULE, class);
    return py_variable(s, &s->loaders, base, py_call_end(s, c));
}

static const char *load(py_script *s, const onnx_load_args *l)
{
    const bool infer = shape_args(s)->infer;
    py_call c = py_call_of(infer ? "InferShapes" : "OnnxFromPath");
    py_value(&c, NULL, model_path(s->line));
    if (l->external_data_dir) py_value(&c, "external_data_dir", l->external_data_dir);
    if (infer && shape_args(s)->no_onnxruntime) py_raw(&c, "allow_onnxruntime", "False");
    if (!infer) py_flag(&c, "ignore_external_data", l->ignore_external_data);
    return infer ? add(s, "infer_shapes", "InferShapes", &c)
                 : add(s, "load_onnx", "OnnxFromPath", &c);
}

static const char *select_outputs(py_script *s, const onnx_load_args *l, const char *from)
{
    py_call c = py_call_of("ModifyOnnxOutputs");
    py_raw(&c, NULL, from);
    if (l->mark_all) {
        py_import(s, "", "constants");
        py_raw(&c, "outputs", "constants.MARK_ALL");
    } else if (l->outputs.given) {
        py_texts(py_argument(&c, "outputs"), l->outputs.items, l->outputs.count);
    }
    if (l->exclude.given)
        py_texts(py_argument(&c, "exclude_outputs"), l->exclude.items, l->exclude.count);
    if (l->by_type.given)
        py_texts(py_argument(&c, "mark_types"), l->by_type.items, l->by_type.count);
    return add(s, "modify_outputs", "ModifyOutputs as ModifyOnnxOutputs", &c);
}

/* The value of the first use of --save-external-data; "" if it has none. */
static const char *external_name(const onnx_save_args *o)
{
    return o->external.count && o->external.items[0] ? o->external.items[0] : "";
}

static const char *save(py_script *s, const onnx_save_args *o, const char *from)
{
    uint64_t bytes = 0;
    py_call c = py_call_of("SaveOnnx");
    py_raw(&c, NULL, from);
    py_value(&c, "path", o->path);
    if (o->external.given) py_value(&c, "external_data_path", external_name(o));
    if (o->threshold_text &&
        !value_bytes(&bytes, o->threshold_text, "--external-data-size-threshold", NULL))
        str_printf(py_argument(&c, "size_threshold"), "%llu", (unsigned long long)bytes);
    if (o->one_file_per_tensor) py_raw(&c, "all_tensors_to_one_file", "False");
    return add(s, "save_onnx", "SaveOnnx", &c);
}

static const char *wrap(py_script *s, const char *base, const char *class, const char *from)
{
    py_call c = py_call_of(class);
    py_raw(&c, NULL, from);
    return add(s, base, class, &c);
}

const char *script_onnx(py_script *s, bool outputs, bool needed)
{
    const onnx_load_args *l = ARGS_OF(s->line, onnx_load_args);
    const onnx_save_args *o = save_args(s);
    const bool selects = outputs && (l->outputs.given || l->exclude.given || l->by_type.given);
    if (!needed && !selects && !script_onnx_changes(s)) return NULL;
    const char *at = load(s, l);
    if (selects) at = select_outputs(s, l, at);
    if (l->fp16) at = wrap(s, "convert_to_fp16", "ConvertToFp16", at);
    return o->path ? save(s, o, at) : at;
}

const char *script_onnx_bytes(py_script *s, bool outputs)
{
    const char *at = script_onnx(s, outputs, false);
    return at ? wrap(s, "serialize_onnx", "BytesFromOnnx", at) : NULL;
}
