/* SPDX-License-Identifier: Apache-2.0 */
/* The search. If all layers may be narrow, it ends after one trial. Otherwise it measures the error
 * of each layer alone and sorts the layers by it, bisects how many of the first layers pass
 * together, then tries each of the others. In a mix that is done for the 8-bit type, and then for
 * the 16-bit one with the 8-bit layers fixed. At last the set must pass on held-out samples. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/progress.h"
#include "precision/quant.h"
#include "precision/search.h"

static const char LOG_PATH[] = "precision/search.c";

/* ---- Steps ---------------------------------------------------------------------------------- */

/* Runs the model as it is. Its values are the references, and later trials reuse them. */
static pgy_status run_references(pgy_precision *p, pgy_error *err)
{
    pgy_status st = PGY_OK;
    p->references = mem_calloc(p->summary.samples, sizeof(pgy_tensor_map *));
    if (!p->references) return search_no_memory(err);
    for (size_t s = 0; !st && s < p->summary.samples; s++) {
        st = emulator_run(&p->references[s], p->emulator, s, NULL, EMULATE_STORED, true, err);
        if (!st) st = judge_reference(p->references[s], err);
        if (st) st = pgy_error_prefix(err, st, "sample %zu: ", s);
    }
    if (!st) st = judge_prepare(p, err);
    if (!st && p->quantizer) st = quant_prepare(p, err);
    return st ? st : cost_prepare(p, err);
}

/* Finds how many of the first layers pass together, as if more layers never had less error. */
static pgy_status bisect(size_t *taken, search *s, pgy_error *err)
{
    const size_t count = s->order_count;
    size_t good = 0, bad = count;
    pgy_status st = PGY_OK;
    memcpy(s->set, s->p->best, s->p->summary.layers * sizeof *s->set);
    progress_begin("sets", 0);
    for (size_t done = 0; !st && bad - good > 1; done++) {
        const size_t middle = good + (bad - good) / 2;
        double error;
        for (size_t i = 0; i < count; i++)
            s->set[search_index_of(s, s->order[i].layer)] = i < middle ? s->to : LEVEL_WIDE;
        st = trial_run(&error, s->p, s->set, err);
        if (st) break;
        LOG(INFO, "The %zu layers that save the most for their error: error %.3g, %s", middle,
            error, trial_passes(s->p, error) ? "passes" : "too much");
        if (trial_passes(s->p, error)) {
            good = middle;
            search_accept(s, error);
        } else {
            bad = middle;
        }
        progress_advance(done + 1);
    }
    progress_end();
    *taken = good;
    return st;
}

/* Makes the values of the best set those that trials reuse. */
static pgy_status rebase(const pgy_precision *p, pgy_error *err)
{
    double error;
    return trial_measure(&error, p, p->best, 0, search_count(p), true, err);
}

static bool is_best(const pgy_precision *p, const pgy_node *n)
{
    const size_t layer = n && n->graph == p->graph ? p->layer_of[n->index] : SIZE_MAX;
    return layer != SIZE_MAX && p->best[layer] != LEVEL_WIDE;
}

/* Is a layer beside this one in the best set? Then the tensor between them is rounded already, so
 * this layer may add no error, although it fails alone. */
static bool joins_best(const pgy_precision *p, size_t layer)
{
    const pgy_node *n = p->graph->nodes[p->nodes[layer]];
    for (size_t i = 0; i < n->input_count; i++)
        if (n->inputs[i] && is_best(p, n->inputs[i]->producer)) return true;
    for (size_t i = 0; i < n->output_count; i++)
        for (size_t k = 0; n->outputs[i] && k < n->outputs[i]->consumer_count; k++)
            if (is_best(p, n->outputs[i]->consumers[k])) return true;
    return false;
}

/* Tries each layer that bisection left out, except those that fail alone and stand alone. */
static pgy_status add_others(search *s, size_t taken, pgy_error *err)
{
    pgy_precision *p = s->p;
    const size_t count = s->order_count;
    pgy_status st = rebase(p, err);
    progress_begin("layers to add", count - taken);
    for (size_t i = taken; !st && i < count; i++) {
        double error = 0;
        progress_advance(i - taken);
        const double alone = *search_error_of(s->order[i].layer, s->to);
        if (!trial_passes(p, alone) &&
            (isinf(alone) || !joins_best(p, search_index_of(s, s->order[i].layer))))
            continue;
        memcpy(s->set, p->best, p->summary.layers * sizeof *s->set);
        s->set[search_index_of(s, s->order[i].layer)] = s->to;
        st = trial_run(&error, s->p, s->set, err);
        if (st || !trial_passes(p, error)) continue;
        search_accept(s, error);
        LOG(INFO, "Adding layer '%s': error %.3g, passes", s->order[i].layer->name, error);
        st = rebase(p, err);
    }
    progress_end();
    return st;
}

/* ---- Phases --------------------------------------------------------------------------------- */

/* Finds the layers that may have type `to`, with those fixed that have another already. */
static pgy_status search_phase(search *s, level to, pgy_error *err)
{
    pgy_precision *p = s->p;
    const size_t layers = p->summary.layers;
    double error = 0;
    size_t taken = 0, count = 0;
    s->to = to;
    memcpy(s->set, p->best, layers * sizeof *s->set);
    for (size_t i = 0; to == LEVEL_FIRST && i < layers; i++) {
        s->can[i] = mix_can(p, i, to);
        if (s->can[i]) s->set[i] = to;
        count += s->can[i];
    }
    if (to == LEVEL_REST) count = mix_fill(s->p, s->set, s->can);
    if (!count) return PGY_OK;
    pgy_status st = trial_run(&error, s->p, s->set, err);
    if (st) return st;
    LOG(INFO, "All %zu %slayers in %s: error %.3g, %s", count, to == LEVEL_REST ? "other " : "",
        pgy_dtype_name(mix_type(p, to)), error, trial_passes(p, error) ? "passes" : "too much");
    if (trial_passes(p, error)) {
        search_accept(s, error);
        return PGY_OK;
    }
    st = search_measure_layers(s, to, err);
    if (st) return st;
    search_sort_layers(s);
    st = bisect(&taken, s, err);
    return st ? st : add_others(s, taken, err);
}

/* Keeps the first `count` 8-bit layers of the order, and gives 16 bits to what else may have them.
 */
static pgy_status try_fewer(bool *good, search *s, size_t count, pgy_error *err)
{
    pgy_precision *p = s->p;
    double error = 0;
    memset(s->set, LEVEL_WIDE, p->summary.layers * sizeof *s->set);
    for (size_t i = 0; i < count; i++) s->set[search_index_of(s, s->order[i].layer)] = LEVEL_FIRST;
    (void)mix_fill(s->p, s->set, s->can);
    pgy_status st = trial_run(&error, s->p, s->set, err);
    if (st) return st;
    *good = trial_passes(p, error);
    LOG(INFO, "%zu layers in %s, all others in %s: error %.3g, %s", count,
        pgy_dtype_name(p->options.type), pgy_dtype_name(p->options.rest_type), error,
        *good ? "passes" : "too much");
    if (*good && cost_of(p, s->set) < cost_of(p, p->best)) search_accept(s, error);
    return PGY_OK;
}

/* 8-bit layers may have taken the whole limit, so that others stay float32. Looks for a cheaper set
 * with fewer 8-bit layers and all others in 16 bits. */
static pgy_status trade(search *s, pgy_error *err)
{
    const pgy_precision *p = s->p;
    memcpy(s->set, p->best, p->summary.layers * sizeof *s->set);
    if (!mix_fill(s->p, s->set, s->can)) return PGY_OK;
    s->to = LEVEL_FIRST;
    for (size_t i = 0; i < p->summary.layers; i++) s->can[i] = p->best[i] == LEVEL_FIRST;
    pgy_status st = search_measure_layers(s, LEVEL_FIRST, err);
    if (st) return st;
    search_sort_layers(s);
    size_t low = 0, high = s->order_count;
    bool good = false;
    st = try_fewer(&good, s, 0, err);
    if (!good) return st;
    while (!st && high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        st = try_fewer(&good, s, middle, err);
        if (good)
            low = middle;
        else
            high = middle;
    }
    return st;
}

static pgy_status search_sets(search *s, pgy_error *err)
{
    double error = 0;
    pgy_status st =
        trial_run(&error, s->p, s->set, err); /* the empty set: the first row of the table */
    if (!st) st = search_phase(s, LEVEL_FIRST, err);
    if (!st && is_mix(s->p)) st = search_drop_costly(s, err);
    if (!st && is_mix(s->p)) st = search_phase(s, LEVEL_REST, err);
    if (!st && is_mix(s->p)) st = trade(s, err);
    if (!st) st = search_drop_costly(s, err);
    return st ? st : search_hold_out(s, err);
}

pgy_status search_run(pgy_precision *p, pgy_error *err)
{
    search s;
    p->summary.limit_error = judge_limit(&p->options);
    p->summary.held_out_error = -1;
    pgy_status st = search_init(&s, p, err);
    if (!st) st = run_references(p, err);
    if (!st) st = search_sets(&s, err);
    if (!st) st = quant_compare(p, err);
    p->summary.interrupted = st == PGY_E_CANCELLED;
    search_summarize(p);
    search_deinit(&s);
    return st;
}
