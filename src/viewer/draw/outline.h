/* SPDX-License-Identifier: Apache-2.0 */
/* Outlines of shapes: strokes, rounded rectangles and text become closed outlines of straight
 * sides, which raster.c fills. */
#ifndef VIEWER_DRAW_OUTLINE_H
#define VIEWER_DRAW_OUTLINE_H

#include "viewer/draw/picture.h"
#include "viewer/draw/raster.h"

/* Work space of one drawing; zeroed at first. */
typedef struct outline {
    double (*points)[2];
    size_t count, capacity;
    bool failed; /* out of memory */
} outline;
void outline_deinit(outline *o);

/* Draws the part of a shape that lies in the band. @param scale  pixels for each unit */
void outline_draw(raster_band *b, outline *o, const shape *s, const colour_theme *theme,
                  double scale);
/* Rows of pixels that a shape can touch. */
void outline_rows(const shape *s, double scale, double *top, double *bottom);

#endif
