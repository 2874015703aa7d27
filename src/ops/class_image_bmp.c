/* SPDX-License-Identifier: Apache-2.0 */
/* BMP: 1 to 32 bits per pixel, palettes, bit masks, and both run-length codes. */
#include <inttypes.h>
#include <string.h>

#include "ops/class_image.h"

enum { BMP_FILE_HEADER = 14, BMP_CORE = 12, BMP_INFO = 40 };
enum { BMP_RGB, BMP_RLE8, BMP_RLE4, BMP_MASKS, BMP_ALPHA_MASKS = 6 };

typedef struct bmp {
    image *m;
    uint32_t header, bits, compression, colors;
    size_t pixels_at, palette_at, entry;
    bool top_down;
    uint32_t masks[3];
} bmp;

static uint32_t u16_at(const image *m, size_t at)
{
    return m->data[at] | (uint32_t)m->data[at + 1] << 8;
}

static uint32_t u32_at(const image *m, size_t at)
{
    return u16_at(m, at) | u16_at(m, at + 2) << 16;
}

static pgy_status read_size(bmp *b, uint64_t *width, uint64_t *height, pgy_error *err)
{
    const image *m = b->m;
    if (b->header == BMP_CORE) {
        *width = u16_at(m, 18);
        *height = u16_at(m, 20);
        return PGY_OK;
    }
    const int32_t w = (int32_t)u32_at(m, 18), h = (int32_t)u32_at(m, 22);
    if (w <= 0 || h == 0 || h == INT32_MIN)
        return pgy_error_set(err, PGY_E_FORMAT, "the image has %" PRId32 " x %" PRId32 " pixels", w,
                             h);
    b->top_down = h < 0;
    *width = (uint64_t)w;
    *height = (uint64_t)(h < 0 ? -h : h);
    return PGY_OK;
}

/* Bits and compression that go together. */
static bool is_known(const bmp *b)
{
    switch (b->compression) {
    case BMP_RGB:
        return b->bits == 1 || b->bits == 4 || b->bits == 8 || b->bits == 16 || b->bits == 24 ||
               b->bits == 32;
    case BMP_RLE8: return b->bits == 8 && !b->top_down;
    case BMP_RLE4: return b->bits == 4 && !b->top_down;
    case BMP_MASKS:
    case BMP_ALPHA_MASKS: return b->bits == 16 || b->bits == 32;
    default: return false;
    }
}

/* Masks follow a header of 40 bytes and are part of longer ones. */
static pgy_status read_masks(bmp *b, pgy_error *err)
{
    static const uint32_t USUAL16[] = {0x7C00, 0x3E0, 0x1F}, USUAL32[] = {0xFF0000, 0xFF00, 0xFF};
    memcpy(b->masks, b->bits == 16 ? USUAL16 : USUAL32, sizeof b->masks);
    if (b->compression != BMP_MASKS && b->compression != BMP_ALPHA_MASKS) return PGY_OK;
    const size_t words = b->compression == BMP_MASKS ? 3 : 4;
    if (b->m->size < BMP_FILE_HEADER + BMP_INFO + 4 * words) return image_cut_off(b->m, err);
    if (b->header == BMP_INFO) b->palette_at += 4 * words;
    for (size_t i = 0; i < 3; i++) {
        b->masks[i] = u32_at(b->m, BMP_FILE_HEADER + BMP_INFO + 4 * i);
        const uint32_t low = b->masks[i] & (0 - b->masks[i]);
        if (!b->masks[i] || ((b->masks[i] / low) & (b->masks[i] / low + 1)))
            return pgy_error_set(err, PGY_E_FORMAT, "the bit mask 0x%08" PRIX32 " is no one range",
                                 b->masks[i]);
    }
    return PGY_OK;
}

/* A code of four bytes skips 255 x 255 pixels at most. Only a damaged file claims more pixels than
 * its bytes could pass over in this way, and would take much memory without an end of the file to
 * stop it. */
static pgy_status check_runs(const bmp *b, uint64_t width, uint64_t height, pgy_error *err)
{
    static const uint64_t PIXELS_PER_BYTE = 16384;
    if (b->compression != BMP_RLE8 && b->compression != BMP_RLE4) return PGY_OK;
    if (width * height / PIXELS_PER_BYTE < b->m->size) return PGY_OK;
    return pgy_error_set(err, PGY_E_FORMAT,
                         "the image has %" PRIu64 " x %" PRIu64 " pixels, but the runs in a file "
                         "of %zu bytes cannot reach so many",
                         width, height, b->m->size);
}

static pgy_status read_header(bmp *b, pgy_error *err)
{
    image *m = b->m;
    uint64_t width = 0, height = 0;
    if (m->size < BMP_FILE_HEADER + BMP_CORE) return image_cut_off(m, err);
    b->pixels_at = u32_at(m, 10);
    b->header = u32_at(m, 14);
    if (b->header != BMP_CORE && (b->header < BMP_INFO || b->header > 256))
        return pgy_error_set(err, PGY_E_FORMAT, "a header of %" PRIu32 " bytes is not known",
                             b->header);
    if (m->size - BMP_FILE_HEADER < b->header) return image_cut_off(m, err);
    pgy_status st = read_size(b, &width, &height, err);
    if (st) return st;
    const bool core = b->header == BMP_CORE;
    b->bits = u16_at(m, core ? 24 : 28);
    b->compression = core ? BMP_RGB : u32_at(m, 30);
    b->colors = core ? 0 : u32_at(m, 46);
    b->entry = core ? 3 : 4;
    b->palette_at = BMP_FILE_HEADER + b->header;
    if (!is_known(b))
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "%" PRIu32 " bits per pixel with compression %" PRIu32 "%s are not "
                             "supported",
                             b->bits, b->compression, b->top_down ? " from top to bottom" : "");
    st = read_masks(b, err);
    if (!st && b->bits <= 8) {
        if (!b->colors) b->colors = 1u << b->bits;
        if (b->colors > 1u << b->bits)
            return pgy_error_set(err, PGY_E_FORMAT,
                                 "a palette of %" PRIu32 " colors does not fit "
                                 "%" PRIu32 " bits",
                                 b->colors, b->bits);
        if (m->size < b->palette_at + b->colors * b->entry) return image_cut_off(m, err);
    }
    if (!st && b->pixels_at > m->size) return image_cut_off(m, err);
    if (!st) st = check_runs(b, width, height, err);
    return st ? st : image_reserve(m, width, height, 0, err);
}

static uint8_t *pixel_at(const bmp *b, size_t x, size_t row)
{
    const size_t y = b->top_down ? row : b->m->height - 1 - row;
    return b->m->rgb + (y * b->m->width + x) * 3;
}

static pgy_status put_color(const bmp *b, size_t x, size_t row, uint32_t color, pgy_error *err)
{
    if (color >= b->colors)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "color %" PRIu32 " is not among the %" PRIu32 " of the palette", color,
                             b->colors);
    const uint8_t *bgr = b->m->data + b->palette_at + color * b->entry;
    uint8_t *rgb = pixel_at(b, x, row);
    for (size_t i = 0; i < 3; i++) rgb[i] = bgr[2 - i];
    return PGY_OK;
}

static void put_masked(const bmp *b, uint8_t *rgb, uint32_t value)
{
    for (size_t i = 0; i < 3; i++) {
        const uint32_t low = b->masks[i] & (0 - b->masks[i]), most = b->masks[i] / low;
        rgb[i] = (uint8_t)((uint64_t)((value & b->masks[i]) / low) * 255 / most);
    }
}

static pgy_status read_rows(const bmp *b, pgy_error *err)
{
    const image *m = b->m;
    const uint64_t stride = ((uint64_t)m->width * b->bits + 31) / 32 * 4;
    if (stride > (m->size - b->pixels_at) / m->height) return image_cut_off(m, err);
    pgy_status st = PGY_OK;
    for (size_t row = 0; row < m->height; row++)
        for (size_t x = 0; !st && x < m->width; x++) {
            const uint8_t *line = m->data + b->pixels_at + row * stride;
            const size_t at = (size_t)(line - m->data);
            const size_t bit = x * b->bits;
            if (b->bits <= 8)
                st = put_color(b, x, row,
                               line[bit / 8] >> (8 - b->bits - bit % 8) & ((1u << b->bits) - 1),
                               err);
            else if (b->bits == 24)
                for (size_t i = 0; i < 3; i++) pixel_at(b, x, row)[i] = line[x * 3 + 2 - i];
            else
                put_masked(b, pixel_at(b, x, row),
                           b->bits == 16 ? u16_at(m, at + x * 2) : u32_at(m, at + x * 4));
        }
    return st;
}

/* Writes `count` pixels, of the colors in data[at...] or, of a run, in that one byte. */
static pgy_status put_run(const bmp *b, size_t *x, size_t row, size_t at, size_t count, bool run,
                          pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (row >= b->m->height || count > b->m->width - *x)
        return pgy_error_set(err, PGY_E_FORMAT, "a run of %zu pixels leaves the image", count);
    for (size_t i = 0; !st && i < count; i++) {
        const size_t k = run ? i % 2 : i;
        const uint8_t byte = b->m->data[at + (b->bits == 8 ? (run ? 0 : k) : k / 2)];
        st = put_color(b, (*x)++, row, b->bits == 8 ? byte : byte >> (k % 2 ? 0 : 4) & 15, err);
    }
    return st;
}

/* Pixels that no run covers have color 0. */
static pgy_status read_runs(const bmp *b, pgy_error *err)
{
    const image *m = b->m;
    size_t x = 0, row = 0, at = b->pixels_at;
    pgy_status st = PGY_OK;
    for (size_t y = 0; y < m->height; y++)
        for (size_t i = 0; !st && i < m->width; i++) st = put_color(b, i, y, 0, err);
    while (!st) {
        if (m->size - at < 2) return image_cut_off(m, err);
        const uint8_t count = m->data[at], code = m->data[at + 1];
        const size_t bytes = b->bits == 8 ? code : (code + 1u) / 2;
        at += 2;
        if (count) {
            st = put_run(b, &x, row, at - 1, count, true, err);
        } else if (code == 0) {
            x = 0;
            row++;
        } else if (code == 1) {
            return PGY_OK;
        } else if (m->size - at < (code == 2 ? 2 : bytes + bytes % 2)) {
            return image_cut_off(m, err);
        } else if (code == 2) {
            x += m->data[at];
            row += m->data[at + 1];
            at += 2;
            if (x > m->width || row > m->height)
                st = pgy_error_set(err, PGY_E_FORMAT, "a run leaves the image");
        } else {
            st = put_run(b, &x, row, at, code, false, err);
            at += bytes + bytes % 2;
        }
    }
    return st;
}

pgy_status image_decode_bmp(image *m, pgy_error *err)
{
    bmp b = {.m = m};
    const pgy_status st = read_header(&b, err);
    if (st) return st;
    return b.compression == BMP_RLE8 || b.compression == BMP_RLE4 ? read_runs(&b, err)
                                                                  : read_rows(&b, err);
}
