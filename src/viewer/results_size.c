/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of every model: bytes and operations of its nodes, as quantities. */
#include "viewer/results_size.h"

#include <math.h>

enum { OUTPUT_BYTES, WEIGHT_BYTES, FLOPS, INTENSITY, SIZE_COUNT };

static const view_quantity LIKE[SIZE_COUNT] = {
    [OUTPUT_BYTES] = {.id = "output_bytes",
                      .label = "bytes of outputs",
                      .unit = "bytes",
                      .group = "size",
                      .scale = VIEW_LOG,
                      .fold = VIEW_FOLD_SUM},
    [WEIGHT_BYTES] = {.id = "weight_bytes",
                      .label = "bytes of weights",
                      .unit = "bytes",
                      .group = "size",
                      .scale = VIEW_LOG,
                      .fold = VIEW_FOLD_SUM},
    [FLOPS] = {.id = "flops",
               .label = "operations",
               .unit = "FLOP",
               .group = "work",
               .scale = VIEW_LOG,
               .fold = VIEW_FOLD_SUM},
    [INTENSITY] = {.id = "intensity",
                   .label = "operations per byte",
                   .unit = "FLOP/byte",
                   .group = "work",
                   .scale = VIEW_LOG,
                   .fold = VIEW_FOLD_MAX},
};

/* NaN: not known, or nothing. */
static double value_of(const view_node *n, int which)
{
    const double bytes = n->output_bytes + n->weight_bytes;
    switch (which) {
    case OUTPUT_BYTES: return n->output_bytes > 0 ? n->output_bytes : NAN;
    case WEIGHT_BYTES: return n->weight_bytes > 0 ? n->weight_bytes : NAN;
    case FLOPS: return n->flops > 0 ? n->flops : NAN;
    default: return n->flops > 0 && bytes > 0 ? n->flops / bytes : NAN;
    }
}

static pgy_status add(view_results *r, const view_graph *g, uint32_t graph, int which,
                      pgy_error *err)
{
    view_quantity like = LIKE[which], *q = NULL;
    like.graph = graph;
    pgy_status st = PGY_OK;
    for (uint32_t i = 0; i < g->node_count && !st; i++) {
        const double v = value_of(&g->nodes[i], which);
        if (g->nodes[i].kind != VIEW_NODE || isnan(v)) continue;
        if (!q) st = view_quantity_add(&q, r, g, &like, err);
        if (!st) view_quantity_set(q, i, v);
    }
    return st;
}

pgy_status view_results_size(pgy_page *p, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (uint32_t graph = 0; graph < p->graph_count; graph++)
        for (int which = 0; which < SIZE_COUNT && !st; which++)
            st = add(&p->results, p->graphs[graph], graph, which, err);
    return st;
}
