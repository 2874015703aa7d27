/* SPDX-License-Identifier: Apache-2.0 */
/* The search. If all layers may be 16-bit, it ends after one trial. Otherwise it measures the error
 * of each layer alone and sorts the layers by it, bisects how many of the first layers pass
 * together, then tries each of the others. At last the set must pass on held-out samples. */
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
    double rank; /* squared error per cost saved */
} ranked;

typedef struct search {
    pgy_precision *p;
    bool *set;     /* the set of the next trial */
    ranked *order; /* layers, those first that save the most for their error */
} search;

/* ---- Trials --------------------------------------------------------------------------------- */

/* Keeps only sets that no other beats in both cost and error. */
static pgy_status add_point(pgy_precision *p, pgy_precision_point made, pgy_error *err)
{
    const double cost = cost_of_point(p, &made);
    size_t left = 0;
    if (isinf(made.error)) return PGY_OK;
    for (size_t i = 0; i < p->point_count; i++)
        if (cost_of_point(p, &p->points[i]) <= cost && p->points[i].error <= made.error)
            return PGY_OK;
    for (size_t i = 0; i < p->point_count; i++)
        if (cost_of_point(p, &p->points[i]) < cost || p->points[i].error < made.error)
            p->points[left++] = p->points[i];
    p->point_count = left;
    if (left == p->point_room) {
        const size_t room = 2 * left + 16;
        pgy_precision_point *more = mem_realloc(p->points, room * sizeof *more);
        if (!more) return search_no_memory(err);
        p->points = more;
        p->point_room = room;
    }
    size_t at = left;
    for (; at && cost_of_point(p, &p->points[at - 1]) > cost; at--)
        p->points[at] = p->points[at - 1];
    p->points[at] = made;
    p->point_count++;
    return PGY_OK;
}

static pgy_status measure_as(double *error, const pgy_precision *p, const bool *set, size_t first,
                             size_t last, emulation as, bool keep, pgy_error *err)
{
    judge j = {.p = p};
    pgy_status st = PGY_OK;
    for (size_t s = first; !st && s < last; s++) {
        pgy_tensor_map *got = NULL;
        st = emulator_run(&got, p->emulator, s, set, as, keep, err);
        if (!st) st = judge_add(&j, s, got, err);
        pgy_tensor_map_destroy(got);
    }
    if (!st) st = judge_finish(error, &j, err);
    return cancel_check_after(st, err);
}

/* The worse error of the two emulations. The second is left out if the first fails, and for 8 bits,
 * because Q/DQ fix where every runtime rounds. */
static pgy_status measure(double *error, const pgy_precision *p, const bool *set, size_t first,
                          size_t last, bool keep, pgy_error *err)
{
    double fused = 0;
    pgy_status st = measure_as(error, p, set, first, last, EMULATE_STORED, keep, err);
    if (!st && !p->quantizer && (keep || *error <= p->summary.limit_error))
        st = measure_as(&fused, p, set, first, last, EMULATE_FUSED, keep, err);
    if (!st) *error = fmax(*error, fused);
    return st;
}

static size_t count_set(const pgy_precision *p, const bool *set)
{
    size_t count = 0;
    for (size_t i = 0; i < p->summary.layers; i++) count += set[i];
    return count;
}

/* Measures s->set on the samples of the search. */
static pgy_status try_set(double *error, search *s, pgy_error *err)
{
    pgy_precision *p = s->p;
    pgy_status st = measure(error, p, s->set, 0, search_count(p), false, err);
    if (st) return st;
    const pgy_precision_point made = {.bytes = layers_bytes(p, s->set),
                                      .error = *error,
                                      .narrow = count_set(p, s->set),
                                      .ms = cost_ms(p, s->set)};
    p->summary.trials++;
    LOG(VERBOSE, "Trial %zu: %zu layers in %s, error %.3g", p->summary.trials, made.narrow,
        pgy_dtype_name(p->options.type), *error);
    return add_point(p, made, err);
}

static bool passes(const pgy_precision *p, double error)
{
    return error <= p->summary.limit_error;
}

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
    return x->layer < y->layer ? -1 : x->layer > y->layer;
}

static size_t index_of(const search *s, const pgy_precision_layer *layer)
{
    return (size_t)(layer - s->p->layers);
}

/* Rounding errors of layers are independent, so their squares add up, and a set may have a sum of
 * them. What saves the most per squared error comes first; what saves nothing comes last. */
static void sort_layers(search *s)
{
    const size_t count = s->p->summary.layers;
    for (size_t i = 0; i < count; i++) {
        ranked *r = &s->order[i];
        const double error = r->layer->error, saved = cost_saved(s->p, index_of(s, r->layer));
        r->rank = saved > 0 ? error * error / saved : INFINITY;
    }
    qsort(s->order, count, sizeof *s->order, by_rank);
}

/* Measures each layer alone, and sorts. */
static pgy_status measure_layers(search *s, pgy_error *err)
{
    pgy_precision *p = s->p;
    const size_t count = p->summary.layers;
    pgy_status st = PGY_OK;
    LOG(INFO, "Measuring the error of each of %zu layers alone", count);
    progress_begin("layers alone", count);
    for (size_t i = 0; !st && i < count; i++) {
        memset(s->set, 0, count * sizeof *s->set);
        s->set[i] = true;
        st = try_set(&p->layers[i].error, s, err);
        progress_advance(i + 1);
    }
    progress_end();
    if (!st) sort_layers(s);
    return st;
}

/* Finds how many of the first layers pass together, as if more layers never had less error. */
static pgy_status bisect(size_t *taken, search *s, pgy_error *err)
{
    const size_t count = s->p->summary.layers;
    size_t good = 0, bad = count;
    pgy_status st = PGY_OK;
    progress_begin("sets", 0);
    for (size_t done = 0; !st && bad - good > 1; done++) {
        const size_t middle = good + (bad - good) / 2;
        double error;
        for (size_t i = 0; i < count; i++) s->set[index_of(s, s->order[i].layer)] = i < middle;
        st = try_set(&error, s, err);
        if (st) break;
        LOG(INFO, "The %zu layers that save the most for their error: error %.3g, %s", middle,
            error, passes(s->p, error) ? "passes" : "too much");
        if (passes(s->p, error)) {
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
    return measure(&error, p, p->best, 0, search_count(p), true, err);
}

static bool is_best(const pgy_precision *p, const pgy_node *n)
{
    const size_t layer = n && n->graph == p->graph ? p->layer_of[n->index] : SIZE_MAX;
    return layer != SIZE_MAX && p->best[layer];
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
    const size_t count = p->summary.layers;
    pgy_status st = rebase(p, err);
    progress_begin("layers to add", count - taken);
    for (size_t i = taken; !st && i < count; i++) {
        double error = 0;
        progress_advance(i - taken);
        if (!passes(p, s->order[i].layer->error) &&
            (isinf(s->order[i].layer->error) || !joins_best(p, index_of(s, s->order[i].layer))))
            continue;
        memcpy(s->set, p->best, count * sizeof *s->set);
        s->set[index_of(s, s->order[i].layer)] = true;
        st = try_set(&error, s, err);
        if (st || !passes(p, error)) continue;
        accept(s, error);
        LOG(INFO, "Adding layer '%s': error %.3g, passes", s->order[i].layer->name, error);
        st = rebase(p, err);
    }
    progress_end();
    return st;
}

/* Takes back the most sensitive layers of the best set until its error on samples first to last - 1
 * is at most `limit`, and on the samples of the search passes. *error: on samples first to last
 * - 1.
 */
static pgy_status take_back(double *error, search *s, size_t first, size_t last, double limit,
                            pgy_error *err)
{
    pgy_precision *p = s->p;
    pgy_status st = measure(error, p, p->best, first, last, false, err);
    if (!st && *error > limit && p->layers[0].error < 0) st = measure_layers(s, err);
    memcpy(s->set, p->best, p->summary.layers * sizeof *s->set);
    for (size_t i = p->summary.layers; !st && *error > limit && i--;) {
        double found = 0;
        const size_t layer = index_of(s, s->order[i].layer);
        if (!s->set[layer]) continue;
        s->set[layer] = false;
        LOG(INFO, "Error %.3g is above %.3g: layer '%s' goes back to float32", *error, limit,
            s->order[i].layer->name);
        st = measure(error, p, s->set, first, last, false, err);
        if (!st) st = try_set(&found, s, err);
        if (!st && !passes(p, found)) *error = INFINITY;
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
    if (!st && !passes(p, error))
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "the model as it is has error %.3g on the held-out samples against "
                           "itself: its results change from run to run",
                           error);
    if (!st && first < last) p->summary.held_out_error = error;
    if (!st) st = measure(&p->summary.promised_error, p, p->best, 0, last, false, err);
    return st;
}

/* With times: layers that cost less in float32 go back to it, if the set still passes. */
static pgy_status drop_costly(search *s, pgy_error *err)
{
    pgy_precision *p = s->p;
    const size_t before = count_set(p, p->best);
    bool changed = false;
    double error = 0;
    memcpy(s->set, p->best, p->summary.layers * sizeof *s->set);
    pgy_status st = cost_improve(&changed, p, s->set, err);
    if (st || !changed) return st;
    st = try_set(&error, s, err);
    if (st || !passes(p, error)) return st;
    accept(s, error);
    LOG(INFO,
        "%zu layers go back to float32, where they and the Casts that they need take less time",
        before - count_set(p, p->best));
    return PGY_OK;
}

static pgy_status search_sets(search *s, pgy_error *err)
{
    pgy_precision *p = s->p;
    double error = 0;
    size_t taken = 0;
    pgy_status st = try_set(&error, s, err); /* the empty set: the first row of the table */
    memset(s->set, true, p->summary.layers * sizeof *s->set);
    if (!st) st = try_set(&error, s, err);
    if (st) return st;
    LOG(INFO, "All %zu layers in %s: error %.3g, %s", p->summary.layers,
        pgy_dtype_name(p->options.type), error, passes(p, error) ? "passes" : "too much");
    if (passes(p, error)) {
        accept(s, error);
    } else {
        st = measure_layers(s, err);
        if (!st) st = bisect(&taken, s, err);
        if (!st) st = add_others(s, taken, err);
    }
    if (!st) st = drop_costly(s, err);
    return st ? st : hold_out(s, err);
}

static pgy_status search_init(search *s, pgy_precision *p, pgy_error *err)
{
    const size_t count = p->summary.layers;
    *s = (search){.p = p,
                  .set = mem_calloc(count + 1, sizeof *s->set),
                  .order = mem_calloc(count + 1, sizeof *s->order)};
    if (!s->set || !s->order) return search_no_memory(err);
    for (size_t i = 0; i < count; i++) s->order[i].layer = &p->layers[i];
    return PGY_OK;
}

static void search_deinit(search *s)
{
    mem_free(s->set);
    mem_free(s->order);
}

static void summarize_best(pgy_precision *p)
{
    p->summary.narrow = count_set(p, p->best);
    p->summary.bytes = p->summary.wide_bytes ? layers_bytes(p, p->best) : 0;
    p->summary.ms = p->summary.wide_bytes ? cost_ms(p, p->best) : 0;
    for (size_t i = 0; i < p->summary.layers; i++) p->layers[i].narrow = p->best[i];
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
    if (!st && p->layers[0].error >= 0) sort_layers(&s);
    if (!st) st = take_back(&left, &s, 0, p->summary.samples, tighter_limit(p, error), err);
    if (!st) p->summary.promised_error = left;
    summarize_best(p);
    emulator_destroy(p->emulator);
    p->emulator = NULL;
    search_deinit(&s);
    return st;
}
