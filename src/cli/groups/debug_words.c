/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a line that `run` needs to judge in the same way, as words. All options of the
 * groups are passed on; those for which that is impossible are refused. */
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/groups/debug_judge.h"
#include "cli/groups/operators.h"
#include "cli/groups/runners.h"
#include "cli/groups/trt.h"

/* What happens to options that are not simply copied. */
typedef enum treatment {
    COPY,
    MAKE_ABSOLUTE, /* the path of a file that is read; the words are used in other folders */
    OMIT,          /* no effect, or contained in another option */
    REFUSE         /* each iteration would write the file, or open a window */
} treatment;

static const struct {
    const char *option;
    treatment treatment;
} SPECIAL[] = {
    {"--compare-func-script", MAKE_ABSOLUTE},
    {"--compare-func-name", OMIT}, /* is part of --compare-func-script by now */
    {"--op-library", MAKE_ABSOLUTE},
    {"--calibration-cache", MAKE_ABSOLUTE},
    {"--load-timing-cache", MAKE_ABSOLUTE},
    {"--load-tactics", MAKE_ABSOLUTE},
    {"--trt-config-postprocess-script", MAKE_ABSOLUTE},
    {"--quantization-flags", OMIT},
    {"--preview-features", OMIT},
    {"--timing-cache", REFUSE},
    {"--tactic-replay", REFUSE},
    {"--save-accuracy-results", REFUSE},
    {"--save-heatmaps", REFUSE},
    {"--show-heatmaps", REFUSE},
    {"--save-error-metrics-plot", REFUSE},
    {"--show-error-metrics-plot", REFUSE},
    {"--save-tactics", REFUSE},
    {"--save-quantized", REFUSE},
};

static treatment treatment_of(const char *option)
{
    for (size_t i = 0; i < sizeof SPECIAL / sizeof *SPECIAL; i++)
        if (strcmp(SPECIAL[i].option, option) == 0) return SPECIAL[i].treatment;
    return COPY;
}

typedef struct words {
    const char **items;
    size_t count, capacity;
    arena *memory;
} words;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for options");
}

static pgy_status add(words *w, const char *word, pgy_error *err)
{
    if (!word) return no_memory(err);
    if (w->count == w->capacity) {
        const size_t capacity = w->capacity ? 2 * w->capacity : 32;
        const char **items = arena_alloc_array(w->memory, capacity, sizeof *items);
        if (!items) return no_memory(err);
        if (w->count) memcpy(items, w->items, w->count * sizeof *items);
        w->items = items;
        w->capacity = capacity;
    }
    w->items[w->count++] = word;
    return PGY_OK;
}

static pgy_status add_value(words *w, const char *value, treatment how, pgy_error *err)
{
    if (how != MAKE_ABSOLUTE) return add(w, value, err);
    char *path = path_absolute(value);
    const pgy_status st = path ? add(w, arena_strdup(w->memory, path), err) : no_memory(err);
    mem_free(path);
    return st;
}

/* A value that begins with '-' would be taken for an option. */
static pgy_status add_text(words *w, const char *option, const char *value, treatment how,
                           pgy_error *err)
{
    if (value[0] == '-') return add(w, arena_printf(w->memory, "%s=%s", option, value), err);
    const pgy_status st = add(w, option, err);
    return st ? st : add_value(w, value, how, err);
}

/* A NULL item ends the words of one use of the option. */
static pgy_status add_list(words *w, const char *option, const pgy_text_list *list, treatment how,
                           pgy_error *err)
{
    pgy_status st = add(w, option, err);
    for (size_t i = 0; !st && i < list->count; i++) {
        if (list->items[i])
            st = add_value(w, list->items[i], how, err);
        else if (i + 1 < list->count)
            st = add(w, option, err);
    }
    return st;
}

/* Has the line set the member to another value than the default? */
static bool is_given(const pgy_option *o, const void *settings, const void *defaults)
{
    const char *now = (const char *)settings + o->offset;
    const char *before = (const char *)defaults + o->offset;
    switch (o->kind) {
    case PGY_OPTION_FLAG: return *(const bool *)now && !*(const bool *)before;
    case PGY_OPTION_INT: return *(const int64_t *)now != *(const int64_t *)before;
    case PGY_OPTION_TEXT:
        return *(const char *const *)now &&
               *(const char *const *)now != *(const char *const *)before;
    case PGY_OPTION_LIST:
    case PGY_OPTION_APPEND: return ((const pgy_text_list *)now)->given;
    default: return false;
    }
}

static pgy_status add_option(words *w, const pgy_option *o, const char *member, pgy_error *err)
{
    span first;
    if (!option_spelling(&first, o, 0)) return PGY_OK;
    const char *name = arena_printf(w->memory, "%.*s", (int)first.size, first.data);
    if (!name) return no_memory(err);
    const treatment how = treatment_of(name);
    if (how == OMIT) return PGY_OK;
    if (how == REFUSE)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "%s does not apply to the search of --on and --check-with; leave it "
                             "out, and add it to a `run` of the reduced model",
                             name);
    switch (o->kind) {
    case PGY_OPTION_FLAG: return add(w, name, err);
    case PGY_OPTION_INT:
        return add(w, arena_printf(w->memory, "%s=%lld", name, (long long)*(const int64_t *)member),
                   err);
    case PGY_OPTION_TEXT: return add_text(w, name, *(const char *const *)member, how, err);
    default: return add_list(w, name, (const pgy_text_list *)member, how, err);
    }
}

/* An older spelling has a row of its own for the same member. */
static bool is_repeated(const option_group *g, const pgy_option *row)
{
    for (const pgy_option *o = g->options; o < row; o++)
        if (o->offset == row->offset) return true;
    return false;
}

static pgy_status add_group(words *w, const option_group *g, const args *line, pgy_error *err)
{
    const void *settings = args_get(line, g);
    if (!settings) return PGY_OK;
    void *defaults = mem_calloc(1, g->settings_size);
    pgy_status st = defaults ? PGY_OK : no_memory(err);
    if (!st && g->defaults) g->defaults(defaults);
    for (const pgy_option *o = g->options; !st && o->kind != PGY_OPTION_END; o++)
        if (!is_repeated(g, o) && is_given(o, settings, defaults))
            st = add_option(w, o, (const char *)settings + o->offset, err);
    mem_free(defaults);
    return st;
}

static pgy_status refuse_unused(const option_group *g, const args *line, pgy_error *err)
{
    const void *settings = args_get(line, g);
    if (!settings) return PGY_OK;
    void *defaults = mem_calloc(1, g->settings_size);
    pgy_status st = defaults ? PGY_OK : no_memory(err);
    span first;
    if (!st && g->defaults) g->defaults(defaults);
    for (const pgy_option *o = g->options; !st && o->kind != PGY_OPTION_END; o++)
        if (is_given(o, settings, defaults) && option_spelling(&first, o, 0))
            st = pgy_error_set(err, PGY_E_ARGUMENT, "%.*s needs --check-with", (int)first.size,
                               first.data);
    mem_free(defaults);
    return st;
}

pgy_status cli_judge_unused(const args *line, pgy_error *err)
{
    const pgy_status st = refuse_unused(&GROUP_COMPARE_SAVED, line, err);
    return st ? st : refuse_unused(&GROUP_FUNCTIONS, line, err);
}

/* Ranges come from the data of the line. A process of its own has the inputs of a part instead. */
static pgy_status check_calibration(const args *line, pgy_error *err)
{
    const judge_args *s = ARGS_OF(line, judge_args);
    const trt_config_args *c = ARGS_OF(line, trt_config_args);
    if (!c->config.int8 || c->calibration_cache || !runner_has(s->runner, PGY_BACKEND_BUILDS_PLANS))
        return PGY_OK;
    if (!s->repro && s->outcome != PGY_DEBUG_CRASH) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "%s with --int8 needs --calibration-cache: other data would give other "
                         "ranges; save the whole model's with `run --int8 --calibration-cache`",
                         s->repro ? "--repro" : "--on crash");
}

pgy_status cli_judge_words(cli_judge *j, bool compared, args *line, pgy_error *err)
{
    const option_group *const comparing[] = {&GROUP_COMPARE_SAVED, &GROUP_FUNCTIONS, NULL};
    const option_group *const running[] = {&GROUP_OPERATORS, &GROUP_TRT_CONFIG,
                                           group_backend_options(j->runner), NULL};
    words w = {.memory = &line->memory};
    pgy_status st = check_calibration(line, err);
    for (size_t i = 0; !st && comparing[i]; i++) st = add_group(&w, comparing[i], line, err);
    if (!compared) w.count = 0;
    j->compare_word_count = w.count;
    for (size_t i = 0; !st && running[i]; i++) st = add_group(&w, running[i], line, err);
    j->words = w.items;
    j->word_count = w.count;
    return st;
}
