/* SPDX-License-Identifier: Apache-2.0 */
/* A measurement as SVG: for each side the distribution of its runs, then the times of all slices in
 * the order of the rounds, which shows drift and what disturbed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "perf/bench_svg.h"

enum { WIDTH = 900, LEFT = 70, RIGHT = 20, TOP = 50, BAND = 78, BARS = 120, NAME = 110 };
enum { SLICES_HEIGHT = 220, GAP = 64 };
static const char TITLE[] = "font-size=\"15\" font-weight=\"bold\"",
                  NOTE[] = "fill=\"#555555\" font-size=\"11\"";

typedef struct bench_chart {
    const pgy_bench *bench;
    pgy_bench_figures *figures;
    bench_rounds rounds;
    svg_scale time; /* of the distributions */
} bench_chart;

/* ---- Distributions --------------------------------------------------------------------------- */

static double to_ms(int64_t ns)
{
    return (double)ns / 1e6;
}

/* From the fastest run of all sides to the slowest percentile 99: the few runs beyond it would
 * leave no room for the others, and count in the last bar. */
static svg_scale time_scale(const bench_chart *c)
{
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < c->bench->count; i++) {
        const bench_side *s = &c->bench->sides[i];
        for (size_t k = 0; k < s->count; k++)
            if (to_ms(s->slices[k].times_ns[0]) < low) low = to_ms(s->slices[k].times_ns[0]);
        if (c->figures[i].p99_ms > high) high = c->figures[i].p99_ms;
        if (c->figures[i].high_ms > high) high = c->figures[i].high_ms;
    }
    return svg_scale_over(low, high + 0.02 * (high - low), LEFT, WIDTH - RIGHT);
}

/* Shares of runs in bars of equal width on the page. */
static double count_bars(double *bars, const bench_chart *c, size_t side)
{
    const bench_side *s = &c->bench->sides[side];
    double most = 0;
    memset(bars, 0, BARS * sizeof *bars);
    for (size_t k = 0; k < c->rounds.total; k++) {
        const bench_slice *slice = &s->slices[k];
        for (size_t i = 0; c->rounds.counts[k] && i < slice->count; i++) {
            const double at = svg_place(&c->time, to_ms(slice->times_ns[i]));
            const double share = (at - LEFT) / (WIDTH - LEFT - RIGHT);
            const size_t bar = (size_t)(share * BARS);
            bars[bar < BARS ? bar : BARS - 1] += (double)slice->runs / (double)slice->count;
        }
    }
    for (size_t i = 0; i < BARS; i++)
        if (bars[i] > most) most = bars[i];
    return most;
}

/* A line with its name left or right of it, so that those of p90 and p99 do not meet. */
static void append_mark(str *out, const svg_scale *x, double ms, double top, double bottom,
                        const char *name, bool right)
{
    const double at = svg_place(x, ms);
    const bool end = right ? at + 30 > WIDTH - RIGHT : at - 30 > LEFT;
    svg_line(out, at, top, at, bottom, "stroke=\"#333333\" stroke-dasharray=\"3 2\"");
    svg_text(out, end ? at - 3 : at + 3, right ? top + 9 : top + 20, end ? "end" : "start", NOTE,
             name, 8);
}

static void append_distribution(str *out, const bench_chart *c, size_t side, double top)
{
    const double bottom = top + BAND - 26, width = (double)(WIDTH - LEFT - RIGHT) / BARS;
    const pgy_bench_figures *f = &c->figures[side];
    double bars[BARS];
    char style[64], text[200];
    const double most = count_bars(bars, c, side);
    snprintf(style, sizeof style, "fill=\"%s\" font-weight=\"bold\"", svg_colour(side));
    svg_text(out, LEFT, top - 6, "start", style, c->bench->sides[side].name, NAME - 44);
    snprintf(text, sizeof text, "median %.5g ms (%.5g to %.5g), %.1f runs/s", f->median_ms,
             f->low_ms, f->high_ms, f->throughput);
    svg_text(out, WIDTH - RIGHT, top - 6, "end", NOTE, text, 200);
    snprintf(style, sizeof style, "fill=\"%s\" fill-opacity=\"0.7\"", svg_colour(side));
    for (size_t i = 0; most > 0 && i < BARS; i++) {
        const double height = bars[i] / most * (bottom - top);
        if (bars[i] > 0)
            svg_rect(out, LEFT + (double)i * width, bottom - height, width, height, style);
    }
    const double low = svg_place(&c->time, f->low_ms), high = svg_place(&c->time, f->high_ms);
    svg_rect(out, low, top, fmax(high - low, 1), bottom - top,
             "fill=\"#333333\" fill-opacity=\"0.25\"");
    append_mark(out, &c->time, f->p90_ms, top, bottom, "p90", false);
    append_mark(out, &c->time, f->p99_ms, top, bottom, "p99", true);
    svg_line(out, LEFT, bottom, WIDTH - RIGHT, bottom, "stroke=\"#333333\"");
}

/* ---- Slices ---------------------------------------------------------------------------------- */

static void append_slices_of(str *out, const bench_chart *c, size_t side, const svg_scale *x,
                             const svg_scale *y)
{
    const bench_side *s = &c->bench->sides[side];
    double xs[BENCH_SLICES], ys[BENCH_SLICES];
    char line[64], dot[96];
    const size_t count = c->rounds.total;
    for (size_t k = 0; k < count; k++) {
        xs[k] = svg_place(x, (double)k);
        ys[k] = svg_place(y, bench_slice_centre(&s->slices[k]) / 1e6);
    }
    snprintf(line, sizeof line, "stroke=\"%s\" stroke-opacity=\"0.5\"", svg_colour(side));
    svg_polyline(out, xs, ys, count, line);
    for (size_t k = 0; k < count; k++) {
        snprintf(dot, sizeof dot, "fill=\"%s\" stroke=\"%s\"",
                 c->rounds.counts[k] ? svg_colour(side) : "#ffffff", svg_colour(side));
        svg_circle(out, xs[k], ys[k], 2.5, dot);
    }
}

static void append_slices(str *out, const bench_chart *c, double top)
{
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < c->bench->count; i++)
        for (size_t k = 0; k < c->rounds.total; k++) {
            const double ms = bench_slice_centre(&c->bench->sides[i].slices[k]) / 1e6;
            low = fmin(low, ms);
            high = fmax(high, ms);
        }
    const double room = (high - low) * 0.05;
    const double bottom = top + SLICES_HEIGHT;
    const svg_scale y = svg_scale_over(fmax(low - room, low / 2), high + room, bottom, top);
    svg_scale x = {.low = 0, .high = (double)c->rounds.total, .from = LEFT, .to = WIDTH - RIGHT};
    svg_text(out, LEFT, top - 12, "start", TITLE, "Slices in the order of the rounds", 64);
    svg_text(out, WIDTH - RIGHT, top - 12, "end", NOTE,
             "ms; hollow: left out, because other processes disturbed the round", 100);
    svg_grid_y(out, &y, LEFT, WIDTH - RIGHT);
    for (size_t i = 0; i < c->bench->count; i++) append_slices_of(out, c, i, &x, &y);
    svg_line(out, LEFT, bottom, WIDTH - RIGHT, bottom, "stroke=\"#333333\"");
}

/* ---- The picture ----------------------------------------------------------------------------- */

static void append_chart(str *out, bench_chart *c)
{
    const size_t sides = c->bench->count;
    const double middle = TOP + 24 + (double)(sides * BAND), slices = middle + GAP;
    c->time = time_scale(c);
    svg_begin(out, WIDTH, slices + SLICES_HEIGHT + 30, "Times of runs");
    svg_text(out, LEFT, 26, "start", TITLE, "Times of runs", 64);
    svg_text(out, WIDTH - RIGHT, 26, "end", NOTE,
             "ms; grey: interval of the median; the last bar has all slower runs", 100);
    svg_grid_x(out, &c->time, TOP, middle - 18);
    for (size_t i = 0; i < sides; i++)
        append_distribution(out, c, i, TOP + 24 + (double)(i * BAND));
    append_slices(out, c, slices);
    svg_end(out);
}

pgy_status bench_svg_runs(str *out, const pgy_bench *b, pgy_error *err)
{
    bench_chart c = {.bench = b, .figures = mem_calloc(b->count, sizeof *c.figures)};
    pgy_status st = c.figures ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) st = bench_rounds_find(&c.rounds, b, err);
    for (size_t i = 0; !st && i < b->count; i++) st = pgy_bench_summarize(&c.figures[i], b, i, err);
    if (!st) append_chart(out, &c);
    bench_rounds_deinit(&c.rounds);
    mem_free(c.figures);
    return st;
}

pgy_status bench_sweep_svg(str *out, const pgy_bench_sweep *s, pgy_error *err)
{
    const pgy_status st =
        s->axes->count ? bench_svg_points(out, s, err) : bench_svg_runs(out, s->points[0], err);
    return !st && out->failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory") : st;
}

pgy_status pgy_bench_sweep_save_svg(const char *path, const pgy_bench_sweep *s, pgy_error *err)
{
    str out = {0};
    pgy_status st = bench_sweep_svg(&out, s, err);
    if (!st) st = file_write_all(path, str_text(&out), out.size, err);
    str_deinit(&out);
    return st;
}
