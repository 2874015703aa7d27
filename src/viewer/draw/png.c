/* SPDX-License-Identifier: Apache-2.0 */
/* Writes shapes as PNG: 8-bit RGB, some rows at a time, so that memory holds a band of the picture
 * and the compressed file. */
#include <math.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "viewer/draw/draw.h"
#include "viewer/draw/outline.h"

enum { BAND_PIXELS = 1 << 21, BAND_ROWS = 256, PIECE = 1 << 16 };

/* ---- The file ------------------------------------------------------------------------------- */

typedef struct png_file {
    str *out;
    z_stream deflate;
    uint8_t *line, *before; /* filtered row; the row before */
    uint8_t packed[PIECE];
    size_t row_bytes;
} png_file;

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
    str_append_n(out, data, size);
    append_u32(out, (uint32_t)crc);
}

static void *allocate(void *user, uInt count, uInt size)
{
    (void)user;
    return mem_calloc(count, size);
}

static void release(void *user, void *p)
{
    (void)user;
    mem_free(p);
}

static bool begin(png_file *f, str *out, uint32_t width, uint32_t height)
{
    const uint8_t header[13] = {(uint8_t)(width >> 24),
                                (uint8_t)(width >> 16),
                                (uint8_t)(width >> 8),
                                (uint8_t)width,
                                (uint8_t)(height >> 24),
                                (uint8_t)(height >> 16),
                                (uint8_t)(height >> 8),
                                (uint8_t)height,
                                8,
                                2}; /* 8 bits, RGB, not interlaced */
    f->out = out;
    f->row_bytes = 3 * (size_t)width;
    f->line = mem_alloc(f->row_bytes + 1);
    f->before = mem_calloc(1, f->row_bytes);
    f->deflate = (z_stream){.zalloc = allocate, .zfree = release};
    if (!f->line || !f->before || deflateInit(&f->deflate, 6) != Z_OK) return false;
    str_append_n(out, "\x89PNG\r\n\x1a\n", 8);
    append_chunk(out, "IHDR", header, sizeof header);
    return !out->failed;
}

static bool pack(png_file *f, const uint8_t *data, size_t size, int flush)
{
    f->deflate.next_in = (Bytef *)data;
    f->deflate.avail_in = (uInt)size;
    do {
        f->deflate.next_out = f->packed;
        f->deflate.avail_out = PIECE;
        if (deflate(&f->deflate, flush) == Z_STREAM_ERROR) return false;
        if (f->deflate.avail_out < PIECE)
            append_chunk(f->out, "IDAT", f->packed, PIECE - f->deflate.avail_out);
    } while (!f->deflate.avail_out);
    return !f->out->failed;
}

/* Flat areas and vertical lines vanish in the difference to the row above. */
static bool append_row(png_file *f, const uint8_t *rgb)
{
    enum { FILTER_UP = 2 };
    f->line[0] = FILTER_UP;
    for (size_t i = 0; i < f->row_bytes; i++) f->line[i + 1] = (uint8_t)(rgb[i] - f->before[i]);
    memcpy(f->before, rgb, f->row_bytes);
    return pack(f, f->line, f->row_bytes + 1, Z_NO_FLUSH);
}

static bool end(png_file *f)
{
    if (!pack(f, NULL, 0, Z_FINISH)) return false;
    append_chunk(f->out, "IEND", NULL, 0);
    return !f->out->failed;
}

static void close_file(png_file *f)
{
    if (!f) return;
    deflateEnd(&f->deflate);
    mem_free(f->line);
    mem_free(f->before);
    mem_free(f);
}

/* ---- Bands ---------------------------------------------------------------------------------- */

typedef struct png_work {
    const picture_list *list;
    const colour_theme *theme;
    double scale;
    raster_band band;
    size_t rows; /* of a whole band */
    outline outline;
    float (*extents)[2]; /* rows of each shape */
} png_work;

static bool make_band(png_work *w, size_t width)
{
    size_t bytes;
    w->rows = BAND_PIXELS / width;
    w->rows = w->rows < 8 ? 8 : w->rows > BAND_ROWS ? BAND_ROWS : w->rows;
    w->band = (raster_band){.width = width};
    if (!size_mul(&bytes, width + 2, w->rows)) return false;
    w->band.rgb = mem_alloc(3 * bytes);
    w->band.cover = mem_alloc(sizeof *w->band.cover * bytes);
    w->extents = mem_calloc(w->list->count, sizeof *w->extents);
    if (!w->band.rgb || !w->band.cover || !w->extents) return false;
    for (size_t i = 0; i < w->list->count; i++) {
        double top, bottom;
        outline_rows(&w->list->shapes[i], w->scale, &top, &bottom);
        w->extents[i][0] = (float)top - 1;
        w->extents[i][1] = (float)bottom + 1;
    }
    return true;
}

static void draw_band(png_work *w, size_t top, size_t rows)
{
    raster_band *b = &w->band;
    const uint32_t page = w->theme->of[ROLE_PAGE];
    b->top = (double)top;
    b->height = rows;
    for (size_t i = 0; i < b->width * rows; i++)
        for (int k = 0; k < 3; k++) b->rgb[3 * i + (size_t)k] = (uint8_t)(page >> (16 - 8 * k));
    for (size_t i = 0; i < w->list->count; i++)
        if (w->extents[i][0] < (float)(top + rows) && w->extents[i][1] > (float)top)
            outline_draw(b, &w->outline, &w->list->shapes[i], w->theme, w->scale);
}

static pgy_status no_memory(size_t width, size_t height, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a picture of %zu x %zu pixels",
                         width, height);
}

static pgy_status draw_all(png_work *w, png_file *f, size_t width, size_t height, pgy_error *err)
{
    for (size_t top = 0; top < height; top += w->rows) {
        if (cancel_requested()) return cancel_check(err);
        const size_t rows = height - top < w->rows ? height - top : w->rows;
        draw_band(w, top, rows);
        if (w->outline.failed) return no_memory(width, height, err);
        for (size_t y = 0; y < rows; y++)
            if (!append_row(f, w->band.rgb + 3 * y * width)) return no_memory(width, height, err);
    }
    return end(f) ? PGY_OK : no_memory(width, height, err);
}

pgy_status png_write(str *out, const picture_list *p, view_theme theme, double scale,
                     pgy_error *err)
{
    const double width = ceil(p->width * scale), height = ceil(p->height * scale);
    if (!(width >= 1 && height >= 1))
        return pgy_error_set(err, PGY_E_ARGUMENT, "a picture of %g x %g pixels shows nothing",
                             width, height);
    if (width > VIEW_SIDE_LIMIT || height > VIEW_SIDE_LIMIT || width * height > VIEW_PIXEL_LIMIT)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "a PNG file of %.0f x %.0f pixels is too large: the limit is %d "
                             "pixels for a side and %d million in all; use a smaller scale, fold "
                             "parts of the graph, or write SVG",
                             width, height, VIEW_SIDE_LIMIT, VIEW_PIXEL_LIMIT / 1000000);
    png_work w = {
        .list = p, .theme = theme == VIEW_THEME_DARK ? &THEME_DARK : &THEME_LIGHT, .scale = scale};
    png_file *f = mem_calloc(1, sizeof *f);
    pgy_status st =
        f && make_band(&w, (size_t)width) && begin(f, out, (uint32_t)width, (uint32_t)height)
            ? PGY_OK
            : no_memory((size_t)width, (size_t)height, err);
    if (!st) st = draw_all(&w, f, (size_t)width, (size_t)height, err);
    close_file(f);
    outline_deinit(&w.outline);
    mem_free(w.band.rgb);
    mem_free(w.band.cover);
    mem_free(w.extents);
    return st;
}
