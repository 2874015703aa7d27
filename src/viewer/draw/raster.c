/* SPDX-License-Identifier: Apache-2.0 */
/* Each side of an outline adds to the pixels of a row by how much it changes the coverage there; a
 * sum along the row gives the coverage. */
#include "viewer/draw/raster.h"

#include <math.h>
#include <string.h>

static size_t within(double v, size_t limit)
{
    if (!(v > 0)) return 0;
    return v < (double)limit ? (size_t)v : limit;
}

static size_t row_size(const raster_band *b)
{
    return b->right - b->left + 2; /* a side right of the last pixel changes what follows it */
}

bool raster_begin(raster_band *b, double left, double top, double right, double bottom)
{
    b->left = within(floor(left), b->width);
    b->right = within(ceil(right), b->width);
    b->first = within(floor(top - b->top), b->height);
    b->last = within(ceil(bottom - b->top), b->height);
    if (b->left >= b->right || b->first >= b->last) return false;
    memset(b->cover, 0, row_size(b) * (b->last - b->first) * sizeof *b->cover);
    return true;
}

/* The part of a side in one row: from x0 to x1, over `height` of the row, signed. */
static void add_part(float *row, double x0, double x1, double height)
{
    if (x0 > x1) {
        const double x = x0;
        x0 = x1, x1 = x;
    }
    const size_t first = (size_t)x0, last = (size_t)ceil(x1);
    if (last <= first + 1) { /* one pixel */
        const double right = (x0 + x1) / 2 - (double)first;
        row[first] += (float)(height * (1 - right));
        row[first + 1] += (float)(height * right);
        return;
    }
    const double slope = 1 / (x1 - x0), begin = 1 - (x0 - (double)first);
    const double area_first = begin * begin * slope / 2;
    const double end = x1 - (double)last + 1, area_last = end * end * slope / 2;
    row[first] += (float)(height * area_first);
    if (last == first + 2) {
        row[first + 1] += (float)(height * (1 - area_first - area_last));
    } else {
        const double area_second = slope * (begin + 0.5);
        row[first + 1] += (float)(height * (area_second - area_first));
        for (size_t x = first + 2; x + 1 < last; x++) row[x] += (float)(height * slope);
        const double area_before = area_second + slope * (double)(last - first - 3);
        row[last - 1] += (float)(height * (1 - area_before - area_last));
    }
    row[last] += (float)(height * area_last);
}

void raster_line(raster_band *b, double x0, double y0, double x1, double y1)
{
    const double rows = (double)(b->last - b->first), columns = (double)(b->right - b->left);
    const double top = b->top + (double)b->first;
    double sign = 1;
    x0 -= (double)b->left, x1 -= (double)b->left;
    y0 -= top, y1 -= top;
    if (y0 == y1) return;
    if (y0 > y1) {
        const double x = x0, y = y0;
        x0 = x1, y0 = y1, x1 = x, y1 = y;
        sign = -1;
    }
    if (y1 <= 0 || y0 >= rows) return;
    const double slope = (x1 - x0) / (y1 - y0);
    const size_t first = within(floor(y0), b->last - b->first),
                 last = within(ceil(y1), b->last - b->first);
    for (size_t y = first; y < last; y++) {
        const double from = fmax(y0, (double)y), to = fmin(y1, (double)y + 1);
        const double left = x0 + (from - y0) * slope, right = x0 + (to - y0) * slope;
        add_part(b->cover + y * row_size(b), fmax(0, fmin(columns, left)),
                 fmax(0, fmin(columns, right)), sign * (to - from));
    }
}

/* 1 on a stripe, 0 between two: diagonal, as wide apart as wide, with a soft edge. */
static double stripe(double x, double y, double width)
{
    const double period = 3 * width, along = fmod((x + y) * 0.70710678, period);
    const double far = fabs(along - period / 2) - width / 2;
    return fmax(0, fmin(1, 0.5 - far));
}

static void blend(uint8_t *to, uint32_t rgb, double share)
{
    if (share > 511.0 / 512) {
        to[0] = (uint8_t)(rgb >> 16), to[1] = (uint8_t)(rgb >> 8), to[2] = (uint8_t)rgb;
        return;
    }
    for (int k = 0; k < 3; k++) {
        const double wanted = rgb >> (16 - 8 * k) & 255;
        to[k] = (uint8_t)(to[k] + (wanted - to[k]) * share + 0.5);
    }
}

void raster_paint(raster_band *b, uint32_t rgb, double opacity, double stripes)
{
    for (size_t y = b->first; y < b->last; y++) {
        const float *row = b->cover + (y - b->first) * row_size(b);
        uint8_t *to = b->rgb + 3 * (y * b->width + b->left);
        double sum = 0;
        for (size_t x = b->left; x < b->right; x++, to += 3) {
            sum += row[x - b->left];
            double share = fmin(1, fabs(sum)) * opacity;
            if (share < 1.0 / 512) continue;
            if (stripes > 0) share *= stripe((double)x + 0.5, b->top + (double)y + 0.5, stripes);
            blend(to, rgb, share);
        }
    }
}
