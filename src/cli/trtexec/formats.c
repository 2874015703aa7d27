/* SPDX-License-Identifier: Apache-2.0 */
/* Types and layouts of inputs and outputs: --inputIOFormats and --outputIOFormats. An entry is
 * "fp16:chw", or "chw" for the model's type; one entry counts for all tensors. The engine stores
 * them row-major, so a list of layouts must offer chw. */
#include "cli/trtexec/formats.h"

#include <string.h>

#include "base/printable.h"

static const struct {
    const char *name;
    pgy_dtype dtype;
} TYPES[] = {{"fp32", PGY_F32},  {"fp16", PGY_F16}, {"bf16", PGY_BF16}, {"int32", PGY_I32},
             {"int64", PGY_I64}, {"int8", PGY_I8},  {"uint8", PGY_U8},  {"bool", PGY_BOOL}};

static const char *const LAYOUTS[] = {"chw",      "chw2",  "hwc8",   "chw4", "chw16",
                                      "chw32",    "dhwc8", "cdhw32", "hwc",  "dla_linear",
                                      "dla_hwc4", "hwc16", "dhwc"};
enum { LAYOUT_COUNT = sizeof LAYOUTS / sizeof *LAYOUTS };

pgy_dtype formats_type(span name)
{
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (span_equals(name, TYPES[i].name)) return TYPES[i].dtype;
    return PGY_DTYPE_NONE;
}

/* ---- One entry ------------------------------------------------------------------------------ */

static pgy_status check_layout(bool *is_linear, span word, const char *option, pgy_error *err)
{
    str text = {0};
    for (size_t i = 0; i < LAYOUT_COUNT; i++) {
        if (!span_equals(word, LAYOUTS[i])) continue;
        *is_linear = *is_linear || i == 0;
        return PGY_OK;
    }
    str_append_printable(&text, word.data, word.size, "");
    const pgy_status st = pgy_error_set(
        err, PGY_E_ARGUMENT,
        "%s: there is no layout '%s'; expected TYPE:chw or chw, with TYPE one of fp32, "
        "fp16, bf16, int32, int64, int8, uint8, bool",
        option, str_text(&text));
    str_deinit(&text);
    return st;
}

/* "fp16:chw+hwc" */
static pgy_status read_entry(pgy_dtype *out, span entry, const char *option, pgy_error *err)
{
    const char *colon = memchr(entry.data, ':', entry.size);
    const span type = {entry.data, colon ? (size_t)(colon - entry.data) : 0};
    bool is_linear = false;
    span rest = entry;
    if (colon) rest = (span){colon + 1, entry.size - type.size - 1};
    *out = formats_type(type);
    if (colon && !*out)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "%s: there is no type '%.*s'; expected fp32, fp16, bf16, int32, int64, "
            "int8, uint8 or bool",
            option, (int)type.size, type.data);
    for (size_t at = 0; at <= rest.size;) {
        size_t size = 0;
        while (at + size < rest.size && rest.data[at + size] != '+') size++;
        const pgy_status st = check_layout(&is_linear, (span){rest.data + at, size}, option, err);
        if (st) return st;
        at += size + 1;
    }
    if (is_linear) return PGY_OK;
    return pgy_error_set(err, PGY_E_UNSUPPORTED,
                         "%s: '%.*s' has no chw, but the engine's inputs and outputs are row-major",
                         option, (int)rest.size, rest.data);
}

/* ---- Tensors -------------------------------------------------------------------------------- */

typedef struct tensor_names {
    const char **items;
    size_t count;
} tensor_names;

static pgy_status list_names(tensor_names *out, const pgy_onnx_graph *g, bool inputs, arena *a,
                             pgy_error *err)
{
    const size_t most = g ? inputs ? g->input_count : g->output_count : 0;
    out->items = arena_alloc_array(a, most + 1, sizeof *out->items);
    out->count = 0;
    if (!out->items) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < most; i++) {
        const char *name = inputs ? g->inputs[i]->name : g->outputs[i]->name;
        if (!inputs || !shapes_is_initializer(g, name)) out->items[out->count++] = name;
    }
    return PGY_OK;
}

static size_t count_entries(const char *text)
{
    size_t count = 1;
    for (const char *c = text; *c; c++) count += *c == ',';
    return count;
}

static pgy_status set_types(pgy_build_config *c, const char *text, const char *option,
                            const tensor_names *names, arena *a, pgy_error *err)
{
    const size_t entries = count_entries(text);
    pgy_type_choice *all = arena_alloc_array(a, c->tensor_type_count + names->count, sizeof *all);
    const char *at = text;
    pgy_status st = PGY_OK;
    if (!all) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (entries != 1 && entries != names->count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "%s has %zu entries, but the model has %zu tensors there; give one "
                             "for each, or one for all",
                             option, entries, names->count);
    for (size_t i = 0; i < c->tensor_type_count; i++) all[i] = c->tensor_types[i];
    for (size_t i = 0; !st && i < names->count; i++) {
        pgy_dtype type = PGY_DTYPE_NONE;
        const span entry = {at, strcspn(at, ",")};
        st = read_entry(&type, entry, option, err);
        if (!st && type)
            all[c->tensor_type_count++] = (pgy_type_choice){arena_strdup(a, names->items[i]), type};
        if (!st && type && !all[c->tensor_type_count - 1].name)
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        if (entries > 1) at += entry.size + (at[entry.size] == ',');
    }
    c->tensor_types = all;
    return st;
}

pgy_status formats_set(pgy_build_config *c, trtexec_session *s, pgy_model *model, pgy_error *err)
{
    const pgy_onnx_graph *g = pgy_model_proto(model)->graph;
    const char *const texts[] = {s->a->input_formats, s->a->output_formats};
    static const char *const OPTIONS[] = {"--inputIOFormats", "--outputIOFormats"};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < 2; i++) {
        tensor_names names;
        if (!texts[i]) continue;
        st = list_names(&names, g, i == 0, &s->line->memory, err);
        if (!st) st = set_types(c, texts[i], OPTIONS[i], &names, &s->line->memory, err);
    }
    return st;
}
