/* SPDX-License-Identifier: Apache-2.0 */
/* Searches how many layers must compute in a higher precision. */
#include <inttypes.h>
#include <string.h>

#include <polygraphy/debug.h>
#include <polygraphy/engine.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/sized.h"
#include "base/str.h"
#include "debug/layers.h"
#include "debug/marking.h"

static const char LOG_PATH[] = "tools/debug/subtool/precision.py";

typedef struct finder {
    const pgy_debug_precision_options *options;
    pgy_debug_session *session;
    debug_layers layers;
    marking order;
    pgy_type_choice *choices; /* those of the configuration, then those of the trial */
    bool other_replay;        /* the replay has a trial of another search */
    int64_t other_trial;
} finder;

/* ---- The layers of a trial ------------------------------------------------------------------ */

static const char *which_end(const finder *f)
{
    if (f->options->error_count) return "worst";
    return f->options->reverse ? "last" : "first";
}

/* Calls the layers of a trial by number: those from *begin to *end. */
static void trial_range(const finder *f, size_t count, size_t *begin, size_t *end)
{
    if (count > f->layers.count) count = f->layers.count;
    *begin = f->options->reverse ? f->layers.count - count : 0;
    *end = *begin + count;
}

/* Adds a choice for each layer of the trial; returns their number. */
static size_t choose_layers(pgy_type_choice *out, const finder *f, size_t count)
{
    size_t begin, end, chosen = 0;
    trial_range(f, count, &begin, &end);
    for (size_t i = begin; i < end; i++)
        if (f->layers.items[i].is_markable)
            out[chosen++] = (pgy_type_choice){f->layers.items[i].name, f->options->dtype};
    return chosen;
}

static void log_choice(const finder *f, const pgy_type_choice *choices, size_t count)
{
    str names = {0};
    LOG(INFO, "Building with the %s %zu of %zu layer(s) in %s", which_end(f), f->order.count,
        f->layers.count, pgy_dtype_name(f->options->dtype));
    if (count < f->order.count)
        LOG(VERBOSE, "%zu of these layers keep their types: constants, and outputs of other types",
            f->order.count - count);
    for (size_t i = 0; i < count; i++) str_printf(&names, "%s%s", i ? ", " : "", choices[i].name);
    if (count)
        LOG(VERBOSE, "Layers in %s: %s", pgy_dtype_name(f->options->dtype), str_text(&names));
    str_deinit(&names);
}

/* ---- Trials --------------------------------------------------------------------------------- */

static pgy_status build(const finder *f, const pgy_build_config *config, pgy_error *err)
{
    const pgy_debug_precision_options *o = f->options;
    const char *path = pgy_debug_session_candidate(f->session);
    return o->build ? o->build(path, f->layers.model, config, o->user, err)
                    : pgy_plan_build(path, f->layers.model, config, err);
}

/* A build that fails counts as a failed trial, unless the plan could not be written. */
static pgy_status make(bool *made, pgy_debug_trial *trial, void *user, pgy_error *err)
{
    finder *f = user;
    pgy_build_config config = *f->options->config;
    pgy_error why = {0};
    const size_t given = config.layer_type_count;
    const size_t chosen = choose_layers(f->choices + given, f, f->order.count);
    config.layer_types = f->choices;
    config.layer_type_count = given + chosen;
    log_choice(f, f->choices + given, chosen);
    trial->state[0] = (pgy_debug_number){"num_layers", (int64_t)f->order.count};
    trial->state[1] = (pgy_debug_number){"max_layers", (int64_t)f->layers.count};
    trial->state_count = 2;
    const pgy_status st = build(f, &config, &why);
    *made = st == PGY_OK;
    if (status_ends_all(st) || st == PGY_E_IO) return pgy_error_set(err, st, "%s", why.text);
    if (st) LOG(WARNING, "The build failed, so this iteration counts as failed: %s", why.text);
    return PGY_OK;
}

/* A replay of the original has no numbers, so it is believed. */
static bool is_of_this_search(const finder *f, const pgy_debug_trial *trial)
{
    bool same = true;
    for (size_t i = 0; i < trial->state_count; i++) {
        const pgy_debug_number *n = &trial->state[i];
        if (strcmp(n->name, "num_layers") == 0) same &= n->value == (int64_t)f->order.count;
        if (strcmp(n->name, "max_layers") == 0) same &= n->value == (int64_t)f->layers.count;
        if (strcmp(n->name, "num_nodes") == 0) same = false;
    }
    return same;
}

static bool next(const pgy_debug_trial *trial, void *user)
{
    finder *f = user;
    f->other_replay = !is_of_this_search(f, trial);
    f->other_trial = trial->index;
    return !f->other_replay && marking_next(&f->order, trial->passed);
}

static int64_t remaining(void *user)
{
    return marking_remaining(&((finder *)user)->order);
}

static pgy_status run_trials(finder *f, pgy_error *err)
{
    const pgy_debug_search search = {
        .size = sizeof search, .make = make, .next = next, .remaining = remaining, .user = f};
    pgy_debug_summary sum;
    const pgy_status st = pgy_debug_session_run(&sum, f->session, &search, err);
    if (st || !f->other_replay) return st;
    return pgy_error_set(err, PGY_E_FORMAT,
                         "debug.load_replay: trial %" PRId64
                         " of the replay is not the one of this search, which tries %zu of %zu "
                         "layers there; load a replay of the same model, mode and direction",
                         f->other_trial, f->order.count, f->layers.count);
}

/* ---- The result ----------------------------------------------------------------------------- */

typedef struct found_names {
    arena memory;
    const char **items;
} found_names;

static pgy_status fill_result(pgy_debug_precision *out, const finder *f, pgy_error *err)
{
    pgy_type_choice *choices = f->choices + f->options->config->layer_type_count;
    *out = (pgy_debug_precision){.layer_count = f->layers.count, .found = f->order.passed};
    if (!out->found) return PGY_OK;
    found_names *names = mem_calloc(1, sizeof *names);
    bool good = names != NULL;
    out->count = f->order.good;
    const size_t chosen = choose_layers(choices, f, out->count);
    if (names) names->items = arena_alloc_array(&names->memory, chosen + 1, sizeof *names->items);
    good = good && names->items;
    for (size_t i = 0; good && i < chosen; i++)
        good = (names->items[i] = arena_strdup(&names->memory, choices[i].name)) != NULL;
    out->internal = names;
    if (!good) {
        pgy_debug_precision_free(out);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for names of layers");
    }
    out->names = names->items;
    out->name_count = chosen;
    return PGY_OK;
}

static void log_result(const finder *f)
{
    if (!f->order.passed) {
        LOG(ERROR, "No number of layers in %s made the check pass; it fails with %s%zu, too",
            pgy_dtype_name(f->options->dtype), f->order.most < f->layers.count ? "" : "all ",
            f->order.most);
        return;
    }
    LOG(INFO, "To achieve acceptable accuracy, try running the %s %zu layer(s) in higher precision",
        which_end(f), f->order.good);
    if (!f->order.linear && f->order.good == 1)
        LOG(INFO, "Bisection does not try 0 layers: the model may pass as it is; --mode linear "
                  "tries that first");
}

void pgy_debug_precision_free(pgy_debug_precision *p)
{
    found_names *names = p->internal;
    if (names) arena_deinit(&names->memory);
    mem_free(names);
    *p = (pgy_debug_precision){0};
}

/* ---- The search ----------------------------------------------------------------------------- */

static pgy_status check_types(pgy_debug_precision_options *o, pgy_error *err)
{
    if (o->error_count && o->reverse)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "precision.reverse: layers in the order of their errors have no "
                             "other direction");
    if (o->dtype == PGY_DTYPE_NONE) o->dtype = PGY_F32;
    if (o->dtype != PGY_F32 && o->dtype != PGY_F16)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "precision.dtype: %s is no higher precision; expected float32 or "
                             "float16",
                             pgy_dtype_name(o->dtype));
    const pgy_build_config *c = o->config;
    if (o->dtype == PGY_F16 && !c->fp16)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "precision.dtype: float16 needs config.fp16, so that layers may "
                             "compute in it");
    if (!c->tf32 && !c->fp16 && !c->int8)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "config.tf32, config.fp16 and config.int8 are all off: without a lower "
            "precision there is nothing to search; set one of them");
    if (o->dtype == PGY_F16 && !c->int8)
        LOG(WARNING, "The higher precision is float16, but int8 is not allowed, so the other "
                     "layers do not compute in a lower precision");
    return PGY_OK;
}

static pgy_status search(pgy_debug_precision *out, finder *f, pgy_error *err)
{
    const pgy_build_config *c = f->options->config;
    f->choices = mem_calloc(c->layer_type_count + f->layers.count + 1, sizeof *f->choices);
    if (!f->choices) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for types of layers");
    if (c->layer_type_count)
        memcpy(f->choices, c->layer_types, c->layer_type_count * sizeof *f->choices);
    const size_t limit = f->options->limit;
    f->order = marking_start(limit && limit < f->layers.count ? limit : f->layers.count,
                             f->options->linear);
    const pgy_status st = run_trials(f, err);
    if (st == PGY_E_CANCELLED && f->order.passed)
        LOG(WARNING, "So far the check passed with the %s %zu layer(s) in higher precision",
            which_end(f), f->order.good);
    if (st) return st;
    log_result(f);
    return fill_result(out, f, err);
}

pgy_status pgy_debug_precision_find(pgy_debug_precision *out, pgy_debug_session *s,
                                    pgy_model *model, const pgy_debug_precision_options *options,
                                    pgy_error *err)
{
    pgy_debug_precision_options taken = {.size = sizeof taken};
    pgy_build_config config = {.size = sizeof config};
    finder f = {.options = &taken, .session = s};
    pgy_status st = SIZED_TAKE(pgy_debug_precision_options, &taken, options, err);
    if (!st) st = SIZED_TAKE(pgy_build_config, &config, taken.config, err);
    config.size = sizeof config;
    taken.config = &config;
    if (!st) st = check_types(&taken, err);
    if (!st && !pgy_debug_session_candidate(s))
        st = pgy_error_set(err, PGY_E_ARGUMENT, "debug.candidate: a path for the plans is needed");
    if (!st) st = debug_layers_list(&f.layers, model, err);
    if (!st && !f.layers.count) st = pgy_error_set(err, PGY_E_ARGUMENT, "the model has no layers");
    if (!st && taken.error_count) debug_layers_sort(&f.layers, taken.errors, taken.error_count);
    if (!st) st = search(out, &f, err);
    mem_free(f.choices);
    debug_layers_deinit(&f.layers);
    return st;
}
