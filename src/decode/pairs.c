/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which output of a step is which cache of the next: by the caller's patterns of names, by
 * those of the known exporters, else by the order of what is left. */
#include <string.h>

#include "decode/decode.h"

/* In this order; an input takes the first pattern that leads to an output. */
static const char *const PATTERNS[][2] = {
    {"past_key_values.*", "present.*"},            /* Optimum, onnxruntime-genai */
    {"past_key_values.*", "present_key_values.*"}, /* torch */
    {"past_key_values.*", "past_key_values_out.*"},
    {"past_key_values_*", "present_key_values_*"},
    {"past_key_values_*", "present_*"},
    {"past.*", "present.*"},
    {"past_*", "present_*"}, /* GPT-2, Whisper of ONNX Runtime's converters */
    {"*past*", "*present*"},
    {"*_in", "*_out"},
    {"*.in", "*.out"},
    {"*_input", "*_output"},
    {"in_*", "out_*"},
    {"*", "present_*"},
    {"*", "new_*"},
    {"*", "next_*"},
    {"*", "updated_*"},
    {"*", "out_*"},
    {"*", "*_out"},
    {"*", "*.out"},
    {"*", "*_new"},
    {"*", "*_next"},
    {"*", "*_output"},
};

static pgy_status out_of_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* Cross attention's keys depend on the encoder alone, so the prefill makes them for all steps. */
static bool is_once(const char *name)
{
    return str_contains_nocase(name, ".encoder.") || str_contains_nocase(name, "cross");
}

static const decode_cache *find_by_output(const decode_plan *p, const char *output)
{
    for (size_t i = 0; i < p->cache_count; i++)
        if (!strcmp(p->caches[i].output, output)) return &p->caches[i];
    return NULL;
}

static pgy_status check_types(const pgy_tensor_info *in, const pgy_tensor_info *out, pgy_error *err)
{
    const bool ranks = in->rank == out->rank || in->rank < 0 || out->rank < 0;
    if (ranks && (in->dtype == out->dtype || !in->dtype || !out->dtype)) return PGY_OK;
    return pgy_error_set(err, PGY_E_TYPE,
                         "output '%s' cannot be the next '%s': it is %s of rank %d, but the input "
                         "is %s of rank %d",
                         out->name, in->name, pgy_dtype_name(out->dtype), (int)out->rank,
                         pgy_dtype_name(in->dtype), (int)in->rank);
}

static pgy_status add_pair(decode_plan *p, size_t input, const pgy_tensor_info *out, pgy_error *err)
{
    decode_input *in = &p->inputs[input];
    const decode_cache *taken = find_by_output(p, out->name);
    if (taken)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "decode.caches: output '%s' would feed two inputs, '%s' and '%s'; "
                             "give each input its own output",
                             out->name, p->inputs[taken->input].info->name, in->info->name);
    const pgy_status st = check_types(in->info, out, err);
    if (st) return st;
    in->role = ROLE_CACHE;
    in->cache = p->cache_count;
    p->caches[p->cache_count++] =
        (decode_cache){.input = input, .output = out->name, .once = is_once(in->info->name)};
    return PGY_OK;
}

static pgy_status note_pattern(decode_plan *p, const char *from, const char *to, pgy_error *err)
{
    str text = {0};
    str_printf(&text, "%s=%s", from, to);
    const bool known = strvec_contains(&p->patterns, str_text(&text));
    const bool kept = !text.failed && (known || strvec_push(&p->patterns, str_text(&text)));
    str_deinit(&text);
    return kept ? PGY_OK : out_of_memory(err);
}

/* ---- The caller's patterns --------------------------------------------------------------------
 */

static pgy_status no_match(const decode_plan *p, const pgy_metadata *outputs, const char *pattern,
                           pgy_error *err)
{
    str names = {0};
    for (size_t i = 0; i < p->input_count; i++)
        str_printf(&names, "%s'%s'", i ? ", " : "", p->inputs[i].info->name);
    str_append(&names, "; the outputs are ");
    for (size_t i = 0; i < pgy_metadata_count(outputs); i++)
        str_printf(&names, "%s'%s'", i ? ", " : "", pgy_metadata_at(outputs, i)->name);
    const pgy_status st = pgy_error_set(err, PGY_E_ARGUMENT,
                                        "decode.caches: '%s' matches no pair of an input and an "
                                        "output; the inputs are %s",
                                        pattern, str_text(&names));
    str_deinit(&names);
    return st;
}

/* The input of a pair that exists, but whose input has a role that caches cannot have; else NULL.
 */
static const pgy_tensor_info *find_other(str *name, const decode_plan *p,
                                         const pgy_metadata *outputs, const char *from,
                                         const char *to)
{
    for (size_t i = 0; i < p->input_count; i++)
        if (pattern_map(name, p->inputs[i].info->name, from, to) &&
            pgy_metadata_find(outputs, str_text(name)))
            return p->inputs[i].info;
    return NULL;
}

static pgy_status refuse_other(const pgy_tensor_info *in, const char *pattern, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "decode.caches: '%s' would feed input '%s', which has a role of its own, "
                         "as token ids and masks do; if it is a cache, give it the role 'constant' "
                         "with decode.roles",
                         pattern, in->name);
}

static pgy_status use_given(decode_plan *p, const pgy_metadata *outputs, const char *pattern,
                            pgy_error *err)
{
    const char *from = NULL, *to = NULL;
    size_t found = 0;
    str name = {0};
    pgy_status st = pattern_split(&from, &to, pattern, &p->memory, err);
    for (size_t i = 0; !st && i < p->input_count; i++) {
        const char *input = p->inputs[i].info->name;
        const decode_role role = p->inputs[i].role;
        if (role != ROLE_CONSTANT && role != ROLE_CACHE) continue;
        if (!pattern_map(&name, input, from, to)) continue;
        const pgy_tensor_info *out = pgy_metadata_find(outputs, str_text(&name));
        if (!out) continue;
        found++;
        if (p->inputs[i].role == ROLE_CACHE &&
            !strcmp(p->caches[p->inputs[i].cache].output, out->name))
            continue;
        if (p->inputs[i].role == ROLE_CACHE)
            st = pgy_error_set(err, PGY_E_ARGUMENT,
                               "decode.caches: two outputs would feed input '%s', '%s' and '%s'; "
                               "give it one",
                               input, p->caches[p->inputs[i].cache].output, out->name);
        else
            st = add_pair(p, i, out, err);
    }
    if (!st && name.failed) st = out_of_memory(err);
    const pgy_tensor_info *other = !st && !found ? find_other(&name, p, outputs, from, to) : NULL;
    if (!st && !found)
        st = other ? refuse_other(other, pattern, err) : no_match(p, outputs, pattern, err);
    if (!st) st = note_pattern(p, from, to, err);
    str_deinit(&name);
    return st;
}

/* ---- Known patterns ----------------------------------------------------------------------------
 */

static bool may_be_cache(const decode_input *in, const pgy_decode_options *o)
{
    if (in->role != ROLE_CONSTANT || pgy_dtype_is_integer(in->info->dtype)) return false;
    for (size_t i = 0; i < o->role_count; i++)
        if (!strcmp(o->roles[i].name, in->info->name)) return false;
    return true;
}

static pgy_status use_known(decode_plan *p, const pgy_metadata *outputs,
                            const pgy_decode_options *o, pgy_error *err)
{
    str name = {0};
    pgy_status st = PGY_OK;
    for (size_t k = 0; !st && k < sizeof PATTERNS / sizeof *PATTERNS; k++) {
        const char *from = PATTERNS[k][0], *to = PATTERNS[k][1];
        for (size_t i = 0; !st && i < p->input_count; i++) {
            if (!may_be_cache(&p->inputs[i], o)) continue;
            if (!pattern_map(&name, p->inputs[i].info->name, from, to)) continue;
            const pgy_tensor_info *out = pgy_metadata_find(outputs, str_text(&name));
            if (!out || find_by_output(p, out->name) || check_types(p->inputs[i].info, out, NULL))
                continue;
            st = add_pair(p, i, out, err);
            if (!st) st = note_pattern(p, from, to, err);
        }
    }
    if (!st && name.failed) st = out_of_memory(err);
    str_deinit(&name);
    return st;
}

/* ---- By order ----------------------------------------------------------------------------------
 */

static bool is_left_input(const decode_input *in, const pgy_decode_options *o)
{
    return may_be_cache(in, o) && role_is_cache_name(in->info->name) && !is_once(in->info->name);
}

static bool is_left_output(const decode_plan *p, const pgy_tensor_info *out,
                           const pgy_tensor_info *like)
{
    const bool logits = out == p->logits || !strcmp(out->name, "logits");
    return !logits && out->dtype == like->dtype && out->rank == like->rank &&
           !find_by_output(p, out->name);
}

/* Outputs of torch's exporter may have names of nodes: if as many outputs as caches are left, of
 * their type and rank, they belong together in order. */
static pgy_status use_order(decode_plan *p, const pgy_metadata *outputs,
                            const pgy_decode_options *o, pgy_error *err)
{
    const pgy_tensor_info *like = NULL;
    size_t inputs = 0, left = 0;
    for (size_t i = 0; i < p->input_count; i++) {
        if (!is_left_input(&p->inputs[i], o)) continue;
        if (like &&
            (like->dtype != p->inputs[i].info->dtype || like->rank != p->inputs[i].info->rank))
            return PGY_OK;
        like = p->inputs[i].info;
        inputs++;
    }
    if (!inputs || like->rank < 3) return PGY_OK;
    for (size_t i = 0; i < pgy_metadata_count(outputs); i++)
        left += is_left_output(p, pgy_metadata_at(outputs, i), like);
    if (left != inputs) return PGY_OK;
    pgy_status st = PGY_OK;
    for (size_t i = 0, k = 0; !st && i < p->input_count; i++) {
        if (!is_left_input(&p->inputs[i], o)) continue;
        while (!is_left_output(p, pgy_metadata_at(outputs, k), like)) k++;
        const pgy_tensor_info *out = pgy_metadata_at(outputs, k++);
        st = add_pair(p, i, out, err);
        if (!st) st = note_pattern(p, p->inputs[i].info->name, out->name, err);
    }
    return st;
}

/* An input that looks like a cache, but would stay constant, makes every step wrong. */
static pgy_status check_left(const decode_plan *p, const pgy_decode_options *o, pgy_error *err)
{
    for (size_t i = 0; i < p->input_count; i++) {
        const decode_input *in = &p->inputs[i];
        if (!is_left_input(in, o) || in->info->rank < 3) continue;
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "no output is known to feed the cache '%s'; name the pair with "
                             "decode.caches ('input=output'), or give the input the role "
                             "'constant' with decode.roles",
                             in->info->name);
    }
    return PGY_OK;
}

/* ---- Which dimension grows ---------------------------------------------------------------------
 */

static bool is_batch(const decode_plan *p, const pgy_tensor_info *t, int32_t axis, bool first)
{
    const char *name = t->dim_names ? t->dim_names[axis] : NULL;
    if (!name) return first && axis < 2;
    return (p->batch_name && !strcmp(name, p->batch_name)) || str_contains_nocase(name, "batch");
}

/* Of the dynamic dimensions one may be the batch, and one may grow. Without names the batch is the
 * first of two, or dimension 0. */
static void find_axes(decode_cache *c, const decode_plan *p, const pgy_tensor_info *t)
{
    int dynamic = 0;
    c->axis = c->batch_axis = -1;
    for (int32_t d = 0; d < t->rank; d++) dynamic += t->shape[d] < 0;
    bool first = dynamic > 1 || (t->rank > 0 && t->shape[0] < 0);
    for (int32_t d = 0; d < t->rank; d++) {
        if (t->shape[d] >= 0) continue;
        if (c->batch_axis < 0 && is_batch(p, t, d, first))
            c->batch_axis = d;
        else if (c->axis < 0)
            c->axis = d;
        else
            c->is_unclear = true;
        first = false;
    }
    c->is_unclear |= t->rank < 0;
}

pgy_status pairs_find(decode_plan *p, const pgy_metadata *outputs,
                      const pgy_decode_options *options, pgy_error *err)
{
    pgy_status st = PGY_OK;
    p->caches = arena_alloc_array(&p->memory, p->input_count + 1, sizeof *p->caches);
    if (!p->caches) return out_of_memory(err);
    for (size_t i = 0; !st && i < options->cache_count; i++)
        st = use_given(p, outputs, options->caches[i], err);
    if (!st && !options->cache_count) st = use_known(p, outputs, options, err);
    if (!st && !options->cache_count) st = use_order(p, outputs, options, err);
    if (!st) st = check_left(p, options, err);
    for (size_t i = 0; !st && i < p->cache_count; i++)
        find_axes(&p->caches[i], p, p->inputs[p->caches[i].input].info);
    return st;
}
