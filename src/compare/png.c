/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures in memory and as PNG: 8-bit RGB, no filter, one IDAT chunk deflated by zlib. */
#include "compare/png.h"

#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "compare/font.h"

pgy_status picture_create(picture *out, size_t width, size_t height, pgy_error *err)
{
    size_t pixels, bytes;
    if (!size_mul(&pixels, width, height) || !size_mul(&bytes, pixels, 3))
        return pgy_error_set(err, PGY_E_SHAPE, "an image of %zu x %zu pixels is too large", width,
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

void picture_disc(picture *p, size_t x, size_t y, size_t radius, uint32_t rgb)
{
    for (size_t j = 0; j <= 2 * radius; j++)
        for (size_t i = 0; i <= 2 * radius; i++) {
            double dx = (double)i - (double)radius, dy = (double)j - (double)radius;
            if (dx * dx + dy * dy > ((double)radius + 0.3) * ((double)radius + 0.3)) continue;
            if (x + i >= radius && y + j >= radius)
                picture_fill(p, x + i - radius, y + j - radius, 1, 1, rgb);
        }
}

void picture_text(picture *p, size_t x, size_t y, size_t scale, const char *text, uint32_t rgb)
{
    for (; *text; text++, x += PICTURE_LETTER * scale) {
        const uint8_t *rows = font_glyph(*text);
        for (size_t row = 0; row < FONT_ROWS; row++)
            for (size_t column = 0; column < FONT_COLUMNS; column++)
                if (rows[row] >> (FONT_COLUMNS - 1 - column) & 1)
                    picture_fill(p, x + column * scale, y + row * scale, scale, scale, rgb);
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
