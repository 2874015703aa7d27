/* SPDX-License-Identifier: Apache-2.0 */
/* Matches a plan with its model or with another plan. A layer of a plan names the model's nodes
 * that it was made from; a node of a model stands for itself. A layer that shares names with only
 * one node of the other side, and that node with it alone, is its counterpart; several nodes that
 * share names with one node only are its parts. */
#include <string.h>

#include "base/alloc.h"
#include "viewer/diff.h"

enum { SEVERAL = VIEW_NONE - 1 };

typedef struct member_tables {
    strmap owners[2];  /* name -> node of this side */
    uint32_t *only[2]; /* of each node: the one node of the other side that shares a name */
} member_tables;

/* A plan names nodes without a name by their first output. */
static const char *own_name(const view_graph *g, const view_node *n)
{
    if (*n->name || !n->output_count || n->outputs[0] == VIEW_NONE) return n->name;
    return g->tensors[n->outputs[0]].name;
}

static uint32_t member_count(const view_graph *g, const view_node *n)
{
    if (n->kind != VIEW_NODE) return 0;
    return n->member_count ? n->member_count : *own_name(g, n) != 0;
}

static const char *member_at(const view_graph *g, const view_node *n, uint32_t i)
{
    return n->member_count ? n->members[i] : own_name(g, n);
}

static bool list_owners(strmap *owners, const view_graph *g)
{
    for (uint32_t i = 0; i < g->node_count; i++)
        for (uint32_t k = 0; k < member_count(g, &g->nodes[i]); k++) {
            const char *name = member_at(g, &g->nodes[i], k);
            if (!strmap_has(owners, name) && !strmap_put(owners, name, &g->nodes[i])) return false;
        }
    return true;
}

/* Two nodes without members are matched by name elsewhere, if their operators agree. */
static bool may_share(const view_node *a, const view_node *b)
{
    return a->member_count || b->member_count;
}

static void find_only(uint32_t *only, const view_graph *g, const view_graph *other,
                      const strmap *owners)
{
    for (uint32_t i = 0; i < g->node_count; i++) {
        const view_node *n = &g->nodes[i];
        only[i] = VIEW_NONE;
        for (uint32_t k = 0; k < member_count(g, n); k++) {
            const view_node *o = strmap_get(owners, member_at(g, n, k));
            if (!o || !may_share(n, o)) continue;
            const uint32_t at = (uint32_t)(o - other->nodes);
            only[i] = only[i] == VIEW_NONE || only[i] == at ? at : SEVERAL;
        }
    }
}

static void join_parts(view_match *m, const member_tables *t, int side)
{
    for (uint32_t i = 0; i < m->side[side].graph->node_count; i++) {
        const uint32_t k = t->only[side][i];
        if (k != VIEW_NONE && k != SEVERAL && t->only[!side][k] == SEVERAL)
            view_join_node(m, side, i, k);
    }
}

/* A node with a single part is its counterpart. */
static void pair_single_parts(view_match *m, int side)
{
    view_side *s = &m->side[side], *other = &m->side[!side];
    for (uint32_t i = 0; i < s->graph->node_count; i++) {
        const uint32_t k = s->whole[i];
        if (k == VIEW_NONE || other->part_count[k] != 1) continue;
        s->whole[i] = VIEW_NONE;
        other->part_count[k] = 0;
        view_pair_nodes(m, side ? k : i, side ? i : k);
    }
}

/* Layers that overlap without one covering the other: the first two that are left. */
static void pair_overlaps(view_match *m, const member_tables *t)
{
    const view_graph *a = m->side[0].graph, *b = m->side[1].graph;
    for (uint32_t i = 0; i < a->node_count; i++) {
        for (uint32_t k = 0; k < member_count(a, &a->nodes[i]) && view_is_alone(&m->side[0], i);
             k++) {
            const view_node *o = strmap_get(&t->owners[1], member_at(a, &a->nodes[i], k));
            const uint32_t at = o ? (uint32_t)(o - b->nodes) : VIEW_NONE;
            if (o && may_share(&a->nodes[i], o) && view_is_alone(&m->side[1], at))
                view_pair_nodes(m, i, at);
        }
    }
}

static void match_tables(view_match *m, const member_tables *t)
{
    for (uint32_t i = 0; i < m->side[0].graph->node_count; i++) {
        const uint32_t k = t->only[0][i];
        if (k != VIEW_NONE && k != SEVERAL && t->only[1][k] == i) view_pair_nodes(m, i, k);
    }
    for (int side = 0; side < 2; side++) join_parts(m, t, side);
    for (int side = 0; side < 2; side++) pair_single_parts(m, side);
    pair_overlaps(m, t);
}

pgy_status view_match_members(view_match *m, pgy_error *err)
{
    member_tables t = {0};
    bool ok = true;
    for (int side = 0; ok && side < 2; side++) {
        const view_graph *g = m->side[side].graph;
        t.only[side] = mem_calloc((size_t)g->node_count + 1, sizeof *t.only[side]);
        ok = t.only[side] && list_owners(&t.owners[side], g);
    }
    if (ok) {
        for (int side = 0; side < 2; side++)
            find_only(t.only[side], m->side[side].graph, m->side[!side].graph, &t.owners[!side]);
        match_tables(m, &t);
    }
    for (int side = 0; side < 2; side++) {
        strmap_deinit(&t.owners[side]);
        mem_free(t.only[side]);
    }
    return ok ? PGY_OK
              : pgy_error_set(err, PGY_E_MEMORY, "out of memory while comparing two graphs");
}
