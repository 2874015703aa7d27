/* SPDX-License-Identifier: Apache-2.0 */
/* The search. If all layers may be narrow, it ends after one trial. Otherwise it measures the error
 * of each layer alone and sorts the layers by it, bisects how many of the first layers pass
 * together, then tries each of the others. In a mix that is done for the 8-bit type, and then for
 * the 16-bit one with the 8-bit layers fixed. At last the set must pass on held-out samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/progress.h"
#include "precision/precision.h"
#include "precision/quant.h"

static const char LOG_PATH[] = "precision/search.c";

typedef struct ranked {
    pgy_precision_layer *layer;
    level to;
    double rank; /* squared error per cost saved */
} ranked;

typedef struct search {
    pgy_precision *p;
    level *set;    /* the set of the next trial */
    bool *can;     /* for each layer: is it one of this phase? */
    level to;      /* the type that this phase gives */
    ranked *order; /* layers, those first that save the most for their error */
    size_t order_count;
} search;

static void accept(search *s, double error)
{
    memcpy(s->p->best, s->set, s->p->summary.layers * sizeof *s->set);
    s->p->summary.error = error;
}

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

static int by_rank(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (x->layer->error != y->layer->error) return x->layer->error < y->layer->error ? -1 : 1;
    if (x->layer != y->layer) return x->layer < y->layer ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

static size_t index_of(const search *s, const pgy_precision_layer *layer)
{
    return (size_t)(layer - s->p->layers);
}

static double *error_of(pgy_precision_layer *layer, level to)
{
    return to == LEVEL_REST ? &layer->rest_error : &layer->error;
}

/* Rounding errors of layers are independent, so their squares add up, and a set may have a sum of
 * them. What saves the most per squared error comes first; what saves nothing comes last. */
static void rank_layer(search *s, size_t layer, level to)
{
    pgy_precision_layer *l = &s->p->layers[layer];
    const double error = fmax(0, *error_of(l, to)), saved = cost_saved(s->p, layer, to);
    const double rank = saved > 0 ? error * error / saved : INFINITY;
    s->order[s->order_count++] = (ranked){.layer = l, .to = to, .rank = rank};
}

/* Sorts the layers of this phase. */
static void sort_layers(search *s)
{
    s->order_count = 0;
    for (size_t i = 0; i < s->p->summary.layers; i++)
        if (s->can[i]) rank_layer(s, i, s->to);
    qsort(s->order, s->order_count, sizeof *s->order, by_rank);
}

/* Sorts all layers in all their types: what goes back first comes last. */
static void sort_all(search *s)
{
    s->order_count = 0;
    for (size_t i = 0; i < s->p->summary.layers; i++)
        for (level to = LEVEL_FIRST; to <= LEVEL_REST; to++)
            if (mix_can(s->p, i, to)) rank_layer(s, i, to);
    qsort(s->order, s->order_count, sizeof *s->order, by_rank);
}

/* Measures each layer alone that was not, of s->can in type `to`. */
static pgy_status measure_layers(search *s, level to, pgy_error *err)
{
    pgy_precision *p = s->p;
    const size_t count = p->summary.layers;
    size_t wanted = 0, done = 0;
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < count; i++) wanted += s->can[i] && *error_of(&p->layers[i], to) < 0;
    if (!wanted) return PGY_OK;
    LOG(INFO, "Measuring the error of each of %zu layers alone", wanted);
    progress_begin("layers alone", wanted);
    for (size_t i = 0; !st && i < count; i++) {
        double *error = error_of(&p->layers[i], to);
        if (!s->can[i] || *error >= 0) continue;
        memset(s->set, LEVEL_WIDE, count * sizeof *s->set);
        s->set[i] = to;
        st = trial_run(error, p, s->set, err);
        progress_advance(++done);
    }
    progress_end();
    return st;
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
            s->set[index_of(s, s->order[i].layer)] = i < middle ? s->to : LEVEL_WIDE;
        st = trial_run(&error, s->p, s->set, err);
        if (st) break;
        LOG(INFO, "The %zu layers that save the most for their error: error %.3g, %s", middle,
            error, trial_passes(s->p, error) ? "passes" : "too much");
        if (trial_passes(s->p, error)) {
            good = middle;
            accept(s, error);
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
        const double alone = *error_of(s->order[i].layer, s->to);
        if (!trial_passes(p, alone) &&
            (isinf(alone) || !joins_best(p, index_of(s, s->order[i].layer))))
            continue;
        memcpy(s->set, p->best, p->summary.layers * sizeof *s->set);
        s->set[index_of(s, s->order[i].layer)] = s->to;
        st = trial_run(&error, s->p, s->set, err);
        if (st || !trial_passes(p, error)) continue;
        accept(s, error);
        LOG(INFO, "Adding layer '%s': error %.3g, passes", s->order[i].layer->name, error);
        st = rebase(p, err);
    }
    progress_end();
    return st;
}

/* ---- Held-out samples ----------------------------------------------------------------------- */

/* Measures the layers of the best set alone, each in its type, and sorts. */
static pgy_status measure_best(search *s, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (level to = LEVEL_FIRST; !st && to <= LEVEL_REST; to++) {
        for (size_t i = 0; i < s->p->summary.layers; i++) s->can[i] = s->p->best[i] == to;
        st = measure_layers(s, to, err);
    }
    sort_all(s);
    return st;
}

/* Takes back the most sensitive layers of the best set, 8-bit ones of a mix to 16 bits, until its
 * error on samples first to last - 1 is at most `limit`, and on the samples of the search passes.
 * *error: on samples first to last - 1.
 */
static pgy_status take_back(double *error, search *s, size_t first, size_t last, double limit,
                            pgy_error *err)
{
    pgy_precision *p = s->p;
    pgy_status st = trial_measure(error, p, p->best, first, last, false, err);
    if (!st && *error > limit) st = measure_best(s, err);
    memcpy(s->set, p->best, p->summary.layers * sizeof *s->set);
    mix_find_between(p, s->set, s->can);
    while (!st && *error > limit && trial_count(p, s->set))
        for (size_t i = s->order_count; !st && *error > limit && i--;) {
            double found = 0;
            const size_t layer = index_of(s, s->order[i].layer);
            if (s->set[layer] != s->order[i].to) continue;
            s->set[layer] = mix_below(p, layer, s->order[i].to);
            LOG(INFO, "Error %.3g is above %.3g: layer '%s' goes back to %s", *error, limit,
                s->order[i].layer->name, pgy_dtype_name(mix_type(p, s->set[layer])));
            mix_fill_between(p, s->set, s->can);
            st = trial_measure(error, p, s->set, first, last, false, err);
            if (!st) st = trial_run(&found, p, s->set, err);
            if (!st && !trial_passes(p, found)) *error = INFINITY;
            if (!st) accept(s, found);
        }
    return st;
}

/* Makes the set pass on the samples held out. */
static pgy_status hold_out(search *s, pgy_error *err)
{
    pgy_precision *p = s->p;
    const size_t first = search_count(p), last = p->summary.samples;
    double error = 0;
    p->summary.held_out_error = -1;
    pgy_status st = PGY_OK;
    if (first < last) {
        LOG(INFO, "Checking the set on %zu samples that were held out", last - first);
        st = take_back(&error, s, first, last, p->summary.limit_error, err);
    }
    if (!st && !trial_passes(p, error))
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "the model as it is has error %.3g on the held-out samples against "
                           "itself: its results change from run to run",
                           error);
    if (!st && first < last) p->summary.held_out_error = error;
    if (!st) st = trial_measure(&p->summary.promised_error, p, p->best, 0, last, false, err);
    return st;
}

/* With times: layers that cost less in float32 go back to it, if the set still passes. */
static pgy_status drop_costly(search *s, pgy_error *err)
{
    pgy_precision *p = s->p;
    const size_t before = trial_count(p, p->best);
    bool changed = false;
    double error = 0;
    memcpy(s->set, p->best, p->summary.layers * sizeof *s->set);
    pgy_status st = cost_improve(&changed, p, s->set, err);
    if (st || !changed) return st;
    st = trial_run(&error, s->p, s->set, err);
    if (st || !trial_passes(p, error)) return st;
    accept(s, error);
    LOG(INFO,
        "%zu layers go back to float32, where they and the Casts that they need take less time",
        before - trial_count(p, p->best));
    return PGY_OK;
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
        accept(s, error);
        return PGY_OK;
    }
    st = measure_layers(s, to, err);
    if (st) return st;
    sort_layers(s);
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
    for (size_t i = 0; i < count; i++) s->set[index_of(s, s->order[i].layer)] = LEVEL_FIRST;
    (void)mix_fill(s->p, s->set, s->can);
    pgy_status st = trial_run(&error, s->p, s->set, err);
    if (st) return st;
    *good = trial_passes(p, error);
    LOG(INFO, "%zu layers in %s, all others in %s: error %.3g, %s", count,
        pgy_dtype_name(p->options.type), pgy_dtype_name(p->options.rest_type), error,
        *good ? "passes" : "too much");
    if (*good && cost_of(p, s->set) < cost_of(p, p->best)) accept(s, error);
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
    pgy_status st = measure_layers(s, LEVEL_FIRST, err);
    if (st) return st;
    sort_layers(s);
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
    if (!st && is_mix(s->p)) st = search_phase(s, LEVEL_REST, err);
    if (!st && is_mix(s->p)) st = trade(s, err);
    if (!st) st = drop_costly(s, err);
    return st ? st : hold_out(s, err);
}

static pgy_status search_init(search *s, pgy_precision *p, pgy_error *err)
{
    const size_t count = p->summary.layers;
    *s = (search){.p = p,
                  .set = mem_calloc(count + 1, sizeof *s->set),
                  .can = mem_calloc(count + 1, sizeof *s->can),
                  .order = mem_calloc(2 * count + 1, sizeof *s->order)};
    return s->set && s->can && s->order ? PGY_OK : search_no_memory(err);
}

static void search_deinit(search *s)
{
    mem_free(s->set);
    mem_free(s->can);
    mem_free(s->order);
}

static void summarize_best(pgy_precision *p)
{
    p->summary.narrow = trial_count(p, p->best);
    p->summary.rest = trial_count_at(p, p->best, LEVEL_REST);
    p->summary.bytes = p->summary.wide_bytes ? layers_bytes(p, p->best) : 0;
    p->summary.ms = p->summary.wide_bytes ? cost_ms(p, p->best) : 0;
    for (size_t i = 0; i < p->summary.layers; i++) {
        p->layers[i].narrow = p->best[i] != LEVEL_WIDE;
        p->layers[i].type = mix_type(p, p->best[i]);
    }
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
    summarize_best(p);
    search_deinit(&s);
    return st;
}

/* ---- After a check in a runtime ------------------------------------------------------------- */

static const double TIGHTEN_MARGIN = 0.9;

/* What the emulation may promise, so that the runtime's error passes if it is larger by the same
 * factor as now. */
static double tighter_limit(const pgy_precision *p, double error)
{
    const double promised = p->summary.promised_error, limit = p->summary.limit_error;
    if (error <= limit) return TIGHTEN_MARGIN * promised / 2;
    return isfinite(error) ? TIGHTEN_MARGIN * promised * limit / error : 0;
}

pgy_status search_tighten(pgy_precision *p, double error, const char *runtime, pgy_error *err)
{
    search s;
    double left = 0;
    LOG(WARNING,
        "In runtime '%s' the typed model has error %.3g, where the emulation promised %.3g: layers "
        "go back to float32",
        runtime, error, p->summary.promised_error);
    pgy_status st = search_init(&s, p, err);
    if (!st) st = emulator_create(&p->emulator, p, err);
    if (!st) st = take_back(&left, &s, 0, p->summary.samples, tighter_limit(p, error), err);
    if (!st) p->summary.promised_error = left;
    summarize_best(p);
    emulator_destroy(p->emulator);
    p->emulator = NULL;
    search_deinit(&s);
    return st;
}
