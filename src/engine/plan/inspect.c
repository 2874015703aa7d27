/* SPDX-License-Identifier: Apache-2.0 */
/* The engine inspector writes JSON with the field names of TensorRT 11, so that tools for its
 * reports read ours, or text with one line for each layer. From the second profile on, names of
 * layers end in the profile's number. */
#include <string.h>

#include "base/json.h"
#include "base/pytext.h"
#include "engine/plan/look.h"

static const struct {
    pgy_dtype dtype;
    const char *name;
} TYPE_NAMES[] = {{PGY_F32, "FP32"},     {PGY_F16, "FP16"},   {PGY_BF16, "BF16"},
                  {PGY_F8E4M3FN, "FP8"}, {PGY_F4E2M1, "FP4"}, {PGY_F64, "FP64"}};

static void put_type(json_writer *w, pgy_dtype dtype)
{
    str text = {0};
    for (size_t i = 0; i < sizeof TYPE_NAMES / sizeof *TYPE_NAMES; i++)
        if (TYPE_NAMES[i].dtype == dtype) str_append(&text, TYPE_NAMES[i].name);
    for (const char *c = text.size || !dtype ? "" : pgy_dtype_name(dtype); *c; c++)
        str_append_char(&text, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
    json_text(w, str_text(&text));
    str_deinit(&text);
}

static void put_format(json_writer *w, size_t block)
{
    str text = {0};
    if (block == 1)
        str_append(&text, "Row major linear");
    else if (!block)
        str_append(&text, "Channels last");
    else
        str_printf(&text, "Channels in blocks of %zu", block);
    json_put_text(w, "Format", str_text(&text));
    str_deinit(&text);
}

/* ---- Layers --------------------------------------------------------------------------------- */

static void put_tensors(json_writer *w, const char *key, const pgy_plan_tensor *t, size_t count)
{
    json_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(w);
        json_put_text(w, "Name", t[i].name);
        json_put_ints(w, "Dimensions", t[i].shape, (size_t)t[i].rank);
        json_key(w, "Datatype");
        put_type(w, t[i].dtype);
        put_format(w, t[i].block);
        json_end_object(w);
    }
    json_end_array(w);
}

static void append_name(str *out, const pgy_plan_layer *l, size_t profile)
{
    str_append(out, l->name);
    if (profile) str_printf(out, " [profile %zu]", profile);
}

/* Writes a layer's source nodes, in the notation of TensorRT's parser and as a list. */
static void put_sources(json_writer *w, const pgy_plan_layer *l)
{
    str text = {0};
    for (size_t i = 0; i < l->source_count; i++)
        str_printf(&text, "%s[ONNX Layer: %s]", i ? "\x1e" : "", l->sources[i]);
    json_put_text(w, "Metadata", str_text(&text));
    str_deinit(&text);
    json_key(w, "Sources");
    json_begin_array(w);
    for (size_t i = 0; i < l->source_count; i++) json_text(w, l->sources[i]);
    json_end_array(w);
}

static void put_layer(json_writer *w, const pgy_plan_layer *l, size_t profile, bool detailed)
{
    str name = {0};
    append_name(&name, l, profile);
    if (!detailed) {
        json_text(w, str_text(&name));
        str_deinit(&name);
        return;
    }
    json_begin_object(w);
    json_put_text(w, "Name", str_text(&name));
    json_put_text(w, "LayerType", l->type);
    put_tensors(w, "Inputs", l->inputs, l->input_count);
    put_tensors(w, "Outputs", l->outputs, l->output_count);
    put_tensors(w, "Constants", l->constants, l->constant_count);
    if (l->packed_bytes) json_put_uint(w, "PackedWeightBytes", l->packed_bytes);
    json_put_text(w, "TacticName", l->tactic ? l->tactic : "reference");
    json_put_int(w, "StreamId", 0);
    if (l->device) json_put_text(w, "Device", l->device);
    put_sources(w, l);
    json_end_object(w);
    str_deinit(&name);
}

/* ---- Inputs and outputs --------------------------------------------------------------------- */

static void put_profiles(json_writer *w, const pgy_plan *p, size_t input)
{
    json_key(w, "ProfileInfo");
    json_begin_array(w);
    for (size_t i = 0; i < pgy_plan_profile_count(p); i++) {
        pgy_profile_range r;
        if (pgy_plan_range(&r, p, i, input) == PGY_BOUND_NONE) continue;
        json_begin_object(w);
        json_put_ints(w, "MinShape", r.min, r.count);
        json_put_ints(w, "OptShape", r.opt, r.count);
        json_put_ints(w, "MaxShape", r.max, r.count);
        put_format(w, 1);
        json_end_object(w);
    }
    json_end_array(w);
}

static bool is_shape(const pgy_plan *p, size_t input)
{
    pgy_profile_range unused;
    for (size_t i = 0; i < pgy_plan_profile_count(p); i++)
        if (pgy_plan_range(&unused, p, i, input) == PGY_BOUND_ELEMENTS) return true;
    return false;
}

static void put_values(json_writer *w, const pgy_plan *p, const pgy_metadata *m, bool inputs)
{
    for (size_t i = 0; i < pgy_metadata_count(m); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(m, i);
        json_begin_object(w);
        json_put_text(w, "Name", info->name);
        json_put_text(w, "IOMode", inputs ? "Input" : "Output");
        json_put_ints(w, "Dimensions", info->shape, info->rank < 0 ? 0 : (size_t)info->rank);
        json_key(w, "DataType");
        put_type(w, info->dtype);
        json_put_text(w, "Location", "Host");
        json_put_bool(w, "IsShapeInferenceIO", inputs && is_shape(p, i));
        if (inputs) put_profiles(w, p, i);
        json_end_object(w);
    }
}

/* ---- The report ----------------------------------------------------------------------------- */

static void put_plan(json_writer *w, const pgy_plan *p)
{
    const char *verbosity = pgy_plan_describe(p)->verbosity;
    const bool detailed = strcmp(verbosity, "DETAILED") == 0;
    json_begin_object(w);
    json_key(w, "Layers");
    json_begin_array(w);
    for (size_t i = 0; strcmp(verbosity, "NONE") && i < pgy_plan_profile_count(p); i++) {
        const pgy_plan_profile *profile = pgy_plan_profile_at(p, i);
        for (size_t k = 0; k < profile->layer_count; k++)
            put_layer(w, &profile->layers[k], i, detailed);
    }
    json_end_array(w);
    json_key(w, "I/O Tensors");
    json_begin_array(w);
    put_values(w, p, pgy_plan_inputs(p), true);
    put_values(w, p, pgy_plan_outputs(p), false);
    json_end_array(w);
    json_end_object(w);
}

static pgy_status inspect_json(str *out, const pgy_plan *p, pgy_error *err)
{
    json_writer *w = NULL;
    pgy_status st = json_writer_create_str(&w, out, err);
    if (st) return st;
    put_plan(w, p);
    st = json_writer_finish(w, err);
    json_writer_destroy(w);
    return st;
}

static void append_tensors(str *out, const pgy_plan_tensor *t, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        str_printf(out, "%s%s ", i ? ", " : "", t[i].name);
        str_append_py_tuple(out, t[i].shape, (size_t)t[i].rank);
        str_printf(out, " %s", pgy_dtype_name(t[i].dtype));
    }
}

static void inspect_lines(str *out, const pgy_plan *p)
{
    const char *verbosity = pgy_plan_describe(p)->verbosity;
    const bool detailed = strcmp(verbosity, "DETAILED") == 0;
    for (size_t i = 0; strcmp(verbosity, "NONE") && i < pgy_plan_profile_count(p); i++) {
        const pgy_plan_profile *profile = pgy_plan_profile_at(p, i);
        for (size_t k = 0; k < profile->layer_count; k++) {
            const pgy_plan_layer *l = &profile->layers[k];
            append_name(out, l, i);
            if (detailed) {
                str_printf(out, " [%s]: ", l->type);
                append_tensors(out, l->inputs, l->input_count);
                str_append(out, " -> ");
                append_tensors(out, l->outputs, l->output_count);
                str_printf(out, " | %s", l->tactic ? l->tactic : "reference");
            }
            str_append_char(out, '\n');
        }
    }
}

pgy_status pgy_plan_inspect(char **out, const pgy_plan *p, pgy_inspect_format format,
                            pgy_error *err)
{
    str text = {0};
    pgy_status st = PGY_OK;
    if (!out || !p)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out' and the plan must not be NULL");
    if (format == PGY_INSPECT_JSON)
        st = inspect_json(&text, p, err);
    else
        inspect_lines(&text, p);
    str_append(&text, "");
    char *taken = st ? NULL : str_take(&text);
    str_deinit(&text);
    if (st) return st;
    if (!taken) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while inspecting a plan");
    *out = taken;
    return PGY_OK;
}

pgy_status pgy_engine_inspect(char **out, pgy_engine *e, pgy_inspect_format format, pgy_error *err)
{
    pgy_plan *look = NULL;
    if (!e) return pgy_error_set(err, PGY_E_ARGUMENT, "the engine must not be NULL");
    pgy_status st = plan_look_at_engine(&look, e, err);
    if (!st) st = pgy_plan_inspect(out, look, format, err);
    pgy_plan_close(look);
    return st;
}
