/* SPDX-License-Identifier: Apache-2.0 */
/* What the tensors at the borders of a part hold: the whole model runs by the definitions, and the
 * values that pass are kept the first time. */
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "evaluate/execute.h"
#include "evaluate/interface.h"
#include "transform/cut.h"

typedef struct recording {
    const pgy_cut *c;
    pgy_tensor_map *values; /* by name: inputs and outputs of one level have different ones */
} recording;

static pgy_status keep(recording *r, const pgy_value *v, const op_tensor *value, pgy_error *err)
{
    if (pgy_tensor_map_find(r->values, v->name)) return PGY_OK;
    if (!value->value)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "'%s' at the border of the part is no tensor but a sequence, which "
                             "cannot be an input or output",
                             v->name);
    return interface_take(r->values, v, value, err);
}

static bool is_listed(const value_list *list, const pgy_value *v)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == v) return true;
    return false;
}

static bool is_border(const pgy_cut *c, const pgy_value *v)
{
    return is_listed(&c->inputs, v) || is_listed(&c->outputs, v);
}

static pgy_status note(pgy_node *n, const op_tensor *inputs, const op_tensor *outputs, void *user,
                       pgy_error *err)
{
    recording *r = user;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < n->input_count; i++)
        if (n->inputs[i] && is_border(r->c, n->inputs[i]))
            st = keep(r, n->inputs[i], &inputs[i], err);
    for (size_t i = 0; !st && i < n->output_count; i++)
        if (n->outputs[i] && is_border(r->c, n->outputs[i]))
            st = keep(r, n->outputs[i], &outputs[i], err);
    return st;
}

static pgy_status run(recording *r, const pgy_tensor_map *feed, pgy_error *err)
{
    const execute_watch watch = {note, r};
    const execute_limits limits = {.max_bytes = memory_limit_bytes(), .watch = &watch};
    pgy_graph *g = r->c->graph;
    arena plans = {0};
    pgy_tensor_map *results = NULL;
    pgy_status st = plan_build(g, &plans, err);
    if (!st) st = pgy_graph_infer_shapes(g, NULL, err);
    if (!st) st = pgy_tensor_map_create(&results, err);
    if (!st) st = execute_graph(g, feed, results, false, &limits, err);
    pgy_tensor_map_destroy(results);
    plan_clear(state_of(g));
    arena_deinit(&plans);
    return st;
}

/* Moves what belongs to one side to a map of its own; inputs of the model that only the feed has
 * are taken from there. */
static pgy_status collect(pgy_tensor_map **out, const value_list *list,
                          const pgy_tensor_map *values, const pgy_tensor_map *feed, pgy_error *err)
{
    pgy_tensor_map *map = NULL;
    pgy_status st = pgy_tensor_map_create(&map, err);
    for (size_t i = 0; !st && i < list->count; i++) {
        const pgy_value *v = list->items[i];
        pgy_tensor *t = pgy_tensor_map_find(values, v->name);
        if (!t && v->is_input && !v->graph->parent) t = pgy_tensor_map_find(feed, v->name);
        st = t ? pgy_tensor_map_set(map, v->name, t, err)
               : pgy_error_set(err, PGY_E_NOT_FOUND,
                               "'%s' at the border of the part is never computed with these "
                               "inputs",
                               v->name);
    }
    if (!st) {
        *out = map;
        map = NULL;
    }
    pgy_tensor_map_destroy(map);
    return st;
}

pgy_status pgy_cut_record(pgy_tensor_map **inputs, pgy_tensor_map **outputs, pgy_cut *c,
                          const pgy_tensor_map *feed, pgy_error *err)
{
    recording r = {.c = c};
    pgy_tensor_map *before = NULL;
    if (!inputs || !outputs || !c || !feed)
        return pgy_error_set(err, PGY_E_ARGUMENT, "nothing to run, or no place for the values");
    pgy_status st = pgy_tensor_map_create(&r.values, err);
    if (!st) st = run(&r, feed, err);
    if (!st) st = collect(&before, &c->inputs, r.values, feed, err);
    if (!st) st = collect(outputs, &c->outputs, r.values, feed, err);
    if (!st) {
        *inputs = before;
        before = NULL;
    }
    pgy_tensor_map_destroy(before);
    pgy_tensor_map_destroy(r.values);
    return st;
}
