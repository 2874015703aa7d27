/* SPDX-License-Identifier: Apache-2.0 */
/* What depends on what, between the items of each region. */
#include "viewer/groups.h"

typedef struct pair {
    uint32_t key, value;
} pair;

typedef struct pairs {
    pair *items;
    size_t count;
} pairs;

/* Sorts pairs into lists, in their order. */
static bool make_lists(group_lists *out, arena *memory, const pairs *p, uint32_t key_count,
                       bool reversed)
{
    out->start = arena_alloc_array(memory, (size_t)key_count + 2, sizeof *out->start);
    out->values = arena_alloc_array(memory, p->count, sizeof *out->values);
    if (!out->start || !out->values) return false;
    for (size_t i = 0; i < p->count; i++)
        out->start[(reversed ? p->items[i].value : p->items[i].key) + 2]++;
    for (uint32_t k = 2; k < key_count + 2; k++) out->start[k] += out->start[k - 1];
    for (size_t i = 0; i < p->count; i++) {
        const uint32_t key = reversed ? p->items[i].value : p->items[i].key;
        out->values[out->start[key + 1]++] = reversed ? p->items[i].key : p->items[i].value;
    }
    return true;
}

/* Climbs from a node to the item of the region that it lies in. */
static uint32_t item_in(const view_graph *g, uint32_t node, uint32_t region)
{
    uint32_t item = node, parent = g->nodes[node].parent;
    while (parent != region && parent != VIEW_NONE) {
        item = g->node_count + parent;
        parent = g->containers[parent].parent;
    }
    return parent == region ? item : VIEW_NONE;
}

/* The region of the tensor that a node makes. The node of a call lies in the region around it. */
static uint32_t region_of(const view_graph *g, uint32_t node)
{
    uint32_t c = g->nodes[node].parent;
    while (!group_is_region(&g->containers[c])) c = g->containers[c].parent;
    return c;
}

static void add_edges(grouping *s, pairs *edges, pairs *uses)
{
    const view_graph *g = s->g;
    for (uint32_t i = 0; i < g->node_count; i++)
        for (uint32_t k = 0; k < g->nodes[i].input_count; k++) {
            const uint32_t t = g->nodes[i].inputs[k];
            if (t == VIEW_NONE) continue;
            uses->items[uses->count++] = (pair){t, i};
            const uint32_t from = g->tensors[t].producer;
            if (from == VIEW_NONE) continue;
            const uint32_t region = region_of(g, from);
            const uint32_t a = item_in(g, from, region), b = item_in(g, i, region);
            if (b != VIEW_NONE && a != b) edges->items[edges->count++] = (pair){a, b};
        }
}

pgy_status group_index(grouping *s, pgy_error *err)
{
    const view_graph *g = s->g;
    size_t inputs = 0;
    s->item_count = g->node_count + g->container_count;
    for (uint32_t i = 0; i < g->node_count; i++) inputs += g->nodes[i].input_count;
    arena scratch = {0};
    pairs edges = {.items = arena_alloc_array(&scratch, inputs, sizeof(pair))};
    pairs uses = {.items = arena_alloc_array(&scratch, inputs, sizeof(pair))};
    bool ok = edges.items && uses.items;
    if (ok) add_edges(s, &edges, &uses);
    ok = ok && make_lists(&s->after, &s->memory, &edges, s->item_count, false) &&
         make_lists(&s->before, &s->memory, &edges, s->item_count, true) &&
         make_lists(&s->uses, &s->memory, &uses, g->tensor_count, false);
    arena_deinit(&scratch);
    return ok ? PGY_OK : group_no_memory(err);
}
