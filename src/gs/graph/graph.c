/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs and subgraphs: sets their inputs and outputs, and creates subgraphs. */
#include <string.h>

#include "gs/graph/document.h"

static pgy_status check(const pgy_gs_graph *g, const pgy_gs_tensor *t, pgy_error *err)
{
    if (!g || !t)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the graph and the tensor must not be NULL");
    if (tensor_box(t)->document != graph_box(g)->document)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "graph '%.200s': tensor '%.200s' belongs to another graph", g->name,
                             t->name);
    if (!*t->name)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "graph '%.200s': an omitted slot cannot be an input or output; use a "
                             "tensor with a name",
                             g->name);
    return PGY_OK;
}

typedef struct interface {
    pgy_gs_tensor ***items;
    size_t *count, *capacity;
} interface;

static interface inputs_of(pgy_gs_graph *g)
{
    return (interface){&g->inputs, &g->input_count, &graph_box(g)->input_capacity};
}

static interface outputs_of(pgy_gs_graph *g)
{
    return (interface){&g->outputs, &g->output_count, &graph_box(g)->output_capacity};
}

/* `items` may be the list of a node or of g itself, so the tensors are copied to a new list. */
static pgy_status set_list(pgy_gs_graph *g, interface to, pgy_gs_tensor *const *tensors,
                           size_t count, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (count && !tensors)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the list of tensors must not be NULL");
    for (size_t i = 0; i < count && !st; i++) st = check(g, tensors[i], err);
    if (st) return st;
    pgy_gs_tensor **list = gs_alloc(graph_box(g)->document, count, sizeof(*list));
    if (!list) return gs_no_memory(err);
    if (count) memcpy(list, tensors, count * sizeof(*list));
    *to.items = list;
    *to.count = *to.capacity = count;
    gs_touch(g);
    return PGY_OK;
}

pgy_status pgy_gs_set_graph_inputs(pgy_gs_graph *g, pgy_gs_tensor *const *tensors, size_t count,
                                   pgy_error *err)
{
    if (!g) return pgy_error_set(err, PGY_E_ARGUMENT, "the graph must not be NULL");
    return set_list(g, inputs_of(g), tensors, count, err);
}

pgy_status pgy_gs_set_graph_outputs(pgy_gs_graph *g, pgy_gs_tensor *const *tensors, size_t count,
                                    pgy_error *err)
{
    if (!g) return pgy_error_set(err, PGY_E_ARGUMENT, "the graph must not be NULL");
    return set_list(g, outputs_of(g), tensors, count, err);
}

static pgy_status add(pgy_gs_graph *g, interface to, pgy_gs_tensor *t, pgy_error *err)
{
    pgy_status st = check(g, t, err);
    if (!st) st = gs_grow(graph_box(g)->document, to.items, *to.count, to.capacity, err);
    if (st) return st;
    (*to.items)[(*to.count)++] = t;
    gs_touch(g);
    return PGY_OK;
}

pgy_status pgy_gs_add_graph_input(pgy_gs_graph *g, pgy_gs_tensor *t, pgy_error *err)
{
    if (!g) return pgy_error_set(err, PGY_E_ARGUMENT, "the graph must not be NULL");
    return add(g, inputs_of(g), t, err);
}

pgy_status pgy_gs_add_graph_output(pgy_gs_graph *g, pgy_gs_tensor *t, pgy_error *err)
{
    if (!g) return pgy_error_set(err, PGY_E_ARGUMENT, "the graph must not be NULL");
    return add(g, outputs_of(g), t, err);
}

pgy_status pgy_gs_subgraph(pgy_gs_graph **out, pgy_gs_graph *g, const char *name, pgy_error *err)
{
    if (!out || !g || !name)
        return pgy_error_set(err, PGY_E_ARGUMENT, "a subgraph needs a graph and a name");
    return gs_graph_create(out, graph_box(g)->document, g, name, err);
}
