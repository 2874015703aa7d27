/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the items and edges of each container. An edge between two nodes becomes one in the
 * innermost container of both, between the children they lie in. Containers further inside get a
 * port for the tensor and an edge between it and the child. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "viewer/layout/layers.h"

/* `seen_*` hold the tensor for which an item has its edge or port already. */
typedef struct lifting {
    const view_graph *g;
    arena *memory;
    uint32_t *node_item, *container_item; /* place of a child among its parent's items */
    uint32_t *depths;                     /* of containers; VIEW_NONE: hangs on no root */
    uint32_t *reader_start, *readers;     /* of each tensor */
    uint32_t *seen_node, *seen_container; /* has its edge from above */
    uint32_t *in_tensor, *in_item, *out_tensor, *out_item; /* latest ports by container */
    uint32_t *item_counts;
    lifted_edge *edges, *ports; /* a port: container, tensor; `from` 1: at the bottom */
    size_t edge_count, edge_capacity, port_count, port_capacity;
} lifting;

static uint32_t *numbers(arena *a, size_t count, uint32_t value)
{
    uint32_t *n = arena_alloc_array(a, count + 1, sizeof *n);
    if (!n) return NULL;
    for (size_t i = 0; i <= count; i++) n[i] = value;
    return n;
}

/* The call's own node stands for the call, so it is none of its items. */
static bool is_hidden(const view_graph *g, uint32_t container, const view_item *child)
{
    return child->kind == VIEW_ITEM_NODE && g->containers[container].node == child->ref;
}

static bool add(lifted_edge **list, size_t *count, size_t *capacity, lifted_edge e)
{
    if (*count >= UINT32_MAX - 1) return false;
    if (!mem_grow((void **)list, capacity, *count + 1, sizeof e)) return false;
    (*list)[(*count)++] = e;
    return true;
}

static bool add_edge(lifting *l, uint32_t container, uint32_t tensor, uint32_t from, uint32_t to)
{
    return add(&l->edges, &l->edge_count, &l->edge_capacity,
               (lifted_edge){container, tensor, from, to});
}

/* Gives the port's item, which is made at the tensor's first use. */
static bool port(lifting *l, uint32_t container, uint32_t tensor, bool is_out, uint32_t *item)
{
    uint32_t *tensors = is_out ? l->out_tensor : l->in_tensor;
    uint32_t *items = is_out ? l->out_item : l->in_item;
    if (tensors[container] != tensor) {
        if (!add(&l->ports, &l->port_count, &l->port_capacity,
                 (lifted_edge){container, tensor, is_out, 0}))
            return false;
        tensors[container] = tensor;
        items[container] = l->item_counts[container]++;
    }
    *item = items[container];
    return true;
}

/* One end of an edge on its way up: an item, and the container that it is an item of. */
typedef struct end {
    uint32_t container, item;
    view_item what;
} end;

static void climb(const lifting *l, end *e)
{
    e->what = (view_item){VIEW_ITEM_CONTAINER, e->container};
    e->item = l->container_item[e->container];
    e->container = l->g->containers[e->container].parent;
}

/* False: the node hangs on no root. */
static bool end_of(const lifting *l, uint32_t node, end *e)
{
    const uint32_t parent = l->g->nodes[node].parent;
    if (parent >= l->g->container_count || l->depths[parent] == VIEW_NONE) return false;
    *e = (end){parent, l->node_item[node], {VIEW_ITEM_NODE, node}};
    if (l->g->containers[parent].node == node) climb(l, e);
    return e->container != VIEW_NONE && e->item != VIEW_NONE;
}

/* False: they are in different trees. */
static bool meet(const lifting *l, end *a, end *b)
{
    while (a->container != b->container) {
        end *deeper = l->depths[a->container] >= l->depths[b->container] ? a : b;
        if (l->g->containers[deeper->container].parent == VIEW_NONE) return false;
        climb(l, deeper);
    }
    return true;
}

static uint32_t *seen(lifting *l, const end *e)
{
    return e->what.kind == VIEW_ITEM_NODE ? &l->seen_node[e->what.ref]
                                          : &l->seen_container[e->what.ref];
}

/* Edges of one tensor between its producer and one reader, less those that earlier readers made.
 * `made` is the producer's end as far as ports have been made. */
static bool lift_edge(lifting *l, uint32_t tensor, end producer, end *made, uint32_t reader)
{
    end top = producer, bottom, e;
    if (!end_of(l, reader, &bottom)) return true;
    e = bottom;
    if (!meet(l, &top, &bottom) || top.item == bottom.item) return true;
    uint32_t item;
    /* An earlier reader may lie further out: then the edge starts below what was made for it. */
    while (l->depths[made->container] > l->depths[top.container]) {
        if (!port(l, made->container, tensor, true, &item) ||
            !add_edge(l, made->container, tensor, made->item, item))
            return false;
        climb(l, made);
    }
    for (; e.container != top.container; climb(l, &e)) {
        if (*seen(l, &e) == tensor) return true;
        *seen(l, &e) = tensor;
        if (!port(l, e.container, tensor, false, &item) ||
            !add_edge(l, e.container, tensor, item, e.item))
            return false;
    }
    if (*seen(l, &e) == tensor) return true;
    *seen(l, &e) = tensor;
    return add_edge(l, e.container, tensor, top.item, e.item);
}

static pgy_status lift_all(lifting *l, pgy_error *err)
{
    const view_graph *g = l->g;
    for (uint32_t t = 0; t < g->tensor_count; t++) {
        if ((t & 1023) == 0 && cancel_requested()) return cancel_check(err);
        const uint32_t node = g->tensors[t].producer;
        end producer, made;
        if (node >= g->node_count || !end_of(l, node, &producer)) continue;
        made = producer;
        for (uint32_t i = l->reader_start[t]; i < l->reader_start[t + 1]; i++)
            if (!lift_edge(l, t, producer, &made, l->readers[i])) return layout_no_memory(err);
    }
    return PGY_OK;
}

/* Lists of readers by tensor. */
static bool find_readers(lifting *l)
{
    const view_graph *g = l->g;
    size_t count = 0;
    uint32_t *at = numbers(l->memory, (size_t)g->tensor_count + 1, 0);
    if (!(l->reader_start = at)) return false;
    for (uint32_t n = 0; n < g->node_count; n++)
        for (uint32_t i = 0; i < g->nodes[n].input_count; i++)
            if (g->nodes[n].inputs[i] < g->tensor_count) at[g->nodes[n].inputs[i] + 2]++, count++;
    for (uint32_t t = 1; t < g->tensor_count; t++) at[t + 1] += at[t];
    if (!(l->readers = numbers(l->memory, count, 0))) return false;
    for (uint32_t n = 0; n < g->node_count; n++)
        for (uint32_t i = 0; i < g->nodes[n].input_count; i++)
            if (g->nodes[n].inputs[i] < g->tensor_count)
                l->readers[at[g->nodes[n].inputs[i] + 1]++] = n;
    return true;
}

/* Numbers the children of each container. */
static bool find_items(lifting *l, const uint32_t *order, uint32_t count)
{
    const view_graph *g = l->g;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at = order[i], parent = g->containers[at].parent;
        const view_container *c = &g->containers[at];
        l->depths[at] = parent == VIEW_NONE ? 0 : l->depths[parent] + 1;
        for (uint32_t k = 0; k < c->child_count; k++) {
            const view_item *child = &c->children[k];
            if (is_hidden(g, at, child)) continue;
            uint32_t *item = child->kind == VIEW_ITEM_NODE ? &l->node_item[child->ref]
                                                           : &l->container_item[child->ref];
            *item = l->item_counts[at]++;
        }
    }
    return true;
}

static bool start(lifting *l)
{
    const view_graph *g = l->g;
    const size_t n = g->node_count, c = g->container_count;
    return (l->node_item = numbers(l->memory, n, VIEW_NONE)) &&
           (l->container_item = numbers(l->memory, c, VIEW_NONE)) &&
           (l->depths = numbers(l->memory, c, VIEW_NONE)) &&
           (l->seen_node = numbers(l->memory, n, VIEW_NONE)) &&
           (l->seen_container = numbers(l->memory, c, VIEW_NONE)) &&
           (l->in_tensor = numbers(l->memory, c, VIEW_NONE)) &&
           (l->in_item = numbers(l->memory, c, VIEW_NONE)) &&
           (l->out_tensor = numbers(l->memory, c, VIEW_NONE)) &&
           (l->out_item = numbers(l->memory, c, VIEW_NONE)) &&
           (l->item_counts = numbers(l->memory, c, 0)) && find_readers(l);
}

/* Sorts items and edges by container; edges of a container stay in the order of their tensors. */
static bool collect(lifted *out, const lifting *l)
{
    const view_graph *g = l->g;
    const uint32_t n = g->container_count;
    if (!(out->item_start = numbers(&out->memory, n, 0)) ||
        !(out->edge_start = numbers(&out->memory, (size_t)n + 1, 0)))
        return false;
    for (uint32_t c = 0; c < n; c++)
        out->item_start[c + 1] = out->item_start[c] + l->item_counts[c];
    if (!(out->items = arena_alloc_array(&out->memory, (size_t)out->item_start[n] + 1,
                                         sizeof *out->items)) ||
        !(out->edges = arena_alloc_array(&out->memory, l->edge_count + 1, sizeof *out->edges)))
        return false;
    uint32_t *next = out->child_counts;
    for (uint32_t c = 0; c < n; c++) {
        if (l->depths[c] == VIEW_NONE) continue;
        for (uint32_t k = 0; k < g->containers[c].child_count; k++)
            if (!is_hidden(g, c, &g->containers[c].children[k]))
                out->items[out->item_start[c] + next[c]++] = g->containers[c].children[k];
    }
    uint32_t *fill = numbers(l->memory, n, 0);
    if (!fill) return false;
    memcpy(fill, next, n * sizeof *fill);
    for (size_t i = 0; i < l->port_count; i++) {
        const lifted_edge *p = &l->ports[i];
        out->items[out->item_start[p->container] + fill[p->container]++] =
            (view_item){p->from ? VIEW_ITEM_OUT : VIEW_ITEM_IN, p->tensor};
    }
    for (size_t i = 0; i < l->edge_count; i++) out->edge_start[l->edges[i].container + 2]++;
    for (uint32_t c = 1; c <= n; c++) out->edge_start[c + 1] += out->edge_start[c];
    for (size_t i = 0; i < l->edge_count; i++)
        out->edges[out->edge_start[l->edges[i].container + 1]++] = l->edges[i];
    return true;
}

pgy_status layout_lift(lifted *out, const view_graph *g, pgy_error *err)
{
    *out = (lifted){0};
    arena scratch = {0};
    lifting l = {.g = g, .memory = &scratch};
    uint32_t *order, count;
    pgy_status st = layout_parents_first(&order, &count, g, &scratch, err);
    if (!st && (!start(&l) || !find_items(&l, order, count) ||
                !(out->child_counts = numbers(&out->memory, g->container_count, 0))))
        st = layout_no_memory(err);
    if (!st) st = lift_all(&l, err);
    if (!st && !collect(out, &l)) st = layout_no_memory(err);
    mem_free(l.edges);
    mem_free(l.ports);
    arena_deinit(&scratch);
    if (st) arena_deinit(&out->memory);
    return st;
}
