/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the pictures that a comparison asks for and writes their files: heatmaps (heatmap.c) and
 * error plots (error_plot.c). File names follow the original. */
#include "compare/plots.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/child_start.h"
#include "base/file.h"
#include "base/log.h"
#include "base/printable.h"
#include "compare/error_plot.h"
#include "compare/heatmap.h"

static const char LOG_PATH[] = "comparator/util.py";

typedef struct plot {
    const compare_job *job;
    const source *s;
    const array_stats *stats; /* of the absolute and of the relative error */
    const char *dir;
    strvec *files; /* what was written */
} plot;

/* ---- Files ---------------------------------------------------------------------------------- */

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

/* ---- Heatmaps ------------------------------------------------------------------------------- */

static const struct {
    const char *kind, *unit;
} STREAMS[ARITH_STREAMS] = {{"Absolute Error", "units of the output"},
                            {"Relative Error", "no unit: error / output1 magnitude"}};

static pgy_status draw_figure(const plot *p, const heatmap *h, size_t figure, pgy_error *err)
{
    str name = {0}, svg = {0}, what = {0};
    heatmap_title(&name, h, figure);
    str_append(&name, ".svg");
    replace_slashes(&name);
    str_printf(&what, "'%s' heatmap", h->kind);
    pgy_status st = heatmap_draw(&svg, h, figure, err);
    if (!st) st = save(p, str_text(&name), &svg, str_text(&what), err);
    str_deinit(&name);
    str_deinit(&svg);
    str_deinit(&what);
    return st;
}

static pgy_status draw_heatmaps(const plot *p, size_t stream_index, pgy_error *err)
{
    const compare_job *job = p->job;
    double *values = NULL;
    str sides = {0};
    LOG(START, "Building heatmaps for %s | %s. This may take a while...",
        STREAMS[stream_index].kind, job->a.output);
    pgy_status st = read_values(&values, p->s, stream_index, err);
    if (st) return st;
    str_printf(&sides, "output0: %s | %s, output1: %s | %s", job->a.runner,
               printable_name(job->a.output), job->b.runner, printable_name(job->b.output));
    bool differs = p->stats[stream_index].min != p->stats[stream_index].max;
    heatmap h = heatmap_of(job->a.tensor, values, stream_index == 1 && differs);
    h.kind = STREAMS[stream_index].kind;
    h.unit = STREAMS[stream_index].unit;
    h.output = job->a.output;
    h.sides = str_text(&sides);
    for (size_t i = 0; i < heatmap_figures(&h) && !st; i++) st = draw_figure(p, &h, i, err);
    str_deinit(&sides);
    mem_free(values);
    return st;
}

/* ---- Error plot ----------------------------------------------------------------------------- */

static pgy_status save_picture(const plot *p, const picture *canvas, pgy_error *err)
{
    str png = {0}, name = {0};
    str_append(&name, "error_metrics_");
    str_append_printable(&name, p->job->a.output, strlen(p->job->a.output), "");
    str_append(&name, ".png");
    replace_slashes(&name);
    pgy_status st = picture_png(&png, canvas, err);
    if (!st) st = save(p, str_text(&name), &png, "error metrics plot", err);
    str_deinit(&png);
    str_deinit(&name);
    return st;
}

static pgy_status draw_error_plot(const plot *p, pgy_view reference, pgy_error *err)
{
    const compare_job *job = p->job;
    picture canvas = {0};
    double *magnitude = NULL, *errors[ARITH_STREAMS] = {NULL};
    size_t n = p->s->count;
    pgy_status st = PGY_OK;
    LOG(START, "Building error metrics plot for %s. This may take a while...", job->a.output);
    magnitude = mem_calloc(n + 1, sizeof *magnitude);
    if (!magnitude) {
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while drawing %zu errors", n);
        goto done;
    }
    arith_widen(WORK_F64, magnitude, reference.dtype, pgy_view_data(reference), 0, n);
    for (size_t i = 0; i < n; i++) magnitude[i] = fabs(magnitude[i]);
    for (size_t i = 0; i < ARITH_STREAMS && !st; i++) st = read_values(&errors[i], p->s, i, err);
    if (st) goto done;
    error_plot drawn = {.runners = {job->a.runner, job->b.runner},
                        .outputs = {job->a.output, job->b.output},
                        .magnitude = magnitude,
                        .absolute = errors[0],
                        .relative = errors[1],
                        .count = n};
    st = error_plot_draw(&canvas, &drawn, err);
    if (!st) st = save_picture(p, &canvas, err);
done:
    picture_deinit(&canvas);
    mem_free(magnitude);
    for (size_t i = 0; i < ARITH_STREAMS; i++) mem_free(errors[i]);
    return st;
}

/* ---- Showing ------------------------------------------------------------------------------- */

/* A temporary folder that is not removed, because viewers outlive this process. */
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
        if (!desktop || child_start(&child, args, NULL))
            LOG(WARNING, "Cannot show '%s': this needs a desktop and xdg-open", files->items[i]);
    }
}

/* Draws into `dir`, or into a temporary folder if the pictures are only shown. */
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
    if (!st && !heatmaps) st = draw_error_plot(p, reference, err);
    for (size_t i = 0; i < ARITH_STREAMS && heatmaps && !st; i++) st = draw_heatmaps(p, i, err);
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
