/* SPDX-License-Identifier: Apache-2.0 */
/* Refits an engine: imports, folds and optimises the model again, and rebuilds programs for the
 * same shapes with their old kernels and layouts. So the result equals a fresh build, whatever
 * passes did with the weights. */
#include <string.h>

#include "base/alloc.h"
#include "engine/build/engine_state.h"

/* The new graph and programs, before they replace the engine's. */
typedef struct refit {
    engine *e;
    engine_import model;
    packed_table *packed; /* of the new weights */
    built *made;
    size_t count;
} refit;

static bool same_values(const pgy_metadata *a, const pgy_metadata *b)
{
    if (pgy_metadata_count(a) != pgy_metadata_count(b)) return false;
    for (size_t i = 0; i < pgy_metadata_count(a); i++) {
        const pgy_tensor_info *x = pgy_metadata_at(a, i), *y = pgy_metadata_at(b, i);
        if (strcmp(x->name, y->name) != 0 || x->dtype != y->dtype || x->rank != y->rank)
            return false;
        for (int32_t d = 0; d < x->rank; d++)
            if (x->shape[d] != y->shape[d]) return false;
    }
    return true;
}

static pgy_status import(refit *r, pgy_model *model, pgy_error *err)
{
    const engine *e = r->e;
    pgy_status st = engine_import_model(&r->model, model, e->config, err);
    if (!st &&
        (!same_values(e->inputs, r->model.inputs) || !same_values(e->outputs, r->model.outputs)))
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "the inputs or outputs of the model differ from those of the engine; "
                           "refit from the model that the engine was built from");
    return st ? st : engine_optimise(&r->model, e->config, NULL, err);
}

static pgy_status rebuild(refit *r, const built *old, pgy_error *err)
{
    tactics *replay = NULL;
    built *b = &r->made[r->count];
    pgy_graph *g = NULL;
    pgy_status st = old->program ? tactics_of(&replay, old->program, err) : PGY_OK;
    if (!st) st = graph_clone(&g, r->model.graph, err);
    if (!st) st = engine_build_for(b, r->e, g, r->packed, old->shapes, replay, err);
    tactics_destroy(replay);
    if (st) return st;
    b->pinned = true;
    r->count++;
    return PGY_OK;
}

/* Rebuilds the programs of profiles; those for other shapes are built when these come again. */
static pgy_status rebuild_all(refit *r, pgy_error *err)
{
    const engine *e = r->e;
    pgy_status st = PGY_OK;
    r->made = mem_calloc(e->kept_count + 1, sizeof *r->made);
    r->packed = packed_table_create();
    if (!r->made || !r->packed) return engine_no_memory(err);
    for (size_t i = 0; !st && i < e->kept_count; i++)
        if (e->kept[i].pinned) st = rebuild(r, &e->kept[i], err);
    return st;
}

/* Replaces the engine's graph and programs. Contexts retain the programs that they are running. */
static void take_over(refit *r, pgy_model *model, uint64_t hash)
{
    engine *e = r->e;
    for (size_t i = 0; i < e->kept_count; i++) engine_forget(&e->kept[i]);
    mem_free(e->kept);
    ranges_forget(&e->ranges);
    e->kept = r->made;
    e->kept_count = e->kept_capacity = r->count;
    r->made = NULL;
    r->count = 0;
    packed_table_release(e->packed);
    e->packed = r->packed;
    r->packed = NULL;
    pgy_graph_destroy(e->graph);
    e->graph = r->model.graph;
    r->model.graph = NULL;
    pgy_model *old = e->original;
    e->original = pgy_model_retain(model);
    pgy_model_destroy(old);
    e->model_hash = hash;
    e->config->strip_plan = false;
    atomic_store_explicit(&e->stripped, false, memory_order_release);
    atomic_fetch_add_explicit(&e->version, 1, memory_order_acq_rel);
}

pgy_status engine_refit(engine *e, pgy_model *model, uint64_t hash, pgy_error *err)
{
    refit r = {.e = e};
    pthread_mutex_lock(&e->lock);
    pgy_status st = import(&r, model, err);
    if (!st) st = rebuild_all(&r, err);
    if (!st) take_over(&r, model, hash);
    pthread_mutex_unlock(&e->lock);
    for (size_t i = 0; i < r.count; i++) engine_forget(&r.made[i]);
    mem_free(r.made);
    packed_table_release(r.packed);
    engine_import_deinit(&r.model);
    return st;
}
