/* SPDX-License-Identifier: Apache-2.0 */
/* A bitmap font for pictures: printable ASCII, 5 columns and 8 rows. */
#ifndef COMPARE_FONT_H
#define COMPARE_FONT_H

#include <stdint.h>

enum { FONT_COLUMNS = 5, FONT_ROWS = 8 };

/* FONT_ROWS rows from the top; the leftmost column is the highest of 5 bits. Other characters than
 * printable ASCII get an empty frame. */
const uint8_t *font_glyph(char letter);

#endif
