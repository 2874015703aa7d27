/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over images whose channels are last: the pixels under the taps of an output position. */
#ifndef KERNELS_PIXEL_TAPS_H
#define KERNELS_PIXEL_TAPS_H

#include <stddef.h>
#include <stdint.h>

enum { PIXEL_AXES = 3 };

typedef struct pixel_window {
    int64_t size[PIXEL_AXES], out[PIXEL_AXES], kernel[PIXEL_AXES], stride[PIXEL_AXES];
    int64_t dilation[PIXEL_AXES], pad[PIXEL_AXES];
    uint64_t pixel; /* bytes */
} pixel_window;

/* Finds the taps [from, to) of axis d inside the image at output position o. Returns the coordinate
 * of tap 0. */
static inline int64_t pixel_range(const pixel_window *w, size_t d, int64_t o, int64_t *from,
                                  int64_t *to)
{
    const int64_t start = o * w->stride[d] - w->pad[d], step = w->dilation[d];
    *from = start < 0 ? (-start + step - 1) / step : 0;
    *to = start < w->size[d] ? (w->size[d] - start + step - 1) / step : 0;
    if (*to > w->kernel[d]) *to = w->kernel[d];
    if (*from > *to) *from = *to;
    return start;
}

/* Lists the pixels under all taps at output column o of the line whose other axes have the taps
 * [from, to) inside, which begin at `start`. Taps in the padding are `outside`, or left out if it
 * is NULL. Returns their number; *inside is that of taps inside the image. */
static inline size_t pixel_list(const pixel_window *w, const uint8_t **list, size_t *inside,
                                const uint8_t *image, const uint8_t *outside, const int64_t *start,
                                const int64_t *from, const int64_t *to, int64_t o)
{
    int64_t left, right;
    const int64_t first = pixel_range(w, 2, o, &left, &right);
    size_t count = 0;
    *inside = 0;
    for (int64_t z = 0; z < w->kernel[0]; z++)
        for (int64_t y = 0; y < w->kernel[1]; y++) {
            const int row = z >= from[0] && z < to[0] && y >= from[1] && y < to[1];
            const int64_t line =
                (start[0] + z * w->dilation[0]) * w->size[1] + start[1] + y * w->dilation[1];
            for (int64_t x = 0; x < w->kernel[2]; x++) {
                if (row && x >= left && x < right) {
                    const int64_t at = line * w->size[2] + first + x * w->dilation[2];
                    list[count++] = image + (uint64_t)at * w->pixel;
                    ++*inside;
                } else if (outside) {
                    list[count++] = outside;
                }
            }
        }
    return count;
}

/* The lists of a line of output positions, one after the other. */
typedef struct pixel_line {
    const pixel_window *w;
    const uint8_t *image, *outside;
    int64_t start[2], from[2], to[2];
    int64_t begin, end; /* columns whose taps in the last axis all lie inside */
    size_t count, inside;
} pixel_line;

/* Starts line `index`, counted over the slices of an image. */
static inline void pixel_line_start(pixel_line *l, const pixel_window *w, const uint8_t *image,
                                    const uint8_t *outside, size_t index)
{
    const int64_t rows = w->out[1], reach = (w->kernel[2] - 1) * w->dilation[2];
    *l = (pixel_line){.w = w, .image = image, .outside = outside};
    l->start[0] = pixel_range(w, 0, (int64_t)index / rows, &l->from[0], &l->to[0]);
    l->start[1] = pixel_range(w, 1, (int64_t)index % rows, &l->from[1], &l->to[1]);
    l->begin = w->pad[2] > 0 ? (w->pad[2] + w->stride[2] - 1) / w->stride[2] : 0;
    const int64_t room = w->size[2] + w->pad[2] - reach - 1;
    l->end = room < 0 ? 0 : room / w->stride[2] + 1;
}

/* The number of columns from o on, where all taps are inside and advance from column to column. */
static inline int64_t pixel_line_inside(const pixel_line *l, int64_t o)
{
    const int64_t end = l->end < l->w->out[2] ? l->end : l->w->out[2];
    return o >= l->begin && o < end && l->inside == l->count ? end - o : 0;
}

/* Makes the list of column o, where the previous call made `before`, that of o - 1, which may be in
 * the same place. */
static inline void pixel_line_list(pixel_line *l, const uint8_t **list, const uint8_t **before,
                                   int64_t o)
{
    if (o <= l->begin || o >= l->end) {
        l->count =
            pixel_list(l->w, list, &l->inside, l->image, l->outside, l->start, l->from, l->to, o);
        return;
    }
    const uint64_t step = (uint64_t)l->w->stride[2] * l->w->pixel;
    for (size_t i = 0; i < l->count; i++)
        list[i] = before[i] + (before[i] == l->outside ? 0 : step);
}

#endif
