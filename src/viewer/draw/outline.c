/* SPDX-License-Identifier: Apache-2.0 */
/* Strokes are drawn piece by piece between two parallels of the line, with mitred corners. */
#include "viewer/draw/outline.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "viewer/draw/glyphs.h"

enum { CURVE_STEPS = 20 };

void outline_deinit(outline *o)
{
    mem_free(o->points);
    *o = (outline){0};
}

static void add(outline *o, double x, double y)
{
    if (!o->failed && !mem_grow((void **)&o->points, &o->capacity, o->count + 1, sizeof *o->points))
        o->failed = true;
    if (o->failed) return;
    /* Two equal points would have no direction. */
    if (o->count && o->points[o->count - 1][0] == x && o->points[o->count - 1][1] == y) return;
    o->points[o->count][0] = x;
    o->points[o->count++][1] = y;
}

static uint32_t colour_in(const colour_theme *theme, paint p)
{
    return p.kind == PAINT_ROLE ? theme->of[p.role] : p.rgb;
}

static double opacity_of(paint p)
{
    return p.opacity > 0 ? p.opacity : 1;
}

/* ---- Areas ---------------------------------------------------------------------------------- */

/* The box around the points and `margin` more. */
static bool begin_around(raster_band *b, const outline *o, double margin)
{
    double box[4] = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < o->count; i++)
        for (int k = 0; k < 2; k++) {
            box[k] = fmin(box[k], o->points[i][k] - margin);
            box[2 + k] = fmax(box[2 + k], o->points[i][k] + margin);
        }
    return o->count && raster_begin(b, box[0], box[1], box[2], box[3]);
}

static void fill(raster_band *b, const outline *o, uint32_t rgb, double opacity, double stripes)
{
    if (o->failed || !begin_around(b, o, 0)) return;
    for (size_t i = 0; i < o->count; i++) {
        const double *from = o->points[i], *to = o->points[(i + 1) % o->count];
        raster_line(b, from[0], from[1], to[0], to[1]);
    }
    raster_paint(b, rgb, opacity, stripes);
}

/* ---- Strokes -------------------------------------------------------------------------------- */

/* The offset of the parallel at point i: half the width along the mitre. */
static void mitre(const double (*p)[2], size_t count, size_t i, bool closed, double half,
                  double *dx, double *dy)
{
    const size_t before = i        ? i - 1
                          : closed ? count - 1
                                   : 0,
                 after = i + 1 < count ? i + 1
                         : closed      ? 0
                                       : i;
    double nx[2] = {0}, ny[2] = {0};
    const size_t ends[2][2] = {{before, i}, {i, after}};
    for (int k = 0; k < 2; k++) {
        const double x = p[ends[k][1]][0] - p[ends[k][0]][0],
                     y = p[ends[k][1]][1] - p[ends[k][0]][1];
        const double length = hypot(x, y);
        if (length > 0) nx[k] = -y / length, ny[k] = x / length;
    }
    double x = nx[0] + nx[1], y = ny[0] + ny[1];
    const double length = hypot(x, y);
    if (length < 1e-9) {
        *dx = half * nx[0], *dy = half * ny[0];
        return;
    }
    x /= length, y /= length;
    const double along =
        x * (nx[0] || ny[0] ? nx[0] : nx[1]) + y * (nx[0] || ny[0] ? ny[0] : ny[1]);
    const double reach = half / fmax(along, 0.5); /* a sharp corner reaches no further */
    *dx = reach * x, *dy = reach * y;
}

/* A stroke of points [first, first + count). */
static void stroke_piece(raster_band *b, const double (*p)[2], size_t count, bool closed,
                         double half)
{
    const size_t sides = closed ? count : count - 1;
    for (size_t i = 0; i < sides; i++) {
        const size_t j = (i + 1) % count;
        double dx[2], dy[2];
        mitre(p, count, i, closed, half, &dx[0], &dy[0]);
        mitre(p, count, j, closed, half, &dx[1], &dy[1]);
        raster_line(b, p[i][0] + dx[0], p[i][1] + dy[0], p[j][0] + dx[1], p[j][1] + dy[1]);
        raster_line(b, p[j][0] - dx[1], p[j][1] - dy[1], p[i][0] - dx[0], p[i][1] - dy[0]);
    }
    if (closed || count < 2) return;
    for (int end = 0; end < 2; end++) { /* the two ends */
        const size_t i = end ? count - 1 : 0;
        double dx, dy;
        mitre(p, count, i, false, end ? half : -half, &dx, &dy);
        raster_line(b, p[i][0] + dx, p[i][1] + dy, p[i][0] - dx, p[i][1] - dy);
    }
}

/* Cuts the line into dashes of 4 and gaps of 3 units. */
static void stroke_dashes(raster_band *b, const outline *o, double half, double scale)
{
    double rest = 4 * scale;
    bool drawn = true;
    for (size_t i = 0; i + 1 < o->count; i++) {
        const double *from = o->points[i], *to = o->points[i + 1];
        const double length = hypot(to[0] - from[0], to[1] - from[1]);
        for (double at = 0; at < length;) {
            const double next = fmin(length, at + rest);
            const double piece[2][2] = {{from[0] + (to[0] - from[0]) * at / length,
                                         from[1] + (to[1] - from[1]) * at / length},
                                        {from[0] + (to[0] - from[0]) * next / length,
                                         from[1] + (to[1] - from[1]) * next / length}};
            if (drawn) stroke_piece(b, piece, 2, false, half);
            rest -= next - at;
            at = next;
            if (rest > 1e-9) break;
            drawn = !drawn;
            rest = (drawn ? 4 : 3) * scale;
        }
    }
}

static void stroke(raster_band *b, outline *o, const shape *s, const colour_theme *theme,
                   double scale)
{
    const double half = s->stroke_width * scale / 2;
    const bool closed = s->closed || s->kind == SHAPE_RECT;
    if (closed && o->count > 1 && o->points[0][0] == o->points[o->count - 1][0] &&
        o->points[0][1] == o->points[o->count - 1][1])
        o->count--;
    if (o->failed || o->count < 2 || !begin_around(b, o, 2 * half)) return;
    if (s->dashed) {
        if (closed) add(o, o->points[0][0], o->points[0][1]);
        if (!o->failed) stroke_dashes(b, o, half, scale);
    } else {
        stroke_piece(b, (const double(*)[2])o->points, o->count, closed, half);
    }
    raster_paint(b, colour_in(theme, s->stroke), opacity_of(s->stroke), 0);
}

/* ---- Shapes --------------------------------------------------------------------------------- */

static void trace_rect(outline *o, const shape *s, double scale)
{
    const double w = s->width, h = s->height, r = fmin(s->radius, fmin(w, h) / 2);
    const double corners[4][3] = {{s->x + w - r, s->y + r, -0.5},
                                  {s->x + w - r, s->y + h - r, 0},
                                  {s->x + r, s->y + h - r, 0.5},
                                  {s->x + r, s->y + r, 1}};
    const int steps = r > 0 ? 4 + (int)fmin(40, r * scale / 2) : 0;
    for (int corner = 0; corner < 4; corner++)
        for (int i = 0; i <= steps; i++) {
            const double angle =
                3.14159265358979 * (corners[corner][2] + (steps ? 0.5 * i / steps : 0));
            add(o, (corners[corner][0] + r * cos(angle)) * scale,
                (corners[corner][1] + r * sin(angle)) * scale);
        }
}

static void trace_path(outline *o, const shape *s, double scale)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const float *to = s->points + 2 * (size_t)i;
        if (i && s->curved && to[-2] != to[0]) {
            for (int k = 1; k < CURVE_STEPS; k++) {
                const double t = (double)k / CURVE_STEPS, u = 1 - t;
                const double near = u * u * u + 3 * u * u * t, far = 3 * u * t * t + t * t * t;
                const double middle = ((double)to[-1] + to[1]) / 2;
                add(o, (near * to[-2] + far * to[0]) * scale,
                    (u * u * u * to[-1] + 3 * u * t * middle + t * t * t * to[1]) * scale);
            }
        }
        add(o, to[0] * (double)scale, to[1] * (double)scale);
    }
}

static void trace_glyph(raster_band *b, glyph_shape g, double x, double y, double size)
{
    double begin[2] = {0}, at[2] = {0}, control[2] = {0};
    for (size_t i = 0; i < g.count; i++) {
        const double to[2] = {x + size * g.points[i].x, y - size * g.points[i].y};
        const glyph_kind kind = (glyph_kind)g.points[i].kind;
        if (kind == GLYPH_M) memcpy(begin, to, sizeof begin);
        if (kind == GLYPH_L) raster_line(b, at[0], at[1], to[0], to[1]);
        if (kind == GLYPH_Q) {
            const int steps = 3 + (int)fmin(12, size * GLYPH_UNITS / 16);
            double from[2] = {at[0], at[1]};
            for (int k = 1; k <= steps; k++) {
                const double t = (double)k / steps, u = 1 - t;
                double next[2];
                for (int axis = 0; axis < 2; axis++)
                    next[axis] = k == steps ? to[axis]
                                            : u * u * at[axis] + 2 * u * t * control[axis] +
                                                  t * t * to[axis];
                raster_line(b, from[0], from[1], next[0], next[1]);
                memcpy(from, next, sizeof from);
            }
        }
        memcpy(kind == GLYPH_C ? control : at, to, sizeof at);
    }
}

static void draw_text(raster_band *b, const shape *s, const colour_theme *theme, double scale)
{
    const double size = s->size * scale;
    const double width = picture_text_width(s->text, s->size, s->bold) * scale;
    double x = s->x * scale - (s->anchor == ANCHOR_END      ? width
                               : s->anchor == ANCHOR_MIDDLE ? width / 2
                                                            : 0);
    const double y = s->y * scale;
    if (!raster_begin(b, x - size, y - 1.2 * size, x + width + size, y + 0.5 * size)) return;
    const char *p = s->text, *const end = p + strlen(p);
    while (p < end) {
        uint32_t c;
        const size_t n = utf8_read(p, end, &c);
        if (!n) break;
        const glyph_shape g = glyph_of(c, s->bold);
        trace_glyph(b, g, x, y, size / GLYPH_UNITS);
        x += size * g.advance / GLYPH_UNITS;
        p += n;
    }
    raster_paint(b, colour_in(theme, s->fill), opacity_of(s->fill), 0);
}

void outline_draw(raster_band *b, outline *o, const shape *s, const colour_theme *theme,
                  double scale)
{
    if (s->kind == SHAPE_TEXT) draw_text(b, s, theme, scale);
    if (s->kind != SHAPE_RECT && s->kind != SHAPE_PATH) return;
    o->count = 0;
    if (s->kind == SHAPE_RECT)
        trace_rect(o, s, scale);
    else
        trace_path(o, s, scale);
    if (s->fill.kind != PAINT_NONE) fill(b, o, colour_in(theme, s->fill), opacity_of(s->fill), 0);
    if (s->hatched) fill(b, o, theme->of[ROLE_HATCH], 1, 2 * scale);
    if (s->stroke.kind != PAINT_NONE) stroke(b, o, s, theme, scale);
}

void outline_rows(const shape *s, double scale, double *top, double *bottom)
{
    double low = s->y, high = s->y + s->height;
    if (s->kind == SHAPE_TEXT) low = s->y - 1.2 * s->size, high = s->y + 0.5 * s->size;
    if (s->kind == SHAPE_PATH) {
        low = INFINITY, high = -INFINITY;
        for (uint32_t i = 0; i < s->count; i++) {
            low = fmin(low, s->points[2 * (size_t)i + 1]);
            high = fmax(high, s->points[2 * (size_t)i + 1]);
        }
    }
    *top = (low - s->stroke_width) * scale;
    *bottom = (high + s->stroke_width) * scale;
    if (s->kind == SHAPE_GROUP || s->kind == SHAPE_END) *top = INFINITY;
}
