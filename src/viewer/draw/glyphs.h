/* SPDX-License-Identifier: Apache-2.0 */
/* Outlines and widths of characters, for pictures that are made without a font of the system. */
#ifndef VIEWER_DRAW_GLYPHS_H
#define VIEWER_DRAW_GLYPHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GLYPH_UNITS = 1024 }; /* coordinates per font size */

/* M begins a contour, L ends a line, C is the control point of a quadratic curve, Q its end. */
typedef enum glyph_kind { GLYPH_M, GLYPH_L, GLYPH_C, GLYPH_Q } glyph_kind;
typedef struct glyph_point {
    int16_t x, y; /* upwards from the base line */
    uint8_t kind;
} glyph_point;

typedef struct glyph_shape {
    const glyph_point *points;
    size_t count;
    int advance;
} glyph_shape;

/* ASCII, Latin-1, Greek and some symbols; a frame for every other character. */
glyph_shape glyph_of(uint32_t character, bool bold);
/* Width of UTF-8 text in a font size of 1. The text is valid. */
double glyph_text_width(const char *text, size_t size, bool bold);

#endif
