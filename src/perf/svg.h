/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing charts as SVG: shapes, texts, scales and axes. All texts are escaped. */
#ifndef PERF_SVG_H
#define PERF_SVG_H

#include <stdbool.h>

#include "base/str.h"

/* Maps values to pixels. */
typedef struct svg_scale {
    double low, high; /* values; low < high; over 0 if logarithmic */
    double from, to;  /* pixels */
    bool logarithmic;
} svg_scale;
/* A scale that holds the values from low to high; logarithmic if they differ much. */
svg_scale svg_scale_over(double low, double high, double from, double to);
double svg_place(const svg_scale *s, double v);

/* Opens the document, with a title. `css` is added to the style sheet. */
void svg_begin(str *out, double width, double height, const char *title);
void svg_end(str *out);

/* Colour number i, for texts and shapes alike; they repeat after svg_colour_count. */
const char *svg_colour(size_t i);

void svg_line(str *out, double x1, double y1, double x2, double y2, const char *style);
void svg_rect(str *out, double x, double y, double width, double height, const char *style);
void svg_circle(str *out, double x, double y, double radius, const char *style);
/* `anchor` is start, middle or end; a text of more than `most` characters is cut, and shown whole
 * when pointed at. */
void svg_text(str *out, double x, double y, const char *anchor, const char *style, const char *text,
              size_t most);
/* Points of one line, as pixels. */
void svg_polyline(str *out, const double *xs, const double *ys, size_t count, const char *style);

/* Horizontal grid lines with numbers left of `left`, and vertical ones with numbers below
 * `bottom`. */
void svg_grid_y(str *out, const svg_scale *y, double left, double right);
void svg_grid_x(str *out, const svg_scale *x, double top, double bottom);

#endif
