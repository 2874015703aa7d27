/* SPDX-License-Identifier: Apache-2.0 */
/* Topological orders of nodes and functions. The default order of nodes is that of
 * onnx-graphsurgeon. The stable order only moves producers in front of the first node that needs
 * them. */
#include "gs/edit/toposort.h"
#include "base/alloc.h"
#include "base/sized.h"
#include "graph/order.h"
#include "gs/graph/function_index.h"

#include <string.h>

enum { CYCLE_SHOWN = 8 };

typedef struct needs {
    order *order;
    const pgy_gs_graph *g;
} needs;

static pgy_status need_producers(pgy_gs_tensor *t, void *user, pgy_error *err)
{
    const needs *n = user;
    for (size_t i = 0; i < t->producer_count; i++) {
        const pgy_gs_node *p = t->producers[i];
        if (p->graph != n->g) continue;
        pgy_status st = order_need(n->order, gs_node_box(p)->index_hint, err);
        if (st) return st;
    }
    return PGY_OK;
}

static pgy_status gather_needs(order *o, const pgy_gs_graph *g, pgy_error *err)
{
    needs user = {o, g};
    for (size_t i = 0; i < g->node_count; i++) gs_node_box(g->nodes[i])->index_hint = i;
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_gs_node *n = g->nodes[i];
        pgy_status st = PGY_OK;
        order_open(o, i);
        if (gs_has_subgraphs(n)) {
            st = gs_each_dependency(n, need_producers, &user, err);
        } else {
            for (size_t j = 0; j < n->input_count && !st; j++)
                st = need_producers(n->inputs[j], &user, err);
        }
        if (st) return st;
    }
    return PGY_OK;
}

/* Makes the error "node a -> node b -> node a" for a cycle, in the direction of the data. Omits the
 * middle of a long cycle. */
static pgy_status node_cycle(const order *o, const pgy_gs_graph *g, pgy_error *err)
{
    str text = {0};
    size_t length = o->cycle_length;
    for (size_t i = 0; i < length; i++) {
        if (length > CYCLE_SHOWN && i == CYCLE_SHOWN / 2) {
            i = length - CYCLE_SHOWN / 2;
            str_printf(&text, "(%zu more) -> ", length - CYCLE_SHOWN);
        }
        str_printf(&text, "node %s -> ", gs_node_label(g->nodes[o->cycle[i]]));
    }
    str_printf(&text, "node %s", gs_node_label(g->nodes[o->cycle[0]]));
    pgy_status st = text.failed ? gs_no_memory(err)
                                : pgy_error_set(err, PGY_E_FORMAT, "graph '%s' has a cycle: %s",
                                                g->name, str_text(&text));
    str_deinit(&text);
    return st;
}

pgy_status gs_order(pgy_gs_node ***out, const pgy_gs_graph *g, bool stable, pgy_error *err)
{
    order o;
    pgy_gs_node **nodes = NULL;
    pgy_status st = order_init(&o, g->node_count, err);
    if (st) return st;
    st = gather_needs(&o, g, err);
    if (!st) st = order_settle(&o, err);
    if (o.cycle) st = node_cycle(&o, g, err);
    if (!st && !stable) st = order_by_level(&o, err);
    if (st) goto done;
    nodes = mem_calloc(g->node_count, sizeof *nodes);
    if (!nodes) {
        st = gs_no_memory(err);
        goto done;
    }
    for (size_t i = 0; i < g->node_count; i++) nodes[i] = g->nodes[o.settled[i]];
    *out = nodes;
done:
    order_deinit(&o);
    return st;
}

/* ---- Functions ------------------------------------------------------------------------------- */

typedef struct callees {
    order *order;
    const gs_function_index *index;
    gs_level_list pending; /* subgraphs whose calls are still to be visited */
} callees;

static pgy_status need_callees(callees *c, const pgy_gs_graph *g, pgy_error *err)
{
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_gs_node *n = g->nodes[i];
        size_t callee = gs_function_index_find(c->index, n);
        pgy_status st = callee == SIZE_MAX ? PGY_OK : order_need(c->order, callee, err);
        if (!st && gs_has_subgraphs(n))
            st = gs_each_subgraph(n, gs_level_list_push, &c->pending, err);
        if (st) return st;
    }
    return PGY_OK;
}

static pgy_status function_cycle(const order *o, const gs_document *d, pgy_error *err)
{
    str text = {0};
    for (size_t i = 0; i <= o->cycle_length; i++)
        str_printf(&text, "%sfunction %s", i ? " -> " : "",
                   d->functions[o->cycle[(o->cycle_length - i) % o->cycle_length]]->name);
    pgy_status st =
        text.failed ? gs_no_memory(err)
                    : pgy_error_set(err, PGY_E_FORMAT, "functions call each other in a cycle: %s",
                                    str_text(&text));
    str_deinit(&text);
    return st;
}

pgy_status gs_function_order(order *o, const gs_document *d, pgy_error *err)
{
    gs_function_index index;
    callees c = {.order = o, .index = &index};
    pgy_status st = order_init(o, d->function_count, err);
    if (st) return st;
    st = gs_function_index_init(&index, d, err);
    for (size_t i = 0; i < d->function_count && !st; i++) {
        order_open(o, i);
        st = gs_level_list_push(d->functions[i], &c.pending, err);
        while (c.pending.count && !st)
            st = need_callees(&c, c.pending.items[--c.pending.count], err);
    }
    if (!st) st = order_settle(o, err);
    if (o->cycle) st = function_cycle(o, d, err);
    gs_function_index_deinit(&index);
    mem_free(c.pending.items);
    return st;
}

static pgy_status sort_functions(gs_document *d, bool stable, pgy_error *err)
{
    order o = {0};
    pgy_gs_graph **sorted = mem_calloc(d->function_count, sizeof *sorted);
    pgy_status st = sorted ? gs_function_order(&o, d, err) : gs_no_memory(err);
    if (!st && !stable) st = order_by_level(&o, err);
    if (st) goto done;
    bool moved = false;
    for (size_t i = 0; i < d->function_count; i++) {
        sorted[i] = d->functions[o.settled[i]];
        moved |= o.settled[i] != i;
    }
    if (moved) {
        memcpy(d->functions, sorted, d->function_count * sizeof *sorted);
        gs_touch(d->top);
    }
done:
    mem_free(sorted);
    order_deinit(&o);
    return st;
}

/* ---- Graphs and subgraphs -------------------------------------------------------------------- */

typedef struct level_order {
    pgy_gs_graph *g;
    pgy_gs_node **nodes;
} level_order;

typedef struct sorting {
    level_order *items;
    size_t count, capacity;
} sorting;

static pgy_status add_level(pgy_gs_graph *g, void *user, pgy_error *err)
{
    sorting *s = user;
    if (!mem_grow((void **)&s->items, &s->capacity, s->count + 1, sizeof *s->items))
        return gs_no_memory(err);
    s->items[s->count++] = (level_order){.g = g};
    return PGY_OK;
}

static pgy_status add_levels(sorting *s, pgy_gs_graph *g, const pgy_gs_sort_options *options,
                             bool functions, pgy_error *err)
{
    pgy_status st = options->functions_only ? PGY_OK : add_level(g, s, err);
    functions = functions && !options->keep_functions && !options->functions_only;
    for (size_t i = 0; i < g->function_count && functions && !st; i++)
        st = add_level(g->functions[i], s, err);
    for (size_t i = 0; i < s->count && !options->keep_subgraphs && !st; i++) {
        const pgy_gs_graph *level = s->items[i].g;
        for (size_t j = 0; j < level->node_count && !st; j++)
            if (gs_has_subgraphs(level->nodes[j]))
                st = gs_each_subgraph(level->nodes[j], add_level, s, err);
    }
    return st;
}

/* Swaps the graph's node list with level->nodes. */
static void swap_order(const level_order *level)
{
    pgy_gs_graph *g = level->g;
    for (size_t i = 0; i < g->node_count; i++) {
        pgy_gs_node *n = level->nodes[i];
        level->nodes[i] = g->nodes[i];
        g->nodes[i] = n;
        gs_node_box(n)->index_hint = i;
    }
}

/* Sorts subgraphs before the graphs around them: a node depends on the values that its subgraphs
 * capture, in the order of their nodes. If one graph cannot be sorted, all orders are restored. */
static pgy_status sort_levels(sorting *s, bool stable, pgy_error *err)
{
    size_t first = s->count;
    pgy_status st = PGY_OK;
    while (first && !st) {
        st = gs_order(&s->items[first - 1].nodes, s->items[first - 1].g, stable, err);
        if (!st) swap_order(&s->items[--first]);
    }
    while (st && first < s->count) swap_order(&s->items[first++]);
    return st;
}

static void touch_moved(const level_order *level)
{
    pgy_gs_graph *g = level->g;
    if (g->node_count && memcmp(g->nodes, level->nodes, g->node_count * sizeof *g->nodes))
        gs_touch(g);
}

pgy_status pgy_gs_toposort(pgy_gs_graph *g, const pgy_gs_sort_options *given, pgy_error *err)
{
    pgy_gs_sort_options taken = {.size = sizeof taken};
    const pgy_gs_sort_options *options = &taken;
    pgy_status st = SIZED_TAKE(pgy_gs_sort_options, &taken, given, err);
    if (st) return st;
    if (!g) return pgy_error_set(err, PGY_E_ARGUMENT, "the graph must not be NULL");
    gs_document *d = graph_box(g)->document;
    bool functions = !g->is_function;
    bool sorts_functions = functions && !options->nodes_only;
    sorting s = {0};
    order calls = {0};
    st = sorts_functions ? gs_function_order(&calls, d, err) : PGY_OK;
    if (!st) st = add_levels(&s, g, options, functions, err);
    if (!st) st = sort_levels(&s, options->stable, err);
    if (st) goto done;
    for (size_t i = 0; i < s.count; i++) touch_moved(&s.items[i]);
    if (sorts_functions) st = sort_functions(d, options->stable, err);
done:
    order_deinit(&calls);
    for (size_t i = 0; i < s.count; i++) mem_free(s.items[i].nodes);
    mem_free(s.items);
    return st;
}
