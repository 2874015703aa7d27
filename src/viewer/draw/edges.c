/* SPDX-License-Identifier: Apache-2.0 */
/* Edges with arrowheads, and one label for each tensor near its producer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "viewer/draw/parts.h"

enum { LABEL_SIZE = 9, LABEL_WIDTH = 150, ALERT_WIDTH = 260, HEAD_LENGTH = 7, HEAD_WIDTH = 6 };

/* ---- Where lines begin ---------------------------------------------------------------------- */

/* The lower side of a card, where the tensors that it makes leave it. */
typedef struct card_side {
    long y;
    float left, right;
} card_side;

typedef struct card_sides {
    card_side *bottoms;
    size_t count;
} card_sides;

static int compare_sides(const void *a, const void *b)
{
    const card_side *x = a, *y = b;
    if (x->y != y->y) return x->y < y->y ? -1 : 1;
    return x->left < y->left ? -1 : x->left > y->left;
}

static long row_of(double y)
{
    return isfinite(y) ? lround(fmax(-1e9, fmin(1e9, y))) : 0;
}

static bool find_sides(card_sides *s, const drawing *d)
{
    const view_scene *scene = d->scene;
    s->bottoms = mem_calloc((size_t)scene->place_count + 1, sizeof *s->bottoms);
    if (!s->bottoms) return false;
    for (uint32_t i = 0; i < scene->place_count; i++) {
        const view_place *p = &scene->places[i];
        if (!drawing_is_card(d, p)) continue;
        s->bottoms[s->count++] = (card_side){row_of(p->y + p->height), p->x, p->x + p->width};
    }
    qsort(s->bottoms, s->count, sizeof *s->bottoms, compare_sides);
    return true;
}

static bool begins_at_card(const card_sides *s, const float *point)
{
    for (long y = row_of(point[1]) - 1; y <= row_of(point[1]) + 1; y++) {
        size_t low = 0, high = s->count; /* behind the last side that begins left of the point */
        while (low < high) {
            const size_t at = low + (high - low) / 2;
            const card_side *side = &s->bottoms[at];
            if (side->y < y || (side->y == y && side->left <= point[0]))
                low = at + 1;
            else
                high = at;
        }
        if (low && s->bottoms[low - 1].y == y && point[0] <= s->bottoms[low - 1].right) return true;
    }
    return false;
}

/* ---- Lines ---------------------------------------------------------------------------------- */

static void draw_line(const drawing *d, const view_line *l, float *points)
{
    picture_list *p = d->list;
    for (size_t i = 0; i < l->count; i++) {
        points[2 * i] = (float)(l->points[2 * i] + d->x);
        points[2 * i + 1] = (float)(l->points[2 * i + 1] + d->y);
    }
    float *end = points + 2 * ((size_t)l->count - 1);
    const double tip[2] = {end[0], end[1]};
    const double down = end[1] >= end[-1] ? 1 : -1;
    /* The line ends inside the head, which would otherwise be blunt. */
    if (l->ends_there && fabs(end[1] - end[-1]) > HEAD_LENGTH)
        end[1] -= (float)(down * (HEAD_LENGTH - 1));
    shape *s = picture_path(p, points, l->count, (paint){0}, paint_role(ROLE_EDGE), 1.2);
    s->curved = true;
    s->dashed = l->is_tunnel;
    if (!l->ends_there) return;
    const float head[6] = {(float)tip[0],
                           (float)tip[1],
                           (float)(tip[0] + HEAD_WIDTH / 2.0),
                           (float)(tip[1] - down * HEAD_LENGTH),
                           (float)(tip[0] - HEAD_WIDTH / 2.0),
                           (float)(tip[1] - down * HEAD_LENGTH)};
    picture_path(p, head, 3, paint_role(ROLE_EDGE), (paint){0}, 1)->closed = true;
}

/* ---- Labels --------------------------------------------------------------------------------- */

static bool is_contradicted(const drawing *d, uint32_t tensor)
{
    return d->g->tensors[tensor].declared || d->contradicted[tensor];
}

/* Inference first; what a run saw and what the file declares are told apart from it by words. */
static const char *label_text(const drawing *d, uint32_t tensor)
{
    const view_tensor *t = &d->g->tensors[tensor];
    picture_list *p = d->list;
    if (t->declared)
        return picture_printf(p, "%s (file: %s)", shape_text(p, t->shape, t->dtype),
                              shape_text(p, t->declared, NULL));
    if (!t->shape && t->seen) return picture_printf(p, "run: %s", shape_text(p, t->seen, NULL));
    if (t->seen && (d->contradicted[tensor] || strpbrk(t->shape, "?")))
        return picture_printf(p, "%s (run: %s)", shape_text(p, t->shape, t->dtype),
                              shape_text(p, t->seen, NULL));
    return shape_text(p, t->shape, t->shape ? t->dtype : NULL);
}

/* What lies behind a label: the frame that the tensor's producer is drawn in, or the page. */
static colour_role background(const drawing *d, uint32_t tensor)
{
    const uint32_t producer = d->g->tensors[tensor].producer;
    uint32_t c = producer == VIEW_NONE ? VIEW_NONE : d->g->nodes[producer].parent;
    while (c != VIEW_NONE && d->g->containers[c].state == VIEW_FOLDED && c != d->options->root)
        c = d->g->containers[c].parent;
    return c == VIEW_NONE || c == d->options->root ? ROLE_PAGE : ROLE_FRAME;
}

static void draw_label(const drawing *d, const view_line *l)
{
    const bool alert = is_contradicted(d, l->tensor);
    const char *text = picture_fit(d->list, label_text(d, l->tensor), LABEL_SIZE, alert,
                                   alert ? ALERT_WIDTH : LABEL_WIDTH);
    const double x = l->points[0] + d->x + 4, y = l->points[1] + d->y + LABEL_SIZE + 3;
    if (!*text) return;
    shape *s = picture_rect(d->list, x - 1, y - LABEL_SIZE + 1,
                            picture_text_width(text, LABEL_SIZE, alert) + 2, LABEL_SIZE + 2, 2,
                            paint_role(background(d, l->tensor)));
    s->fill.opacity = 0.75f;
    picture_text_at(d->list, x, y, LABEL_SIZE, alert, paint_role(alert ? ROLE_ALERT : ROLE_DIM),
                    text);
}

/* ---- All of them ---------------------------------------------------------------------------- */

static bool is_drawable(const drawing *d, const view_line *l)
{
    return l->count >= 2 && l->tensor < d->g->tensor_count;
}

/* One for each tensor, where its line leaves a card; not again where it enters a frame. */
static void draw_labels(const drawing *d, const card_sides *sides, bool *labelled)
{
    for (uint32_t i = 0; i < d->scene->line_count; i++) {
        const view_line *l = &d->scene->lines[i];
        if (!is_drawable(d, l) || l->is_tunnel || labelled[l->tensor]) continue;
        if (!begins_at_card(sides, l->points)) continue;
        labelled[l->tensor] = true;
        draw_label(d, l);
    }
}

pgy_status edges_draw(const drawing *d, pgy_error *err)
{
    uint32_t most = 2;
    for (uint32_t i = 0; i < d->scene->line_count; i++)
        most = d->scene->lines[i].count > most ? d->scene->lines[i].count : most;
    float *points = mem_calloc(most, 2 * sizeof *points);
    bool *labelled = mem_calloc((size_t)d->g->tensor_count + 1, sizeof *labelled);
    card_sides sides = {0};
    pgy_status st = PGY_OK;
    if (!points || !labelled || !find_sides(&sides, d)) {
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while drawing");
        goto done;
    }
    picture_group(d->list, "edges", VIEW_NONE, NULL);
    for (uint32_t i = 0; i < d->scene->line_count; i++)
        if (is_drawable(d, &d->scene->lines[i])) draw_line(d, &d->scene->lines[i], points);
    draw_labels(d, &sides, labelled);
    picture_end(d->list);
done:
    mem_free(points);
    mem_free(labelled);
    mem_free(sides.bottoms);
    return st;
}
