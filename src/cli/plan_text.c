/* SPDX-License-Identifier: Apache-2.0 */
/* The layout is that of the original's text for engines (cli.md 5.2), as far as it applies: there
 * is one profile, and layers are listed once. The headline says which engine it is. */
#include "cli/plan_text.h"

#include <string.h>

#include "base/pytext.h"

enum { NAME_PADDING = 8 };

static const char *const ENGINE_NAMES[][2] = {
    {"float32", "FP32"}, {"float16", "FP16"}, {"bfloat16", "BF16"},
    {"float64", "FP64"}, {"int8", "INT8"},    {"uint8", "UINT8"},
    {"int32", "INT32"},  {"int64", "INT64"},  {"bool", "BOOL"},
};

static const char *engine_type_name(pgy_dtype dtype)
{
    const char *name = pgy_dtype_name(dtype);
    for (size_t i = 0; i < sizeof ENGINE_NAMES / sizeof *ENGINE_NAMES; i++)
        if (strcmp(name, ENGINE_NAMES[i][0]) == 0) return ENGINE_NAMES[i][1];
    return name;
}

/* Lines of `text` move to the right, the first one too. */
static void append_indented(str *out, const char *text, size_t indent)
{
    str_append_fill(out, ' ', indent);
    for (; *text; text++) {
        str_append_char(out, *text);
        if (*text == '\n') str_append_fill(out, ' ', indent);
    }
}

static pgy_status append_metadata(str *out, const pgy_metadata *m, const char *kind, pgy_error *err)
{
    char *text = NULL;
    const pgy_status st = pgy_metadata_text(&text, m, err);
    if (st) return st;
    str_printf(out, "\n\n---- %zu Engine %s(s) ----\n%s", pgy_metadata_count(m), kind, text);
    pgy_text_free(text);
    return PGY_OK;
}

/* ---- Memory and profile --------------------------------------------------------------------- */

static void append_memory(str *out, const pgy_plan_info *i)
{
    str_printf(
        out,
        "\n\n---- Memory ----\nDevice Memory: %llu bytes (no order of memory needs less than "
        "%llu)\nWeights: %llu bytes",
        (unsigned long long)i->arena_bytes, (unsigned long long)i->arena_bound,
        (unsigned long long)i->constant_bytes);
}

static size_t longest_name(size_t longest, const pgy_metadata *m)
{
    for (size_t i = 0; i < pgy_metadata_count(m); i++) {
        const size_t size = strlen(pgy_metadata_at(m, i)->name);
        if (size > longest) longest = size;
    }
    return longest;
}

static void append_shape(str *out, const char *name, const pgy_tensor_info *info)
{
    str_printf(out, "%s", name);
    if (info->rank < 0)
        str_append(out, "unknown");
    else
        str_append_py_tuple(out, info->shape, (size_t)info->rank);
}

static void append_profile(str *out, const pgy_plan *plan)
{
    const pgy_metadata *inputs = pgy_plan_inputs(plan), *outputs = pgy_plan_outputs(plan);
    const pgy_metadata *shapes = pgy_plan_shapes(plan);
    const int width = (int)(longest_name(longest_name(0, inputs), outputs) + NAME_PADDING);
    const size_t count = pgy_metadata_count(inputs);
    str_printf(out, "\n\n---- %d Profile(s) (%zu Tensor(s) Each) ----", shapes ? 1 : 0,
               count + pgy_metadata_count(outputs));
    if (!shapes) return;
    str_append(out, "\n- Profile: 0");
    for (size_t i = 0; i < count; i++) {
        const pgy_tensor_info *info = pgy_metadata_at(shapes, i);
        str_printf(out, "\n    Tensor: %-*s %8s, Index: %zu", width, info->name, "(Input)", i);
        append_shape(out, " | Shapes: min=", info);
        append_shape(out, ", opt=", info);
        append_shape(out, ", max=", info);
    }
    for (size_t i = 0; i < pgy_metadata_count(outputs); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(outputs, i);
        str_printf(out, "\n    Tensor: %-*s %8s, Index: %zu", width, info->name, "(Output)",
                   count + i);
        append_shape(out, " | Shape: ", info);
    }
}

/* ---- Layers --------------------------------------------------------------------------------- */

static void append_tensors(str *out, const pgy_plan_tensor *t, size_t count)
{
    str_append_char(out, '{');
    for (size_t i = 0; i < count; i++) {
        str_printf(out, "%s%s [dtype=%s, shape=", i ? ",\n " : "", t[i].name,
                   pgy_dtype_name(t[i].dtype));
        str_append_py_tuple(out, t[i].shape, (size_t)t[i].rank);
        if (t[i].block == 1)
            str_append(out, ", Format: Row major linear ");
        else
            str_printf(out, ", Format: Channels in blocks of %zu ", t[i].block);
        str_printf(out, "%s]", engine_type_name(t[i].dtype));
    }
    str_append_char(out, '}');
}

static void append_layer(str *out, const pgy_plan_layer *l, size_t i, plan_text_options options)
{
    str text = {0};
    str_printf(out, "\nLayer %-4zu | %s [Op: %s]\n", i, l->name, l->type);
    append_tensors(&text, l->inputs, l->input_count);
    str_append(&text, l->input_count ? "\n -> " : " -> ");
    str outputs = {0};
    append_tensors(&outputs, l->outputs, l->output_count);
    for (const char *c = str_text(&outputs); *c; c++) {
        str_append_char(&text, *c);
        if (*c == '\n' && l->input_count) str_append_fill(&text, ' ', 4);
    }
    if (options.attrs)
        str_printf(&text, "\n---- Attributes ----\nOrigin = %s\nTactic = %s", l->type,
                   l->tactic ? l->tactic : "reference");
    append_indented(out, str_text(&text), 4);
    out->failed |= text.failed || outputs.failed;
    str_append_char(out, '\n');
    str_deinit(&outputs);
    str_deinit(&text);
}

static void append_layers(str *out, const pgy_plan *plan, plan_text_options options)
{
    str_printf(out, "\n\n---- %zu Layer(s) ----", pgy_plan_layer_count(plan));
    for (size_t i = 0; options.layers && i < pgy_plan_layer_count(plan); i++)
        append_layer(out, pgy_plan_layer_at(plan, i), i, options);
}

pgy_status plan_text(str *out, const pgy_plan *plan, plan_text_options options, pgy_error *err)
{
    const pgy_plan_info *info = pgy_plan_describe(plan);
    str body = {0};
    str_printf(&body, "Name: %s | Explicit Batch Engine | Written by version %s for %s processors",
               info->name, info->library, info->cpu);
    pgy_status st = append_metadata(&body, pgy_plan_inputs(plan), "Input", err);
    if (!st) st = append_metadata(&body, pgy_plan_outputs(plan), "Output", err);
    append_memory(&body, info);
    append_profile(&body, plan);
    append_layers(&body, plan, options);
    while (body.size && body.data[body.size - 1] == '\n') body.data[--body.size] = 0;
    str_printf(out, "==== Built-in Engine ====\n%s", str_text(&body));
    if (!st && (body.failed || out->failed))
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while printing the plan");
    str_deinit(&body);
    return st;
}
