/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one pass of folding over all levels of a graph and over its functions. Also offers dead-code
 * elimination without the rest of folding. */
#include "base/alloc.h"
#include "base/log.h"
#include "transform/fold.h"

static const char LOG_PATH[] = "transform/fold_pass.c";

pgy_status fold_list_levels(folder *f, pgy_graph *g, pgy_error *err)
{
    void *levels = f->levels;
    pgy_status st = PGY_OK;
    if (!mem_grow(&levels, &f->level_capacity, f->level_count + 1, sizeof *f->levels))
        return graph_no_memory(err);
    f->levels = levels;
    f->levels[f->level_count++] = g;
    for (size_t i = 0; !st && i < g->node_count; i++)
        for (size_t k = 0; !st && k < g->nodes[i]->subgraph_count; k++)
            st = fold_list_levels(f, g->nodes[i]->subgraphs[k], err);
    return st;
}

pgy_status fold_list_all_levels(folder *f, pgy_error *err)
{
    const strmap *functions = &f->state->functions;
    f->level_count = 0;
    pgy_status st = fold_list_levels(f, f->graph, err);
    for (size_t i = 0; !st && i < functions->count; i++) {
        pgy_graph *body = NULL;
        st = function_body(&body, functions->entries[i].value, f->graph, err);
        if (!st) st = fold_list_levels(f, body, err);
    }
    return st;
}

/* Lists the levels anew, because earlier passes of the round may have removed the nodes that hold
 * some. */
pgy_status fold_run_pass(folder *f, const fold_pass *pass, pgy_error *err)
{
    pgy_status st = fold_list_all_levels(f, err);
    const size_t before = f->changes;
    for (size_t i = 0; !st && i < f->level_count; i++)
        st = pass->run(f, f->levels[pass->inner_first ? f->level_count - 1 - i : i], err);
    arena_deinit(&f->memory);
    if (!st && f->changes != before)
        LOG(ULTRA_VERBOSE, "Constant folding: %zu changes by pass '%s'", f->changes - before,
            pass->name);
    return st;
}

pgy_status fold_declare_weights(folder *f, pgy_error *err)
{
    pgy_graph *g = f->graph;
    graph_level *level = level_of(g);
    const size_t room = level->declared_count + g->initializer_count;
    pgy_value **declared = arena_alloc_array(&f->state->memory, room, sizeof *declared);
    size_t count = 0;
    if (!f->weak_names) return PGY_OK;
    if (!declared) return graph_no_memory(err);
    for (size_t i = 0; i < level->declared_count; i++)
        if (level->declared[i]->is_input) declared[count++] = level->declared[i];
    for (size_t i = 0; i < g->initializer_count; i++) {
        pgy_value *v = g->initializers[i];
        if (v->is_input || !v->initializer) continue;
        v->is_input = true;
        declared[count++] = v;
    }
    level->declared = declared;
    level->declared_count = count;
    return PGY_OK;
}

pgy_status pgy_graph_remove_unused(pgy_graph *g, pgy_error *err)
{
    static const fold_pass pass = {"dead", fold_dead, true};
    if (!g || g->parent)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'g' must be a whole graph, not a subgraph or NULL");
    folder f = {
        .graph = g, .state = state_of(g), .weak_names = pgy_model_proto(g->model)->ir_version < 4};
    pgy_status st = fold_run_pass(&f, &pass, err);
    if (!st) st = fold_declare_weights(&f, err);
    arena_deinit(&f.memory);
    mem_free(f.levels);
    return st;
}
