/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures in memory and as PNG: 8-bit RGB, no filter, one IDAT chunk deflated by zlib. */
#include "compare/png.h"

#include <string.h>
#include <zlib.h>

#include "base/alloc.h"

typedef struct glyph {
    char letter;
    uint16_t rows; /* 5 rows of 3 bits, the top row highest */
} glyph;

static const glyph GLYPHS[] = {
    {'0', 075557}, {'1', 026227}, {'2', 071747}, {'3', 071717}, {'4', 055711}, {'5', 074717},
    {'6', 074757}, {'7', 071111}, {'8', 075757}, {'9', 075717}, {'.', 000002}, {'-', 000700},
    {'+', 002720}, {'e', 075747}, {'i', 020222}, {'n', 007555}, {'f', 034744}, {'a', 007157},
};

pgy_status picture_create(picture *out, size_t width, size_t height, pgy_error *err)
{
    size_t pixels, bytes;
    if (!size_mul(&pixels, width, height) || !size_mul(&bytes, pixels, 3))
        return pgy_error_set(err, PGY_E_SHAPE, "a picture of %zu x %zu is too large", width,
                             height);
    uint8_t *rgb = mem_alloc(bytes);
    if (!rgb)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a picture of %zu x %zu", width,
                             height);
    memset(rgb, 255, bytes);
    *out = (picture){width, height, rgb};
    return PGY_OK;
}

void picture_deinit(picture *p)
{
    mem_free(p->rgb);
    *p = (picture){0};
}

void picture_fill(picture *p, size_t x, size_t y, size_t width, size_t height, uint32_t rgb)
{
    for (size_t j = y; j < y + height && j < p->height; j++)
        for (size_t i = x; i < x + width && i < p->width; i++) {
            uint8_t *to = p->rgb + 3 * (j * p->width + i);
            to[0] = (uint8_t)(rgb >> 16);
            to[1] = (uint8_t)(rgb >> 8);
            to[2] = (uint8_t)rgb;
        }
}

static uint16_t glyph_rows(char letter)
{
    for (size_t i = 0; i < sizeof GLYPHS / sizeof GLYPHS[0]; i++)
        if (GLYPHS[i].letter == letter) return GLYPHS[i].rows;
    return 0;
}

void picture_text(picture *p, size_t x, size_t y, size_t scale, const char *text, uint32_t rgb)
{
    for (; *text; text++, x += 4 * scale) {
        uint16_t rows = glyph_rows(*text);
        for (size_t bit = 0; bit < 15; bit++)
            if (rows >> (14 - bit) & 1)
                picture_fill(p, x + bit % 3 * scale, y + bit / 3 * scale, scale, scale, rgb);
    }
}

static void append_u32(str *out, uint32_t v)
{
    const char bytes[] = {(char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v};
    str_append_n(out, bytes, 4);
}

static void append_chunk(str *out, const char *name, const void *data, size_t size)
{
    uLong crc = crc32(0, (const Bytef *)name, 4);
    if (size) crc = crc32(crc, data, (uInt)size);
    append_u32(out, (uint32_t)size);
    str_append_n(out, name, 4);
    if (size) str_append_n(out, data, size);
    append_u32(out, (uint32_t)crc);
}

static void append_header(str *out, const picture *p)
{
    str header = {0};
    append_u32(&header, (uint32_t)p->width);
    append_u32(&header, (uint32_t)p->height);
    str_append_n(&header, "\x08\x02\0\0\0",
                 5); /* 8 bits, RGB, deflate, no filter, not interlaced */
    str_append_n(out, "\x89PNG\r\n\x1a\n", 8);
    append_chunk(out, "IHDR", header.data, header.size);
    out->failed |= header.failed;
    str_deinit(&header);
}

pgy_status picture_png(str *out, const picture *p, pgy_error *err)
{
    size_t row = 3 * p->width, rows_bytes = (row + 1) * p->height;
    uLongf size = compressBound(rows_bytes);
    uint8_t *rows = mem_alloc(rows_bytes), *packed = mem_alloc(size);
    pgy_status st = PGY_OK;
    for (size_t y = 0; rows && y < p->height; y++) {
        rows[y * (row + 1)] = 0;
        memcpy(rows + y * (row + 1) + 1, p->rgb + y * row, row);
    }
    if (!rows || !packed || compress2(packed, &size, rows, rows_bytes, 6) != Z_OK) {
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while writing a picture of %zu x %zu",
                           p->width, p->height);
        goto done;
    }
    append_header(out, p);
    append_chunk(out, "IDAT", packed, size);
    append_chunk(out, "IEND", NULL, 0);
    if (out->failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while writing a picture");
done:
    mem_free(rows);
    mem_free(packed);
    return st;
}
