/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of the search: search.c finds a set, take_back.c gives layers of it a wider type,
 * rank.c has what both need. */
#ifndef PRECISION_SEARCH_H
#define PRECISION_SEARCH_H

#include "precision/precision.h"

/* A layer in a type. */
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

/* ---- rank.c ---------------------------------------------------------------------------------- */
pgy_status search_init(search *s, pgy_precision *p, pgy_error *err) PGY_MUST_CHECK;
void search_deinit(search *s);
/* Makes s->set the best. */
void search_accept(search *s, double error);
void search_summarize(pgy_precision *p); /* the best set */
size_t search_index_of(const search *s, const pgy_precision_layer *layer);
double *search_error_of(pgy_precision_layer *layer, level to);
/* Measures each layer alone that was not, of s->can in type `to`. */
pgy_status search_measure_layers(search *s, level to, pgy_error *err) PGY_MUST_CHECK;
void search_sort_layers(search *s); /* those of this phase */
/* Sorts all layers in all their types: what goes back first comes last. */
void search_sort_all(search *s);

/* ---- take_back.c ----------------------------------------------------------------------------- */
/* With times: layers that cost less in a wider type go back to it, if the set still passes. */
pgy_status search_drop_costly(search *s, pgy_error *err) PGY_MUST_CHECK;
/* Makes the set pass on the samples held out. */
pgy_status search_hold_out(search *s, pgy_error *err) PGY_MUST_CHECK;

#endif
