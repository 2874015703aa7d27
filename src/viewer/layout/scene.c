/* SPDX-License-Identifier: Apache-2.0 */
/* Where everything that is shown lies, and the lines between. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "viewer/layout/layers.h"

/* The place of a port on the border of an open container. */
typedef struct scene_port {
    uint32_t container, tensor;
    bool is_out;
    float x;
} scene_port;

/* An open container that shows the content of `shown`, which begins at x, y. */
typedef struct scene_frame {
    uint32_t container, shown, place;
    float x, y;
} scene_frame;

typedef struct staging {
    const view_graph *g;
    view_scene *out;
    scene_frame *frames;
    view_place *places;
    scene_port *ports;
    view_line *lines;
    size_t frame_count, frame_capacity, place_count, place_capacity;
    size_t port_count, port_capacity, line_count, line_capacity;
} staging;

void view_scene_deinit(view_scene *s)
{
    arena_deinit(&s->memory);
    *s = (view_scene){0};
}

static const view_layout *layout_of(const view_graph *g, uint32_t container)
{
    return g->containers[container].layout;
}

static bool is_shown(const view_item *item)
{
    return item->kind == VIEW_ITEM_NODE || item->kind == VIEW_ITEM_CONTAINER;
}

/* Adds a place, and a frame if it is open. */
static bool put(staging *s, view_item item, float x, float y, float width, float height)
{
    const view_graph *g = s->g;
    if (!mem_grow((void **)&s->places, &s->place_capacity, s->place_count + 1, sizeof *s->places))
        return false;
    s->places[s->place_count++] = (view_place){item, x, y, width, height};
    if (item.kind != VIEW_ITEM_CONTAINER || g->containers[item.ref].state == VIEW_FOLDED ||
        !layout_of(g, layout_shown(g, item.ref)))
        return true;
    if (!mem_grow((void **)&s->frames, &s->frame_capacity, s->frame_count + 1, sizeof *s->frames))
        return false;
    s->frames[s->frame_count++] =
        (scene_frame){item.ref, layout_shown(g, item.ref), (uint32_t)s->place_count - 1,
                      x + VIEW_FRAME, y + VIEW_HEADER + VIEW_FRAME};
    return true;
}

static float row_height(const view_layout *l, uint32_t row, uint32_t any)
{
    float height = 0;
    for (uint32_t i = any; i < l->item_count && l->rows[i] == row; i++)
        if (l->heights[i] > height) height = l->heights[i];
    return height;
}

/* Places of what a frame shows. */
static bool open_frame(staging *s, scene_frame f)
{
    const view_layout *l = layout_of(s->g, f.shown);
    float height = 0;
    for (uint32_t i = 0; i < l->item_count; i++) {
        if (i == 0 || l->rows[i] != l->rows[i - 1]) height = row_height(l, l->rows[i], i);
        if (is_shown(&l->items[i]) && !put(s, l->items[i], f.x + l->x[i] - l->widths[i] / 2,
                                           f.y + l->tops[l->rows[i]] + (height - l->heights[i]) / 2,
                                           l->widths[i], l->heights[i]))
            return false;
    }
    return true;
}

static bool add_port(staging *s, uint32_t container, const view_item *item, float x)
{
    if (item->kind != VIEW_ITEM_IN && item->kind != VIEW_ITEM_OUT) return true;
    if (!mem_grow((void **)&s->ports, &s->port_capacity, s->port_count + 1, sizeof *s->ports))
        return false;
    s->ports[s->port_count++] = (scene_port){container, item->ref, item->kind == VIEW_ITEM_OUT, x};
    return true;
}

/* A repeat that shows one instance has the ports of all, at the places that the shown one has for
 * them. */
static bool add_ports(staging *s, const scene_frame *f)
{
    const view_graph *g = s->g;
    const view_container *c = &g->containers[f->container];
    const view_layout *shown = layout_of(g, f->shown);
    const bool is_whole = f->shown == f->container;
    for (uint32_t k = 0; k < (is_whole ? 1 : c->child_count); k++) {
        if (!is_whole && c->children[k].kind != VIEW_ITEM_CONTAINER) continue;
        const view_layout *l = is_whole ? shown : layout_of(g, c->children[k].ref);
        if (!l || (l != shown && l->like != f->shown)) continue;
        for (uint32_t i = 0; i < l->item_count && i < shown->item_count; i++)
            if (!add_port(s, f->container, &l->items[i], f->x + shown->x[i])) return false;
    }
    return true;
}

/* Of the same port of several instances the place of the first counts: they are equal but for
 * tensors that one makes and the next reads. */
static int compare_ports(const void *a, const void *b)
{
    const scene_port *x = a, *y = b;
    if (x->container != y->container) return x->container < y->container ? -1 : 1;
    if (x->is_out != y->is_out) return x->is_out ? 1 : -1;
    if (x->tensor != y->tensor) return x->tensor < y->tensor ? -1 : 1;
    return x->x < y->x ? -1 : x->x > y->x;
}

/* Where a line meets an item: at a port if it is open, else in the middle. */
static float meeting(const staging *s, const view_item *item, uint32_t tensor, bool is_out,
                     float middle)
{
    size_t low = 0, high = s->port_count;
    if (item->kind != VIEW_ITEM_CONTAINER) return middle;
    while (low < high) {
        const size_t at = low + (high - low) / 2;
        const scene_port *p = &s->ports[at];
        const bool before = p->container != item->ref ? p->container < item->ref
                            : p->is_out != is_out     ? is_out
                                                      : p->tensor < tensor;
        if (before)
            low = at + 1;
        else
            high = at;
    }
    if (low == s->port_count) return middle;
    const scene_port *p = &s->ports[low];
    return p->container == item->ref && p->tensor == tensor && p->is_out == is_out ? p->x : middle;
}

static void add_point(view_line *line, float x, float y)
{
    float *p = line->points + 2 * (size_t)line->count;
    if (line->count > 0 && p[-2] == x && p[-1] == y) return;
    if (line->count > 1 && p[-2] == x && p[-4] == x) { /* straight on */
        p[-1] = y;
        return;
    }
    p[0] = x;
    p[1] = y;
    line->count++;
}

static view_line *new_line(staging *s, uint32_t tensor, size_t points)
{
    if (!mem_grow((void **)&s->lines, &s->line_capacity, s->line_count + 1, sizeof *s->lines))
        return NULL;
    view_line *line = &s->lines[s->line_count++];
    *line = (view_line){.tensor = tensor};
    line->points = arena_alloc_array(&s->out->memory, 2 * points, sizeof(float));
    return line->points ? line : NULL;
}

static bool is_open(const view_graph *g, const view_item *item)
{
    return item->kind == VIEW_ITEM_CONTAINER && g->containers[item->ref].state != VIEW_FOLDED;
}

/* True if a tensor that the call's node does not read enters it: a body uses it from outside. */
static bool is_capture(const view_graph *g, const view_item *to, uint32_t tensor)
{
    if (to->kind != VIEW_ITEM_CONTAINER || g->containers[to->ref].kind != VIEW_CALL) return false;
    const uint32_t node = g->containers[to->ref].node;
    if (node == VIEW_NONE) return false;
    for (uint32_t i = 0; i < g->nodes[node].input_count; i++)
        if (g->nodes[node].inputs[i] == tensor) return false;
    return true;
}

static bool draw_edge(staging *s, const scene_frame *f, const view_layout_edge *e,
                      const float *row_heights)
{
    const view_graph *g = s->g;
    const view_layout *l = layout_of(g, f->shown);
    const view_place *frame = &s->places[f->place];
    const bool up = l->rows[e->from] > l->rows[e->to];
    const uint32_t top = up ? e->to : e->from, bottom = up ? e->from : e->to;
    const view_item *upper = &l->items[top], *lower = &l->items[bottom];
    view_line *line = new_line(s, e->tensor, 2 * (size_t)e->bend_count + 4);
    if (!line) return false;
    float x = meeting(s, upper, e->tensor, !up, f->x + l->x[top]);
    float row = f->y + l->tops[l->rows[top]], height = row_heights[l->rows[top]];
    add_point(line, x,
              upper->kind == VIEW_ITEM_IN ? frame->y : row + (height + l->heights[top]) / 2);
    add_point(line, x, row + height);
    for (uint32_t k = 0; k < e->bend_count; k++) {
        const uint32_t bend = e->bends[k];
        add_point(line, f->x + l->x[bend], f->y + l->tops[l->rows[bend]]);
        add_point(line, f->x + l->x[bend],
                  f->y + l->tops[l->rows[bend]] + row_heights[l->rows[bend]]);
    }
    x = meeting(s, lower, e->tensor, up, f->x + l->x[bottom]);
    row = f->y + l->tops[l->rows[bottom]], height = row_heights[l->rows[bottom]];
    add_point(line, x, row);
    add_point(line, x,
              lower->kind == VIEW_ITEM_OUT ? frame->y + frame->height
                                           : row + (height - l->heights[bottom]) / 2);
    for (uint32_t i = 0, k = line->count - 1; up && i < k; i++, k--)
        for (int d = 0; d < 2; d++) {
            const float p = line->points[2 * i + d];
            line->points[2 * i + d] = line->points[2 * k + d];
            line->points[2 * k + d] = p;
        }
    const view_item *to = &l->items[e->to];
    line->ends_there = to->kind != VIEW_ITEM_OUT && !is_open(g, to);
    const view_container_kind kind = g->containers[f->shown].kind;
    line->is_tunnel = is_capture(g, to, e->tensor) || kind == VIEW_CALL ||
                      (kind == VIEW_BODY && l->items[e->from].kind == VIEW_ITEM_IN);
    return true;
}

static bool draw_frame(staging *s, const scene_frame *f)
{
    const view_layout *l = layout_of(s->g, f->shown);
    float *row_heights = mem_calloc((size_t)l->row_count + 1, sizeof *row_heights);
    bool ok = row_heights != NULL;
    for (uint32_t i = 0; ok && i < l->item_count; i++)
        if (l->heights[i] > row_heights[l->rows[i]]) row_heights[l->rows[i]] = l->heights[i];
    for (uint32_t i = 0; ok && i < l->edge_count; i++)
        ok = draw_edge(s, f, &l->edges[i], row_heights);
    mem_free(row_heights);
    return ok;
}

static pgy_status stage(staging *s, pgy_error *err)
{
    for (size_t i = 0; i < s->frame_count; i++) {
        if (cancel_requested()) return cancel_check(err);
        const scene_frame f = s->frames[i];
        if (!open_frame(s, f) || !add_ports(s, &f)) return layout_no_memory(err);
    }
    if (s->port_count) qsort(s->ports, s->port_count, sizeof *s->ports, compare_ports);
    for (size_t i = 0; i < s->frame_count; i++) {
        if (cancel_requested()) return cancel_check(err);
        if (!draw_frame(s, &s->frames[i])) return layout_no_memory(err);
    }
    return PGY_OK;
}

/* Moves a grown list into the scene's arena. */
static bool keep(arena *a, void *out, uint32_t *count, const void *list, size_t n,
                 size_t item_bytes)
{
    void *copy = arena_alloc_array(a, n + 1, item_bytes);
    if (!copy) return false;
    if (n) memcpy(copy, list, n * item_bytes);
    memcpy(out, &copy, sizeof copy);
    *count = (uint32_t)n;
    return true;
}

pgy_status view_scene_make(view_scene *out, const view_graph *g, uint32_t root, pgy_error *err)
{
    *out = (view_scene){0};
    if (root >= g->container_count || !layout_of(g, root))
        return pgy_error_set(err, PGY_E_ARGUMENT, "container %u has no layout", root);
    staging s = {.g = g, .out = out};
    const view_layout *l = layout_of(g, root);
    out->width = l->width + 2 * VIEW_FRAME;
    out->height = l->height + 2 * VIEW_FRAME;
    pgy_status st = PGY_OK;
    /* The root itself has no frame: its place is only there for its ports. */
    if (!mem_grow((void **)&s.places, &s.place_capacity, 1, sizeof *s.places) ||
        !mem_grow((void **)&s.frames, &s.frame_capacity, 1, sizeof *s.frames)) {
        st = layout_no_memory(err);
        goto done;
    }
    s.places[s.place_count++] =
        (view_place){{VIEW_ITEM_CONTAINER, root}, 0, 0, out->width, out->height};
    s.frames[s.frame_count++] = (scene_frame){root, root, 0, VIEW_FRAME, VIEW_FRAME};
    st = stage(&s, err);
    if (st) goto done;
    if (!keep(&out->memory, &out->places, &out->place_count, s.places + 1, s.place_count - 1,
              sizeof *s.places) ||
        !keep(&out->memory, &out->lines, &out->line_count, s.lines, s.line_count, sizeof *s.lines))
        st = layout_no_memory(err);
done:
    mem_free(s.places);
    mem_free(s.frames);
    mem_free(s.ports);
    mem_free(s.lines);
    if (st) view_scene_deinit(out);
    return st;
}
