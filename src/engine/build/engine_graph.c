/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's graph, which has no concrete shapes: a build clones it under the lock, then infers
 * the clone without the lock. A program that points to nodes keeps its clone. */
#include "engine/build/engine_state.h"

static void release_graph(void *graph)
{
    pgy_graph_destroy(graph);
}

void engine_attach_graph(program *p, pgy_graph *g)
{
    p->owner = g;
    p->release_owner = release_graph;
}

pgy_status engine_need_graph(engine *e, pgy_error *err)
{
    if (e->graph) return PGY_OK;
    packed_table *packed = packed_table_create(); /* a failure leaves nothing in the engine's */
    if (!packed) return engine_no_memory(err);
    packed_table_set_lasting(packed);
    const pgy_status st = plan_graph(&e->graph, e->file, packed, err);
    packed_table_release(st ? packed : e->packed);
    if (!st) e->packed = packed;
    return st;
}

pgy_status engine_clone_graph(pgy_graph **out, engine *e, pgy_error *err)
{
    const pgy_status st = engine_need_graph(e, err);
    return st ? st : graph_clone(out, e->graph, err);
}

pgy_status engine_take_graph(pgy_graph **out, packed_table **packed, engine *e, pgy_error *err)
{
    pthread_mutex_lock(&e->lock);
    const pgy_status st = engine_clone_graph(out, e, err);
    if (!st) *packed = packed_table_retain(e->packed); /* a refit replaces it */
    pthread_mutex_unlock(&e->lock);
    return st;
}

pgy_status engine_infer(pgy_graph *g, const pgy_metadata *shapes, const pgy_tensor_map *values,
                        pgy_error *err)
{
    const pgy_infer_options o = {.size = sizeof o, .inputs = shapes, .values = values};
    return pgy_graph_infer_shapes(g, &o, err);
}
