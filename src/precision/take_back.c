/* SPDX-License-Identifier: Apache-2.0 */
/* Layers go back to a wider type: where they cost less in it, where the samples that were held out
 * need it, and where a runtime has more error than the emulation promised. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "precision/search.h"

static const char LOG_PATH[] = "precision/take_back.c";

/* ---- Held-out samples ----------------------------------------------------------------------- */

/* Measures the layers of the best set alone, each in its type, and sorts. */
static pgy_status measure_best(search *s, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (level to = LEVEL_FIRST; !st && to <= LEVEL_REST; to++) {
        for (size_t i = 0; i < s->p->summary.layers; i++) s->can[i] = s->p->best[i] == to;
        st = search_measure_layers(s, to, err);
    }
    search_sort_all(s);
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
            const size_t layer = search_index_of(s, s->order[i].layer);
            if (s->set[layer] != s->order[i].to) continue;
            s->set[layer] = mix_below(p, layer, s->order[i].to);
            LOG(INFO, "Error %.3g is above %.3g: layer '%s' goes back to %s", *error, limit,
                s->order[i].layer->name, pgy_dtype_name(mix_type(p, s->set[layer])));
            mix_fill_between(p, s->set, s->can);
            st = trial_measure(error, p, s->set, first, last, false, err);
            if (!st) st = trial_run(&found, p, s->set, err);
            if (!st && !trial_passes(p, found)) *error = INFINITY;
            if (!st) search_accept(s, found);
        }
    return st;
}

pgy_status search_hold_out(search *s, pgy_error *err)
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

pgy_status search_drop_costly(search *s, pgy_error *err)
{
    pgy_precision *p = s->p;
    bool changed = false;
    double error = 0;
    size_t moved = 0;
    memcpy(s->set, p->best, p->summary.layers * sizeof *s->set);
    pgy_status st = cost_improve(&changed, p, s->set, err);
    if (st || !changed) return st;
    st = trial_run(&error, s->p, s->set, err);
    if (st || !trial_passes(p, error)) return st;
    for (size_t i = 0; i < p->summary.layers; i++) moved += s->set[i] != p->best[i];
    search_accept(s, error);
    LOG(INFO, "%zu layers go back to %s%s, where they and the Casts that they need take less time",
        moved, is_mix(p) ? pgy_dtype_name(p->options.rest_type) : "float32",
        is_mix(p) ? " or float32" : "");
    return PGY_OK;
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
    search_summarize(p);
    emulator_destroy(p->emulator);
    p->emulator = NULL;
    search_deinit(&s);
    return st;
}
