/* SPDX-License-Identifier: Apache-2.0 */
/* Copies member by member: a configuration is given by somebody whose texts may go away. A copy
 * that ran out of memory is sticky: nothing more is copied, and the whole fails at the end. */
#include "engine/build/config.h"

#include <string.h>

typedef struct copier {
    arena *memory;
    bool failed;
} copier;

static void *copy(copier *c, const void *from, size_t count, size_t item_bytes)
{
    if (!count) return NULL;
    void *made = c->failed ? NULL : arena_alloc_array(c->memory, count, item_bytes);
    c->failed |= !made;
    if (made) memcpy(made, from, count * item_bytes);
    return made;
}

static const char *text(copier *c, const char *from)
{
    return from ? copy(c, from, strlen(from) + 1, 1) : NULL;
}

static void names(copier *c, pgy_name_list *list)
{
    const char **items = copy(c, list->items, list->count, sizeof *items);
    for (size_t i = 0; !c->failed && i < list->count; i++) items[i] = text(c, items[i]);
    list->items = items;
}

static void profiles(copier *c, pgy_build_config *to)
{
    pgy_profile *made = copy(c, to->profiles, to->profile_count, sizeof *made);
    for (size_t p = 0; !c->failed && p < to->profile_count; p++) {
        pgy_profile_range *ranges = copy(c, made[p].ranges, made[p].range_count, sizeof *ranges);
        for (size_t i = 0; !c->failed && i < made[p].range_count; i++) {
            pgy_profile_range *r = &ranges[i];
            r->name = text(c, r->name);
            r->min = copy(c, r->min, r->count, sizeof *r->min);
            r->opt = copy(c, r->opt, r->count, sizeof *r->opt);
            r->max = copy(c, r->max, r->count, sizeof *r->max);
        }
        made[p].ranges = ranges;
    }
    to->profiles = made;
}

static const pgy_type_choice *types(copier *c, const pgy_type_choice *from, size_t count)
{
    pgy_type_choice *made = copy(c, from, count, sizeof *made);
    for (size_t i = 0; !c->failed && i < count; i++) made[i].name = text(c, made[i].name);
    return made;
}

static void formats(copier *c, pgy_build_config *to)
{
    const size_t count = to->tensor_format_count;
    pgy_format_choice *made = copy(c, to->tensor_formats, count, sizeof *made);
    for (size_t i = 0; !c->failed && i < count; i++) {
        made[i].name = text(c, made[i].name);
        names(c, &made[i].formats);
    }
    to->tensor_formats = made;
}

pgy_status config_copy(pgy_build_config **out, const pgy_build_config *from, arena *memory,
                       pgy_error *err)
{
    static const pgy_build_config DEFAULTS = {.size = sizeof DEFAULTS};
    copier c = {.memory = memory};
    pgy_build_config *to = copy(&c, from ? from : &DEFAULTS, 1, sizeof *to);
    if (to) {
        profiles(&c, to);
        to->save_tactics = text(&c, to->save_tactics);
        to->load_tactics = text(&c, to->load_tactics);
        to->load_timing_cache = text(&c, to->load_timing_cache);
        to->save_timing_cache = text(&c, to->save_timing_cache);
        to->layer_types = types(&c, to->layer_types, to->layer_type_count);
        to->tensor_types = types(&c, to->tensor_types, to->tensor_type_count);
        formats(&c, to);
        to->save_quantized = text(&c, to->save_quantized);
        names(&c, &to->debug_tensors);
        names(&c, &to->flags);
        names(&c, &to->tactic_sources);
        names(&c, &to->preview_features);
        names(&c, &to->quantization_flags);
        to->engine_capability = text(&c, to->engine_capability);
        to->profiling_verbosity = text(&c, to->profiling_verbosity);
    }
    if (c.failed) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a configuration");
    *out = to;
    return PGY_OK;
}

pgy_status config_cpu_level(cpu_level *out, const pgy_build_config *config, pgy_error *err)
{
    static const cpu_level LEVELS[] = {[PGY_CPU_PORTABLE] = CPU_PORTABLE,
                                       [PGY_CPU_AVX2] = CPU_AVX2,
                                       [PGY_CPU_AVX512] = CPU_AVX512};
    const cpu_level has = cpu_features();
    *out = has;
    if (config->cpu_level == PGY_CPU_NATIVE) return PGY_OK;
    if ((unsigned)config->cpu_level > PGY_CPU_AVX512)
        return pgy_error_set(err, PGY_E_ARGUMENT, "there is no processor level %d",
                             (int)config->cpu_level);
    *out = LEVELS[config->cpu_level];
    if (*out <= has) return PGY_OK;
    return pgy_error_set(err, PGY_E_UNSUPPORTED,
                         "a plan for processors with %s cannot be built here: this one has %s",
                         cpu_level_name(*out), cpu_level_name(has));
}
