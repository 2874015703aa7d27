/* SPDX-License-Identifier: Apache-2.0 */
/* Charts as SVG. Numbers have two decimals: a hundredth of a pixel is not visible. */
#include "perf/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/xml.h"

/* ---- Scales ---------------------------------------------------------------------------------- */

svg_scale svg_scale_over(double low, double high, double from, double to)
{
    svg_scale s = {.low = low, .high = high, .from = from, .to = to};
    if (!(s.high > s.low)) {
        const double half = s.low ? fabs(s.low) * 0.1 : 1;
        s.low -= half;
        s.high += half;
        return s;
    }
    s.logarithmic = s.low > 0 && s.high / s.low > 20;
    return s;
}

double svg_place(const svg_scale *s, double v)
{
    const double share = s->logarithmic ? log(v / s->low) / log(s->high / s->low)
                                        : (v - s->low) / (s->high - s->low);
    const double held = share < 0 ? 0 : share > 1 ? 1 : share;
    return s->from + held * (s->to - s->from);
}

/* ---- The document ---------------------------------------------------------------------------- */

void svg_begin(str *out, double width, double height, const char *title)
{
    str_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
               "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"12\">\n<title>",
               width, height, width, height);
    str_append_xml(out, title);
    str_append(out, "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
}

void svg_end(str *out)
{
    str_append(out, "</svg>\n");
}

const char *svg_colour(size_t i)
{
    /* Told apart by most readers who do not see all colours. */
    static const char *const COLOURS[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                          "#b07d00", "#3a9bd9", "#000000", "#7a4d2b"};
    return COLOURS[i % (sizeof COLOURS / sizeof *COLOURS)];
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

void svg_line(str *out, double x1, double y1, double x2, double y2, const char *style)
{
    str_printf(out, "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" %s/>\n", x1, y1, x2, y2,
               style);
}

void svg_rect(str *out, double x, double y, double width, double height, const char *style)
{
    str_printf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" %s/>\n", x, y,
               width, height, style);
}

void svg_circle(str *out, double x, double y, double radius, const char *style)
{
    str_printf(out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\" %s/>\n", x, y, radius, style);
}

/* Bytes of the first `most` characters; all if there are not more. */
static size_t cut_at(const char *text, size_t most)
{
    size_t characters = 0;
    for (size_t i = 0; text[i]; i++) {
        const bool begins = ((unsigned char)text[i] & 0xC0) != 0x80;
        if (begins && characters++ == most) return i;
    }
    return strlen(text);
}

void svg_text(str *out, double x, double y, const char *anchor, const char *style, const char *text,
              size_t most)
{
    str shown = {0};
    const size_t size = cut_at(text, most);
    str_append_n(&shown, text, size);
    if (text[size]) str_append(&shown, "...");
    str_printf(out, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\" %s>", x, y, anchor, style);
    if (text[size]) {
        str_append(out, "<title>");
        str_append_xml(out, text);
        str_append(out, "</title>");
    }
    str_append_xml(out, str_text(&shown));
    str_append(out, "</text>\n");
    out->failed = out->failed || shown.failed;
    str_deinit(&shown);
}

void svg_polyline(str *out, const double *xs, const double *ys, size_t count, const char *style)
{
    str_append(out, "<polyline points=\"");
    for (size_t i = 0; i < count; i++) str_printf(out, "%s%.2f,%.2f", i ? " " : "", xs[i], ys[i]);
    str_printf(out, "\" fill=\"none\" %s/>\n", style);
}

/* ---- Grids ----------------------------------------------------------------------------------- */

enum { TICKS = 64 };

/* 1, 2 or 5 times a power of ten, so that about `wanted` of them cover the range. */
static double nice_step(double range, double wanted)
{
    const double raw = range / wanted, power = pow(10, floor(log10(raw)));
    const double digit = raw / power;
    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

static size_t ticks_of(double *ticks, const svg_scale *s)
{
    size_t count = 0;
    if (!s->logarithmic) {
        const double step = nice_step(s->high - s->low, 6);
        for (double i = ceil(s->low / step); i * step <= s->high && count < TICKS; i++)
            ticks[count++] = i * step;
        return count;
    }
    static const double DIGITS[] = {1, 2, 5};
    const size_t dense = s->high / s->low < 1e4 ? 3 : 1;
    for (double e = floor(log10(s->low)); e <= log10(s->high) && count < TICKS; e++)
        for (size_t i = 0; i < dense && count < TICKS; i++) {
            const double v = DIGITS[i] * pow(10, e);
            if (v >= s->low && v <= s->high) ticks[count++] = v;
        }
    return count;
}

static void number(char *text, size_t size, double v)
{
    snprintf(text, size, "%.6g", fabs(v) < 1e-300 ? 0 : v);
}

static const char GRID[] = "stroke=\"#dddddd\"", LABEL[] = "fill=\"#555555\" font-size=\"11\"";

void svg_grid_y(str *out, const svg_scale *y, double left, double right)
{
    double ticks[TICKS];
    char text[32];
    const size_t count = ticks_of(ticks, y);
    for (size_t i = 0; i < count; i++) {
        const double at = svg_place(y, ticks[i]);
        svg_line(out, left, at, right, at, GRID);
        number(text, sizeof text, ticks[i]);
        svg_text(out, left - 6, at + 4, "end", LABEL, text, 32);
    }
}

void svg_grid_x(str *out, const svg_scale *x, double top, double bottom)
{
    double ticks[TICKS];
    char text[32];
    const size_t count = ticks_of(ticks, x);
    for (size_t i = 0; i < count; i++) {
        const double at = svg_place(x, ticks[i]);
        svg_line(out, at, top, at, bottom, GRID);
        number(text, sizeof text, ticks[i]);
        svg_text(out, at, bottom + 15, "middle", LABEL, text, 32);
    }
}
