/* SPDX-License-Identifier: Apache-2.0 */
/* The network of --trt as Python's loaders: parsing, then changes in the documented order. */
#include "cli/args/values.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/groups/trt.h"
#include "cli/script/script.h"

#include <string.h>

static const char MODULE[] = "backend.trt";

static const char *add(py_script *s, const char *base, const char *class, py_call *c)
{
    py_import(s, MODULE, class);
    return py_variable(s, &s->loaders, base, py_call_end(s, c));
}

const char *script_trt_plugins(py_script *s, const char *object)
{
    const operator_args *o = ARGS_OF(s->line, operator_args);
    if (!o || !o->libraries.given) return object;
    py_call c = py_call_of("LoadPlugins");
    py_texts(py_argument(&c, "plugins"), o->libraries.items, o->libraries.count);
    py_raw(&c, "obj", object);
    return add(s, "load_plugins", "LoadPlugins", &c);
}

/* ---- Parsing -------------------------------------------------------------------------------- */

/* Adds a flag of the parser once. */
static void add_flag(str *flags, const char *name)
{
    if (strstr(str_text(flags), name)) return;
    str_printf(flags, "%strt.OnnxParserFlag.%s", flags->size ? ", " : "", name);
}

static pgy_status put_flags(py_script *s, py_call *c, const trt_network_args *n, pgy_error *err)
{
    const trt_config_args *t = ARGS_OF(s->line, trt_config_args);
    str flags = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < n->onnx_flags.count; i++) {
        const char *name = NULL;
        st = trt_name(&name, n->onnx_flags.items[i], &TRT_ONNX_FLAGS, err);
        if (!st) add_flag(&flags, name);
    }
    if (n->uint8_dla) add_flag(&flags, "ENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA");
    const bool portable = t && (t->config.version_compatible ||
                                (t->hardware_level && strcmp(t->hardware_level, "NONE") != 0));
    if (portable) add_flag(&flags, "NATIVE_INSTANCENORM");
    if (flags.size || n->onnx_flags.given)
        str_printf(py_argument(c, "flags"), "[%s]", str_text(&flags));
    if (flags.failed) s->failed = true;
    str_deinit(&flags);
    return st;
}

static pgy_status parse(const char **out, py_script *s, const trt_network_args *n,
                        const char *config, pgy_error *err)
{
    const char *bytes = script_onnx_changes(s) ? script_onnx_bytes(s, false) : NULL;
    const char *class = bytes ? "NetworkFromOnnxBytes" : "NetworkFromOnnxPath";
    const char *from = bytes;
    if (!from) {
        str path = {0};
        py_text(&path, model_path(s->line));
        from = path.failed ? NULL : arena_strdup(s->memory, str_text(&path));
        str_deinit(&path);
        if (!from) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    const char *object = script_trt_plugins(s, from);
    py_call c = py_call_of(class);
    py_raw(&c, NULL, object);
    const pgy_status st = put_flags(s, &c, n, err);
    py_flag(&c, "plugin_instancenorm", n->plugin_instancenorm);
    py_flag(&c, "strongly_typed", n->strongly_typed);
    py_flag(&c, "mark_unfused_tensors_as_debug_tensors", n->mark_unfused);
    if (config) py_raw(&c, "config", config);
    *out = add(s, "parse_network_from_onnx", class, &c);
    return st;
}

/* ---- Changes -------------------------------------------------------------------------------- */

static pgy_status postprocess(const char **at, py_script *s, const trt_network_args *n,
                              pgy_error *err)
{
    for (size_t i = 0; i < n->postprocess.count; i++) {
        const char *path = NULL, *function = NULL;
        const pgy_status st =
            value_script(&path, &function, n->postprocess.items[i], s->memory, err);
        if (st) return st;
        if (!function) function = "postprocess";
        const char *base = arena_printf(s->memory, "postprocess_step_%zu", i);
        const char *name = arena_printf(s->memory, "%s:%s", path, function);
        if (!base || !name) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        py_call invoke = py_call_of("InvokeFromScript"), c = py_call_of("PostprocessNetwork");
        py_value(&invoke, NULL, path);
        py_value(&invoke, "name", function);
        py_raw(&c, NULL, *at);
        py_raw(&c, "func", py_call_end(s, &invoke));
        py_value(&c, "name", name);
        py_import(s, "backend.common", "InvokeFromScript");
        *at = add(s, base, "PostprocessNetwork", &c);
    }
    return PGY_OK;
}

static const char *set_outputs(py_script *s, const trt_network_args *n, const char *at)
{
    if (!n->outputs.given && !n->exclude.given && !n->by_type.given) return at;
    py_call c = py_call_of("ModifyNetworkOutputs");
    py_raw(&c, NULL, at);
    if (n->mark_all) {
        py_import(s, "", "constants");
        py_raw(&c, "outputs", "constants.MARK_ALL");
    } else if (n->outputs.given) {
        py_texts(py_argument(&c, "outputs"), n->outputs.items, n->outputs.count);
    }
    if (n->exclude.given)
        py_texts(py_argument(&c, "exclude_outputs"), n->exclude.items, n->exclude.count);
    if (n->by_type.given)
        py_texts(py_argument(&c, "mark_layer_types"), n->by_type.items, n->by_type.count);
    return add(s, "set_network_outputs", "ModifyNetworkOutputs", &c);
}

/* {'name': trt.type, ...}; the types were checked against TensorRT's names. */
static pgy_status put_types(py_script *s, str *out, const pgy_text_list *list, pgy_error *err)
{
    const key_value *pairs = NULL;
    size_t count = 0;
    const pgy_status st = values_split(&pairs, &count, list, s->memory, err);
    str_append_char(out, '{');
    for (size_t i = 0; !st && i < count; i++) {
        if (i) str_append(out, ", ");
        py_text(out, pairs[i].key);
        str_printf(out, ": trt.%s", pairs[i].value);
    }
    str_append_char(out, '}');
    return st;
}

static void put_format(str *out, const char *name)
{
    str_append(out, "trt.TensorFormat.");
    for (; *name; name++)
        str_append_char(out, *name >= 'a' && *name <= 'z' ? (char)(*name - 32) : *name);
}

static pgy_status put_formats(py_script *s, str *out, const pgy_text_list *list, pgy_error *err)
{
    const key_value *pairs = NULL;
    size_t count = 0;
    pgy_status st = values_split(&pairs, &count, list, s->memory, err);
    str_append_char(out, '{');
    for (size_t i = 0; !st && i < count; i++) {
        cast_value v;
        st = value_cast(&v, pairs[i].value, s->memory, err);
        if (st) break;
        if (i) str_append(out, ", ");
        py_text(out, pairs[i].key);
        str_append(out, ": [");
        for (size_t k = 0; k < (v.kind == CAST_LIST ? v.count : 1); k++) {
            if (k) str_append(out, ", ");
            put_format(out, v.kind == CAST_LIST ? v.items[k].text : v.text);
        }
        str_append_char(out, ']');
    }
    str_append_char(out, '}');
    return st;
}

static pgy_status set_types(const char **at, py_script *s, const trt_network_args *n,
                            pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (n->layer_precisions.given) {
        py_call c = py_call_of("SetLayerPrecisions");
        py_raw(&c, NULL, *at);
        st = put_types(s, py_argument(&c, "layer_precisions"), &n->layer_precisions, err);
        *at = add(s, "set_layer_precisions", "SetLayerPrecisions", &c);
    }
    if (n->decomposable_attentions) {
        py_call c = py_call_of("SetDecomposableAttentions");
        py_raw(&c, NULL, *at);
        *at = add(s, "set_decomposable_attentions", "SetDecomposableAttentions", &c);
    }
    if (!st && (n->all_dtypes || n->tensor_dtypes.given)) {
        py_call c = py_call_of("SetTensorDatatypes");
        py_raw(&c, NULL, *at);
        str *out = py_argument(&c, "tensor_datatypes");
        if (n->all_dtypes)
            str_printf(out, "trt.%s", n->all_dtypes);
        else
            st = put_types(s, out, &n->tensor_dtypes, err);
        *at = add(s, "set_tensor_datatypes", "SetTensorDatatypes", &c);
    }
    return st;
}

static pgy_status set_formats(const char **at, py_script *s, const trt_network_args *n,
                              pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (!n->all_formats.given && !n->tensor_formats.given) return st;
    py_call c = py_call_of("SetTensorFormats");
    py_raw(&c, NULL, *at);
    str *out = py_argument(&c, "tensor_formats");
    if (!n->all_formats.given) {
        st = put_formats(s, out, &n->tensor_formats, err);
    } else {
        str_append_char(out, '[');
        for (size_t i = 0; i < n->all_formats.count; i++) {
            if (i) str_append(out, ", ");
            put_format(out, n->all_formats.items[i]);
        }
        str_append_char(out, ']');
    }
    *at = add(s, "set_tensor_formats", "SetTensorFormats", &c);
    return st;
}

pgy_status script_trt_network(const char **out, py_script *s, const char *config, pgy_error *err)
{
    const trt_network_args *n = ARGS_OF(s->line, trt_network_args);
    py_import_trt(s);
    pgy_status st = parse(out, s, n, config, err);
    if (!st) st = postprocess(out, s, n, err);
    if (st) return st;
    *out = set_outputs(s, n, *out);
    st = set_types(out, s, n, err);
    if (!st) st = set_formats(out, s, n, err);
    if (st || !n->mark_debug.given) return st;
    py_call c = py_call_of("MarkDebug");
    py_raw(&c, NULL, *out);
    py_texts(py_argument(&c, "mark_debug"), n->mark_debug.items, n->mark_debug.count);
    *out = add(s, "mark_debug", "MarkDebug", &c);
    return PGY_OK;
}
