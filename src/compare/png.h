/* SPDX-License-Identifier: Apache-2.0 */
/* A small RGB picture with rectangles, discs and text in a bitmap font, and a PNG writer. */
#ifndef COMPARE_PNG_H
#define COMPARE_PNG_H

#include <polygraphy/base.h>

#include "base/str.h"

typedef struct picture {
    size_t width, height;
    uint8_t *rgb;
} picture;

pgy_status picture_create(picture *out, size_t width, size_t height,
                          pgy_error *err) PGY_MUST_CHECK; /* white */
void picture_deinit(picture *p);
void picture_fill(picture *p, size_t x, size_t y, size_t width, size_t height,
                  uint32_t rgb); /* clipped */
/* A disc around (x, y); clipped. */
void picture_disc(picture *p, size_t x, size_t y, size_t radius, uint32_t rgb);
/* Draws printable ASCII, and a frame for every other byte. A letter is PICTURE_LETTER * scale
 * pixels wide. */
enum { PICTURE_LETTER = 6, PICTURE_LINE = 10 };
void picture_text(picture *p, size_t x, size_t y, size_t scale, const char *text, uint32_t rgb);
/* Appends the bytes of a PNG file. */
pgy_status picture_png(str *out, const picture *p, pgy_error *err) PGY_MUST_CHECK;

#endif
