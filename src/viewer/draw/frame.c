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

/* ---- Below the edges ------------------------------------------------------------------------ */

void frame_draw(const drawing *d, const view_place *place)
{
    const view_container *c = &d->g->containers[place->item.ref];
    const double x = d->x + place->x, y = d->y + place->y;
    picture_list *p = d->list;
    picture_group(p, "frame", place->item.ref, container_title(d, c));
    shape *s = picture_rect(p, x, y, place->width, place->height, 6, paint_role(ROLE_FRAME));
    s->stroke = paint_role(ROLE_BORDER);
    s->stroke_width = c->kind == VIEW_FUSED ? 2 : 1;
    s->dashed = c->kind == VIEW_INSTANCE;
    picture_rect(p, x + 1, y + 1, fmax(place->width - 2, 0), VIEW_HEADER - 2, 5,
                 paint_role(ROLE_HEADER));
    picture_end(p);
}

/* ---- Over the edges ------------------------------------------------------------------------- */

/* Text with the header's colour behind it, so that no edge crosses it; gives its width. */
static double draw_text(const drawing *d, double x, double y, double size, bool bold,
                        colour_role role, const char *text)
{
    const double width = picture_text_width(text, size, bold);
    if (!*text) return 0;
    picture_rect(d->list, x - 2, y - 12, width + 4, VIEW_HEADER - 6, 2, paint_role(ROLE_HEADER));
    picture_text_at(d->list, x, y, size, bold, paint_role(role), text);
    return width;
}

/* Value and number of instances, from right to left; gives where they begin. */
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
        right -= picture_text_width(text, 12, true);
        draw_text(d, right, y + 15, 12, true, ROLE_BADGE, text);
        right -= 8;
    }
    return right;
}

void frame_header_draw(const drawing *d, const view_place *place)
{
    const view_container *c = &d->g->containers[place->item.ref];
    const double x = d->x + place->x, y = d->y + place->y;
    picture_list *p = d->list;
    const char *title = container_title(d, c), *note = c->note ? picture_shown(p, c->note) : "";
    picture_group(p, "header", place->item.ref, title);
    const double room = draw_value(d, place, y) - x - 10;
    const double used =
        8 + draw_text(d, x + 8, y + 15, 11, true, ROLE_TEXT, picture_fit(p, title, 11, true, room));
    if (*note && room - used > 24)
        draw_text(d, x + 8 + used, y + 15, 10, false, ROLE_DIM,
                  picture_fit(p, note, 10, false, room - used));
    if (drawing_has_header_value(d, place))
        marks_draw(p, drawing_marks(d, place->item), x + place->width - 10, y - 5);
    picture_end(p);
}
