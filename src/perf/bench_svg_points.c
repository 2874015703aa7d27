/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep as SVG. The axis with the most sizes runs to the right; each combination of the other
 * sizes has a panel of its own with a line for each side. All panels of a section have one scale.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "perf/bench_svg.h"

enum { COLUMNS = 3, PANEL_WIDTH = 280, PANEL_HEIGHT = 170, LEFT = 70, GAP_X = 24, GAP_Y = 74 };
enum { TOP = 64, LEGEND = 18, BOTTOM = 24 };
static const char TITLE[] = "font-size=\"15\" font-weight=\"bold\"",
                  NOTE[] = "fill=\"#555555\" font-size=\"11\"";

/* The value of each side at each point. NaN: not known; infinite: nobody asked. */
typedef struct section {
    const char *title, *note;
    double *values, *lows, *highs; /* [point * sides + side]; lows NULL: no intervals */
    svg_scale y;
} section;

typedef struct sweep_chart {
    const pgy_bench_sweep *sweep;
    size_t sides, main_axis, panels;
} sweep_chart;

/* ---- Panels ---------------------------------------------------------------------------------- */

/* The place of a point on the main axis, and the panel that it is in. */
static size_t panel_of(size_t *step, const sweep_chart *c, size_t point)
{
    const pgy_bench_axes *a = c->sweep->axes;
    size_t panel = 0, scale = 1;
    for (size_t i = a->count; i-- > 0;) {
        const size_t index = point % a->items[i].count;
        point /= a->items[i].count;
        if (i == c->main_axis) {
            *step = index;
            continue;
        }
        panel += index * scale;
        scale *= a->items[i].count;
    }
    return panel;
}

static void name_panel(str *out, const sweep_chart *c, size_t point)
{
    const pgy_bench_axes *a = c->sweep->axes;
    for (size_t i = 0; i < a->count; i++)
        if (i != c->main_axis)
            str_printf(out, "%s%s=%" PRId64, out->size ? " " : "", a->items[i].name,
                       bench_axes_at(a, point, i));
}

static void append_sizes(str *out, const bench_axis *axis, const svg_scale *x, double bottom)
{
    double last = -INFINITY;
    for (size_t i = 0; i < axis->count; i++) {
        char text[32];
        const double at = svg_place(x, (double)axis->sizes[i]);
        if (fabs(at - last) < 34) continue;
        last = at;
        svg_line(out, at, bottom, at, bottom + 4, "stroke=\"#333333\"");
        snprintf(text, sizeof text, "%" PRId64, axis->sizes[i]);
        svg_text(out, at, bottom + 16, "middle", NOTE, text, 32);
    }
    svg_text(out, (x->from + x->to) / 2, bottom + 31, "middle", NOTE, axis->name, 40);
}

/* A point with its interval. */
static void append_point(str *out, const section *s, size_t at, size_t side, double x, double y)
{
    char style[96];
    snprintf(style, sizeof style, "stroke=\"%s\" stroke-width=\"3\" stroke-opacity=\"0.35\"",
             svg_colour(side));
    if (s->lows)
        svg_line(out, x, svg_place(&s->y, s->lows[at]), x, svg_place(&s->y, s->highs[at]), style);
    snprintf(style, sizeof style, "fill=\"%s\"", svg_colour(side));
    svg_circle(out, x, y, 3, style);
}

/* The sizes of an axis keep the order of the command line, so a line may go back. It does not lead
 * over a point whose value is not known. */
static void append_side(str *out, const sweep_chart *c, const section *s, size_t panel, size_t side,
                        const svg_scale *x)
{
    const bench_axis *axis = &c->sweep->axes->items[c->main_axis];
    char style[96];
    double last_x = NAN, last_y = NAN;
    for (size_t p = 0; p < c->sweep->count; p++) {
        size_t step = 0;
        const size_t at = p * c->sides + side;
        if (panel_of(&step, c, p) != panel || isinf(s->values[at])) continue;
        const double px = svg_place(x, (double)axis->sizes[step]);
        const double py = isnan(s->values[at]) ? NAN : svg_place(&s->y, s->values[at]);
        if (isnan(py)) {
            snprintf(style, sizeof style, "fill=\"%s\"", svg_colour(side));
            svg_text(out, px, s->y.to + 10, "middle", style, "?", 1);
        } else {
            snprintf(style, sizeof style, "stroke=\"%s\" stroke-width=\"1.5\"", svg_colour(side));
            if (!isnan(last_y)) svg_line(out, last_x, last_y, px, py, style);
            append_point(out, s, at, side, px, py);
        }
        last_x = px;
        last_y = py;
    }
}

static void append_panel(str *out, const sweep_chart *c, section *s, size_t panel, size_t point,
                         double top)
{
    const bench_axis *axis = &c->sweep->axes->items[c->main_axis];
    const double left = LEFT + (double)(panel % COLUMNS) * (PANEL_WIDTH + LEFT + GAP_X);
    const double y = top + (double)(panel / COLUMNS) * (PANEL_HEIGHT + GAP_Y);
    double low = INFINITY, high = 0;
    str name = {0};
    for (size_t i = 0; i < axis->count; i++) {
        low = fmin(low, (double)axis->sizes[i]);
        high = fmax(high, (double)axis->sizes[i]);
    }
    svg_scale x = svg_scale_over(low, high, left + 12, left + PANEL_WIDTH - 12);
    x.logarithmic = high / low >= 8;
    s->y.from = y + PANEL_HEIGHT;
    s->y.to = y;
    name_panel(&name, c, point);
    svg_text(out, left + PANEL_WIDTH / 2.0, y - 8, "middle", NOTE, str_text(&name), 44);
    svg_grid_y(out, &s->y, left, left + PANEL_WIDTH);
    append_sizes(out, axis, &x, y + PANEL_HEIGHT);
    for (size_t i = 0; i < c->sides; i++) append_side(out, c, s, panel, i, &x);
    svg_line(out, left, y + PANEL_HEIGHT, left + PANEL_WIDTH, y + PANEL_HEIGHT,
             "stroke=\"#333333\"");
    out->failed = out->failed || name.failed;
    str_deinit(&name);
}

/* ---- Sections -------------------------------------------------------------------------------- */

static void fit(section *s, size_t count)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        const double from = s->lows ? s->lows[i] : s->values[i];
        const double to = s->highs ? s->highs[i] : s->values[i];
        if (!isfinite(s->values[i])) continue;
        low = fmin(low, from);
        high = fmax(high, to);
    }
    if (isinf(low)) low = high = 0;
    s->y = svg_scale_over(low, high, 0, 1);
    if (s->y.logarithmic) {
        s->y.low /= 1.2;
        s->y.high *= 1.2;
    } else {
        const double room = (s->y.high - s->y.low) * 0.06;
        s->y.low = low >= 0 ? fmax(0, s->y.low - room) : s->y.low - room;
        s->y.high += room;
    }
}

static double section_height(const sweep_chart *c)
{
    const size_t rows = (c->panels + COLUMNS - 1) / COLUMNS;
    return TOP + (double)rows * (PANEL_HEIGHT + GAP_Y);
}

static void append_section(str *out, const sweep_chart *c, section *s, double top)
{
    fit(s, c->sweep->count * c->sides);
    svg_text(out, 20, top + 24, "start", TITLE, s->title, 80);
    svg_text(out, 20, top + 40, "start", NOTE, s->note, 120);
    for (size_t panel = 0; panel < c->panels; panel++)
        for (size_t p = 0, step = 0; p < c->sweep->count; p++)
            if (panel_of(&step, c, p) == panel && step == 0) {
                append_panel(out, c, s, panel, p, top + TOP);
                break;
            }
}

/* ---- Values ---------------------------------------------------------------------------------- */

static pgy_status fill_values(section *times, section *errors, bool *checked, const sweep_chart *c,
                              pgy_error *err)
{
    for (size_t p = 0; p < c->sweep->count; p++)
        for (size_t i = 0; i < c->sides; i++) {
            const size_t at = p * c->sides + i;
            pgy_bench_figures f;
            pgy_bench_accuracy a;
            const pgy_status st = pgy_bench_summarize(&f, c->sweep->points[p], i, err);
            if (st) return st;
            times->values[at] = f.median_ms;
            times->lows[at] = f.low_ms;
            times->highs[at] = f.high_ms;
            const bool known = pgy_bench_check(&a, c->sweep->points[p], i);
            errors->values[at] = known ? a.error : INFINITY;
            *checked |= known;
        }
    return PGY_OK;
}

static void append_legend(str *out, const sweep_chart *c, double top, double width)
{
    for (size_t i = 0; i < c->sides; i++) {
        char style[64];
        const double y = top + (double)(i * LEGEND);
        snprintf(style, sizeof style, "fill=\"%s\"", svg_colour(i));
        svg_rect(out, 20, y - 9, 12, 10, style);
        svg_text(out, 38, y, "start", style, c->sweep->points[0]->sides[i].name,
                 (size_t)(width / 8) - 8);
    }
}

static void append_all(str *out, const sweep_chart *c, section *times, section *errors,
                       bool checked)
{
    const double legend = 30 + (double)(c->sides * LEGEND), part = section_height(c);
    const size_t columns = c->panels < COLUMNS ? c->panels : COLUMNS;
    const double width = fmax((double)columns * (PANEL_WIDTH + LEFT + GAP_X), 620);
    svg_begin(out, width, legend + part * (checked ? 2 : 1) + BOTTOM, "Times over the points");
    append_legend(out, c, 28, width);
    append_section(out, c, times, legend);
    if (checked) append_section(out, c, errors, legend + part);
    svg_end(out);
}

pgy_status bench_svg_points(str *out, const pgy_bench_sweep *s, pgy_error *err)
{
    sweep_chart c = {.sweep = s, .sides = s->points[0]->count};
    section times = {.title = "Time of a run",
                     .note = "ms; median of the slices, and its interval"},
            errors = {.title = "Error against the reference",
                      .note = "greatest absolute difference; ?: not measured"};
    bool checked = false;
    for (size_t i = 1; i < s->axes->count; i++)
        if (s->axes->items[i].count > s->axes->items[c.main_axis].count) c.main_axis = i;
    c.panels = s->count / s->axes->items[c.main_axis].count;
    double *values = mem_calloc(s->count * c.sides, 4 * sizeof *values);
    if (!values) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    times.values = values;
    times.lows = values + s->count * c.sides;
    times.highs = values + 2 * s->count * c.sides;
    errors.values = values + 3 * s->count * c.sides;
    const pgy_status st = fill_values(&times, &errors, &checked, &c, err);
    if (!st) append_all(out, &c, &times, &errors, checked);
    mem_free(values);
    return st;
}
