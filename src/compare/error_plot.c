/* SPDX-License-Identifier: Apache-2.0 */
/* Two scatter panels, one above the other. The relative error has a log scale unless all its
 * positive values are equal. Points that a panel cannot show are counted in its heading. */
#include "compare/error_plot.h"

#include <math.h>
#include <string.h>

#include "base/printable.h"
#include "compare/axis.h"

enum { PANEL_WIDTH = 1500, PANEL_HEIGHT = 520, PADDING = 8, RIGHT = 120, TOP = 20 };
enum { SCALE = 2, LETTER = PICTURE_LETTER * SCALE, LINE = PICTURE_LINE * SCALE };
enum { HEADING = 2 * LINE + 12, FOOT = 2 * LINE + 24, SHOWN_NAME = 60 };
static const uint32_t BLACK = 0x000000, GRAY = 0xcccccc, BLUE = 0x1f77b4;

typedef struct panel {
    const char *name;
    const double *x, *y;
    size_t count;
    axis across, up;
    size_t left, top, radius;
} panel;

/* Appends at most SHOWN_NAME letters of a name, which may hold any bytes. */
static void append_name(str *out, const char *name)
{
    str all = {0};
    str_append_printable(&all, name, strlen(name), "");
    const char *text = str_text(&all);
    size_t size = strlen(text), half = SHOWN_NAME / 2;
    if (size <= SHOWN_NAME)
        str_append(out, text);
    else {
        str_append_n(out, text, half);
        str_append(out, "...");
        str_append(out, text + size - half);
    }
    out->failed |= all.failed;
    str_deinit(&all);
}

static void draw_title(picture *to, const error_plot *p, size_t left)
{
    picture_text(to, left, TOP, SCALE, "Error metrics between output0 and output1", BLACK);
    for (size_t i = 0; i < 2; i++) {
        str line = {0};
        str_printf(&line, "output%zu: ", i);
        append_name(&line, p->runners[i]);
        str_append(&line, " | ");
        append_name(&line, p->outputs[i]);
        picture_text(to, left, TOP + (i + 1) * LINE, SCALE, str_text(&line), BLACK);
        str_deinit(&line);
    }
}

static void draw_heading(picture *to, const panel *p)
{
    size_t infinite = 0, zero = 0;
    for (size_t i = 0; i < p->count; i++) {
        bool finite = isfinite(p->x[i]) && isfinite(p->y[i]);
        infinite += !finite;
        zero += finite && p->up.logarithmic && p->y[i] <= 0;
    }
    str text = {0};
    str_printf(&text, "%s%s", p->name, p->up.logarithmic ? " (log scale)" : "");
    picture_text(to, p->left, p->top - HEADING, SCALE, str_text(&text), BLACK);
    str_clear(&text);
    str_printf(&text, "elements: %zu", p->count);
    if (infinite) str_printf(&text, "; not shown: %zu that are NaN or infinite", infinite);
    if (zero) str_printf(&text, "; not shown: %zu with error 0", zero);
    picture_text(to, p->left, p->top - HEADING + LINE, SCALE, str_text(&text), BLACK);
    str_deinit(&text);
}

/* Pixels from the frame to a position on an axis. The padding keeps points at the ends whole. */
static size_t along(double at, size_t length)
{
    return PADDING + (size_t)(at * (double)(length - 2 * PADDING));
}

static void draw_axes(picture *to, const panel *p)
{
    tick ticks[AXIS_TICKS];
    size_t bottom = p->top + PANEL_HEIGHT;
    size_t n = axis_ticks(ticks, &p->across, 12, PANEL_WIDTH / LETTER);
    for (size_t i = 0; i < n; i++) {
        size_t x = p->left + along(ticks[i].at, PANEL_WIDTH);
        picture_fill(to, x, p->top, 1, PANEL_HEIGHT, GRAY);
        picture_fill(to, x, bottom, 2, 8, BLACK);
        picture_text(to, x - strlen(ticks[i].label) * LETTER / 2, bottom + 14, SCALE,
                     ticks[i].label, BLACK);
    }
    n = axis_ticks(ticks, &p->up, 8, SIZE_MAX);
    for (size_t i = 0; i < n; i++) {
        size_t y = bottom - along(ticks[i].at, PANEL_HEIGHT);
        picture_fill(to, p->left, y, PANEL_WIDTH, 1, GRAY);
        picture_fill(to, p->left - 8, y, 8, 2, BLACK);
        picture_text(to, p->left - 14 - strlen(ticks[i].label) * LETTER, y - 7, SCALE,
                     ticks[i].label, BLACK);
    }
    picture_fill(to, p->left, p->top, 2, PANEL_HEIGHT, BLACK);
    picture_fill(to, p->left, bottom, PANEL_WIDTH, 2, BLACK);
}

static void draw_panel(picture *to, const panel *p)
{
    draw_heading(to, p);
    draw_axes(to, p);
    for (size_t i = 0; i < p->count; i++) {
        if (!isfinite(p->x[i]) || !isfinite(p->y[i])) continue;
        if (p->up.logarithmic && p->y[i] <= 0) continue;
        picture_disc(to, p->left + along(axis_place(&p->across, p->x[i]), PANEL_WIDTH),
                     p->top + PANEL_HEIGHT - along(axis_place(&p->up, p->y[i]), PANEL_HEIGHT),
                     p->radius, BLUE);
    }
}

/* Length of the longest label of the vertical axes, in letters. */
static size_t longest_label(const panel *p)
{
    tick ticks[AXIS_TICKS];
    size_t longest = 0;
    for (size_t i = 0; i < 2; i++)
        for (size_t n = axis_ticks(ticks, &p[i].up, 8, SIZE_MAX); n-- > 0;)
            if (strlen(ticks[n].label) > longest) longest = strlen(ticks[n].label);
    return longest;
}

pgy_status error_plot_draw(picture *out, const error_plot *p, pgy_error *err)
{
    static const char X_NAME[] = "output1 magnitude (units of the output)";
    axis relative = axis_of(p->relative, p->count, true);
    bool logarithmic = relative.logarithmic && relative.low < relative.high;
    panel panels[] = {
        {.name = "Absolute error (units of the output)", .y = p->absolute},
        {.name = "Relative error (no unit: error / output1 magnitude)", .y = p->relative}};
    for (size_t i = 0; i < 2; i++) {
        panels[i].x = p->magnitude;
        panels[i].count = p->count;
        panels[i].across = axis_rounded(p->magnitude, p->count, false);
        panels[i].up = axis_rounded(panels[i].y, p->count, i == 1 && logarithmic);
        panels[i].radius = p->count <= 1000 ? 4 : p->count <= 100000 ? 3 : 2;
    }
    size_t left = 14 + 8 + (longest_label(panels) + 2) * LETTER;
    size_t block = HEADING + PANEL_HEIGHT + FOOT;
    pgy_status st =
        picture_create(out, left + PANEL_WIDTH + RIGHT, TOP + 4 * LINE + 2 * block, err);
    if (st) return st;
    draw_title(out, p, left);
    for (size_t i = 0; i < 2; i++) {
        panels[i].left = left;
        panels[i].top = TOP + 4 * LINE + i * block + HEADING;
        draw_panel(out, &panels[i]);
    }
    picture_text(out, left + (PANEL_WIDTH - strlen(X_NAME) * LETTER) / 2,
                 panels[1].top + PANEL_HEIGHT + LINE + 20, SCALE, X_NAME, BLACK);
    return PGY_OK;
}
