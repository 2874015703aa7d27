/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a page's graph into a file: sizes of the cards, their places, shapes, then text or pixels.
 */
#include "viewer/draw/draw.h"

#include <math.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "viewer/draw/parts.h"

enum { WIDEST_CARD = 260, CARD_PADDING = 22 };

/* ---- Sizes ---------------------------------------------------------------------------------- */

typedef struct card_size {
    float width, height;
} card_size;

static float card_width(const drawing *d, uint32_t node)
{
    const view_node *n = &d->g->nodes[node];
    const card_value v = drawing_value(d, (view_item){VIEW_ITEM_NODE, node});
    const char *title = picture_shown(d->list, d->g->ops[n->op].name);
    double wanted = CARD_PADDING + picture_text_width(title, 12, true);
    if (n->kind != VIEW_NODE) wanted += 10;
    if (v.is_measured && !v.is_mixed)
        wanted += 6 + picture_text_width(drawing_value_text(d, v.value), 11, true);
    wanted = fmax(wanted, CARD_PADDING + rows_width(d, node));
    return (float)fmax(n->width, fmin(ceil(wanted), WIDEST_CARD));
}

/* Makes room for values beside the operators, and for rows. */
static pgy_status fit_cards(view_graph *g, const view_results *r, const view_draw_options *options,
                            pgy_error *err)
{
    picture_list list = {0};
    drawing d = {.list = &list, .g = g, .r = r, .options = options};
    d.q = drawing_choose(r, options);
    pgy_status st = drawing_find_values(&d, err);
    for (uint32_t i = 0; i < g->node_count && !st; i++) {
        if (i % 1024 == 0 && cancel_requested()) st = cancel_check(err);
        g->nodes[i].width = card_width(&d, i);
        g->nodes[i].height += (float)rows_height(g, i, options);
    }
    if (!st) st = picture_list_check(&list, err);
    picture_list_deinit(&list);
    return st ? st : view_layout_arrange(g, err);
}

static pgy_status keep_sizes(card_size **out, const view_graph *g, pgy_error *err)
{
    *out = mem_calloc((size_t)g->node_count + 1, sizeof **out);
    if (!*out) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while drawing");
    for (uint32_t i = 0; i < g->node_count; i++)
        (*out)[i] = (card_size){g->nodes[i].width, g->nodes[i].height};
    return PGY_OK;
}

/* Other forms of the page have cards without rows. */
static pgy_status restore_sizes(const card_size *sizes, view_graph *g, pgy_error *err)
{
    for (uint32_t i = 0; i < g->node_count; i++) {
        g->nodes[i].width = sizes[i].width;
        g->nodes[i].height = sizes[i].height;
    }
    return view_layout_arrange(g, err);
}

/* ---- The list ------------------------------------------------------------------------------- */

static pgy_status check_options(const view_draw_options *o, const pgy_page *p, pgy_error *err)
{
    if (o->graph >= p->graph_count)
        return pgy_error_set(err, PGY_E_ARGUMENT, "there is no graph %u: the view has %u",
                             (unsigned)o->graph, (unsigned)p->graph_count);
    if (o->root >= p->graphs[o->graph]->container_count)
        return pgy_error_set(err, PGY_E_ARGUMENT, "graph %u has no container %u",
                             (unsigned)o->graph, (unsigned)o->root);
    return PGY_OK;
}

static view_draw_options chosen(const view_draw_options *options, const pgy_page *p)
{
    view_draw_options o = {.graph = VIEW_NONE};
    if (options) o = *options;
    if (o.graph == VIEW_NONE && p->graph_count) {
        const bool is_merged = p->graph_count > VIEW_MERGED && !p->plan_name;
        o.graph = is_merged ? VIEW_MERGED : 0;
    }
    return o;
}

static pgy_status draw_scene(picture_list *out, const pgy_page *p, const view_draw_options *o,
                             pgy_error *err)
{
    view_graph *g = p->graphs[o->graph];
    const char *title = p->options.title ? p->options.title : g->name;
    view_scene scene = {0};
    pgy_status st = fit_cards(g, &p->results, o, err);
    if (!st) st = view_scene_make(&scene, g, o->root, err);
    if (!st) st = drawing_make(out, g, &p->results, &scene, o, title, err);
    view_scene_deinit(&scene);
    return st;
}

pgy_status view_draw_list(picture_list *out, pgy_page *p, const view_draw_options *options,
                          pgy_error *err)
{
    card_size *sizes = NULL;
    pgy_status st = page_complete(p, err);
    if (st) return st;
    const view_draw_options o = chosen(options, p);
    st = check_options(&o, p, err);
    if (!st) st = keep_sizes(&sizes, p->graphs[o.graph], err);
    if (st) return st;
    st = draw_scene(out, p, &o, err);
    const pgy_status restored = restore_sizes(sizes, p->graphs[o.graph], st ? NULL : err);
    mem_free(sizes);
    return st ? st : restored;
}

/* ---- Files ---------------------------------------------------------------------------------- */

/* Two pixels for each unit, fewer if the picture would be too large, but never so few that it
 * cannot be read. */
static double fitting_scale(const picture_list *list)
{
    const double side = VIEW_SIDE_LIMIT / fmax(fmax(list->width, list->height), 1);
    const double area = sqrt(VIEW_PIXEL_LIMIT / fmax((double)list->width * list->height, 1));
    /* A little less, because sides are rounded up to whole pixels. */
    return fmax(1, fmin(2, 0.999 * fmin(side, area)));
}

static pgy_status draw(str *out, pgy_page *p, const view_draw_options *options, bool pixels,
                       pgy_error *err)
{
    picture_list list = {0};
    const view_theme theme = options ? options->theme : VIEW_THEME_AUTO;
    pgy_status st = view_draw_list(&list, p, options, err);
    double scale = options && options->scale > 0 ? options->scale
                   : pixels                      ? fitting_scale(&list)
                                                 : 1;
    if (options && options->width_limit && list.width * scale > options->width_limit)
        scale = options->width_limit / (double)list.width;
    if (!st)
        st = pixels ? png_write(out, &list, theme, scale, err)
                    : svg_write(out, &list, theme, scale, err);
    picture_list_deinit(&list);
    return st;
}

pgy_status view_draw_svg(str *out, pgy_page *p, const view_draw_options *options, pgy_error *err)
{
    return draw(out, p, options, false, err);
}

pgy_status view_draw_png(str *out, pgy_page *p, const view_draw_options *options, pgy_error *err)
{
    return draw(out, p, options, true, err);
}

static bool is_png(const char *path)
{
    return str_equal_nocase(path_extension(path), ".png");
}

bool view_draw_can_save(const char *path)
{
    return is_png(path) || str_equal_nocase(path_extension(path), ".svg");
}

pgy_status view_draw_save(pgy_page *p, const char *path, const view_draw_options *options,
                          pgy_error *err)
{
    str out = {0};
    if (!view_draw_can_save(path))
        return pgy_error_set(err, PGY_E_ARGUMENT, "'%s' does not end in .svg or .png", path);
    pgy_status st = draw(&out, p, options, is_png(path), err);
    if (!st) st = cancel_check(err);
    if (!st) st = file_write_all(path, out.data, out.size, err);
    str_deinit(&out);
    return st;
}
