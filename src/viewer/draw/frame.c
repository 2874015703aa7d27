/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of open containers, with their titles. */
#include <math.h>
#include <string.h>

#include "viewer/draw/parts.h"

const char *container_title(const drawing *d, const view_container *c)
{
    const char *name = picture_shown(d->list, c->name ? c->name : "");
    if (*name) return name;
    static const char *const KINDS[] = {"graph", "scope",    "repeat", "block",
                                        "fused", "subgraph", "body",   "function"};
    return KINDS[c->kind];
}

/* Value, number of instances and marks, each left of the one before; gives where they begin. */
static double draw_value(const drawing *d, const view_place *place, double y)
{
    const view_container *c = &d->g->containers[place->item.ref];
    const card_value v = drawing_value(d, place->item);
    double right = d->x + place->x + place->width - 6;
    /* The values of other open containers are on their cards. */
    if (drawing_has_header_value(d, place) && d->q && v.is_measured && !v.is_mixed) {
        const char *text = drawing_value_text(d, v.value);
        const uint32_t colour = colour_of(&d->range, d->q, v.value);
        const double width = picture_text_width(text, 11, true) + 10;
        picture_rect(d->list, right - width, y + 3, width, VIEW_HEADER - 6, 3, paint_rgb(colour));
        picture_text_at(d->list, right - 5, y + 15, 11, true, paint_rgb(colour_of_text(colour)),
                        text)
            ->anchor = ANCHOR_END;
        right -= width + 6;
    }
    if (c->kind == VIEW_REPEAT && c->child_count > 1) {
        const char *text = picture_printf(d->list, "×%u", (unsigned)c->child_count);
        picture_text_at(d->list, right, y + 15, 12, true, paint_role(ROLE_BADGE), text)->anchor =
            ANCHOR_END;
        right -= picture_text_width(text, 12, true) + 8;
    }
    if (!drawing_has_header_value(d, place)) return right;
    return right -
           marks_draw(d->list, drawing_marks(d, place->item), right - 7, y + VIEW_HEADER / 2.0);
}

void frame_draw(const drawing *d, const view_place *place)
{
    const view_container *c = &d->g->containers[place->item.ref];
    const double x = d->x + place->x, y = d->y + place->y;
    picture_list *p = d->list;
    const char *title = container_title(d, c);
    picture_group(p, "frame", place->item.ref, title);
    shape *s = picture_rect(p, x, y, place->width, place->height, 6, paint_role(ROLE_FRAME));
    s->stroke = paint_role(ROLE_BORDER);
    s->stroke_width = c->kind == VIEW_FUSED ? 2 : 1;
    s->dashed = c->kind == VIEW_INSTANCE;
    picture_rect(p, x + 1, y + 1, fmax(place->width - 2, 0), VIEW_HEADER - 2, 5,
                 paint_role(ROLE_HEADER));
    const double right = draw_value(d, place, y);
    const double room = right - x - 10;
    const char *shown = picture_fit(p, title, 11, true, room);
    picture_text_at(p, x + 8, y + 15, 11, true, paint_role(ROLE_TEXT), shown);
    const double used = picture_text_width(shown, 11, true) + 8;
    const char *note = c->note ? picture_shown(p, c->note) : "";
    if (*note && room - used > 24)
        picture_text_at(p, x + 8 + used, y + 15, 10, false, paint_role(ROLE_DIM),
                        picture_fit(p, note, 10, false, room - used));
    picture_end(p);
}
