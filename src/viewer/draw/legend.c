/* SPDX-License-Identifier: Apache-2.0 */
/* The title, and what colours, hatches, marks and dashes mean: only what the drawing has. */
#include <math.h>
#include <string.h>

#include "viewer/draw/glyphs.h"
#include "viewer/draw/parts.h"

enum {
    BAR_WIDTH = 240,
    BAR_HEIGHT = 12,
    BAR_STEPS = 48,
    LINE = 20,
    GAP = 16,
    MOST_NAMES = 16,
    MOST_LINES = 4
};

/* Items flow from left to right. */
typedef struct flow {
    drawing *d;
    double x, y, left, right;
} flow;

/* Begins a new line if the item does not fit; moves behind it. Returns the item's left edge. */
static double take(flow *f, double width)
{
    if (f->x > f->left && f->x + width > f->right) {
        f->x = f->left;
        f->y += LINE;
    }
    const double x = f->x;
    f->x += width + GAP;
    return x;
}

static void words_after(flow *f, double x, const char *words)
{
    picture_text_at(f->d->list, x, f->y + 10, 11, false, paint_role(ROLE_TEXT), words);
}

static void swatch(flow *f, paint fill, bool hatched, const char *words)
{
    const double x = take(f, 24 + picture_text_width(words, 11, false));
    shape *s = picture_rect(f->d->list, x, f->y, 18, 12, 2, fill);
    s->stroke = paint_role(ROLE_BORDER);
    s->stroke_width = 1;
    s->hatched = hatched;
    words_after(f, x + 24, words);
}

/* ---- What the drawing has ------------------------------------------------------------------- */

typedef struct contents {
    bool unmeasured, zero, not_finite, mixed, tunnels;
    uint32_t marks;
    bool names[MOST_NAMES], more_names;
} contents;

static void look_at_value(const drawing *d, card_value v, contents *c)
{
    c->unmeasured |= !v.is_measured && !v.is_shared;
    c->mixed |= v.is_mixed;
    if (!v.is_measured || v.is_mixed) return;
    if (d->q->scale == VIEW_CATEGORY) {
        if (v.value >= 0 && v.value < MOST_NAMES)
            c->names[(size_t)v.value] = true;
        else
            c->more_names = true;
        return;
    }
    c->not_finite |= !isfinite(v.value);
    c->zero |= v.value == 0 && d->q->scale == VIEW_LOG;
}

static contents look_at(const drawing *d)
{
    contents c = {0};
    for (uint32_t i = 0; i < d->scene->place_count; i++) {
        const view_place *place = &d->scene->places[i];
        const bool is_card = drawing_is_card(d, place);
        if (!is_card && !drawing_has_header_value(d, place)) continue;
        c.marks |= drawing_marks(d, place->item);
        if (d->q && is_card) look_at_value(d, drawing_value(d, place->item), &c);
    }
    for (uint32_t i = 0; i < d->scene->line_count; i++) c.tunnels |= d->scene->lines[i].is_tunnel;
    return c;
}

/* ---- Parts ---------------------------------------------------------------------------------- */

/* Text in bold lines, broken at blanks; what is longer than all of them is shortened. */
static void draw_lines(flow *f, colour_role role, const char *text)
{
    picture_list *p = f->d->list;
    const double width = f->right - f->left;
    for (int line = 0; *text && line < MOST_LINES; line++) {
        size_t size = strlen(text), fits = 0;
        for (size_t i = 0; i <= size; i++)
            if ((!text[i] || text[i] == ' ') && glyph_text_width(text, i, true) * 11 <= width)
                fits = i;
        if (fits && line + 1 < MOST_LINES) size = fits;
        const char *part = picture_printf(p, "%.*s", (int)size, text);
        picture_text_at(p, f->left, f->y + 8, 11, true, paint_role(role),
                        picture_fit(p, part, 11, true, width));
        f->y += 15;
        text += size + (text[size] == ' ');
    }
    f->y += 3;
}

static void draw_title(flow *f)
{
    const drawing *d = f->d;
    const char *title = picture_fit(d->list, d->list->title, 15, true, f->right - f->left);
    picture_text_at(d->list, f->left, f->y + 12, 15, true, paint_role(ROLE_TEXT), title);
    f->y += 24;
    if (!d->r->is_judged || d->options->graph) return;
    const char *verdict = picture_shown(d->list, d->r->verdict ? d->r->verdict : "");
    draw_lines(f, d->r->passed ? ROLE_TEXT : ROLE_ALERT,
               picture_printf(d->list, "%s%s%s", d->r->passed ? "Passed" : "Failed",
                              *verdict ? ": " : "", verdict));
}

static void draw_quantity(flow *f)
{
    const view_quantity *q = f->d->q;
    const char *unit = q->unit && *q->unit && q->scale != VIEW_CATEGORY
                           ? picture_printf(f->d->list, " [%s]", picture_shown(f->d->list, q->unit))
                           : "";
    const char *words =
        picture_printf(f->d->list, "%s%s", picture_shown(f->d->list, q->label), unit);
    picture_text_at(f->d->list, f->left, f->y + 10, 11, true, paint_role(ROLE_TEXT),
                    picture_fit(f->d->list, words, 11, true, f->right - f->left));
    f->y += LINE - 2;
}

static void draw_bar(flow *f)
{
    drawing *d = f->d;
    const double step = (double)BAR_WIDTH / BAR_STEPS;
    /* Each step reaches to the end, so that no seam is left between two. */
    for (int i = 0; i < BAR_STEPS; i++)
        picture_rect(d->list, f->left + i * step, f->y, BAR_WIDTH - i * step, BAR_HEIGHT, 0,
                     paint_rgb(colour_at(&d->range, (i + 0.5) / BAR_STEPS)));
    shape *s = picture_rect(d->list, f->left, f->y, BAR_WIDTH, BAR_HEIGHT, 0, (paint){0});
    s->stroke = paint_role(ROLE_BORDER);
    s->stroke_width = 1;
    const bool by_log = d->range.scale == VIEW_LOG || d->range.is_ratio;
    const double low = d->range.low, high = d->range.high;
    const double middle = by_log ? sqrt(low) * sqrt(high) : low / 2 + high / 2;
    const double at[3] = {low, middle, high};
    for (int i = 0; i < 3; i++) {
        const double x = f->left + BAR_WIDTH * i / 2.0;
        const float tick[4] = {(float)x, (float)(f->y + BAR_HEIGHT), (float)x,
                               (float)(f->y + BAR_HEIGHT + 3)};
        picture_path(d->list, tick, 2, (paint){0}, paint_role(ROLE_BORDER), 1);
        picture_text_at(d->list, x, f->y + BAR_HEIGHT + 12, 9.5, false, paint_role(ROLE_DIM),
                        drawing_value_text(d, at[i]))
            ->anchor = (shape_anchor)i;
    }
    if (by_log && f->right - f->left > BAR_WIDTH + 90)
        picture_text_at(d->list, f->left + BAR_WIDTH + 8, f->y + 10, 9.5, false,
                        paint_role(ROLE_DIM), "logarithmic");
    f->y += BAR_HEIGHT + LINE;
}

static void draw_swatches(flow *f, const contents *c)
{
    const view_quantity *q = f->d->q;
    for (uint32_t k = 0; k < q->name_count && k < MOST_NAMES; k++)
        if (c->names[k])
            swatch(f, paint_rgb(colour_of(&f->d->range, q, k)), false,
                   picture_fit(f->d->list, picture_shown(f->d->list, q->names[k]), 11, false, 160));
    if (c->zero) swatch(f, paint_rgb(COLOUR_ZERO), false, "exactly 0");
    if (c->not_finite) swatch(f, paint_rgb(COLOUR_NOT_FINITE), false, "NaN or infinite");
    if (c->mixed) swatch(f, paint_role(ROLE_CARD), false, "several values");
    if (c->unmeasured) swatch(f, paint_role(ROLE_CARD), true, "not measured");
}

static void draw_marks(flow *f, const contents *c)
{
    for (uint32_t kind = 0; kind < VIEW_MARK_COUNT; kind++) {
        if (!(c->marks >> kind & 1)) continue;
        const char *words = mark_words((view_mark_kind)kind);
        const double x = take(f, 20 + picture_text_width(words, 11, false));
        mark_draw(f->d->list, (view_mark_kind)kind, x + 8, f->y + 6, 7);
        words_after(f, x + 20, words);
    }
    if (!c->tunnels) return;
    const char *words = "from outside the subgraph";
    const double x = take(f, 36 + picture_text_width(words, 11, false));
    const float points[4] = {(float)x, (float)(f->y + 6), (float)(x + 30), (float)(f->y + 6)};
    picture_path(f->d->list, points, 2, (paint){0}, paint_role(ROLE_EDGE), 1.2)->dashed = true;
    words_after(f, x + 36, words);
}

static void end_line(flow *f)
{
    if (f->x > f->left) f->y += LINE;
    f->x = f->left;
}

double legend_draw(drawing *d, double width)
{
    flow f = {d, d->x, d->y, d->x, d->x + width};
    const contents c = look_at(d);
    picture_group(d->list, "legend", VIEW_NONE, NULL);
    draw_title(&f);
    if (d->q) {
        draw_quantity(&f);
        if (d->q->scale != VIEW_CATEGORY && !d->range.is_empty) draw_bar(&f);
        draw_swatches(&f, &c);
        end_line(&f);
    }
    draw_marks(&f, &c);
    end_line(&f);
    picture_end(d->list);
    return f.y - d->y;
}
