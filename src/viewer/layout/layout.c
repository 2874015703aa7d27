/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out all containers of a graph, each by itself. */
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "viewer/layout/layers.h"

/* Characters of a UTF-8 text. */
static uint32_t characters(const char *text)
{
    uint32_t n = 0;
    for (; text && *text && n < 1000; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

/* A call's card is that of its node; another has its name and, smaller, its note. */
static void card_of(const view_graph *g, const view_container *c, float *width, float *height)
{
    enum { CHARACTER = 7, NOTE_CHARACTER = 6, SIDES = 30, LEAST = 80, MOST = 260 };
    if (c->node != VIEW_NONE) {
        *width = g->nodes[c->node].width;
        *height = g->nodes[c->node].height;
        return;
    }
    const uint32_t name = characters(c->name) * CHARACTER,
                   note = characters(c->note) * NOTE_CHARACTER;
    uint32_t w = (name > note ? name : note) + SIDES;
    if (w < LEAST) w = LEAST;
    *width = w > MOST ? MOST : w;
    *height = VIEW_CARD_HEIGHT;
}

/* All containers at work. */
typedef struct laying {
    view_graph *g;
    lifted all;
    arena memory;
    double deadline;
    bool is_late;
    uint32_t *port_places; /* of each tensor: its port's place in the container looked at */
    uint32_t **locals;     /* by container: the lifted item of each layout item */
} laying;

/* Counts the ports of a child, and notes their places. */
static uint32_t read_ports(laying *y, const view_layout *child, view_item_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < child->item_count; i++)
        if (child->items[i].kind == kind) y->port_places[child->items[i].ref] = count++;
    return count;
}

/* Where edges meet the ports of their containers. Children have been laid out before. */
static pgy_status take_ports(laying *y, layers *l, pgy_error *err)
{
    const size_t n = (size_t)l->item_count + 2;
    for (int side = 0; side < 2; side++) {
        const bool is_top = side == 0; /* of edges: the bottom of the child */
        uint32_t *counts = arena_alloc_array(l->memory, n, sizeof *counts);
        uint32_t *start = arena_alloc_array(l->memory, n, sizeof *start);
        uint32_t *list = arena_alloc_array(l->memory, (size_t)l->edge_count + 1, sizeof *list);
        if (!counts || !start || !list) return layout_no_memory(err);
        for (uint32_t i = 0; i < l->edge_count; i++)
            start[(is_top ? l->edges[i].top : l->edges[i].bottom) + 1]++;
        for (uint32_t i = 0; i < l->item_count; i++) start[i + 1] += start[i];
        for (uint32_t i = l->edge_count; i-- > 0;) {
            const uint32_t item = is_top ? l->edges[i].top : l->edges[i].bottom;
            list[start[item] + counts[item]++] = i;
        }
        for (uint32_t i = 0; i < l->item_count; i++) {
            counts[i] = 1;
            if (l->items[i].kind != VIEW_ITEM_CONTAINER) continue;
            const view_layout *child = y->g->containers[l->items[i].ref].layout;
            if (!child) continue;
            const uint32_t ports = read_ports(y, child, is_top ? VIEW_ITEM_OUT : VIEW_ITEM_IN);
            if (ports < 2) continue;
            counts[i] = ports;
            for (uint32_t k = start[i]; k < start[i + 1]; k++) {
                layer_edge *e = &l->edges[list[k]];
                const uint32_t place = y->port_places[e->tensor];
                *(is_top ? &e->top_port : &e->bottom_port) = place < ports ? place : 0;
            }
        }
        *(is_top ? &l->outs : &l->ins) = counts;
    }
    return PGY_OK;
}

static pgy_status take_container(laying *y, layers *l, uint32_t c, pgy_error *err)
{
    const view_graph *g = y->g;
    const lifted *all = &y->all;
    l->items = all->items + all->item_start[c];
    l->item_count = all->item_start[c + 1] - all->item_start[c];
    l->child_count = all->child_counts[c];
    l->edge_count = all->edge_start[c + 1] - all->edge_start[c];
    l->edges = arena_alloc_array(l->memory, (size_t)l->edge_count + 1, sizeof *l->edges);
    l->widths = arena_alloc_array(l->memory, (size_t)l->item_count + 1, sizeof *l->widths);
    l->heights = arena_alloc_array(l->memory, (size_t)l->item_count + 1, sizeof *l->heights);
    if (!l->edges || !l->widths || !l->heights) return layout_no_memory(err);
    for (uint32_t i = 0; i < l->edge_count; i++) {
        const lifted_edge *e = &all->edges[all->edge_start[c] + i];
        l->edges[i] = (layer_edge){.tensor = e->tensor, .top = e->from, .bottom = e->to};
    }
    for (uint32_t i = 0; i < l->child_count; i++) {
        const view_item *item = &l->items[i];
        if (item->kind == VIEW_ITEM_NODE) {
            l->widths[i] = g->nodes[item->ref].width;
            l->heights[i] = g->nodes[item->ref].height;
        } else {
            card_of(g, &g->containers[item->ref], &l->widths[i], &l->heights[i]);
        }
    }
    return take_ports(y, l, err);
}

static bool allocate(view_layout *v, arena *a, const layers *l)
{
    const size_t n = (size_t)l->node_count + 1, r = (size_t)l->row_count + 1;
    const size_t e = (size_t)l->edge_count + 1;
    v->item_count = l->node_count;
    v->row_count = l->row_count;
    v->edge_count = l->edge_count;
    v->like = VIEW_NONE;
    return (v->items = arena_alloc_array(a, n, sizeof *v->items)) &&
           (v->rows = arena_alloc_array(a, n, sizeof *v->rows)) &&
           (v->x = arena_alloc_array(a, n, sizeof *v->x)) &&
           (v->widths = arena_alloc_array(a, n, sizeof *v->widths)) &&
           (v->heights = arena_alloc_array(a, n, sizeof *v->heights)) &&
           (v->tops = arena_alloc_array(a, r, sizeof *v->tops)) &&
           (v->edges = arena_alloc_array(a, e, sizeof *v->edges)) &&
           (v->folded.x = arena_alloc_array(a, n, sizeof *v->x)) &&
           (v->folded.widths = arena_alloc_array(a, n, sizeof *v->x)) &&
           (v->folded.heights = arena_alloc_array(a, n, sizeof *v->x)) &&
           (v->folded.tops = arena_alloc_array(a, r, sizeof *v->tops));
}

/* The gap below a row: lines that run far sideways need room to be told apart. */
static float gap_below(const layers *l, uint32_t row)
{
    float widest = 0;
    for (uint32_t k = l->row_start[row]; k < l->row_start[row + 1]; k++) {
        const uint32_t node = l->order[k];
        for (uint32_t i = l->down.start[node]; i < l->down.start[node + 1]; i++) {
            const float d = l->x[l->down.to[i]] - l->x[node];
            if (d > widest) widest = d;
            if (-d > widest) widest = -d;
        }
    }
    if (widest < LAYER_WIDE) return LAYER_ROW_GAP;
    const float more = floorf((widest - LAYER_WIDE) / LAYER_WIDE_STEP);
    return LAYER_ROW_GAP + (more < LAYER_WIDE_GAP ? more : LAYER_WIDE_GAP);
}

static void fill_items(view_layout *v, const layers *l)
{
    for (uint32_t k = 0; k < l->node_count; k++) {
        const uint32_t node = l->order[k];
        const bool is_bend = node >= l->item_count;
        v->items[k] = is_bend ? (view_item){VIEW_ITEM_BEND, VIEW_NONE} : l->items[node];
        v->rows[k] = l->rows[node];
        v->folded.x[k] = l->x[node];
        v->folded.widths[k] = layer_width(l, node);
        v->folded.heights[k] = is_bend ? 0 : l->heights[node];
        const float right = l->x[node] + layer_width(l, node) / 2;
        if (right > v->folded.width) v->folded.width = right;
    }
    float top = 0;
    for (uint32_t r = 0, k = 0; r < v->row_count; r++) {
        float height = 0;
        for (; k < v->item_count && v->rows[k] == r; k++)
            if (v->folded.heights[k] > height) height = v->folded.heights[k];
        v->folded.tops[r] = top;
        v->folded.height = top + height;
        top += height + gap_below(l, r);
    }
}

static uint32_t item_of(const layers *l, uint32_t node)
{
    return l->row_start[l->rows[node]] + l->place[node];
}

static bool fill_edges(view_layout *v, arena *a, const layers *l)
{
    size_t count = 1;
    for (uint32_t i = 0; i < l->edge_count; i++) count += l->edges[i].bend_count;
    uint32_t *bends = arena_alloc_array(a, count, sizeof *bends);
    if (!bends) return false;
    for (uint32_t i = 0; i < l->edge_count; i++) {
        const layer_edge *e = &l->edges[i];
        const uint32_t top = item_of(l, e->top), bottom = item_of(l, e->bottom);
        v->edges[i] = (view_layout_edge){.tensor = e->tensor,
                                         .from = e->is_flipped ? bottom : top,
                                         .to = e->is_flipped ? top : bottom,
                                         .bends = bends,
                                         .bend_count = e->bend_count};
        for (uint32_t k = 0; k < e->bend_count; k++) {
            *bends = item_of(l, layer_bend(e, k));
            v->items[*bends++].ref = e->tensor;
        }
    }
    return true;
}

static pgy_status lay_out(laying *y, uint32_t c, pgy_error *err)
{
    view_graph *g = y->g;
    arena scratch = {0};
    layers l = {.memory = &scratch, .deadline = y->deadline};
    view_layout *v = arena_alloc(&g->memory, sizeof *v);
    pgy_status st = v ? take_container(y, &l, c, err) : layout_no_memory(err);
    if (!st) st = layers_flip(&l, err);
    if (!st) st = layers_rank(&l, err);
    if (!st) st = layers_bend(&l, err);
    if (!st) st = layers_order(&l, err);
    if (!st) st = layers_position(&l, err);
    if (st) goto done;
    const size_t size = l.node_count * sizeof **y->locals;
    if (!allocate(v, &g->memory, &l) || !(y->locals[c] = arena_alloc(&y->memory, size + 1))) {
        st = layout_no_memory(err);
        goto done;
    }
    if (size) memcpy(y->locals[c], l.order, size);
    fill_items(v, &l);
    if (!fill_edges(v, &g->memory, &l)) {
        st = layout_no_memory(err);
        goto done;
    }
    card_of(g, &g->containers[c], &v->card_width, &v->card_height);
    g->containers[c].layout = v;
done:
    y->is_late |= l.is_late;
    arena_deinit(&scratch);
    return st;
}

/* Gives container c the layout of `like`, which has equal structure. */
static pgy_status share(laying *y, uint32_t c, uint32_t like, pgy_error *err)
{
    view_graph *g = y->g;
    arena *a = &g->memory;
    const view_layout *from = g->containers[like].layout;
    const size_t n = (size_t)from->item_count + 1, edges = (size_t)from->edge_count + 1;
    view_layout *v = arena_alloc(a, sizeof *v);
    if (!v) return layout_no_memory(err);
    *v = *from;
    v->like = like;
    if (!(v->items = arena_alloc_array(a, n, sizeof *v->items)) ||
        !(v->x = arena_alloc_array(a, n, sizeof *v->x)) ||
        !(v->widths = arena_alloc_array(a, n, sizeof *v->widths)) ||
        !(v->heights = arena_alloc_array(a, n, sizeof *v->heights)) ||
        !(v->tops = arena_alloc_array(a, (size_t)from->row_count + 1, sizeof *v->tops)) ||
        !(v->edges = arena_alloc_array(a, edges, sizeof *v->edges)) ||
        !(v->tensors = arena_alloc_array(a, edges, sizeof *v->tensors)))
        return layout_no_memory(err);
    const lifted *all = &y->all;
    for (uint32_t i = 0; i < v->item_count; i++)
        v->items[i] = from->items[i].kind == VIEW_ITEM_BEND
                          ? from->items[i]
                          : all->items[all->item_start[c] + y->locals[like][i]];
    for (uint32_t i = 0; i < v->edge_count; i++) {
        v->edges[i] = from->edges[i];
        v->tensors[i] = v->edges[i].tensor = all->edges[all->edge_start[c] + i].tensor;
        for (uint32_t k = 0; k < v->edges[i].bend_count; k++)
            v->items[v->edges[i].bends[k]].ref = v->tensors[i];
    }
    card_of(g, &g->containers[c], &v->card_width, &v->card_height);
    g->containers[c].layout = v;
    return PGY_OK;
}

/* Containers of one depth: first those that others share. */
static pgy_status lay_out_level(laying *y, const uint32_t *level, uint32_t count,
                                const uint32_t *likes, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (int shared = 0; shared < 2; shared++)
        for (uint32_t i = 0; !st && i < count; i++) {
            const uint32_t c = level[i], like = likes[c];
            if (cancel_requested()) return cancel_check(err);
            if ((like != VIEW_NONE) != shared) continue;
            const bool can = shared && y->locals[like] && layout_is_equal(&y->all, like, c);
            st = can ? share(y, c, like, err) : lay_out(y, c, err);
        }
    return st;
}

pgy_status view_layout_run(view_graph *g, const view_layout_options *options,
                           view_layout_report *report, pgy_error *err)
{
    const double begin = layout_now();
    const double seconds = options && options->seconds > 0 ? options->seconds : 5;
    laying y = {.g = g, .deadline = begin + seconds};
    uint32_t *order, *likes, *depths, count;
    pgy_status st = layout_lift(&y.all, g, err);
    if (!st) st = layout_sort(&y.all, g, err);
    if (!st) st = layout_parents_first(&order, &count, g, &y.memory, err);
    if (!st) st = layout_find_like(&likes, g, order, count, &y.memory, err);
    y.locals = arena_alloc_array(&y.memory, (size_t)g->container_count + 1, sizeof *y.locals);
    y.port_places = arena_alloc_array(&y.memory, (size_t)g->tensor_count + 1, sizeof(uint32_t));
    depths = arena_alloc_array(&y.memory, (size_t)g->container_count + 1, sizeof *depths);
    if (!st && (!y.locals || !y.port_places || !depths)) st = layout_no_memory(err);
    for (uint32_t i = 0; !st && i < count; i++) {
        const uint32_t parent = g->containers[order[i]].parent;
        depths[order[i]] = parent == VIEW_NONE ? 0 : depths[parent] + 1;
    }
    for (uint32_t end = count; !st && end > 0;) {
        uint32_t first = end - 1;
        while (first > 0 && depths[order[first - 1]] == depths[order[first]]) first--;
        st = lay_out_level(&y, order + first, end - first, likes, err);
        end = first;
    }
    if (!st) st = view_layout_arrange(g, err);
    if (!st && report) *report = (view_layout_report){y.is_late, layout_now() - begin};
    arena_deinit(&y.memory);
    arena_deinit(&y.all.memory);
    return st;
}
