/* SPDX-License-Identifier: Apache-2.0 */
/* Reduces a model to a small part that still fails a check. */
#include <string.h>

#include "base/log.h"
#include "base/sized.h"
#include "debug/bisect.h"
#include "debug/candidate.h"
#include "debug/session.h"

static const char LOG_PATH[] = "tools/debug/subtool/reduce.py";

/* The best trial with one verdict. */
typedef struct best {
    bool found;
    size_t index; /* of the node */
    int64_t nodes;
} best;

/* One phase: it cuts `whole` at one node after the other. */
typedef struct phase {
    const char *name; /* "outputs", "inputs" */
    const pgy_gs_graph *whole;
    const candidate_source *source;
    pgy_status (*cut)(pgy_gs_graph **out, const pgy_gs_graph *whole, const pgy_gs_graph *of,
                      size_t i, const candidate_source *source, pgy_error *err);
    pgy_debug_session *session;
    bisection order;
    bool other_replay;           /* the replay has a trial of another model */
    pgy_gs_graph *tried;         /* the last candidate; NULL: its verdict is from the replay */
    bool improved;               /* `tried` is the smallest bad one, and nobody knows yet */
    best bad, good, larger_good; /* good: fewer nodes than the smallest bad one */
} phase;

static pgy_status end_at(pgy_gs_graph **out, const pgy_gs_graph *whole, const pgy_gs_graph *of,
                         size_t i, const candidate_source *source, pgy_error *err)
{
    (void)of;
    return candidate_end_at(out, whole, i, source, err);
}

/* ---- Trials --------------------------------------------------------------------------------- */

static pgy_status save(pgy_gs_graph *g, const phase *p, pgy_error *err)
{
    const pgy_debug_reduce_options *o = p->source->options;
    pgy_model *model = NULL;
    pgy_status st = pgy_gs_export(&model, g, NULL, err);
    if (!st)
        st = o->save ? o->save(model, o->user, err)
                     : debug_session_save(p->session, model, p->source->model, err);
    pgy_model_destroy(model);
    return st;
}

/* Hands out the last candidate if it is the best so far, and forgets it. If its verdict is from the
 * replay, it has not been made yet. */
static pgy_status announce(phase *p, pgy_error *err)
{
    const pgy_debug_reduce_options *o = p->source->options;
    pgy_model *model = NULL;
    pgy_status st = PGY_OK;
    if (p->improved && o->improved) {
        if (!p->tried) st = p->cut(&p->tried, p->whole, p->whole, p->bad.index, p->source, err);
        if (!st) st = pgy_gs_export(&model, p->tried, NULL, err);
        if (!st) st = o->improved(model, o->user, err);
        pgy_model_destroy(model);
    }
    pgy_gs_destroy(p->tried);
    p->tried = NULL;
    p->improved = false;
    return st;
}

static pgy_status make(bool *made, pgy_debug_trial *trial, void *user, pgy_error *err)
{
    phase *p = user;
    *made = true;
    pgy_status st = announce(p, err);
    if (!st) st = p->cut(&p->tried, p->whole, p->whole, p->order.index, p->source, err);
    if (!st) st = save(p->tried, p, err);
    if (!st) {
        trial->state[0] = (pgy_debug_number){"num_nodes", (int64_t)p->tried->node_count};
        trial->state[1] = (pgy_debug_number){"max_nodes", (int64_t)p->whole->node_count};
        trial->state_count = 2;
    }
    return st;
}

static int64_t number_of(const pgy_debug_trial *trial, const char *name, int64_t otherwise)
{
    for (size_t i = 0; i < trial->state_count; i++)
        if (strcmp(trial->state[i].name, name) == 0) return trial->state[i].value;
    return otherwise;
}

static int64_t node_count(const pgy_debug_trial *trial)
{
    return number_of(trial, "num_nodes", INT64_MAX);
}

/* A replay of the original does not tell how many nodes the model had, so it is believed. */
static bool is_of_this_model(const phase *p, const pgy_debug_trial *trial)
{
    const int64_t all = (int64_t)p->whole->node_count;
    const int64_t part = number_of(trial, "num_nodes", 0);
    return number_of(trial, "max_nodes", all) == all && part >= 0 && part <= all;
}

/* A later trial replaces one with the same number of nodes. */
static bool keep_smaller(best *b, const best *found)
{
    if (b->found && found->nodes > b->nodes) return false;
    *b = *found;
    return true;
}

static void keep_larger(best *b, const best *found)
{
    if (!b->found || found->nodes >= b->nodes) *b = *found;
}

static bool next(const pgy_debug_trial *trial, void *user)
{
    phase *p = user;
    const best found = {.found = true, .index = p->order.index, .nodes = node_count(trial)};
    p->other_replay = !is_of_this_model(p, trial);
    if (p->other_replay) return false;
    if (!trial->passed)
        p->improved = keep_smaller(&p->bad, &found);
    else if (p->bad.found && found.nodes >= p->bad.nodes)
        keep_smaller(&p->larger_good, &found);
    else
        keep_larger(&p->good, &found);
    return bisection_next(&p->order, trial->passed);
}

static int64_t remaining(void *user)
{
    return bisection_remaining(&((phase *)user)->order);
}

static pgy_status run_phase(phase *p, size_t *failed, pgy_error *err)
{
    const pgy_debug_search search = {.size = sizeof search,
                                     .phase = p->name,
                                     .make = make,
                                     .next = next,
                                     .remaining = remaining,
                                     .user = p};
    pgy_debug_summary sum;
    LOG(INFO, "Reducing model %s", p->name);
    pgy_status st = pgy_debug_session_run(&sum, p->session, &search, err);
    if (!st) st = announce(p, err);
    pgy_gs_destroy(p->tried);
    p->tried = NULL;
    if (st) return st;
    if (p->other_replay)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "debug.load_replay: trial %zu of the phase '%s' is of a model with "
                             "another number of nodes than %zu; load a replay of this model",
                             sum.trials - 1, p->name, p->whole->node_count);
    LOG(INFO, "Finished reducing model %s", p->name);
    *failed += sum.trials - sum.passed;
    return PGY_OK;
}

/* ---- Both phases ---------------------------------------------------------------------------- */

typedef struct reduction {
    const pgy_debug_reduce_options *options;
    pgy_debug_session *session;
    pgy_model *model;
    pgy_gs_graph *bad, *good; /* good NULL: not wanted, or none passed */
    size_t failed;
    bool warned;
    pgy_tensor_map *known;
} reduction;

/* Replaces *g by the part of the phase's model at a trial, if there is one: the very candidate that
 * was checked. */
static pgy_status take(pgy_gs_graph **g, const phase *p, const best *at, pgy_error *err)
{
    pgy_gs_graph *part = NULL;
    if (!at->found) {
        if (*g) candidate_log_kept(*g, p->order.downward);
        return PGY_OK;
    }
    const pgy_status st = p->cut(&part, p->whole, p->whole, at->index, p->source, err);
    if (st) return st;
    pgy_gs_destroy(*g);
    *g = part;
    return PGY_OK;
}

static pgy_status reduce_once(reduction *r, bool outputs, pgy_error *err)
{
    const candidate_source source = {
        .model = r->model, .options = r->options, .warned = &r->warned, .known = &r->known};
    pgy_gs_graph *whole = NULL;
    pgy_status st = pgy_gs_copy(&whole, r->bad, err);
    if (st) return st;
    phase p = {.name = outputs ? "outputs" : "inputs",
               .whole = whole,
               .source = &source,
               .cut = outputs ? end_at : candidate_begin_at,
               .session = r->session,
               .order = bisection_start(whole->node_count, r->options->linear, outputs)};
    st = run_phase(&p, &r->failed, err);
    if (!st) st = take(&r->bad, &p, &p.bad, err);
    if (!st && r->options->want_good)
        st = take(&r->good, &p, p.good.found ? &p.good : &p.larger_good, err);
    pgy_gs_destroy(whole);
    return st;
}

static pgy_status start(reduction *r, pgy_error *err)
{
    pgy_status st = pgy_gs_import(&r->bad, r->model, err);
    if (!st && !r->bad->node_count)
        st =
            pgy_error_set(err, PGY_E_ARGUMENT, "the model has no nodes, so nothing can be reduced");
    return st;
}

static pgy_status reduce(pgy_debug_reduction *out, reduction *r, pgy_error *err)
{
    pgy_status st = start(r, err);
    if (st) return st;
    out->original_nodes = r->bad->node_count;
    if (!r->options->keep_outputs) st = reduce_once(r, true, err);
    if (!st && !r->options->keep_inputs) st = reduce_once(r, false, err);
    if (st) return st;
    out->failed = r->failed;
    out->bad_nodes = r->bad->node_count;
    const bool same = r->good && pgy_gs_graph_equal(r->good, r->bad);
    st = pgy_gs_export(&out->bad, r->bad, NULL, err);
    if (!st && r->good && !same) st = pgy_gs_export(&out->good, r->good, NULL, err);
    return st;
}

pgy_status pgy_debug_reduce(pgy_debug_reduction *out, pgy_debug_session *s, pgy_model *model,
                            const pgy_debug_reduce_options *options, pgy_error *err)
{
    pgy_debug_reduce_options taken = {.size = sizeof taken};
    reduction r = {.options = &taken, .session = s, .model = model};
    pgy_debug_reduction made = {0};
    pgy_status st = SIZED_TAKE(pgy_debug_reduce_options, &taken, options, err);
    if (st) return st;
    if (!pgy_debug_session_candidate(s))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "debug.candidate: a reduction needs a path for its candidates");
    st = reduce(&made, &r, err);
    pgy_gs_destroy(r.bad);
    pgy_gs_destroy(r.good);
    pgy_tensor_map_destroy(r.known);
    if (st)
        pgy_debug_reduction_free(&made);
    else
        *out = made;
    return st;
}

void pgy_debug_reduction_free(pgy_debug_reduction *r)
{
    pgy_model_destroy(r->bad);
    pgy_model_destroy(r->good);
    *r = (pgy_debug_reduction){0};
}
