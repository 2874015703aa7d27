/* SPDX-License-Identifier: Apache-2.0 */
/* The layout follows the original's text for engines where it applies. Layers are listed for every
 * profile, because each profile has its own program. The headline says which engine made the plan.
 */
#include <polygraphy/describe.h>

#include <string.h>

#include "base/printable.h"
#include "base/pytext.h"
#include "base/sized.h"
#include "inspect/tensor_ranges.h"

enum { NAME_PADDING = 8 };

typedef struct plan_text_options {
    bool layers, attributes;
    const tensor_ranges *ranges; /* value ranges to show with each layer's tensors */
} plan_text_options;

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

/* Indents all lines of `text`, including the first. */
static void append_indented(str *out, const char *text, size_t indent)
{
    str_append_fill(out, ' ', indent);
    for (; *text; text++) {
        str_append_char(out, *text);
        if (*text == '\n') str_append_fill(out, ' ', indent);
    }
}

/* Like append_indented, but starts a new line first. */
static void append_lines(str *out, const char *text)
{
    str_append_char(out, '\n');
    append_indented(out, text, 4);
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

/* ---- Memory and profiles -------------------------------------------------------------------- */

/* A line for each device, if some layers do not run on the host. */
static void append_spaces(str *out, const pgy_plan_profile *p)
{
    for (size_t i = 0; p && p->space_count > 1 && i < p->space_count; i++) {
        const pgy_plan_space *s = &p->spaces[i];
        str_printf(out, "\n    %s: %llu bytes, and %llu bytes of constants",
                   s->device ? s->device : "host", (unsigned long long)s->arena_bytes,
                   (unsigned long long)s->constant_bytes);
    }
}

static void append_memory(str *out, const pgy_plan *plan)
{
    const pgy_plan_profile *largest = NULL;
    for (size_t i = 0; i < pgy_plan_profile_count(plan); i++) {
        const pgy_plan_profile *p = pgy_plan_profile_at(plan, i);
        if (!largest || p->arena_bytes > largest->arena_bytes) largest = p;
    }
    const uint64_t most = largest ? largest->arena_bytes : 0,
                   bound = largest ? largest->arena_bound : 0;
    str_printf(out,
               "\n\n---- Memory ----\nDevice Memory: %llu bytes (lower bound for this schedule: "
               "%llu)",
               (unsigned long long)most, (unsigned long long)bound);
    append_spaces(out, largest);
    str_printf(out, "\nWeights: %llu bytes",
               (unsigned long long)pgy_plan_describe(plan)->constant_bytes);
}

static size_t longest_name(size_t longest, const pgy_metadata *m)
{
    for (size_t i = 0; i < pgy_metadata_count(m); i++) {
        const size_t size = strlen(pgy_metadata_at(m, i)->name);
        if (size > longest) longest = size;
    }
    return longest;
}

static void append_range(str *out, const pgy_plan *plan, size_t profile, size_t input)
{
    pgy_profile_range r;
    const pgy_bound_kind kind = pgy_plan_range(&r, plan, profile, input);
    if (kind == PGY_BOUND_NONE) {
        str_append(out, " | Shape: unknown");
        return;
    }
    str_append(out, kind == PGY_BOUND_ELEMENTS ? " | Values: min=" : " | Shapes: min=");
    str_append_py_tuple(out, r.min, r.count);
    str_append(out, ", opt=");
    str_append_py_tuple(out, r.opt, r.count);
    str_append(out, ", max=");
    str_append_py_tuple(out, r.max, r.count);
    if (kind == PGY_BOUND_ANY) str_append(out, " (not restricted)");
}

static void append_output(str *out, const pgy_tensor_info *info)
{
    str_append(out, " | Shape: ");
    if (info->rank < 0)
        str_append(out, "unknown");
    else
        str_append_py_tuple(out, info->shape, (size_t)info->rank);
}

static void append_profiles(str *out, const pgy_plan *plan)
{
    const pgy_metadata *inputs = pgy_plan_inputs(plan), *outputs = pgy_plan_outputs(plan);
    const int width = (int)(longest_name(longest_name(0, inputs), outputs) + NAME_PADDING);
    const size_t count = pgy_metadata_count(inputs);
    str_printf(out, "\n\n---- %zu Profile(s) (%zu Tensor(s) Each) ----",
               pgy_plan_profile_count(plan), count + pgy_metadata_count(outputs));
    for (size_t p = 0; p < pgy_plan_profile_count(plan); p++) {
        str_printf(out, "%s\n- Profile: %zu", p ? "\n" : "", p);
        for (size_t i = 0; i < count; i++) {
            str_printf(out, "\n    Tensor: %-*s %8s, Index: %zu", width,
                       pgy_metadata_at(inputs, i)->name, "(Input)", i);
            append_range(out, plan, p, i);
        }
        for (size_t i = 0; i < pgy_metadata_count(outputs); i++) {
            const pgy_tensor_info *info = pgy_metadata_at(outputs, i);
            str_printf(out, "\n    Tensor: %-*s %8s, Index: %zu", width, info->name, "(Output)",
                       count + i);
            append_output(out, info);
        }
    }
}

/* ---- Layers --------------------------------------------------------------------------------- */

static void append_tensors(str *out, const pgy_plan_tensor *t, size_t count,
                           const tensor_ranges *ranges)
{
    str_append_char(out, '{');
    for (size_t i = 0; i < count; i++) {
        str_printf(out, "%s%s [dtype=%s, shape=", i ? ",\n " : "", printable_name(t[i].name),
                   pgy_dtype_name(t[i].dtype));
        str_append_py_tuple(out, t[i].shape, (size_t)t[i].rank);
        if (t[i].block == 1)
            str_append(out, ", Format: Row major linear ");
        else if (!t[i].block)
            str_append(out, ", Format: Channels last ");
        else
            str_printf(out, ", Format: Channels in blocks of %zu ", t[i].block);
        str_printf(out, "%s%s]", engine_type_name(t[i].dtype),
                   tensor_ranges_text(ranges, t[i].name));
    }
    str_append_char(out, '}');
}

static void append_attributes(str *out, const pgy_plan_layer *l)
{
    str_printf(out, "\n---- Attributes ----\nOrigin = %s\nTactic = %s", l->type,
               l->tactic ? l->tactic : "reference");
    if (l->device) str_printf(out, "\nDevice = %s", printable_name(l->device));
    if (l->packed_bytes)
        str_printf(out, "\nPacked weights = %llu bytes", (unsigned long long)l->packed_bytes);
    for (size_t i = 0; i < l->constant_count; i++) {
        str_printf(out, "\nConstant = %s [dtype=%s, shape=", printable_name(l->constants[i].name),
                   pgy_dtype_name(l->constants[i].dtype));
        str_append_py_tuple(out, l->constants[i].shape, (size_t)l->constants[i].rank);
        str_append_char(out, ']');
    }
    for (size_t i = 0; l->source_count > 1 && i < l->source_count; i++)
        str_printf(out, "\nSource = %s", printable_name(l->sources[i]));
}

static void append_layer(str *out, const pgy_plan_layer *l, size_t i, plan_text_options options)
{
    str text = {0};
    str_printf(out, "\nLayer %-4zu | %s [Op: %s]\n", i, printable_name(l->name),
               printable_name(l->type));
    append_tensors(&text, l->inputs, l->input_count, options.ranges);
    str_append(&text, l->input_count ? "\n -> " : " -> ");
    str outputs = {0};
    append_tensors(&outputs, l->outputs, l->output_count, options.ranges);
    for (const char *c = str_text(&outputs); *c; c++) {
        str_append_char(&text, *c);
        if (*c == '\n' && l->input_count) str_append_fill(&text, ' ', 4);
    }
    if (options.attributes) append_attributes(&text, l);
    append_indented(out, str_text(&text), 4);
    out->failed |= text.failed || outputs.failed;
    str_append_char(out, '\n');
    str_deinit(&outputs);
    str_deinit(&text);
}

static void append_profile_layers(str *out, const pgy_plan_profile *profile, bool detailed,
                                  plan_text_options options)
{
    for (size_t i = 0; i < profile->layer_count; i++) {
        if (detailed)
            append_layer(out, &profile->layers[i], i, options);
        else
            str_printf(out, "\nLayer %-4zu | %s", i, printable_name(profile->layers[i].name));
    }
}

/* Each profile has its own program, and these may have different layers. */
static void append_layers(str *out, const pgy_plan *plan, plan_text_options options)
{
    const char *verbosity = pgy_plan_describe(plan)->verbosity;
    const size_t profiles = pgy_plan_profile_count(plan);
    const size_t first = pgy_plan_profile_at(plan, 0)->layer_count;
    size_t total = 0;
    for (size_t p = 0; p < profiles; p++) total += pgy_plan_profile_at(plan, p)->layer_count;
    const bool even = profiles > 1 && total == first * profiles;
    str_printf(out, "\n\n---- %zu Layer(s)%s ----", even ? first : total,
               even           ? " Per Profile"
               : profiles > 1 ? " In All Profiles"
                              : "");
    if (strcmp(verbosity, "NONE") == 0)
        str_append(out, "\n(the plan was built with config.profiling_verbosity NONE)");
    else if (options.layers)
        for (size_t p = 0; p < profiles; p++) {
            str text = {0};
            if (profiles > 1) str_printf(out, "%s\n- Profile: %zu", p ? "\n" : "", p);
            append_profile_layers(&text, pgy_plan_profile_at(plan, p),
                                  strcmp(verbosity, "DETAILED") == 0, options);
            while (text.size && text.data[text.size - 1] == '\n') text.data[--text.size] = 0;
            if (profiles == 1)
                str_append(out, str_text(&text));
            else if (text.size)
                append_lines(out, str_text(&text) + 1);
            out->failed |= text.failed;
            str_deinit(&text);
        }
}

static pgy_status append_plan(str *out, const pgy_plan *plan, plan_text_options options,
                              pgy_error *err)
{
    const pgy_plan_info *info = pgy_plan_describe(plan);
    str body = {0};
    str_printf(&body,
               "Name: %s | %s%sExplicit Batch Engine | Written by version %s for %s processors",
               printable_name(info->name), info->refittable ? "Refittable " : "",
               info->stripped ? "Stripped " : "", info->library, info->cpu);
    pgy_status st = append_metadata(&body, pgy_plan_inputs(plan), "Input", err);
    if (!st) st = append_metadata(&body, pgy_plan_outputs(plan), "Output", err);
    append_memory(&body, plan);
    append_profiles(&body, plan);
    append_layers(&body, plan, options);
    while (body.size && body.data[body.size - 1] == '\n') body.data[--body.size] = 0;
    str_printf(out, "==== Built-in Engine ====\n%s", str_text(&body));
    if (!st && (body.failed || out->failed))
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while printing the plan");
    str_deinit(&body);
    return st;
}

pgy_status pgy_plan_text(char **out, const pgy_plan *plan, const pgy_describe_options *options,
                         pgy_error *err)
{
    pgy_describe_options o = {0};
    tensor_ranges ranges = {0};
    str text = {0};
    pgy_status st = SIZED_TAKE(pgy_describe_options, &o, options, err);
    const plan_text_options shown = {
        .layers = o.layers, .attributes = o.attributes, .ranges = &ranges};
    if (!st && o.values) st = tensor_ranges_fill(&ranges, o.values, err);
    if (!st) st = append_plan(&text, plan, shown, err);
    if (!st) st = str_give(out, &text, err);
    str_deinit(&text);
    tensor_ranges_deinit(&ranges);
    return st;
}
