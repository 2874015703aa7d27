/* SPDX-License-Identifier: Apache-2.0 */
/* Anti-aliased areas: the share of each pixel that lies inside closed outlines. */
#ifndef VIEWER_DRAW_RASTER_H
#define VIEWER_DRAW_RASTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Some rows of a picture, RGB. */
typedef struct raster_band {
    uint8_t *rgb;
    size_t width, height; /* pixels */
    double top;           /* y of the first row */
    /* The outline in work: a box of the band, and the change of the coverage from pixel to pixel.
     */
    float *cover;
    size_t left, right, first, last; /* columns and rows, the last ones exclusive */
} raster_band;

/* Begins an area inside the box (picture coordinates in pixels). False: the band shows none of it.
 */
bool raster_begin(raster_band *b, double left, double top, double right, double bottom);
/* Adds a side of an outline; all sides of an outline lead around it. */
void raster_line(raster_band *b, double x0, double y0, double x1, double y1);
/* Paints what lies inside. `stripes`: width of the stripes of a hatch in pixels, 0: none. */
void raster_paint(raster_band *b, uint32_t rgb, double opacity, double stripes);

#endif
