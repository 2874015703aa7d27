/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the passes, and says which of them run. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/sized.h"
#include "base/tracer.h"
#include "engine/build/progress.h"
#include "engine/passes/limits.h"
#include "engine/passes/pass.h"
#include "engine/tactics/replay.h"
#include "transform/pattern.h"

static const char LOG_PATH[] = "engine/passes/passes.c";

/* Saves the graph after a pass as <number>_<name of the pass>.onnx in `dir`. */
static pgy_status save(pgy_graph *g, const char *dir, size_t number, const char *name,
                       pgy_error *err)
{
    pgy_model *model = NULL;
    str path = {0};
    str_printf(&path, "%s/%02zu_%s.onnx", dir, number, name);
    pgy_status st = path.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory") : PGY_OK;
    if (!st) st = pgy_graph_export(&model, g, err);
    if (!st) st = pgy_model_save(model, str_text(&path), NULL, err);
    pgy_model_destroy(model);
    str_deinit(&path);
    return st;
}

/* ---- Which passes run ----------------------------------------------------------------------- */

/* Copies the text that says which passes to leave out, and sets *named: unknown names in it are
 * errors. The replay file comes first, then the configuration, then the environment. */
static pgy_status find_text(str *out, bool *named, const pgy_build_config *config, pgy_error *err)
{
    const char *own = config ? config->passes : NULL, *recorded = NULL;
    const char *given = own ? own : getenv("POLYGRAPHY_PASSES");
    tactics *replay = NULL;
    if (config && config->load_tactics) {
        const pgy_status st = tactics_load(&replay, config->load_tactics, err);
        if (st) return st;
        recorded = tactics_passes(replay);
    }
    if (recorded && given && strcmp(recorded, given) != 0)
        LOG(WARNING,
            "%s has no effect: the tactic replay was recorded with '%s', which is "
            "used instead",
            own ? "config.passes" : "POLYGRAPHY_PASSES", recorded);
    *named = own && !recorded;
    str_append(out, recorded ? recorded : given ? given : "");
    tactics_destroy(replay);
    return out->failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory") : PGY_OK;
}

static pgy_status find_limits(pass_limits *out, const pgy_build_config *config, pgy_error *err)
{
    pgy_error why = {0};
    bool named = false;
    str text = {0};
    pgy_status st = find_text(&text, &named, config, err);
    if (!st) {
        st = pass_limits_read(out, str_text(&text), &why);
        if (st && named) pgy_error_set(err, st, "config.passes: %s", why.text);
        if (st && !named) {
            LOG(WARNING, "POLYGRAPHY_PASSES: %s", why.text);
            st = PGY_OK;
        }
    }
    str_deinit(&text);
    return st;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* The watch of one pass: it stops the pass after a number of rewrites, and tells the caller. */
typedef struct counter {
    size_t pass, count, most;
    const pgy_rewrite_watch *watch; /* NULL: nobody is told */
} counter;

static bool admits(size_t rule, const pgy_node *n, void *user)
{
    const counter *c = user;
    (void)rule, (void)n;
    return c->count < c->most;
}

static pgy_status made(size_t rule, const pgy_value *at, const pattern *p, void *user,
                       pgy_error *err)
{
    counter *c = user;
    str dropped = {0};
    (void)rule;
    c->count++;
    if (!c->watch) return PGY_OK;
    for (const pattern_part *part = p->parts; part; part = part->next)
        str_printf(&dropped, "%s%s", part == p->parts ? "" : " + ", part->label);
    const pgy_rewrite r = {.size = sizeof r,
                           .pass = c->pass,
                           .number = c->count,
                           .made = p->made ? p->made->op_type : "",
                           .name = p->made && p->made->name ? p->made->name : "",
                           .tensor = at ? at->name : "",
                           .dropped = str_text(&dropped)};
    const pgy_status st = dropped.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory")
                                         : c->watch->rewrote(&r, c->watch->user, err);
    str_deinit(&dropped);
    return st;
}

static pgy_status run_pass(pgy_graph *g, const pass_target *target, size_t i, size_t most,
                           const pgy_rewrite_watch *told, size_t *changes, pgy_error *err)
{
    const pass *p = pass_at(i);
    counter c = {.pass = i, .most = most, .watch = told->rewrote ? told : NULL};
    const pattern_watch watch = {.admits = admits, .made = made, .user = &c};
    /* A pass with a target fuses as a part of its work, so its rewrites have no numbers. */
    if (p->run_for) return p->run_for(g, target, changes, err);
    if (most != SIZE_MAX || c.watch) pattern_set_watch(g, &watch);
    const pgy_status st = p->run(g, changes, err);
    pattern_set_watch(g, NULL);
    return st;
}

static pgy_status run_all(pgy_graph *g, const pass_target *target, const pass_limits *limits,
                          pgy_error *err)
{
    const char *saved_to = target->is_part ? NULL : getenv("POLYGRAPHY_SAVE_PASSES");
    pgy_rewrite_watch told = {.size = sizeof told};
    if (target->config && target->config->rewrite_watch) {
        const pgy_status st =
            SIZED_TAKE(pgy_rewrite_watch, &told, target->config->rewrite_watch, err);
        if (st) return st;
    }
    for (size_t i = 0; pass_at(i); i++) {
        const char *name = pass_at(i)->name;
        size_t changes = 0;
        if (!limits->most[i]) {
            if (!target->is_part) LOG(INFO, "Pass %s is switched off", name);
            continue;
        }
        tracer_phase_begin(name);
        pgy_status st = run_pass(g, target, i, limits->most[i], &told, &changes, err);
        tracer_phase_end();
        if (!st && saved_to) st = save(g, saved_to, i, name, err);
        if (st) return pgy_error_prefix(err, st, "pass %s: ", name);
        if (!target->is_part)
            LOG(VERBOSE, "Pass %s: %zu changes, %zu nodes", name, changes, g->node_count);
        st = progress_step(target->config, PROGRESS_PASSES, i, err);
        if (st) return st;
    }
    return PGY_OK;
}

pgy_status passes_run(pgy_graph *g, const pass_target *target, pgy_error *err)
{
    const pgy_build_config *config = target->config;
    pass_limits limits;
    size_t count = 0;
    while (pass_at(count)) count++;
    progress_start(config, PROGRESS_PASSES, NULL, count);
    pgy_status st = find_limits(&limits, config, err);
    if (!st) st = run_all(g, target, &limits, err);
    progress_finish(config, PROGRESS_PASSES);
    return st;
}
