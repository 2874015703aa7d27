/* SPDX-License-Identifier: Apache-2.0 */
/* Delta debugging over the nodes of a model.
 *
 * Since a part gets recorded inputs, one faulty node usually fails alone. So the search first
 * halves the nodes with one test per step: if the first half passes, it assumes that the second
 * fails. A last test checks the assumption. If it was wrong, the fault needs nodes of both halves,
 * and ddmin (Zeller and Hildebrandt, 2002) goes on from the last set that was seen to fail. */
#include "debug/minimise.h"

#include <string.h>

#include "base/alloc.h"
#include "base/sized.h"
#include "debug/session.h"

/* ---- Sets of nodes -------------------------------------------------------------------------- */

typedef struct node_search {
    minimisation *m;
    size_t *items; /* indices of the nodes that were last seen to fail together */
    size_t count;
    bool *keep;
} node_search;

/* Tests the items [begin, end), or with `without` all others. */
static pgy_status try_items(bool *fails, node_search *s, size_t begin, size_t end, bool without,
                            pgy_error *err)
{
    candidate_part part = {0};
    memset(s->keep, 0, s->m->original_nodes * sizeof *s->keep);
    for (size_t i = 0; i < s->count; i++)
        if ((i >= begin && i < end) != without) s->keep[s->items[i]] = true;
    const pgy_status st = part_make(&part, &s->m->source, s->keep, err);
    return st ? st : minimise_try(fails, s->m, &part, "nodes", err);
}

static void keep_items(node_search *s, size_t begin, size_t end, bool without)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++)
        if ((i >= begin && i < end) != without) s->items[n++] = s->items[i];
    s->count = n;
}

static int64_t log2_up(size_t n)
{
    int64_t steps = 0;
    while (((size_t)1 << steps) < n) steps++;
    return steps;
}

/* Halves the items. *alone: the item that is left fails alone. */
static pgy_status halve(bool *alone, node_search *s, pgy_error *err)
{
    size_t low = 0, high = s->count; /* assumed to fail */
    size_t seen_low = 0, seen_high = s->count;
    pgy_status st = PGY_OK;
    while (!st && high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        bool fails;
        s->m->remaining = log2_up(high - low) + 1;
        st = try_items(&fails, s, low, middle, false, err);
        if (st) break;
        if (fails) {
            high = middle;
            seen_low = low;
            seen_high = high;
        } else {
            low = middle;
        }
    }
    *alone = seen_low == low && seen_high == high;
    if (!st && !*alone) st = try_items(alone, s, low, high, false, err);
    if (!st && *alone)
        keep_items(s, low, high, false);
    else if (!st)
        keep_items(s, seen_low, seen_high, false);
    return st;
}

/* One round of ddmin with `parts` parts: each alone, then each left out. */
static pgy_status round_of(bool *reduced, bool *to_part, node_search *s, size_t parts,
                           pgy_error *err)
{
    pgy_status st = PGY_OK;
    *reduced = false;
    for (size_t k = 0; k < 2 * parts && !st && !*reduced; k++) {
        const bool without = k >= parts;
        const size_t p = k % parts;
        const size_t begin = p * s->count / parts, end = (p + 1) * s->count / parts;
        if (without && parts == 2) break; /* the same sets again */
        s->m->remaining = (int64_t)(2 * parts - k);
        st = try_items(reduced, s, begin, end, without, err);
        if (st || !*reduced) continue;
        keep_items(s, begin, end, without);
        *to_part = !without;
    }
    return st;
}

static pgy_status ddmin(node_search *s, pgy_error *err)
{
    size_t parts = 2;
    pgy_status st = PGY_OK;
    while (!st && s->count > 1) {
        bool reduced, to_part = false;
        if (parts > s->count) parts = s->count;
        st = round_of(&reduced, &to_part, s, parts, err);
        if (st) break;
        if (reduced)
            parts = to_part ? 2 : parts > 2 ? parts - 1 : 2;
        else if (parts == s->count)
            break;
        else
            parts *= 2;
    }
    return st;
}

static pgy_status minimise_nodes(minimisation *m, pgy_error *err)
{
    node_search s = {.m = m, .count = m->original_nodes};
    bool alone = false;
    s.items = mem_calloc(s.count + 1, sizeof *s.items);
    s.keep = mem_calloc(s.count + 1, sizeof *s.keep);
    pgy_status st =
        s.items && s.keep ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory for a search");
    for (size_t i = 0; !st && i < s.count; i++) s.items[i] = i;
    if (!st) st = halve(&alone, &s, err);
    if (!st && !alone) st = ddmin(&s, err);
    mem_free(s.items);
    mem_free(s.keep);
    return st;
}

/* ---- The whole search ----------------------------------------------------------------------- */

/* The search begins with the whole model as it is, which must fail. */
static pgy_status check_whole(minimisation *m, pgy_model *model, const judge_samples *samples,
                              pgy_error *err)
{
    candidate_part whole = {.model = pgy_model_retain(model)};
    const pgy_debug_outcome on = m->options->on;
    bool fails = false;
    pgy_status st =
        part_set_feeds(&whole, (pgy_tensor_map *const *)samples->feeds, samples->count, err);
    if (!st) st = minimise_judge(&fails, &m->finding, m, &whole, "whole", err);
    if (!st && !fails)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "the whole model does not fail by '%s': its verdict is '%s'%s%s. There "
                           "is nothing to reduce",
                           pgy_debug_outcome_name(on), pgy_debug_outcome_name(m->finding.outcome),
                           *m->finding.text ? ": " : "", m->finding.text);
    m->best = whole;
    return st;
}

static int64_t fingerprint(const pgy_model *model)
{
    const pgy_onnx_graph *g = pgy_model_proto(model)->graph;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < g->node_count; i++)
        for (const char *p = g->nodes[i]->op_type; *p; p++)
            h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    for (size_t i = 0; i < g->node_count; i++)
        for (size_t k = 0; k < g->nodes[i]->output_count; k++)
            for (const char *p = g->nodes[i]->outputs[k]; *p; p++)
                h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    return (int64_t)(h >> 12); /* exact in JSON readers that use doubles */
}

static pgy_status search(minimisation *m, pgy_model *model, const judge_samples *samples,
                         pgy_error *err)
{
    const pgy_debug_minimise_options *o = m->options;
    m->original_nodes = m->nodes = minimise_count_nodes(model);
    m->model_key = fingerprint(model);
    m->remaining = log2_up(m->original_nodes) + 2;
    if (!m->original_nodes) return pgy_error_set(err, PGY_E_ARGUMENT, "the model has no nodes");
    pgy_status st = check_whole(m, model, samples, err);
    if (!st) st = part_source_init(&m->source, model, samples, o->record_backend, err);
    if (!st) st = minimise_nodes(m, err);
    const bool shrink = !o->nodes_only && !(o->judge && judge_has_golden(o->judge));
    if (!st && shrink) st = minimise_inputs(m, err);
    if (!st && shrink) st = minimise_shapes(m, err);
    if (!st && shrink) st = minimise_attributes(m, err);
    if (!st && o->capsule) st = minimise_weights(m, err);
    return st;
}

pgy_status pgy_debug_minimise(pgy_debug_minimum *out, pgy_debug_session *s, pgy_model *model,
                              const pgy_tensor_map *const *feeds, size_t feed_count,
                              const pgy_debug_minimise_options *options, pgy_error *err)
{
    pgy_debug_minimise_options o = {.size = sizeof o};
    minimisation m = {.options = &o, .session = s};
    const judge_samples samples = {feeds, feed_count};
    pgy_status st = SIZED_TAKE(pgy_debug_minimise_options, &o, options, err);
    if (st) return st;
    if (!o.judge && !o.test)
        return pgy_error_set(err, PGY_E_ARGUMENT, "minimise.judge: neither a judge nor a test");
    if (o.on == PGY_DEBUG_PASSED || o.on >= PGY_DEBUG_UNJUDGED)
        return pgy_error_set(err, PGY_E_ARGUMENT, "minimise.on: '%s' is not a failure",
                             pgy_debug_outcome_name(o.on));
    if (!feed_count) return pgy_error_set(err, PGY_E_ARGUMENT, "minimise: there are no samples");
    if (o.capsule && o.judge && judge_has_golden(o.judge))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "minimise.capsule: golden results do not hold for other weights; "
                             "compare with a runner");
    st = search(&m, model, &samples, err);
    part_source_deinit(&m.source);
    if (st == PGY_E_CANCELLED) debug_session_log_interrupted(s, (size_t)m.trials);
    if (st) {
        part_free(&m.best);
        return st;
    }
    *out = (pgy_debug_minimum){.model = m.best.model,
                               .feeds = m.best.feeds,
                               .feed_count = m.best.count,
                               .original_nodes = m.original_nodes,
                               .nodes = m.nodes,
                               .evaluations = m.evaluations,
                               .finding = m.finding};
    return PGY_OK;
}

void pgy_debug_minimum_free(pgy_debug_minimum *m)
{
    candidate_part p = {.model = m->model, .feeds = m->feeds, .count = m->feed_count};
    part_free(&p);
    *m = (pgy_debug_minimum){0};
}
