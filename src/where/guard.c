/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses models whose loops do not end. A Loop with a small constant trip count needs no run. */
#include <string.h>

#include "base/cancel.h"
#include "base/log.h"
#include "tensor/convert.h"
#include "where/noise_walk.h"
#include "where/where.h"

static const char LOG_PATH[] = "where/guard.c";

enum { SAFE_TRIPS = 100000 };

/* The constant trip count of a Loop; SAFE_TRIPS + 1: unknown or more than that. */
static uint64_t trips_of(const pgy_node *n)
{
    pgy_value *v = n->input_count ? n->inputs[0] : NULL;
    pgy_tensor *t = NULL;
    uint64_t trips = SAFE_TRIPS + 1;
    if (!v || pgy_graph_value_data(&t, v, NULL)) return trips;
    if (pgy_tensor_count(t) == 1 && pgy_tensor_dtype(t) == PGY_I64) {
        const int64_t given = element_as_i64(PGY_I64, pgy_tensor_data(t), 0);
        if (given <= SAFE_TRIPS) trips = given > 0 ? (uint64_t)given : 0;
    }
    pgy_tensor_release(t);
    return trips;
}

/* `around`: the trips of the loops around this level together. */
static bool has_open_loop(const pgy_graph *g, uint64_t around)
{
    bool found = false;
    for (size_t i = 0; !found && i < g->node_count; i++) {
        const pgy_node *n = g->nodes[i];
        uint64_t trips = around;
        if (node_is(n, "Loop")) trips *= trips_of(n);
        found = trips > SAFE_TRIPS;
        for (size_t k = 0; !found && k < n->subgraph_count; k++)
            found = has_open_loop(n->subgraphs[k], trips);
    }
    return found;
}

static bool has_loop_node(pgy_onnx_node *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(nodes[i]->op_type, "Loop")) return true;
        for (size_t k = 0; k < nodes[i]->attribute_count; k++) {
            const pgy_onnx_graph *g = nodes[i]->attributes[k]->g;
            if (g && has_loop_node(g->nodes, g->node_count)) return true;
        }
    }
    return false;
}

static bool function_has_loop(const pgy_graph *g)
{
    const strmap *functions = &state_of(g)->functions;
    for (size_t i = 0; i < functions->count; i++) {
        const graph_function *f = functions->entries[i].value;
        if (has_loop_node(f->proto->nodes, f->proto->node_count)) return true;
    }
    return false;
}

static pgy_status starts(pgy_node *n, void *user, pgy_error *err)
{
    return noise_walk_starts(user, n, err);
}

static pgy_status ran(pgy_node *n, const op_tensor *inputs, const op_tensor *outputs, void *user,
                      pgy_error *err)
{
    (void)n, (void)inputs, (void)outputs, (void)err;
    noise_walk_ran(user);
    return PGY_OK;
}

pgy_status where_guard(pgy_model *model, const char *side, pgy_tensor_map *const *feeds,
                       size_t count, uint64_t max_steps, pgy_error *err)
{
    noise_walk walk = {0};
    pgy_graph *g = NULL;
    const execute_watch watch = {.ran = ran, .user = &walk, .starts = starts};
    pgy_error why = {0};
    pgy_status st = pgy_graph_import(&g, model, err);
    const bool open = !st && (has_open_loop(g, 1) || function_has_loop(g));
    pgy_graph_destroy(g);
    if (st || !open) return st;
    st = noise_walk_init(&walk, model, &why);
    walk.max_steps = max_steps;
    walk.limit = "where_options.max_steps";
    for (size_t i = 0; !st && i < count; i++)
        st = noise_walk_run(&walk, feeds[i], false, 1, NULL, &watch, &why);
    const bool endless = noise_walk_exceeded(&walk);
    noise_walk_deinit(&walk);
    if (endless || status_ends_all(st))
        return side ? pgy_error_set(err, st, "side %s: %s", side, why.text)
                    : pgy_error_set(err, st, "%s", why.text);
    if (st)
        LOG(WARNING,
            "The model has loops of unknown length, and the reference cannot run it, so no limit "
            "of "
            "steps applies: %s",
            why.text);
    return PGY_OK;
}
