/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a character's outline in the tables. */
#include "viewer/draw/glyphs.h"

#include "base/utf8.h"

enum { M = GLYPH_M, L = GLYPH_L, C = GLYPH_C, Q = GLYPH_Q };

typedef struct glyph {
    uint32_t character;
    int16_t advance;
    uint16_t first, count; /* points */
} glyph;

#include "viewer/draw/glyphs_bold.inc"
#include "viewer/draw/glyphs_regular.inc"

enum { GLYPH_COUNT = sizeof GLYPHS_REGULAR / sizeof GLYPHS_REGULAR[0] };
_Static_assert(sizeof GLYPHS_BOLD == sizeof GLYPHS_REGULAR,
               "both weights have the same characters");

enum { FRAME_ADVANCE = 1024 }; /* wide enough for scripts that the tables lack */
static const glyph_point FRAME[] = {{100, 0, M},  {924, 0, L},  {924, 746, L}, {100, 746, L},
                                    {100, 0, L},  {164, 64, M}, {164, 682, L}, {860, 682, L},
                                    {860, 64, L}, {164, 64, L}};

glyph_shape glyph_of(uint32_t character, bool bold)
{
    const glyph *table = bold ? GLYPHS_BOLD : GLYPHS_REGULAR;
    const glyph_point *points = bold ? POINTS_BOLD : POINTS_REGULAR;
    size_t low = 0, high = GLYPH_COUNT;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (table[middle].character < character)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == GLYPH_COUNT || table[low].character != character)
        return (glyph_shape){FRAME, sizeof FRAME / sizeof FRAME[0], FRAME_ADVANCE};
    return (glyph_shape){points + table[low].first, table[low].count, table[low].advance};
}

double glyph_text_width(const char *text, size_t size, bool bold)
{
    const char *const end = text + size;
    double sum = 0;
    while (text < end) {
        uint32_t c;
        const size_t n = utf8_read(text, end, &c);
        if (!n) break;
        sum += glyph_of(c, bold).advance;
        text += n;
    }
    return sum / GLYPH_UNITS;
}
