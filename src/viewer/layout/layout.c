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

static pgy_status take_container(layers *l, const view_graph *g, const lifted *all, uint32_t c,
                                 pgy_error *err)
{
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
    return PGY_OK;
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

/* All containers at work. */
typedef struct laying {
    view_graph *g;
    lifted all;
    arena memory;
    double deadline;
    bool is_late;
    uint32_t **locals; /* by container: the lifted item of each layout item */
} laying;

static pgy_status lay_out(laying *y, uint32_t c, pgy_error *err)
{
    view_graph *g = y->g;
    arena scratch = {0};
    layers l = {.memory = &scratch, .deadline = y->deadline};
    view_layout *v = arena_alloc(&g->memory, sizeof *v);
    pgy_status st = v ? take_container(&l, g, &y->all, c, err) : layout_no_memory(err);
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

pgy_status view_layout_run(view_graph *g, const view_layout_options *options,
                           view_layout_report *report, pgy_error *err)
{
    const double begin = layout_now();
    const double seconds = options && options->seconds > 0 ? options->seconds : 5;
    laying y = {.g = g, .deadline = begin + seconds};
    uint32_t *order, *likes, count;
    pgy_status st = layout_lift(&y.all, g, err);
    if (!st) st = layout_sort(&y.all, g, err);
    if (!st) st = layout_parents_first(&order, &count, g, &y.memory, err);
    if (!st) st = layout_find_like(&likes, g, order, count, &y.memory, err);
    y.locals = arena_alloc_array(&y.memory, (size_t)g->container_count + 1, sizeof *y.locals);
    if (!st && !y.locals) st = layout_no_memory(err);
    for (uint32_t i = 0; !st && i < count; i++) {
        if (cancel_requested()) st = cancel_check(err);
        if (!st && likes[order[i]] == VIEW_NONE) st = lay_out(&y, order[i], err);
    }
    for (uint32_t i = 0; !st && i < count; i++) {
        const uint32_t c = order[i], like = likes[c];
        if (cancel_requested()) st = cancel_check(err);
        if (st || like == VIEW_NONE) continue;
        st = layout_is_equal(&y.all, like, c) ? share(&y, c, like, err) : lay_out(&y, c, err);
    }
    if (!st) st = view_layout_arrange(g, err);
    if (!st && report) *report = (view_layout_report){y.is_late, layout_now() - begin};
    arena_deinit(&y.memory);
    arena_deinit(&y.all.memory);
    return st;
}
