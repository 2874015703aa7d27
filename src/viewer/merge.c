/* SPDX-License-Identifier: Apache-2.0 */
/* The merged graph of two graphs: pairs once, everything else as it is, the tensors of both. What
 * only B has comes behind the last item before it that A has, too. A node that replaces several is
 * drawn as a container around them. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "viewer/diff.h"
#include "viewer/graph_collect.h"

enum { DEPTH_LIMIT = 200 };

/* Items are numbered: nodes of A, containers of A, nodes of B, containers of B. */
typedef struct item {
    uint32_t parent, next, first, last; /* of the list of the parent; VIEW_NONE: none */
} item;

typedef struct merger {
    const view_match *m;
    graph_parts b;
    item *items;
    uint32_t starts[2][2];  /* first item: [side][0: nodes, 1: containers] */
    uint32_t *container[2]; /* of each container its item */
    bool *is_framed[2];     /* of each node: it is drawn as a container around its parts */
    uint32_t *tensor[2];    /* of each tensor: the merged one */
    uint32_t *stamp;        /* of each merged tensor: the last node that lists it */
    uint32_t stamps;
    uint32_t **nodes;
} merger;

static const view_graph *graph_of(const merger *g, int side)
{
    return g->m->side[side].graph;
}

/* ---- Items ----------------------------------------------------------------------------------- */

/* The container whose node this is; VIEW_NONE: none. */
static uint32_t call_of(const view_graph *g, uint32_t node)
{
    const uint32_t c = g->nodes[node].parent;
    return c < g->container_count && g->containers[c].node == node ? c : VIEW_NONE;
}

static uint32_t item_of_node(const merger *g, int side, uint32_t node)
{
    const view_side *s = &g->m->side[side];
    if (side == 1 && s->pair[node] != VIEW_NONE) return item_of_node(g, 0, s->pair[node]);
    const uint32_t call = call_of(s->graph, node);
    return call != VIEW_NONE ? g->container[side][call] : g->starts[side][0] + node;
}

static uint32_t item_of(const merger *g, int side, view_item child)
{
    return child.kind == VIEW_ITEM_NODE ? item_of_node(g, side, child.ref)
                                        : g->container[side][child.ref];
}

/* Puts an item behind another one of the same list; VIEW_NONE: at its start. */
static void insert(merger *g, uint32_t list, uint32_t behind, uint32_t at)
{
    item *l = &g->items[list], *i = &g->items[at];
    uint32_t *link = behind == VIEW_NONE ? &l->first : &g->items[behind].next;
    i->parent = list;
    i->next = *link;
    *link = at;
    if (l->last == behind) l->last = at;
}

/* ---- Containers of both ---------------------------------------------------------------------- */

static bool is_root(const view_graph *g, uint32_t c)
{
    return g->containers[c].parent == VIEW_NONE;
}

/* The n-th container in a container. */
static uint32_t nth_inside(const view_graph *g, uint32_t c, uint32_t n)
{
    for (uint32_t i = 0; i < g->containers[c].child_count; i++) {
        const view_item child = g->containers[c].children[i];
        if (child.kind == VIEW_ITEM_CONTAINER && n-- == 0) return child.ref;
    }
    return VIEW_NONE;
}

static uint32_t place_inside(const view_graph *g, uint32_t c)
{
    const view_container *parent = &g->containers[g->containers[c].parent];
    uint32_t n = 0;
    for (uint32_t i = 0; i < parent->child_count && parent->children[i].ref != c; i++)
        n += parent->children[i].kind == VIEW_ITEM_CONTAINER;
    return n;
}

/* A's container that is the same as one of B; VIEW_NONE: none. `same` has those of B's containers
 * before this one. */
static uint32_t same_container(const merger *g, const uint32_t *same, uint32_t c)
{
    const view_graph *a = graph_of(g, 0), *b = graph_of(g, 1);
    const view_container *k = &b->containers[c];
    if (c == 0) return 0;
    if (k->node != VIEW_NONE) {
        const uint32_t x = g->m->side[1].pair[k->node];
        return x == VIEW_NONE ? VIEW_NONE : call_of(a, x);
    }
    if (k->parent != VIEW_NONE) {
        const uint32_t parent = k->parent < c ? same[k->parent] : VIEW_NONE;
        if (k->kind != VIEW_BODY || parent == VIEW_NONE) return VIEW_NONE;
        const uint32_t x = nth_inside(a, parent, place_inside(b, c));
        return x != VIEW_NONE && a->containers[x].kind == VIEW_BODY ? x : VIEW_NONE;
    }
    for (uint32_t i = 1; i < a->container_count; i++)
        if (is_root(a, i) && a->containers[i].kind == k->kind &&
            strcmp(a->containers[i].name, k->name) == 0)
            return i;
    return VIEW_NONE;
}

static void map_containers(merger *g)
{
    const uint32_t count_a = graph_of(g, 0)->container_count;
    const uint32_t count_b = graph_of(g, 1)->container_count;
    for (uint32_t i = 0; i < count_a; i++) g->container[0][i] = g->starts[0][1] + i;
    for (uint32_t i = 0; i < count_b; i++) /* numbers of A's containers for now */
        g->container[1][i] = same_container(g, g->container[1], i);
    for (uint32_t i = 0; i < count_b; i++)
        g->container[1][i] = g->container[1][i] == VIEW_NONE ? g->starts[1][1] + i
                                                             : g->starts[0][1] + g->container[1][i];
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static void list_first(merger *g)
{
    const view_graph *a = graph_of(g, 0);
    for (uint32_t c = 0; c < a->container_count; c++)
        for (uint32_t i = 0; i < a->containers[c].child_count; i++) {
            const uint32_t list = g->container[0][c];
            insert(g, list, g->items[list].last, item_of(g, 0, a->containers[c].children[i]));
        }
}

/* Adds what only B has to the list of one of its containers. */
static void list_second(merger *g, uint32_t c)
{
    const view_side *s = &g->m->side[1];
    const view_container *k = &s->graph->containers[c];
    const uint32_t list = g->container[1][c];
    uint32_t behind = VIEW_NONE;
    for (uint32_t i = 0; i < k->child_count; i++) {
        const uint32_t at = item_of(g, 1, k->children[i]);
        if (at < g->starts[1][0]) {
            if (g->items[at].parent == list) behind = at;
            continue;
        }
        const uint32_t node =
            k->children[i].kind == VIEW_ITEM_NODE ? k->children[i].ref : VIEW_NONE;
        const uint32_t whole = node == VIEW_NONE ? VIEW_NONE : s->whole[node];
        const uint32_t start = whole == VIEW_NONE ? VIEW_NONE : item_of_node(g, 0, whole);
        if (start != VIEW_NONE && g->items[start].parent == list &&
            (behind == VIEW_NONE || behind < g->starts[1][0]))
            behind = start;
        insert(g, list, behind, at);
        behind = at;
    }
}

/* ---- Frames ---------------------------------------------------------------------------------- */

/* A node is drawn as a container around its parts if these lie in one container. */
static void find_frames(merger *g, int side)
{
    const view_side *w = &g->m->side[side], *p = &g->m->side[!side];
    uint32_t *home = g->stamp; /* borrowed: parent of the first part */
    memset(home, 0xFF, w->graph->node_count * sizeof *home);
    for (uint32_t i = 0; i < w->graph->node_count; i++)
        g->is_framed[side][i] = w->part_count[i] && call_of(w->graph, i) == VIEW_NONE;
    for (uint32_t i = 0; i < p->graph->node_count; i++) {
        const uint32_t k = p->whole[i];
        if (k == VIEW_NONE) continue;
        const uint32_t parent = p->graph->nodes[i].parent;
        if (call_of(p->graph, i) != VIEW_NONE || (home[k] != VIEW_NONE && home[k] != parent))
            g->is_framed[side][k] = false;
        home[k] = parent;
    }
}

/* Moves the parts of framed nodes from their list into the frame, which takes the place of the last
 * part. */
static void fill_frames(merger *g, uint32_t list)
{
    uint32_t before = VIEW_NONE;
    for (uint32_t at = g->items[list].first, next; at != VIEW_NONE; at = next) {
        next = g->items[at].next;
        const int side = at >= g->starts[1][0];
        const uint32_t node = at - g->starts[side][0];
        const uint32_t whole =
            node < graph_of(g, side)->node_count ? g->m->side[side].whole[node] : VIEW_NONE;
        if (whole == VIEW_NONE || !g->is_framed[!side][whole]) {
            before = at;
            continue;
        }
        const uint32_t frame = g->starts[!side][0] + whole;
        if (before == VIEW_NONE)
            g->items[list].first = next;
        else
            g->items[before].next = next;
        if (g->items[list].last == at) g->items[list].last = before;
        insert(g, frame, g->items[frame].last, at);
    }
}

static void make_lists(merger *g)
{
    const view_graph *b = graph_of(g, 1);
    find_frames(g, 0);
    find_frames(g, 1);
    map_containers(g);
    list_first(g);
    for (uint32_t c = 0; c < b->container_count; c++) list_second(g, c);
    for (uint32_t c = 0; c < graph_of(g, 0)->container_count; c++)
        fill_frames(g, g->container[0][c]);
    for (uint32_t c = 0; c < b->container_count; c++)
        if (g->container[1][c] >= g->starts[1][0]) fill_frames(g, g->container[1][c]);
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static void add_tensors(merger *g)
{
    for (int side = 0; side < 2; side++) {
        const view_side *s = &g->m->side[side];
        for (uint32_t i = 0; i < s->graph->tensor_count && !g->b.failed; i++) {
            const uint32_t pair = s->tensor_pair[i];
            if (side == 1 && pair != VIEW_NONE) {
                g->tensor[1][i] = g->tensor[0][pair];
                continue;
            }
            view_tensor like = s->graph->tensors[i];
            like.producer = VIEW_NONE;
            like.container = 0;
            g->tensor[side][i] = collect_tensor(&g->b, &like);
        }
    }
}

/* Appends the merged tensors of a list that were not in it. */
static void append_tensors(merger *g, uint32_t *out, uint32_t *count, const uint32_t *list,
                           uint32_t length, int side)
{
    for (uint32_t i = 0; i < length; i++) {
        const uint32_t t = list[i] == VIEW_NONE ? VIEW_NONE : g->tensor[side][list[i]];
        if (side == 1 && (t == VIEW_NONE || g->stamp[t] == g->stamps)) continue;
        if (t != VIEW_NONE) g->stamp[t] = g->stamps;
        out[(*count)++] = t;
    }
}

/* The tensors that a node has in A, then those that only its counterpart has. */
static uint32_t *merge_lists(merger *g, uint32_t *count, const view_node *const *both, bool inputs)
{
    uint32_t room = 0;
    *count = 0;
    for (int side = 0; side < 2; side++)
        if (both[side]) room += inputs ? both[side]->input_count : both[side]->output_count;
    uint32_t *out = collect_list(&g->b, room);
    g->stamps++;
    for (int side = 0; side < 2 && out; side++) {
        const view_node *n = both[side];
        if (n)
            append_tensors(g, out, count, inputs ? n->inputs : n->outputs,
                           inputs ? n->input_count : n->output_count, side);
    }
    return out;
}

/* ---- Nodes and containers -------------------------------------------------------------------- */

static void add_node(merger *g, int side, uint32_t i, uint32_t parent)
{
    const view_side *s = &g->m->side[side];
    const uint32_t pair = side == 0 ? s->pair[i] : VIEW_NONE;
    const view_node *both[2] = {NULL, NULL};
    both[side] = &s->graph->nodes[i];
    if (pair != VIEW_NONE) both[1] = &graph_of(g, 1)->nodes[pair];
    view_node like = *both[side];
    const view_op *op = like.op < s->graph->op_count ? &s->graph->ops[like.op] : NULL;
    like.op = collect_op(&g->b, op ? op->name : "", op ? op->domain : "");
    like.parent = parent;
    like.inputs = merge_lists(g, &like.input_count, both, true);
    like.outputs = merge_lists(g, &like.output_count, both, false);
    const uint32_t at = collect_node(&g->b, &like);
    if (g->b.failed) return;
    g->nodes[side][i] = at;
    if (pair != VIEW_NONE) g->nodes[1][pair] = at;
    for (uint32_t k = 0; k < like.output_count; k++) {
        view_tensor *t = like.outputs[k] == VIEW_NONE ? NULL : &g->b.tensors[like.outputs[k]];
        if (!t || t->producer != VIEW_NONE) continue;
        t->producer = at;
        t->container = parent;
    }
}

static void add_list(merger *g, uint32_t list, uint32_t parent, int depth);

static void add_container(merger *g, int side, uint32_t c, uint32_t parent, int depth)
{
    view_container like = graph_of(g, side)->containers[c];
    if (like.node != VIEW_NONE) {
        add_node(g, side, like.node, parent);
        like.node = g->nodes[side][like.node];
    }
    like.parent = parent;
    like.children = NULL;
    like.child_count = 0;
    const uint32_t at = collect_container(&g->b, &like);
    if (g->b.failed) return;
    if (like.node != VIEW_NONE) g->b.nodes[like.node].parent = at;
    add_list(g, g->starts[side][1] + c, at, depth);
}

static void add_frame(merger *g, int side, uint32_t i, uint32_t parent, int depth)
{
    const view_side *s = &g->m->side[side];
    const view_node *n = &s->graph->nodes[i];
    str note = {0};
    str_printf(&note, side ? "%u nodes became one: %s" : "%u nodes were one: %s", s->part_count[i],
               view_op_name(s->graph, i));
    const view_container like = {.kind = VIEW_FUSED,
                                 .name = *n->name ? n->name : view_op_name(s->graph, i),
                                 .note = collect_take(&g->b, &note),
                                 .parent = parent,
                                 .node = VIEW_NONE,
                                 .state = VIEW_OPEN};
    const uint32_t at = collect_container(&g->b, &like);
    if (!g->b.failed) add_list(g, g->starts[side][0] + i, at, depth);
}

static void add_list(merger *g, uint32_t list, uint32_t parent, int depth)
{
    if (depth >= DEPTH_LIMIT) return;
    for (uint32_t at = g->items[list].first; at != VIEW_NONE && !g->b.failed;
         at = g->items[at].next) {
        const int side = at >= g->starts[1][0];
        if (cancel_requested()) return;
        if (at >= g->starts[side][1])
            add_container(g, side, at - g->starts[side][1], parent, depth + 1);
        else if (g->is_framed[side][at - g->starts[side][0]])
            add_frame(g, side, at - g->starts[side][0], parent, depth + 1);
        else
            add_node(g, side, at - g->starts[side][0], parent);
    }
}

static void add_roots(merger *g)
{
    for (int side = 0; side < 2; side++) {
        const view_graph *graph = graph_of(g, side);
        for (uint32_t c = 0; c < graph->container_count; c++)
            if (is_root(graph, c) && g->container[side][c] == g->starts[side][1] + c)
                add_container(g, side, c, VIEW_NONE, 0);
    }
}

/* ---- All of it ------------------------------------------------------------------------------- */

static bool make_room(merger *g, arena *memory)
{
    size_t items = 0, tensors = 1;
    for (int side = 0; side < 2; side++) {
        const view_graph *graph = graph_of(g, side);
        g->starts[side][0] = (uint32_t)items;
        items += graph->node_count;
        g->starts[side][1] = (uint32_t)items;
        items += graph->container_count;
        tensors += (size_t)graph->tensor_count + graph->node_count;
        g->container[side] = arena_alloc_array(memory, graph->container_count, sizeof(uint32_t));
        g->is_framed[side] = arena_alloc_array(memory, graph->node_count, sizeof(bool));
        g->tensor[side] = arena_alloc_array(memory, graph->tensor_count, sizeof(uint32_t));
        if (!g->container[side] || !g->is_framed[side] || !g->tensor[side]) return false;
    }
    if (items >= VIEW_NONE) return false;
    g->items = arena_alloc_array(memory, items, sizeof *g->items);
    g->stamp = arena_alloc_array(memory, tensors, sizeof *g->stamp);
    if (!g->items || !g->stamp) return false;
    for (size_t i = 0; i < items; i++)
        g->items[i] = (item){VIEW_NONE, VIEW_NONE, VIEW_NONE, VIEW_NONE};
    return true;
}

static void merge_all(merger *g)
{
    const view_graph *a = graph_of(g, 0), *b = graph_of(g, 1);
    collect_property(&g->b, "before", a->name);
    collect_property(&g->b, "after", b->name);
    make_lists(g);
    memset(g->stamp, 0, ((size_t)a->node_count + b->node_count) * sizeof *g->stamp);
    add_tensors(g);
    add_roots(g);
}

pgy_status view_merge(view_graph **out, const view_match *m, uint32_t *nodes[2], pgy_error *err)
{
    arena memory = {0};
    merger g = {.m = m, .nodes = nodes};
    str name = {0};
    strvec warnings = {0};
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < m->side[side].graph->node_count; i++) nodes[side][i] = VIEW_NONE;
    str_printf(&name, "%s and %s", m->side[0].graph->name, m->side[1].graph->name);
    pgy_status st = collect_start(&g.b, "merged", str_text(&name), &warnings, err);
    if (!st && !make_room(&g, &memory))
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while merging two graphs");
    if (!st) {
        g.b.g->role = "merged";
        merge_all(&g);
        st = cancel_check(err);
    }
    if (!st) st = collect_finish(out, &g.b, err);
    collect_deinit(&g.b);
    str_deinit(&name);
    strvec_deinit(&warnings);
    arena_deinit(&memory);
    return st;
}
