/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps of a search need: its sets, the error of each layer alone, which is its
 * sensitivity, and the order of the layers by it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/progress.h"
#include "precision/search.h"

static const char LOG_PATH[] = "precision/rank.c";

pgy_status search_init(search *s, pgy_precision *p, pgy_error *err)
{
    const size_t count = p->summary.layers;
    *s = (search){.p = p,
                  .set = mem_calloc(count + 1, sizeof *s->set),
                  .can = mem_calloc(count + 1, sizeof *s->can),
                  .order = mem_calloc(2 * count + 1, sizeof *s->order)};
    return s->set && s->can && s->order ? PGY_OK : search_no_memory(err);
}

void search_deinit(search *s)
{
    mem_free(s->set);
    mem_free(s->can);
    mem_free(s->order);
}

void search_accept(search *s, double error)
{
    memcpy(s->p->best, s->set, s->p->summary.layers * sizeof *s->set);
    s->p->summary.error = error;
}

void search_summarize(pgy_precision *p)
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

/* ---- Sensitivity ---------------------------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (x->layer->error != y->layer->error) return x->layer->error < y->layer->error ? -1 : 1;
    if (x->layer != y->layer) return x->layer < y->layer ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

size_t search_index_of(const search *s, const pgy_precision_layer *layer)
{
    return (size_t)(layer - s->p->layers);
}

double *search_error_of(pgy_precision_layer *layer, level to)
{
    return to == LEVEL_REST ? &layer->rest_error : &layer->error;
}

/* Rounding errors of layers are independent, so their squares add up, and a set may have a sum of
 * them. What saves the most per squared error comes first; what saves nothing comes last. */
static void rank_layer(search *s, size_t layer, level to)
{
    pgy_precision_layer *l = &s->p->layers[layer];
    const double error = fmax(0, *search_error_of(l, to)), saved = cost_saved(s->p, layer, to);
    const double rank = saved > 0 ? error * error / saved : INFINITY;
    s->order[s->order_count++] = (ranked){.layer = l, .to = to, .rank = rank};
}

void search_sort_layers(search *s)
{
    s->order_count = 0;
    for (size_t i = 0; i < s->p->summary.layers; i++)
        if (s->can[i]) rank_layer(s, i, s->to);
    qsort(s->order, s->order_count, sizeof *s->order, by_rank);
}

void search_sort_all(search *s)
{
    s->order_count = 0;
    for (size_t i = 0; i < s->p->summary.layers; i++)
        for (level to = LEVEL_FIRST; to <= LEVEL_REST; to++)
            if (mix_can(s->p, i, to)) rank_layer(s, i, to);
    qsort(s->order, s->order_count, sizeof *s->order, by_rank);
}

pgy_status search_measure_layers(search *s, level to, pgy_error *err)
{
    pgy_precision *p = s->p;
    const size_t count = p->summary.layers;
    size_t wanted = 0, done = 0;
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < count; i++)
        wanted += s->can[i] && *search_error_of(&p->layers[i], to) < 0;
    if (!wanted) return PGY_OK;
    LOG(INFO, "Measuring the error of each of %zu layers alone", wanted);
    progress_begin("layers alone", wanted);
    for (size_t i = 0; !st && i < count; i++) {
        double *error = search_error_of(&p->layers[i], to);
        if (!s->can[i] || *error >= 0) continue;
        memset(s->set, LEVEL_WIDE, count * sizeof *s->set);
        s->set[i] = to;
        st = trial_run(error, p, s->set, err);
        progress_advance(++done);
    }
    progress_end();
    return st;
}
