/* SPDX-License-Identifier: Apache-2.0 */
/* Arranges containers: from the layout with all children folded, and the sizes that children have
 * now, it computes where things are (docs/formats/page.md, Arranging). */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "viewer/layout/layers.h"

typedef struct placed {
    float x;
    uint32_t item;
} placed;

static int compare_placed(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->x != y->x) return x->x < y->x ? -1 : 1;
    return x->item < y->item ? -1 : 1;
}

void layout_size(const view_graph *g, uint32_t container, float *width, float *height)
{
    const view_container *c = &g->containers[container];
    const view_layout *l = c->layout, *content = g->containers[layout_shown(g, container)].layout;
    *width = l ? l->card_width : 0;
    *height = l ? l->card_height : 0;
    if (c->state == VIEW_FOLDED) return;
    *width = (content ? content->width : 0) + 2 * VIEW_FRAME;
    *height = (content ? content->height : 0) + 2 * VIEW_FRAME + VIEW_HEADER;
}

static void take_sizes(const view_graph *g, view_layout *l)
{
    for (uint32_t i = 0; i < l->item_count; i++) {
        const view_item *item = &l->items[i];
        l->widths[i] = l->heights[i] = 0;
        if (item->kind == VIEW_ITEM_NODE) {
            l->widths[i] = g->nodes[item->ref].width;
            l->heights[i] = g->nodes[item->ref].height;
        } else if (item->kind == VIEW_ITEM_CONTAINER) {
            layout_size(g, item->ref, &l->widths[i], &l->heights[i]);
        }
    }
}

static void arrange_rows(view_layout *l)
{
    double top = 0;
    for (uint32_t r = 0, i = 0; r < l->row_count; r++) {
        float before = 0, now = 0;
        for (; i < l->item_count && l->rows[i] == r; i++) {
            if (l->folded.heights[i] > before) before = l->folded.heights[i];
            if (l->heights[i] > now) now = l->heights[i];
        }
        l->tops[r] = (float)top;
        l->height = (float)(top + now);
        if (r + 1 < l->row_count) top += now + (l->folded.tops[r + 1] - l->folded.tops[r] - before);
    }
}

/* What item i needs right of the one before it in its row. */
static double least_place(const view_layout *l, uint32_t i, const double *place)
{
    const double half = l->widths[i] / 2;
    if (i == 0 || l->rows[i - 1] != l->rows[i]) return half;
    double gap = ((double)l->folded.x[i] - l->folded.widths[i] / 2) -
                 ((double)l->folded.x[i - 1] + l->folded.widths[i - 1] / 2);
    if (gap > LAYER_ITEM_GAP) gap = LAYER_ITEM_GAP;
    return place[i - 1] + l->widths[i - 1] / 2 + half + gap;
}

/* Items with the same folded x stay together. */
static void arrange_places(view_layout *l, const placed *sorted, double *place)
{
    double at = 0, left = 0;
    for (uint32_t k = 0; k < l->item_count;) {
        const float x = sorted[k].x;
        uint32_t end = k;
        at += k ? (double)x - sorted[k - 1].x : 0;
        for (; end < l->item_count && sorted[end].x == x; end++) {
            const double least = least_place(l, sorted[end].item, place);
            if (least > at) at = least;
        }
        for (; k < end; k++) {
            place[sorted[k].item] = at;
            const double side = at - l->widths[sorted[k].item] / 2;
            if (k == 0 || side < left) left = side;
        }
    }
    l->width = 0;
    for (uint32_t i = 0; i < l->item_count; i++) {
        l->x[i] = (float)(place[i] - left);
        if (l->x[i] + l->widths[i] / 2 > l->width) l->width = l->x[i] + l->widths[i] / 2;
    }
}

static pgy_status arrange(view_layout *l, pgy_error *err)
{
    placed *sorted = mem_calloc((size_t)l->item_count + 1, sizeof *sorted);
    double *place = mem_calloc((size_t)l->item_count + 1, sizeof *place);
    pgy_status st = PGY_OK;
    if (!sorted || !place) {
        st = layout_no_memory(err);
        goto done;
    }
    for (uint32_t i = 0; i < l->item_count; i++) sorted[i] = (placed){l->folded.x[i], i};
    qsort(sorted, l->item_count, sizeof *sorted, compare_placed);
    arrange_rows(l);
    arrange_places(l, sorted, place);
done:
    mem_free(sorted);
    mem_free(place);
    return st;
}

static bool is_as_laid_out(const view_layout *l)
{
    const size_t size = l->item_count * sizeof *l->widths;
    return memcmp(l->widths, l->folded.widths, size) == 0 &&
           memcmp(l->heights, l->folded.heights, size) == 0;
}

pgy_status view_layout_arrange(view_graph *g, pgy_error *err)
{
    arena scratch = {0};
    uint32_t *order, count;
    pgy_status st = layout_parents_first(&order, &count, g, &scratch, err);
    if (st) goto done;
    for (uint32_t i = count; i-- > 0 && !st;) {
        view_layout *l = g->containers[order[i]].layout;
        if (cancel_requested()) st = cancel_check(err);
        if (!l || st) continue;
        take_sizes(g, l);
        if (is_as_laid_out(l)) {
            memcpy(l->x, l->folded.x, l->item_count * sizeof *l->x);
            memcpy(l->tops, l->folded.tops, l->row_count * sizeof *l->tops);
            l->width = l->folded.width;
            l->height = l->folded.height;
        } else {
            st = arrange(l, err);
        }
    }
done:
    arena_deinit(&scratch);
    return st;
}
