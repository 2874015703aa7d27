/* SPDX-License-Identifier: Apache-2.0 */
/* Composes a drawing: the legend above, then frames, edges and cards. */
#include <math.h>

#include "base/cancel.h"
#include "viewer/draw/parts.h"

enum { MARGIN = 16, LEAST_WIDTH = 420 };

static void find_range(drawing *d)
{
    d->range = colour_range_begin(d->q);
    for (uint32_t i = 0; i < d->scene->place_count; i++) {
        const view_place *place = &d->scene->places[i];
        const card_value v = drawing_value(d, place->item);
        const bool is_shown = drawing_is_card(d, place) || drawing_has_header_value(d, place);
        if (is_shown && v.is_measured) colour_range_add(&d->range, v.value);
    }
    colour_range_finish(&d->range);
}

static pgy_status no_quantity(const drawing *d, pgy_error *err)
{
    str known = {0};
    for (size_t i = 0; i < d->r->quantity_count; i++)
        if (d->r->quantities[i].graph == d->options->graph)
            str_printf(&known, "%s%s", known.size ? ", " : "; it has: ", d->r->quantities[i].id);
    const pgy_status st = pgy_error_set(
        err, PGY_E_NOT_FOUND, "there is no quantity '%s' in this view%s", d->options->quantity,
        known.size ? str_text(&known) : ": it has none without files of results");
    str_deinit(&known);
    return st;
}

/* All cards, or all frames. */
static pgy_status draw_places(const drawing *d, bool cards,
                              void (*draw)(const drawing *, const view_place *), pgy_error *err)
{
    for (uint32_t i = 0; i < d->scene->place_count; i++) {
        const view_place *place = &d->scene->places[i];
        if (i % 256 == 0 && cancel_requested()) return cancel_check(err);
        if (drawing_is_card(d, place) == cards) draw(d, place);
    }
    return PGY_OK;
}

pgy_status drawing_make(picture_list *out, const view_graph *g, const view_results *r,
                        const view_scene *scene, const view_draw_options *options,
                        const char *title, pgy_error *err)
{
    drawing d = {.list = out, .g = g, .r = r, .scene = scene, .options = options};
    const double width = fmax(scene->width, LEAST_WIDTH);
    d.q = drawing_choose(r, options);
    if (!d.q && options->quantity && *options->quantity) return no_quantity(&d, err);
    out->title = picture_shown(out, title);
    pgy_status st = drawing_find_values(&d, err);
    if (st) return st;
    if (d.q) find_range(&d);
    d.x = d.y = MARGIN;
    if (!options->hide_legend) d.y += legend_draw(&d, width) + 8;
    if (options->hide_legend)
        out->width = (float)(scene->width + 2.0 * MARGIN);
    else
        out->width = (float)(width + 2.0 * MARGIN);
    d.x += (out->width - 2.0 * MARGIN - scene->width) / 2;
    out->height = (float)(d.y + scene->height + MARGIN);
    st = draw_places(&d, false, frame_draw, err);
    if (!st) st = edges_draw(&d, err);
    if (!st) st = draw_places(&d, false, frame_header_draw, err);
    if (!st) st = draw_places(&d, true, card_draw, err);
    return st ? st : picture_list_check(out, err);
}
