/* SPDX-License-Identifier: Apache-2.0 */
/* Writes shapes as SVG. Colours of the theme are classes, so that the picture follows the reader's
 * wish for light or dark; plain ones, because other programs than browsers know no variables. */
#include <math.h>
#include <stdlib.h>

#include "base/cancel.h"
#include "base/xml.h"
#include "viewer/draw/draw.h"

static const char *const ROLE_NAMES[ROLE_COUNT] = {
    [ROLE_PAGE] = "page",   [ROLE_CARD] = "card",     [ROLE_BORDER] = "border",
    [ROLE_TEXT] = "text",   [ROLE_DIM] = "dim",       [ROLE_EDGE] = "edge",
    [ROLE_FRAME] = "frame", [ROLE_HEADER] = "header", [ROLE_BADGE] = "badge",
    [ROLE_HATCH] = "hatch", [ROLE_ALERT] = "alert"};

/* At most two decimals, with a point in every locale. */
static void append_number(str *out, double v)
{
    const long long hundredths = llround(v * 100), whole = llabs(hundredths);
    str_printf(out, "%s%lld", hundredths < 0 ? "-" : "", whole / 100);
    if (whole % 10)
        str_printf(out, ".%02lld", whole % 100);
    else if (whole % 100)
        str_printf(out, ".%lld", whole / 10 % 10);
}

static void append_attribute(str *out, const char *name, double v)
{
    str_printf(out, " %s=\"", name);
    append_number(out, v);
    str_append_char(out, '"');
}

/* ---- Head ----------------------------------------------------------------------------------- */

static void append_theme(str *out, const colour_theme *theme)
{
    for (int role = 0; role < ROLE_COUNT; role++)
        str_printf(out, ".f-%s{fill:#%06x}.s-%s{stroke:#%06x}\n", ROLE_NAMES[role], theme->of[role],
                   ROLE_NAMES[role], theme->of[role]);
}

static void append_style(str *out, view_theme theme)
{
    str_append(
        out, "<style>\ntext{font-family:\"Helvetica Neue\",Arial,\"Liberation Sans\",\"DejaVu Sans "
             "Condensed\",sans-serif;white-space:pre}\n.bold{font-weight:700}\n"
             ".line{fill:none}.dashed{stroke-dasharray:4 3}\n");
    append_theme(out, theme == VIEW_THEME_DARK ? &THEME_DARK : &THEME_LIGHT);
    if (theme == VIEW_THEME_AUTO) {
        str_append(out, "@media (prefers-color-scheme:dark){\n");
        append_theme(out, &THEME_DARK);
        str_append(out, "}\n");
    }
    str_append(out, "</style>\n<defs><pattern id=\"pgy-hatch\" width=\"6\" height=\"6\" "
                    "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
                    "<path d=\"M1 0V6\" class=\"s-hatch\" stroke-width=\"2\"/></pattern></defs>\n");
}

static void append_head(str *out, const picture_list *p, view_theme theme, double scale)
{
    str_append(out, "<svg xmlns=\"http://www.w3.org/2000/svg\"");
    append_attribute(out, "width", p->width * scale);
    append_attribute(out, "height", p->height * scale);
    str_append(out, " viewBox=\"0 0 ");
    append_number(out, p->width);
    str_append_char(out, ' ');
    append_number(out, p->height);
    str_append(out, "\" role=\"img\">\n<title>");
    str_append_xml(out, p->title ? p->title : "");
    str_append(out, "</title>\n");
    append_style(out, theme);
    str_append(out, "<rect class=\"f-page\" width=\"100%\" height=\"100%\"/>\n");
}

/* ---- Shapes --------------------------------------------------------------------------------- */

/* Roles become classes, other colours attributes. */
static void append_paint(str *out, const shape *s)
{
    const bool line = s->kind == SHAPE_PATH && s->fill.kind == PAINT_NONE;
    str class = {0};
    if (s->fill.kind == PAINT_ROLE) str_printf(&class, " f-%s", ROLE_NAMES[s->fill.role]);
    if (s->stroke.kind == PAINT_ROLE) str_printf(&class, " s-%s", ROLE_NAMES[s->stroke.role]);
    if (line) str_append(&class, " line");
    if (s->dashed) str_append(&class, " dashed");
    if (s->bold) str_append(&class, " bold");
    if (class.size) str_printf(out, " class=\"%s\"", class.data + 1);
    out->failed |= class.failed;
    str_deinit(&class);
    if (s->fill.kind == PAINT_RGB) str_printf(out, " fill=\"#%06x\"", s->fill.rgb);
    if (s->fill.kind == PAINT_NONE && !line) str_append(out, " fill=\"none\"");
    if (s->stroke.kind == PAINT_RGB) str_printf(out, " stroke=\"#%06x\"", s->stroke.rgb);
    if (s->stroke.kind != PAINT_NONE && s->stroke_width != 1)
        append_attribute(out, "stroke-width", s->stroke_width);
    if (s->fill.opacity > 0) append_attribute(out, "fill-opacity", s->fill.opacity);
}

static void append_box(str *out, const shape *s)
{
    append_attribute(out, "x", s->x);
    append_attribute(out, "y", s->y);
    append_attribute(out, "width", s->width);
    append_attribute(out, "height", s->height);
    if (s->radius > 0) append_attribute(out, "rx", s->radius);
}

static void append_rect(str *out, const shape *s)
{
    str_append(out, "<rect");
    append_box(out, s);
    append_paint(out, s);
    str_append(out, "/>\n");
    if (!s->hatched) return;
    str_append(out, "<rect");
    append_box(out, s);
    str_append(out, " fill=\"url(#pgy-hatch)\"/>\n");
}

static void append_point(str *out, char before, double x, double y)
{
    str_append_char(out, before);
    append_number(out, x);
    str_append_char(out, ' ');
    append_number(out, y);
}

static void append_path(str *out, const shape *s)
{
    str_append(out, "<path d=\"");
    for (uint32_t i = 0; i < s->count; i++) {
        const float *to = s->points + 2 * (size_t)i;
        if (i && s->curved) {
            const double middle = ((double)to[-1] + to[1]) / 2;
            append_point(out, 'C', to[-2], middle);
            append_point(out, ' ', to[0], middle);
            append_point(out, ' ', to[0], to[1]);
        } else {
            append_point(out, i ? 'L' : 'M', to[0], to[1]);
        }
    }
    if (s->closed) str_append_char(out, 'Z');
    str_append_char(out, '"');
    append_paint(out, s);
    str_append(out, "/>\n");
}

static void append_text(str *out, const shape *s)
{
    static const char *const ANCHORS[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    str_append(out, "<text");
    append_attribute(out, "x", s->x);
    append_attribute(out, "y", s->y);
    append_attribute(out, "font-size", s->size);
    str_append(out, ANCHORS[s->anchor]);
    append_paint(out, s);
    str_append_char(out, '>');
    str_append_xml(out, s->text);
    str_append(out, "</text>\n");
}

static void append_group(str *out, const shape *s)
{
    str_printf(out, "<g class=\"%s\"", s->name);
    if (s->ref != VIEW_NONE) str_printf(out, " data-ref=\"%u\"", (unsigned)s->ref);
    str_append_char(out, '>');
    if (s->text) {
        str_append(out, "<title>");
        str_append_xml(out, s->text);
        str_append(out, "</title>");
    }
    str_append_char(out, '\n');
}

pgy_status svg_write(str *out, const picture_list *p, view_theme theme, double scale,
                     pgy_error *err)
{
    append_head(out, p, theme, scale);
    for (size_t i = 0; i < p->count && !out->failed; i++) {
        const shape *s = &p->shapes[i];
        if (i % 1024 == 0 && cancel_requested()) return cancel_check(err);
        switch (s->kind) {
        case SHAPE_RECT: append_rect(out, s); break;
        case SHAPE_PATH: append_path(out, s); break;
        case SHAPE_TEXT: append_text(out, s); break;
        case SHAPE_GROUP: append_group(out, s); break;
        case SHAPE_END: str_append(out, "</g>\n"); break;
        }
    }
    str_append(out, "</svg>\n");
    if (out->failed) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while drawing");
    return PGY_OK;
}
