/* SPDX-License-Identifier: Apache-2.0 */
/* Heatmaps and error plots. A heatmap is an SVG whose cells, one pixel per element, are one
 * embedded PNG that the viewer enlarges; an error plot is a PNG with two scatter panels over the
 * magnitude of the reference. Names and layout follow the original, the drawing is our own. */
#include "compare/plots.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/file.h"
#include "base/log.h"
#include "compare/png.h"

static const char LOG_PATH[] = "comparator/util.py";

extern char **environ;

enum { MAX_ROWS = 14, MAX_COLUMNS = 7, FIGURE_HEIGHT = 1080, FIGURE_WIDTH = 1920, GAP = 2 };
static const uint32_t BLACK = 0x000000, GRAY = 0xcccccc, BLUE = 0x1f77b4;

typedef struct plot {
    const compare_job *job;
    const source *s;
    size_t stream_index;
    const array_stats *stats;
    const double *values;
    bool logarithmic;
    const char *dir;
    strvec *files; /* what was written */
} plot;

/* ---- Colours
 * ----------------------------------------------------------------------------------------- */

/* `plasma` at equal distances. */
static const uint32_t PLASMA[] = {0x0d0887, 0x4b03a1, 0x7d03a8, 0xa82296, 0xcb4679,
                                  0xe56b5d, 0xf89441, 0xfdc328, 0xf0f921};

static uint32_t mix(uint32_t a, uint32_t b, double t)
{
    uint32_t out = 0;
    for (int shift = 0; shift <= 16; shift += 8) {
        double x = a >> shift & 255, y = b >> shift & 255;
        out |= (uint32_t)(x + (y - x) * t + 0.5) << shift;
    }
    return out;
}

static uint32_t colour(double t)
{
    const int last = (int)(sizeof PLASMA / sizeof PLASMA[0]) - 1;
    if (!(t > 0)) return PLASMA[0];
    if (t >= 1) return PLASMA[last];
    int i = (int)(t * last);
    return mix(PLASMA[i], PLASMA[i + 1], t * last - i);
}

/* Where v lies between low and high, 0 to 1. */
static double place(double v, double low, double high, bool logarithmic)
{
    if (logarithmic) {
        double floor = low > 0 ? low : high * 1e-12;
        if (!(v > floor)) return 0;
        return log(v / floor) / log(high / floor);
    }
    return high > low ? (v - low) / (high - low) : 0;
}

/* ---- Files
 * ------------------------------------------------------------------------------------------- */

static pgy_status save(const plot *p, const char *name, const str *content, const char *what,
                       pgy_error *err)
{
    char *path = path_join(p->dir, name);
    if (!path) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while saving '%s'", name);
    LOG(INFO, "Saving %s to: '%s'", what, path);
    pgy_status st = file_write_all(path, content->data, content->size, err);
    if (!st && !strvec_push(p->files, path))
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while saving '%s'", name);
    mem_free(path);
    return st;
}

static void replace_slashes(str *s)
{
    for (size_t i = 0; i < s->size; i++)
        if (s->data[i] == '/') s->data[i] = '_';
}

static pgy_status read_values(double **out, const source *s, size_t stream_index, pgy_error *err)
{
    double *values = mem_calloc(s->count + 1, sizeof *values);
    pgy_tensor *t = NULL;
    if (!values)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while drawing %zu differences",
                             s->count);
    pgy_status st = stats_materialise(&t, s, stream_index, 1, (int64_t[]){(int64_t)s->count}, err);
    if (st) {
        mem_free(values);
        return st;
    }
    arith_widen(WORK_F64, values, pgy_tensor_dtype(t), pgy_tensor_data(t), 0, s->count);
    pgy_tensor_release(t);
    *out = values;
    return PGY_OK;
}

/* ---- Heatmaps
 * ---------------------------------------------------------------------------------------- */

typedef struct grid {
    size_t rank;
    int64_t shape[PGY_MAX_RANK + 2]; /* at least three dimensions */
    size_t height, width, images, rows, columns;
} grid;

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static grid make_grid(const pgy_tensor *t)
{
    grid g = {.rank = pgy_tensor_rank(t) < 3 ? 3 : pgy_tensor_rank(t), .images = 1};
    size_t lead = g.rank - pgy_tensor_rank(t);
    for (size_t i = 0; i < g.rank; i++) g.shape[i] = i < lead ? 1 : pgy_tensor_shape(t)[i - lead];
    for (size_t i = 0; i + 2 < g.rank; i++) g.images *= (size_t)g.shape[i];
    g.height = (size_t)g.shape[g.rank - 2];
    g.width = (size_t)g.shape[g.rank - 1];
    if (!g.height || !g.width || !g.images) return g;
    g.rows = least(FIGURE_HEIGHT / g.height, MAX_ROWS);
    g.columns = least(FIGURE_WIDTH / g.width, MAX_COLUMNS);
    if (!g.rows) g.rows = 1;
    if (!g.columns) g.columns = 1;
    if (g.images < g.rows * g.columns) {
        g.columns = least(g.images, g.columns);
        g.rows = (g.images + g.columns - 1) / g.columns;
    }
    return g;
}

/* "(0,1,0:H,0:W)" */
static void append_coordinates(str *out, const grid *g, size_t image)
{
    size_t index[PGY_MAX_RANK + 2];
    for (size_t i = g->rank - 2; i-- > 0;) {
        index[i] = image % (size_t)g->shape[i];
        image /= (size_t)g->shape[i];
    }
    str_append_char(out, '(');
    for (size_t i = 0; i + 2 < g->rank; i++) str_printf(out, "%zu,", index[i]);
    str_printf(out, "0:%zu,0:%zu)", g->height, g->width);
}

static void draw_cell(picture *to, const plot *p, const grid *g, size_t image, size_t x, size_t y)
{
    for (size_t j = 0; j < g->height; j++)
        for (size_t i = 0; i < g->width; i++) {
            double v = image < g->images ? p->values[(image * g->height + j) * g->width + i] : 0;
            picture_fill(to, x + i, y + j, 1, 1,
                         colour(place(v, p->stats->min, p->stats->max, p->logarithmic)));
        }
}

static void append_svg_text(str *out, double x, double y, const char *text)
{
    str_printf(out, "<text x=\"%g\" y=\"%g\" font-family=\"sans-serif\" font-size=\"14\">", x, y);
    for (const char *c = text; *c; c++) {
        if (*c == '<' || *c == '>' || *c == '&')
            str_printf(out, "&#%d;", *c);
        else
            str_append_char(out, *c);
    }
    str_append(out, "</text>\n");
}

static void append_scale(str *out, const plot *p, double y)
{
    char text[64];
    for (int i = 0; i < 64; i++)
        str_printf(out, "<rect x=\"%d\" y=\"%g\" width=\"5\" height=\"16\" fill=\"#%06x\"/>\n",
                   20 + 5 * i, y, colour(i / 63.0));
    snprintf(text, sizeof text, "%.5g", p->stats->min);
    append_svg_text(out, 20, y + 32, text);
    snprintf(text, sizeof text, "%.5g", p->stats->max);
    append_svg_text(out, 300, y + 32, text);
}

static pgy_status append_base64(str *out, const str *data, pgy_error *err)
{
    size_t size = base64_encoded_size(data->size);
    char *text = mem_alloc(size);
    if (!text) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while drawing a heatmap");
    base64_encode(text, data->data, data->size);
    str_append_n(out, text, size);
    mem_free(text);
    return PGY_OK;
}

static void append_label(str *out, const grid *g, size_t first, size_t cell, double scale)
{
    double x = 20 + (double)(cell % g->columns * (g->width + GAP)) * scale;
    double y = 40 + (double)(cell / g->columns * (g->height + GAP)) * scale;
    str label = {0};
    if (first + cell < g->images)
        append_coordinates(&label, g, first + cell);
    else
        str_append(&label, "Out Of Bounds");
    str_printf(
        out,
        "<g><title>%s</title><rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"none\" "
        "pointer-events=\"all\"/></g>\n",
        str_text(&label), x, y, (double)g->width * scale, (double)g->height * scale);
    str_deinit(&label);
}

static pgy_status append_svg(str *out, const plot *p, const grid *g, size_t first,
                             const char *title, pgy_error *err)
{
    picture cells = {0};
    str png = {0};
    size_t width = g->columns * (g->width + GAP), height = g->rows * (g->height + GAP);
    pgy_status st = picture_create(&cells, width, height, err);
    if (st) return st;
    double scale =
        fmin((double)FIGURE_WIDTH / (double)width, (double)FIGURE_HEIGHT / (double)height);
    for (size_t i = 0; i < g->rows * g->columns; i++)
        draw_cell(&cells, p, g, first + i, i % g->columns * (g->width + GAP),
                  i / g->columns * (g->height + GAP));
    st = picture_png(&png, &cells, err);
    if (st) goto done;
    double w = (double)width * scale, h = (double)height * scale;
    str_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" "
               "xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"%g\" height=\"%g\">\n",
               w + 40, h + 110);
    append_svg_text(out, 20, 24, title);
    str_printf(out,
               "<image x=\"20\" y=\"40\" width=\"%g\" height=\"%g\" "
               "style=\"image-rendering:pixelated\" xlink:href=\"data:image/png;base64,",
               w, h);
    st = append_base64(out, &png, err);
    if (st) goto done;
    str_append(out, "\"/>\n");
    append_scale(out, p, h + 56);
    for (size_t i = 0; i < g->rows * g->columns; i++) append_label(out, g, first, i, scale);
    str_append(out, "</svg>\n");
    if (out->failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while drawing a heatmap");
done:
    picture_deinit(&cells);
    str_deinit(&png);
    return st;
}

static pgy_status draw_figure(const plot *p, const grid *g, size_t first, pgy_error *err)
{
    static const char *const KINDS[] = {"Absolute Error", "Relative Error"};
    size_t last = least(first + g->rows * g->columns, g->images) - 1;
    str title = {0}, name = {0}, svg = {0}, what = {0};
    str_printf(&title, "%s | %s%s: ", KINDS[p->stream_index], p->job->a.output,
               p->logarithmic ? " (Log Scale)" : "");
    append_coordinates(&title, g, first);
    str_append(&title, " to ");
    append_coordinates(&title, g, last);
    str_printf(&name, "%s.svg", str_text(&title));
    replace_slashes(&name);
    str_printf(&what, "'%s' heatmap", KINDS[p->stream_index]);
    pgy_status st = append_svg(&svg, p, g, first, str_text(&title), err);
    if (!st) st = save(p, str_text(&name), &svg, str_text(&what), err);
    str_deinit(&title);
    str_deinit(&name);
    str_deinit(&svg);
    str_deinit(&what);
    return st;
}

static pgy_status draw_heatmaps(plot *p, pgy_error *err)
{
    static const char *const KINDS[] = {"Absolute Error", "Relative Error"};
    grid g = make_grid(p->job->a.tensor);
    pgy_status st = PGY_OK;
    LOG(START, "Building heatmaps for %s | %s. This may take a while...", KINDS[p->stream_index],
        p->job->a.output);
    for (size_t first = 0; g.rows && first < g.images && !st; first += g.rows * g.columns)
        st = draw_figure(p, &g, first, err);
    return st;
}

/* ---- Error plot
 * -------------------------------------------------------------------------------------- */

enum { PANEL_WIDTH = 1500, PANEL_HEIGHT = 520, MARGIN = 110, TICKS = 20 };

typedef struct span_f64 {
    double low, high;
} span_f64;

static span_f64 finite_span(const double *x, size_t n, bool positive)
{
    span_f64 s = {INFINITY, -INFINITY};
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i]) || (positive && x[i] <= 0)) continue;
        if (x[i] < s.low) s.low = x[i];
        if (x[i] > s.high) s.high = x[i];
    }
    return s.low <= s.high ? s : (span_f64){0, 0};
}

static void draw_axes(picture *to, size_t top, span_f64 x, span_f64 y, bool logarithmic)
{
    char text[32];
    picture_fill(to, MARGIN, top, 2, PANEL_HEIGHT, BLACK);
    picture_fill(to, MARGIN, top + PANEL_HEIGHT, PANEL_WIDTH, 2, BLACK);
    for (size_t i = 0; i < TICKS; i++) {
        size_t at = MARGIN + i * (PANEL_WIDTH - 1) / (TICKS - 1);
        picture_fill(to, at, top + PANEL_HEIGHT, 1, 8, BLACK);
        snprintf(text, sizeof text, "%.3g", x.low + (x.high - x.low) * (double)i / (TICKS - 1));
        picture_text(to, at - least(at, 4 * strlen(text)), top + PANEL_HEIGHT + 14, 2, text, BLACK);
    }
    for (size_t i = 0; i <= 5; i++) {
        double t = (double)i / 5, v = y.low + (y.high - y.low) * t;
        if (logarithmic) v = y.low * pow(y.high / y.low, t);
        size_t at = top + PANEL_HEIGHT - i * PANEL_HEIGHT / 5;
        picture_fill(to, MARGIN, at, PANEL_WIDTH, 1, GRAY);
        snprintf(text, sizeof text, "%.3g", v);
        picture_text(to, MARGIN - 10 - least(MARGIN - 10, 8 * strlen(text)), at - 5, 2, text,
                     BLACK);
    }
}

static void draw_panel(picture *to, size_t top, const double *x, const double *y, size_t n,
                       bool logarithmic)
{
    span_f64 sx = finite_span(x, n, false), sy = finite_span(y, n, logarithmic);
    logarithmic = logarithmic && sy.high > sy.low && sy.low > 0;
    draw_axes(to, top, sx, sy, logarithmic);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i])) continue;
        double px = place(x[i], sx.low, sx.high, false),
               py = place(y[i], sy.low, sy.high, logarithmic);
        picture_fill(to, MARGIN + (size_t)(px * (PANEL_WIDTH - 3)),
                     top + (size_t)((1 - py) * (PANEL_HEIGHT - 3)), 3, 3, BLUE);
    }
}

static pgy_status draw_error_plot(const plot *p, pgy_view reference, pgy_error *err)
{
    picture canvas = {0};
    double *x = NULL, *y = NULL;
    str png = {0}, name = {0};
    size_t n = p->s->count;
    LOG(START, "Building error metrics plot for %s. This may take a while...", p->job->a.output);
    pgy_status st =
        picture_create(&canvas, PANEL_WIDTH + MARGIN + 60, 2 * (PANEL_HEIGHT + 80), err);
    if (st) return st;
    x = mem_calloc(n + 1, sizeof *x);
    if (!x) {
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while drawing %zu errors", n);
        goto done;
    }
    arith_widen(WORK_F64, x, reference.dtype, pgy_view_data(reference), 0, n);
    for (size_t i = 0; i < n; i++) x[i] = fabs(x[i]);
    for (size_t i = 0; i < ARITH_STREAMS; i++) {
        mem_free(y);
        y = NULL;
        st = read_values(&y, p->s, i, err);
        if (st) goto done;
        draw_panel(&canvas, 20 + i * (PANEL_HEIGHT + 80), x, y, n, i == 1);
    }
    st = picture_png(&png, &canvas, err);
    if (st) goto done;
    str_printf(&name, "error_metrics_%s.png", p->job->a.output);
    replace_slashes(&name);
    st = save(p, str_text(&name), &png, "error metrics plot", err);
done:
    picture_deinit(&canvas);
    mem_free(x);
    mem_free(y);
    str_deinit(&png);
    str_deinit(&name);
    return st;
}

/* ---- Showing ------------------------------------------------------------------------------- */

/* A folder that stays, for viewers that outlive this process. */
static pgy_status make_show_dir(char **out, pgy_error *err)
{
    const char *base = getenv("TMPDIR");
    char *dir = path_join(base && *base ? base : "/tmp", "polygraphy-plots-XXXXXX");
    if (!dir) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a temporary folder");
    if (!mkdtemp(dir)) {
        pgy_status st =
            pgy_error_set(err, PGY_E_IO, "cannot make the folder '%s': %s", dir, strerror(errno));
        mem_free(dir);
        return st;
    }
    *out = dir;
    return PGY_OK;
}

static void show(const strvec *files)
{
    bool desktop = getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
    for (size_t i = 0; i < files->count; i++) {
        char *const args[] = {"xdg-open", files->items[i], NULL};
        pid_t child;
        if (!desktop || posix_spawnp(&child, "xdg-open", NULL, NULL, args, environ))
            LOG(WARNING, "There is no desktop with xdg-open to show '%s'", files->items[i]);
    }
}

/* Draws into `dir`, or into a temporary folder if it is only to be shown. */
static pgy_status draw_into(plot *p, const char *dir, bool shown, bool heatmaps, pgy_view reference,
                            pgy_error *err)
{
    strvec files = {0};
    char *made = NULL;
    pgy_status st = PGY_OK;
    if (!dir) st = make_show_dir(&made, err);
    if (!dir) dir = made;
    if (!st) st = file_make_dirs(dir, err);
    p->dir = dir;
    p->files = &files;
    const array_stats *stats = p->stats;
    if (!st && !heatmaps) st = draw_error_plot(p, reference, err);
    for (size_t i = 0; i < ARITH_STREAMS && heatmaps && !st; i++) {
        double *values = NULL;
        st = read_values(&values, p->s, i, err);
        if (st) break;
        p->stream_index = i;
        p->stats = &stats[i];
        p->values = values;
        p->logarithmic = i == 1 && stats[1].min != stats[1].max;
        st = draw_heatmaps(p, err);
        mem_free(values);
    }
    p->stats = stats;
    if (!st && shown) show(&files);
    strvec_deinit(&files);
    mem_free(made);
    return st;
}

pgy_status plots_draw(const compare_job *job, const source *s, const array_stats *stats,
                      pgy_view reference, pgy_error *err)
{
    const pgy_compare_options *o = &job->compare->options;
    plot p = {.job = job, .s = s, .stats = stats};
    pgy_status st = PGY_OK;
    if (!s->count) return PGY_OK;
    if (o->heatmap_dir || o->show_heatmaps)
        st = draw_into(&p, o->heatmap_dir, o->show_heatmaps, true, reference, err);
    if (!st && (o->error_plot_dir || o->show_error_plots))
        st = draw_into(&p, o->error_plot_dir, o->show_error_plots, false, reference, err);
    return st;
}
