/* SPDX-License-Identifier: Apache-2.0 */
/* Running of roi.c: the bins of a region are computed for all channels, then turned into planes. */
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "kernels/channels_last.h"
#include "kernels/roi.h"
#include "kernels/squares.h"

enum { SAMPLES = 16, CORNERS = 4, MOST_SAMPLES = 4096 };

/* A region in the image that it belongs to, whose channels lie last. */
typedef struct region {
    const roi_params *p;
    const channels_loops *loops;
    const float *image;
    double row, column, bin_height, bin_width; /* of ROI_POOL: row and column in whole pixels */
    double end_row, end_column;                /* of ROI_CROP */
    int64_t rows, columns;                     /* samples of a bin */
} region;

/* ---- RoiAlign ------------------------------------------------------------------------------- */

static void roi_read_align(region *g, const float *roi)
{
    const roi_params *p = g->p;
    const double shift = p->shifted ? 0.5 : 0;
    g->column = (double)roi[0] * p->scale - shift;
    g->row = (double)roi[1] * p->scale - shift;
    double width = (double)roi[2] * p->scale - shift - g->column;
    double height = (double)roi[3] * p->scale - shift - g->row;
    if (!p->shifted) {
        width = fmax(width, 1);
        height = fmax(height, 1);
    }
    g->bin_height = height / (double)p->out_height;
    g->bin_width = width / (double)p->out_width;
    g->rows = g->columns = (int64_t)p->ratio;
    if (p->ratio) return;
    g->rows = (int64_t)fmin(fmax(ceil(g->bin_height), 0), MOST_SAMPLES);
    g->columns = (int64_t)fmin(fmax(ceil(g->bin_width), 0), MOST_SAMPLES);
}

/* The two neighbours of a position along an axis, and the weight of the second. */
typedef struct neighbours {
    size_t first, second;
    double part;
} neighbours;

/* False: the position lies outside of the image. */
static bool roi_neighbours(neighbours *n, double at, uint64_t size)
{
    if (!(at >= -1 && at <= (double)size)) return false;
    at = fmax(at, 0);
    n->first = (size_t)at;
    n->second = n->first + 1;
    if (n->first >= size - 1) {
        n->first = n->second = size - 1;
        at = (double)n->first;
    }
    n->part = at - (double)n->first;
    return true;
}

static size_t roi_corners(channels_tap *taps, const neighbours *r, const neighbours *c,
                          uint64_t width)
{
    taps[0] = (channels_tap){r->first * width + c->first, (float)((1 - r->part) * (1 - c->part))};
    taps[1] = (channels_tap){r->first * width + c->second, (float)((1 - r->part) * c->part)};
    taps[2] = (channels_tap){r->second * width + c->first, (float)(r->part * (1 - c->part))};
    taps[3] = (channels_tap){r->second * width + c->second, (float)(r->part * c->part)};
    return CORNERS;
}

static void roi_take(const region *g, float *y, const channels_tap *taps, size_t count)
{
    const size_t channels = g->p->channels;
    if (!count) return;
    if (g->p->largest)
        g->loops->largest(y, g->image, channels, channels, taps, count);
    else
        g->loops->sum(y, g->image, channels, channels, taps, count, true);
}

static void roi_align_bin(const region *g, float *y, size_t bin_row, size_t bin_column)
{
    const roi_params *p = g->p;
    channels_tap taps[SAMPLES * CORNERS];
    size_t count = 0;
    bool outside = false;
    const double samples = (double)g->rows * (double)g->columns;
    for (size_t c = 0; c < p->channels; c++) y[c] = p->largest && samples > 0 ? -INFINITY : 0;
    for (int64_t i = 0; i < g->rows && !cancel_requested(); i++) {
        neighbours r, c;
        const bool inside = roi_neighbours(&r,
                                           g->row + (double)bin_row * g->bin_height +
                                               ((double)i + 0.5) * g->bin_height / (double)g->rows,
                                           p->height);
        outside |= !inside;
        for (int64_t k = 0; inside && k < g->columns; k++) {
            if (!roi_neighbours(&c,
                                g->column + (double)bin_column * g->bin_width +
                                    ((double)k + 0.5) * g->bin_width / (double)g->columns,
                                p->width)) {
                outside = true;
                continue;
            }
            count += roi_corners(taps + count, &r, &c, p->width);
            if (count < SAMPLES * CORNERS) continue;
            roi_take(g, y, taps, count);
            count = 0;
        }
    }
    roi_take(g, y, taps, count);
    const float share = (float)(1 / fmax(samples, 1));
    for (size_t c = 0; c < p->channels; c++)
        if (!p->largest)
            y[c] *= share;
        else if (outside)
            y[c] = y[c] > 0 ? y[c] : 0;
}

/* ---- MaxRoiPool ----------------------------------------------------------------------------- */

static void roi_read_pool(region *g, const float *roi)
{
    const double scale = g->p->scale;
    g->column = round((double)roi[1] * scale);
    g->row = round((double)roi[2] * scale);
    g->bin_width = fmax(round((double)roi[3] * scale) - g->column + 1, 1);
    g->bin_height = fmax(round((double)roi[4] * scale) - g->row + 1, 1);
}

/* Pixels [begin, end) of bin i of n that divide [start, start + size), clamped to [0, limit]. */
static void roi_pool_range(size_t *begin, size_t *end, size_t i, uint64_t n, double start,
                           double size, uint64_t limit)
{
    const double from = floor((double)i * size / (double)n) + start;
    const double to = ceil((double)(i + 1) * size / (double)n) + start;
    *begin = (size_t)fmin(fmax(from, 0), (double)limit);
    *end = (size_t)fmin(fmax(to, 0), (double)limit);
}

static void roi_pool_bin(const region *g, float *y, size_t bin_row, size_t bin_column)
{
    const roi_params *p = g->p;
    size_t row, end_row, column, end_column;
    channels_tap taps[SAMPLES];
    roi_pool_range(&row, &end_row, bin_row, p->out_height, g->row, g->bin_height, p->height);
    roi_pool_range(&column, &end_column, bin_column, p->out_width, g->column, g->bin_width,
                   p->width);
    const bool empty = row >= end_row || column >= end_column;
    for (size_t c = 0; c < p->channels; c++) y[c] = empty ? 0 : -INFINITY;
    for (; !empty && row < end_row && !cancel_requested(); row++)
        for (size_t k = column; k < end_column; k += SAMPLES) {
            const size_t n = end_column - k < SAMPLES ? end_column - k : SAMPLES;
            for (size_t i = 0; i < n; i++) taps[i] = (channels_tap){row * p->width + k + i, 1};
            g->loops->largest(y, g->image, p->channels, p->channels, taps, n);
        }
}

/* ---- CropAndResize -------------------------------------------------------------------------- */

/* Place in the image of point i of `count` between two ends in parts of the image. */
static double roi_crop_place(double from, double to, size_t i, size_t count, size_t size)
{
    const double last = (double)size - 1;
    if (count < 2) return 0.5 * (from + to) * last;
    return from * last + (double)i * (to - from) * last / ((double)count - 1);
}

static void roi_crop_bin(const region *g, float *y, size_t bin_row, size_t bin_column)
{
    const roi_params *p = g->p;
    const double row = roi_crop_place(g->row, g->end_row, bin_row, p->out_height, p->height);
    const double column =
        roi_crop_place(g->column, g->end_column, bin_column, p->out_width, p->width);
    if (!(row >= 0 && row <= (double)p->height - 1 && column >= 0 &&
          column <= (double)p->width - 1)) {
        for (size_t c = 0; c < p->channels; c++) y[c] = (float)p->outside;
        return;
    }
    if (p->nearest) {
        const size_t pixel = (size_t)round(row) * p->width + (size_t)round(column);
        memcpy(y, g->image + pixel * p->channels, p->channels * sizeof *y);
        return;
    }
    const size_t top = (size_t)floor(row) * p->width, bottom = (size_t)ceil(row) * p->width;
    const size_t left = (size_t)floor(column), right = (size_t)ceil(column);
    const float *const rows[4] = {
        g->image + (top + left) * p->channels, g->image + (top + right) * p->channels,
        g->image + (bottom + left) * p->channels, g->image + (bottom + right) * p->channels};
    g->loops->mix(y, rows, p->channels, (float)(column - floor(column)), (float)(row - floor(row)));
}

/* ---- Regions -------------------------------------------------------------------------------- */

/* Reads a region; false: its image does not exist. */
static bool roi_region(region *g, const kernel_run *r, size_t index)
{
    const roi_params *p = g->p;
    const float *roi = (const float *)r->tensors[1] + index * (p->kind == ROI_POOL ? 5 : 4);
    uint64_t image = 0;
    if (p->kind == ROI_POOL) {
        if (!(roi[0] >= 0 && (double)roi[0] < (double)p->batch)) return false;
        image = (uint64_t)roi[0];
    } else {
        image = p->kind == ROI_CROP ? (uint64_t)(int64_t)((const int32_t *)r->tensors[2])[index]
                                    : (uint64_t)((const int64_t *)r->tensors[2])[index];
    }
    if (image >= p->batch) return false;
    g->image = (const float *)r->workspace + image * p->height * p->width * p->channels;
    if (p->kind == ROI_ALIGN) roi_read_align(g, roi);
    if (p->kind == ROI_POOL) roi_read_pool(g, roi);
    if (p->kind == ROI_CROP) {
        g->row = (double)roi[0];
        g->column = (double)roi[1];
        g->end_row = (double)roi[2];
        g->end_column = (double)roi[3];
    }
    return true;
}

static void roi_unit(const roi_params *p, const kernel_run *r, size_t unit)
{
    static void (*const BINS[])(const region *, float *, size_t, size_t) = {
        [ROI_ALIGN] = roi_align_bin, [ROI_POOL] = roi_pool_bin, [ROI_CROP] = roi_crop_bin};
    const size_t index = unit / roi_chunks(p), first = unit % roi_chunks(p) * ROI_BINS;
    const size_t bins = p->out_height * p->out_width;
    const size_t n = bins - first < ROI_BINS ? bins - first : ROI_BINS;
    float *rows = r->scratch;
    region g = {.p = p, .loops = channels_loops_of((cpu_level)p->level)};
    if (!roi_region(&g, r, index)) {
        kernel_fault(r);
        return;
    }
    for (size_t i = 0; i < n; i++)
        BINS[p->kind](&g, rows + i * p->channels, (first + i) / p->out_width,
                      (first + i) % p->out_width);
    squares_transpose((float *)r->tensors[p->inputs] + index * p->channels * bins + first, bins,
                      rows, p->channels, n, p->channels);
}

void roi_run(const kernel_run *r)
{
    const roi_params *p = r->params;
    const size_t pixels = p->height * p->width;
    size_t from, to;
    if (r->phase == 0) {
        kernel_share(&from, &to, p->batch * pixels, r->part, r->parts);
        channels_to_last(r->workspace, r->tensors[0], p->channels, pixels, from, to);
        return;
    }
    kernel_share(&from, &to, p->regions * roi_chunks(p), r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) roi_unit(p, r, i);
}
