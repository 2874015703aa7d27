/* SPDX-License-Identifier: Apache-2.0 */
/* Cards of nodes and folded containers: category, operator, name, value, marks. */
#include <math.h>
#include <string.h>

#include "viewer/draw/parts.h"

enum { PAD = 12 };

typedef struct card_look {
    const char *title, *line;
    const char *badge; /* "×24"; NULL: none */
    uint32_t category; /* colour of the stripe */
    bool is_rounded, is_stack;
} card_look;

static card_look look_of_node(const drawing *d, const view_node *n)
{
    const view_op *op = &d->g->ops[n->op];
    return (card_look){.title = picture_shown(d->list, op->name),
                       .line = picture_shown(d->list, n->name),
                       .category = COLOUR_OF_CATEGORY[op->category],
                       .is_rounded = n->kind != VIEW_NODE};
}

static card_look look_of_container(const drawing *d, uint32_t index)
{
    const view_container *c = &d->g->containers[index];
    if (c->kind == VIEW_CALL && c->node != VIEW_NONE) {
        card_look look = look_of_node(d, &d->g->nodes[c->node]);
        look.is_stack = true;
        return look;
    }
    const char *note = c->note && *c->note ? picture_shown(d->list, c->note) : NULL;
    if (!note)
        note = picture_printf(d->list, d->sizes[index] == 1 ? "%u node" : "%u nodes",
                              (unsigned)d->sizes[index]);
    return (card_look){.title = container_title(d, c),
                       .line = note,
                       .badge = c->kind == VIEW_REPEAT
                                    ? picture_printf(d->list, "×%u", (unsigned)c->child_count)
                                    : NULL,
                       .category = COLOUR_OF_CATEGORY[VIEW_OTHER],
                       .is_stack = true};
}

/* ---- Titles --------------------------------------------------------------------------------- */

static void append_marks(str *text, const drawing *d, uint32_t node)
{
    for (uint32_t k = d->first_mark[node]; k != VIEW_NONE; k = d->next_mark[k]) {
        const view_mark *m = &d->r->marks[k];
        str_printf(text, "\n%s", mark_words(m->kind));
        if (m->text && *m->text) str_printf(text, ": %s", picture_shown(d->list, m->text));
    }
}

/* What a reader sees when the mouse rests on the card: everything in full. */
static void begin_group(const drawing *d, view_item item, const char *first_line)
{
    const bool is_node = item.kind == VIEW_ITEM_NODE;
    const card_value v = drawing_value(d, item);
    str text = {0};
    str_append(&text, first_line);
    if (is_node && *d->g->nodes[item.ref].name)
        str_printf(&text, " %s", picture_shown(d->list, d->g->nodes[item.ref].name));
    if (d->q)
        str_printf(&text, "\n%s: %s", picture_shown(d->list, d->q->label),
                   v.is_mixed      ? "mixed"
                   : v.is_shared   ? "that of the fused layer"
                   : v.is_measured ? drawing_value_text(d, v.value)
                                   : "not measured");
    if (is_node) append_marks(&text, d, item.ref);
    d->list->failed |= text.failed;
    picture_group(d->list, is_node ? "card" : "card folded", item.ref, str_text(&text));
    str_deinit(&text);
}

/* ---- Parts of a card ------------------------------------------------------------------------ */

typedef struct card_box {
    double x, y, width, height;
    paint text, dim;
} card_box;

static void draw_body(const drawing *d, view_item item, const card_look *look, card_box *b)
{
    const double radius = look->is_rounded ? VIEW_CARD_HEIGHT / 2.0 : 4;
    const card_value v = drawing_value(d, item);
    paint body = paint_role(ROLE_CARD);
    b->text = paint_role(ROLE_TEXT);
    b->dim = paint_role(ROLE_DIM);
    if (v.is_measured && !v.is_mixed) {
        const uint32_t colour = colour_of(&d->range, d->q, v.value);
        body = paint_rgb(colour);
        b->text = b->dim = paint_rgb(colour_of_text(colour));
        b->dim.opacity = 0.9f;
    }
    shape *s;
    if (look->is_stack) {
        s = picture_rect(d->list, b->x + 3, b->y + 3, b->width, b->height, radius,
                         paint_role(ROLE_HEADER));
        s->stroke = paint_role(ROLE_BORDER);
        s->stroke_width = 1;
    }
    s = picture_rect(d->list, b->x, b->y, b->width, b->height, radius, body);
    s->stroke = paint_role(ROLE_BORDER);
    s->stroke_width = 1;
    s->hatched = d->q && !v.is_measured && !v.is_shared;
    if (look->is_rounded) return;
    s = picture_rect(d->list, b->x + 2.5, b->y + 2.5, 5, fmax(b->height - 5, 0), 2,
                     paint_rgb(look->category));
    if (v.is_measured) {
        s->stroke = paint_rgb(0xffffff);
        s->stroke_width = 0.8f;
    }
}

/* Text on the hatch of a card that was not measured would be hard to read without this. */
static void draw_text(const drawing *d, const card_box *b, bool hatched, double x, double y,
                      double size, bool bold, paint colour, const char *text, bool at_end)
{
    const double width = picture_text_width(text, size, bold);
    if (!*text) return;
    if (hatched)
        picture_rect(d->list, (at_end ? x - width : x) - 2, y - 0.85 * size,
                     fmin(width + 4, b->width), 1.1 * size, 2, paint_role(ROLE_CARD));
    picture_text_at(d->list, x, y, size, bold, colour, text)->anchor =
        at_end ? ANCHOR_END : ANCHOR_START;
}

static void draw_texts(const drawing *d, view_item item, const card_look *look, const card_box *b)
{
    picture_list *p = d->list;
    const card_value v = drawing_value(d, item);
    const bool hatched = d->q && !v.is_measured && !v.is_shared;
    const double left = b->x + (look->is_rounded ? PAD + 2 : PAD), right = b->x + b->width - 8,
                 room = right - left - (look->is_rounded ? 6 : 0);
    const char *value = v.is_mixed ? "mixed" : v.is_measured ? drawing_value_text(d, v.value) : "";
    double first = room, second = room;
    if (look->badge) {
        draw_text(d, b, hatched, right, b->y + 16, 12, true,
                  v.is_measured ? b->text : paint_role(ROLE_BADGE), look->badge, true);
        first -= picture_text_width(look->badge, 12, true) + 6;
    }
    if (*value) {
        value = picture_fit(p, value, 11, true, room);
        const double width = picture_text_width(value, 11, true) + 6;
        /* Beside the operator if both fit, else beside the name. */
        const bool above =
            !look->badge && picture_text_width(look->title, 12, true) <= first - width;
        draw_text(d, b, hatched, right - (look->is_rounded ? 6 : 0), b->y + (above ? 16 : 31), 11,
                  true, b->text, value, true);
        *(above ? &first : &second) -= width;
    }
    draw_text(d, b, hatched, left, b->y + 16, 12, true, b->text,
              picture_fit(p, look->title, 12, true, first), false);
    draw_text(d, b, hatched, left, b->y + 31, 10, false, b->dim,
              picture_fit(p, look->line, 10, false, second), false);
}

void card_draw(const drawing *d, const view_place *place)
{
    const bool is_node = place->item.kind == VIEW_ITEM_NODE;
    const card_look look = is_node ? look_of_node(d, &d->g->nodes[place->item.ref])
                                   : look_of_container(d, place->item.ref);
    card_box b = {d->x + place->x, d->y + place->y, place->width, place->height, {0}, {0}};
    begin_group(d, place->item, look.title);
    draw_body(d, place->item, &look, &b);
    draw_texts(d, place->item, &look, &b);
    if (is_node)
        rows_draw(d, place->item.ref, b.x + PAD, b.y + VIEW_CARD_HEIGHT, b.width - PAD - 6, b.dim);
    marks_draw(d->list, drawing_marks(d, place->item), b.x + b.width - 8, b.y - 1);
    picture_end(d->list);
}
