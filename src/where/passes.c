/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the pass of the built-in engine that makes outputs differ, and within it the first rewrite
 * that does. */
#include <stdlib.h>
#include <string.h>

#include <polygraphy/engine_runner.h>

#include "base/sized.h"
#include "runner/options.h"
#include "where/passes_report.h"
#include "where/passes_trial.h"

enum { MAX_PASSES = 64 };

typedef struct pass_search {
    trials trials;
    pgy_rewrite_report *report;
    pgy_build_config config; /* for the next trial */
    const char *given;       /* passes that the caller leaves out */
    size_t count;            /* number of passes */
    /* The rewrite that the watch waits for, and the passes' number of rewrites: */
    size_t pass, rewrite, seen;
    pgy_rewrite_culprit *culprit; /* NULL: only count */
} pass_search;

/* "fuse_gelu", "fold#2" */
static void append_name(str *out, size_t i)
{
    pgy_pass p = {0};
    if (!pgy_pass_at(&p, i)) return;
    str_append(out, p.name);
    if (p.occurrence > 1) str_printf(out, "#%zu", p.occurrence);
}

static bool runs_once(const char *name)
{
    pgy_pass p;
    for (size_t i = 0; pgy_pass_at(&p, i); i++)
        if (p.occurrence > 1 && strcmp(p.name, name) == 0) return false;
    return true;
}

/* "-NAME", or for a pass that runs several times "-NAME#1". */
static void append_off(str *out, size_t i)
{
    pgy_pass p = {0};
    if (!pgy_pass_at(&p, i)) return;
    str_printf(out, "%s-%s", out->size ? "," : "", p.name);
    if (!runs_once(p.name)) str_printf(out, "#%zu", p.occurrence);
}

static void append_until(str *out, size_t i, size_t rewrites)
{
    pgy_pass p = {0};
    if (!pgy_pass_at(&p, i)) return;
    str_printf(out, "%suntil=%s#%zu:%zu", out->size ? "," : "", p.name, p.occurrence, rewrites);
}

/* ---- Trials --------------------------------------------------------------------------------- */

static pgy_status run_with(bool *agrees, pass_search *s, const str *passes, const char *what,
                           pgy_error *err)
{
    const pgy_backend_options *given = s->trials.options.runner_options;
    pgy_backend_options *options = NULL;
    pgy_status st = passes->failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory")
                    : given        ? options_copy(&options, given, err)
                                   : pgy_backend_options_create(&options, s->trials.backend, err);
    s->config.passes = str_text(passes);
    s->seen = 0;
    if (!st) st = pgy_engine_runner_configure(options, &s->config, err);
    if (!st) st = trials_run(agrees, &s->trials, options, what, err);
    pgy_backend_options_destroy(options);
    return st;
}

static void append_list(str *out, const pass_search *s, const bool *on)
{
    str_append(out, s->given);
    for (size_t i = 0; on && i < s->count; i++)
        if (!on[i]) append_off(out, i);
}

/* Describes a set of passes by its last one. */
static void describe(str *what, const pass_search *s, const bool *on)
{
    size_t last = s->count, off = 0;
    for (size_t i = 0; i < s->count; i++)
        if (on[i]) last = i;
    for (size_t i = 0; last < s->count && i < last; i++) off += !on[i];
    if (last == s->count) {
        str_append(what, "no passes");
    } else if (last + 1 == s->count) {
        str_append(what, "all passes");
    } else {
        str_append(what, "passes until ");
        append_name(what, last);
    }
    if (off) str_printf(what, " without %zu of them", off);
}

static pgy_status run_set(bool *agrees, const bool *on, void *user, pgy_error *err)
{
    pass_search *s = user;
    str passes = {0}, what = {0};
    append_list(&passes, s, on);
    describe(&what, s, on);
    const pgy_status st = run_with(agrees, s, &passes, str_text(&what), err);
    str_deinit(&passes);
    str_deinit(&what);
    return st;
}

/* ---- Rewrites within the pass ---------------------------------------------------------------- */

/* Splits "a + b" into labels. */
static pgy_status split_labels(const char *const **out, size_t *count, const char *text, arena *a,
                               pgy_error *err)
{
    size_t most = 1;
    for (const char *p = text; (p = strstr(p, " + ")); p += 3) most++;
    const char **labels = arena_alloc_array(a, most, sizeof *labels);
    bool failed = !labels;
    *count = 0;
    while (!failed && *text) {
        const char *end = strstr(text, " + ");
        const size_t size = end ? (size_t)(end - text) : strlen(text);
        labels[*count] = arena_strndup(a, text, size);
        failed = !labels[(*count)++];
        text += size + (end ? 3 : 0);
    }
    if (failed) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *out = labels;
    return PGY_OK;
}

static pgy_status keep_rewrite(pass_search *s, const pgy_rewrite *r, pgy_error *err)
{
    arena *a = &s->report->memory;
    pgy_rewrite_culprit *c = s->culprit;
    c->tensor = arena_strdup(a, r->tensor);
    c->made = arena_strdup(a, r->made);
    if (!c->tensor || !c->made) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    const pgy_status st = split_labels(&c->nodes, &c->node_count, r->dropped, a, err);
    if (st || !r->name[0]) return st;
    const char **name = arena_alloc_array(a, 1, sizeof *name);
    if (!name || !(name[0] = arena_strdup(a, r->name)))
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    c->new_nodes = name;
    c->new_node_count = 1;
    return PGY_OK;
}

static pgy_status rewrote(const pgy_rewrite *r, void *user, pgy_error *err)
{
    pass_search *s = user;
    if (r->pass != s->pass) return PGY_OK;
    s->seen++;
    return s->culprit && r->number == s->rewrite ? keep_rewrite(s, r, err) : PGY_OK;
}

/* Runs with the passes before s->pass and this many of its rewrites. */
static pgy_status run_rewrites(bool *agrees, pass_search *s, const bool *on, size_t rewrites,
                               pgy_error *err)
{
    str passes = {0}, what = {0};
    append_list(&passes, s, on);
    append_until(&passes, s->pass, rewrites);
    append_name(&what, s->pass);
    str_printf(&what, " stopped after %zu rewrites", rewrites);
    const pgy_status st = run_with(agrees, s, &passes, str_text(&what), err);
    str_deinit(&passes);
    str_deinit(&what);
    return st;
}

/* *wrong: the number of the first rewrite with which the outputs differ. */
static pgy_status find_rewrite(size_t *wrong, pass_search *s, const bool *on, size_t count,
                               pgy_error *err)
{
    size_t good = 0, bad = count;
    while (bad - good > 1) {
        const size_t middle = good + (bad - good) / 2;
        bool agrees = false;
        const pgy_status st = run_rewrites(&agrees, s, on, middle, err);
        if (st) return st;
        *(agrees ? &good : &bad) = middle;
    }
    *wrong = bad;
    return PGY_OK;
}

/* Divides the culprit into its rewrites, if it counts them: passes that fold or change types do
 * not. */
static pgy_status divide(pgy_rewrite_culprit *c, pass_search *s, const bool *on, pgy_error *err)
{
    bool agrees = false;
    s->culprit = NULL;
    pgy_status st = run_set(&agrees, on, s, err); /* counts */
    const size_t count = s->seen;
    size_t wrong = 0;
    if (st || !count || agrees) return st;
    st = find_rewrite(&wrong, s, on, count, err);
    if (st) return st;
    s->culprit = c;
    s->rewrite = wrong;
    st = run_rewrites(&agrees, s, on, wrong, err); /* keeps the rewrite */
    s->culprit = NULL;
    c->rewrite = wrong;
    c->rewrite_count = count;
    return st;
}

static pgy_status found(size_t i, const bool *on, void *user, pgy_error *err)
{
    pass_search *s = user;
    str name = {0};
    pgy_rewrite_culprit *c = report_add(s->report, "", err);
    if (!c) return PGY_E_MEMORY;
    append_name(&name, i);
    c->name = name.failed ? NULL : arena_strdup(&s->report->memory, str_text(&name));
    str_deinit(&name);
    if (!c->name) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    s->pass = i;
    return divide(c, s, on, err);
}

/* ---- The search ------------------------------------------------------------------------------ */

static pgy_status set_remedy(pass_search *s, const bool *off, pgy_error *err)
{
    str list = {0};
    str_append(&list, s->given);
    for (size_t i = 0; i < s->count; i++)
        if (off[i]) append_off(&list, i);
    s->report->remedy =
        list.failed ? NULL : arena_printf(&s->report->memory, "--passes=%s", str_text(&list));
    str_deinit(&list);
    return s->report->remedy ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* If the outputs differ without any pass, the kernels may be the cause. */
static pgy_status try_kernels(pass_search *s, pgy_error *err)
{
    const pgy_cpu_level chosen = s->config.cpu_level;
    str passes = {0};
    bool agrees = false;
    append_list(&passes, s, NULL);
    s->config.cpu_level = PGY_CPU_PORTABLE;
    pgy_status st = run_with(&agrees, s, &passes, "all passes, portable kernels", err);
    s->config.cpu_level = chosen;
    s->report->cause = agrees ? PGY_REWRITE_KERNEL : PGY_REWRITE_NONE;
    str_deinit(&passes);
    return st;
}

static pgy_status search_passes(pass_search *s, pgy_error *err)
{
    const rewrite_search search = {.count = s->count, .run = run_set, .found = found, .user = s};
    bool on[MAX_PASSES] = {false}, off[MAX_PASSES] = {false}, agrees = false;
    memset(on, true, s->count * sizeof *on);
    pgy_status st = run_set(&agrees, on, s, err);
    if (st || agrees) return st;
    memset(on, false, sizeof on);
    st = run_set(&agrees, on, s, err);
    if (st) return st;
    if (!agrees) return try_kernels(s, err);
    s->report->cause = PGY_REWRITE_FOUND;
    st = rewrite_search_run(off, &search, err);
    return st ? st : set_remedy(s, off, err);
}

static pgy_status prepare(pass_search *s, pgy_error *err)
{
    s->config = (pgy_build_config){.size = sizeof s->config};
    if (s->trials.options.config) {
        const pgy_status st =
            SIZED_TAKE(pgy_build_config, &s->config, s->trials.options.config, err);
        if (st) return st;
    }
    pgy_pass p;
    while (s->count < MAX_PASSES && pgy_pass_at(&p, s->count)) s->count++;
    const char *environment = getenv("POLYGRAPHY_PASSES");
    s->given = s->config.passes ? s->config.passes : environment ? environment : "";
    return report_create(&s->report, &s->trials, true, err);
}

pgy_status pgy_bisect_passes(pgy_rewrite_report **out, pgy_model *model,
                             const pgy_rewrite_options *options, pgy_error *err)
{
    pass_search s = {.count = 0};
    const pgy_rewrite_watch watch = {.size = sizeof watch, .rewrote = rewrote, .user = &s};
    if (!out) return pgy_error_set(err, PGY_E_ARGUMENT, "'out' must not be NULL");
    pgy_status st = trials_init(&s.trials, model, "trt", options, err);
    if (!st) st = prepare(&s, err);
    s.config.rewrite_watch = &watch;
    if (!st) st = search_passes(&s, err);
    if (!st) st = report_take_trials(s.report, &s.trials, err);
    if (!st) {
        *out = s.report;
        s.report = NULL;
    }
    pgy_rewrite_report_destroy(s.report);
    trials_deinit(&s.trials);
    return st;
}
