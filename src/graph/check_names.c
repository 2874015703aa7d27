/* SPDX-License-Identifier: Apache-2.0 */
/* Checks names and order: node names are unique in a graph, value names in a graph and those that
 * enclose it, and values are computed before they are used, also by subgraphs. */
#include <string.h>

#include "graph/check.h"

static pgy_status check_node_name(checker *c, strmap *here, pgy_node *n, pgy_error *err)
{
    if (!n->name || !*n->name) return PGY_OK;
    const pgy_node *other = strmap_get(here, n->name);
    if (other) {
        finding_add(&c->list, c->state, CHECK_DUPLICATE_NODE_NAME, n,
                    "Duplicate node name: '%s' is also the name of a node of type %s", n->name,
                    other->op_type);
        return PGY_OK;
    }
    if (!strmap_put(here, n->name, n)) return graph_no_memory(err);
    if (level_of(n->graph)->is_function) return PGY_OK;
    other = strmap_get(&c->names, n->name);
    if (other)
        finding_add(&c->list, c->state, CHECK_REPEATED_NODE_NAME, n,
                    "A node of type %s in another graph has the name '%s' too", other->op_type,
                    n->name);
    return other || strmap_put(&c->names, n->name, n) ? PGY_OK : graph_no_memory(err);
}

static void check_shadowing(checker *c, const pgy_graph *g)
{
    const strmap *values = &level_of(g)->values;
    for (size_t i = 0; g->parent && i < values->count; i++) {
        const pgy_value *v = values->entries[i].value, *outer = level_resolve(g->parent, v->name);
        if (!outer) continue;
        if (v->producer)
            finding_add(&c->list, c->state, CHECK_SHADOWED_VALUE, v->producer,
                        "Output '%s' has the same name as a value of an enclosing graph", v->name);
        else
            finding_add_value(&c->list, CHECK_SHADOWED_INPUT, g, v->name,
                              "'%s' has the same name as a value of an enclosing graph", v->name);
    }
}

static pgy_status check_outputs(checker *c, const pgy_graph *g, pgy_error *err)
{
    strmap seen = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < g->output_count; i++) {
        const char *name = g->outputs[i]->name;
        if (strmap_has(&seen, name))
            finding_add_value(&c->list, CHECK_DUPLICATE_OUTPUT, g, name,
                              "The graph lists output '%s' twice", name);
        else
            ok = strmap_put(&seen, name, c);
    }
    strmap_deinit(&seen);
    return ok ? PGY_OK : graph_no_memory(err);
}

pgy_status check_names(checker *c, pgy_graph *g, pgy_error *err)
{
    strmap here = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++)
        st = check_node_name(c, &here, g->nodes[i], err);
    strmap_deinit(&here);
    check_shadowing(c, g);
    return st || level_of(g)->is_function ? st : check_outputs(c, g, err);
}

void check_order(checker *c, const pgy_node *n)
{
    for (size_t i = 0; i < n->input_count; i++) {
        const pgy_value *v = n->inputs[i];
        if (!v || v->graph != n->graph || !v->producer || v->producer->index < n->index) continue;
        finding_add(&c->list, c->state, CHECK_NOT_SORTED, n,
                    "Nodes are not in topological order: input '%s' is computed by a later node",
                    v->name);
        return;
    }
}

void check_captures(checker *c, const pgy_node *n)
{
    const node_box *box = node_box_of(n);
    for (size_t i = 0; i < box->captured_count; i++) {
        const pgy_value *v = box->captured[i];
        if (v->graph != n->graph || !v->producer || v->producer->index < n->index) continue;
        finding_add(&c->list, c->state, CHECK_SUBGRAPH_REFERENCE, n,
                    "A subgraph uses '%s', which %s computes", v->name,
                    v->producer == n ? "the node itself" : "a later node");
    }
}
