/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a configuration field by field, since the caller may free its texts. After the copier runs
 * out of memory it copies nothing more, and the call fails at the end. */
#include "engine/build/config.h"

#include <string.h>

#include "base/sized.h"
#include "engine/build/config_fields.h"

typedef struct copier {
    arena *memory;
    pgy_error *err;
    pgy_status status;
} copier;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a configuration");
}

static void *copy(copier *c, const void *from, size_t count, size_t item_bytes)
{
    if (!count || c->status) return NULL;
    void *made = arena_alloc_array(c->memory, count, item_bytes);
    if (made)
        memcpy(made, from, count * item_bytes);
    else
        c->status = no_memory(c->err);
    return made;
}

static const char *text(copier *c, const char *from)
{
    return from ? copy(c, from, strlen(from) + 1, 1) : NULL;
}

static void names(copier *c, pgy_name_list *list)
{
    const char **items = copy(c, list->items, list->count, sizeof *items);
    for (size_t i = 0; !c->status && i < list->count; i++) items[i] = text(c, items[i]);
    list->items = items;
}

/* ---- By kind: the member at `at` holds the caller's pointers, and gets copies ---------------- */

static void copy_text(copier *c, void *at, size_t count)
{
    (void)count;
    const char **member = at;
    *member = text(c, *member);
}

static void copy_names(copier *c, void *at, size_t count)
{
    (void)count;
    names(c, at);
}

static void copy_types(copier *c, void *at, size_t count)
{
    const pgy_type_choice **member = at;
    pgy_type_choice *made = copy(c, *member, count, sizeof *made);
    for (size_t i = 0; !c->status && i < count; i++) made[i].name = text(c, made[i].name);
    *member = made;
}

static void copy_formats(copier *c, void *at, size_t count)
{
    const pgy_format_choice **member = at;
    pgy_format_choice *made = copy(c, *member, count, sizeof *made);
    for (size_t i = 0; !c->status && i < count; i++) {
        made[i].name = text(c, made[i].name);
        names(c, &made[i].formats);
    }
    *member = made;
}

static void copy_range(copier *c, pgy_profile_range *r)
{
    r->name = text(c, r->name);
    r->min = copy(c, r->min, r->count, sizeof *r->min);
    r->opt = copy(c, r->opt, r->count, sizeof *r->opt);
    r->max = copy(c, r->max, r->count, sizeof *r->max);
}

static void copy_profiles(copier *c, void *at, size_t count)
{
    const pgy_profile **member = at;
    pgy_profile *made = copy(c, *member, count, sizeof *made);
    for (size_t p = 0; !c->status && p < count; p++) {
        pgy_profile_range *ranges = copy(c, made[p].ranges, made[p].range_count, sizeof *ranges);
        for (size_t i = 0; !c->status && i < made[p].range_count; i++) copy_range(c, &ranges[i]);
        made[p].ranges = ranges;
    }
    *member = made;
}

static void copy_calibration(copier *c, void *at, size_t count)
{
    (void)count;
    const pgy_calibration **member = at;
    pgy_calibration known = {.size = sizeof known};
    if (!*member || c->status) return;
    c->status = SIZED_TAKE(pgy_calibration, &known, *member, c->err);
    known.cache = text(c, known.cache);
    *member = copy(c, &known, 1, sizeof known);
}

static void copy_monitor(copier *c, void *at, size_t count)
{
    (void)count;
    const pgy_progress_monitor **member = at;
    pgy_progress_monitor known = {.size = sizeof known};
    if (!*member || c->status) return;
    c->status = SIZED_TAKE(pgy_progress_monitor, &known, *member, c->err);
    *member = copy(c, &known, 1, sizeof known);
}

static void copy_hooks(copier *c, void *at, size_t count)
{
    const pgy_build_hook **member = at;
    *member = copy(c, *member, count, sizeof **member);
}

/* Indexed by config_kind. NULL: a field of this kind needs no deep copy, or what it points to stays
 * the caller's. */
static void (*const COPY[])(copier *c, void *at, size_t count) = {
    [CONFIG_FLAG] = NULL,
    [CONFIG_TEXT] = copy_text,
    [CONFIG_NAMES] = copy_names,
    [CONFIG_TYPES] = copy_types,
    [CONFIG_FORMATS] = copy_formats,
    [CONFIG_PROFILES] = copy_profiles,
    [CONFIG_CALIBRATION] = copy_calibration,
    [CONFIG_MONITOR] = copy_monitor,
    [CONFIG_HOOKS] = copy_hooks,
    [CONFIG_OBJECT] = NULL,
};

pgy_status config_take(pgy_build_config *out, const pgy_build_config *from, pgy_error *err)
{
    *out = (pgy_build_config){.size = sizeof *out};
    pgy_status st = SIZED_TAKE(pgy_build_config, out, from, err);
    for (size_t i = 0; !st && i < config_field_count(); i++) {
        const config_field *f = config_field_at(i);
        if (f->kind != CONFIG_ENUM) continue;
        const int value = *(const int *)((const char *)out + f->offset);
        if ((unsigned)value >= config_name_count(f))
            st = pgy_error_set(err, PGY_E_ARGUMENT,
                               "config.%s is %d; expected a value from 0 to %zu", f->name, value,
                               config_name_count(f) - 1);
    }
    if (!st && !(out->weight_budget_percent >= 0 && out->weight_budget_percent <= 100))
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "config.weight_budget_percent: %g is not between 0 and 100",
                           out->weight_budget_percent);
    return st;
}

pgy_status config_copy(pgy_build_config **out, const pgy_build_config *from, arena *memory,
                       pgy_error *err)
{
    copier c = {.memory = memory, .err = err};
    pgy_build_config known;
    c.status = config_take(&known, from, err);
    pgy_build_config *to = copy(&c, &known, 1, sizeof *to);
    for (size_t i = 0; !c.status && i < config_field_count(); i++) {
        const config_field *f = config_field_at(i);
        const size_t *count = (const size_t *)((char *)to + f->count_offset);
        if (COPY[f->kind]) COPY[f->kind](&c, (char *)to + f->offset, *count);
    }
    if (!c.status) *out = to;
    return c.status;
}

pgy_status config_cpu_level(cpu_level *out, const pgy_build_config *config, pgy_error *err)
{
    static const cpu_level LEVELS[] = {[PGY_CPU_PORTABLE] = CPU_PORTABLE,
                                       [PGY_CPU_AVX2] = CPU_AVX2,
                                       [PGY_CPU_AVX512] = CPU_AVX512};
    const cpu_level has = cpu_features();
    *out = has;
    if (config->cpu_level == PGY_CPU_NATIVE) return PGY_OK;
    *out = LEVELS[config->cpu_level];
    if (*out <= has) return PGY_OK;
    return pgy_error_set(err, PGY_E_UNSUPPORTED,
                         "config.cpu_level asks for a plan for processors with %s, but this "
                         "processor has %s: build the plan on such a processor",
                         cpu_level_name(*out), cpu_level_name(has));
}
