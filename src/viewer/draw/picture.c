/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the list of shapes, and fits text into a width. */
#include "viewer/draw/picture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "viewer/draw/glyphs.h"

paint paint_role(colour_role role)
{
    return (paint){.kind = PAINT_ROLE, .role = role};
}

paint paint_rgb(uint32_t rgb)
{
    return (paint){.kind = PAINT_RGB, .rgb = rgb};
}

void picture_list_deinit(picture_list *p)
{
    arena_deinit(&p->memory);
    mem_free(p->shapes);
    *p = (picture_list){0};
}

pgy_status picture_list_check(const picture_list *p, pgy_error *err)
{
    if (p->failed) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while drawing");
    return PGY_OK;
}

/* ---- Shapes --------------------------------------------------------------------------------- */

static shape *append(picture_list *p, const shape *s)
{
    if (!p->failed && p->count == p->capacity &&
        !mem_grow((void **)&p->shapes, &p->capacity, p->count + 1, sizeof *p->shapes))
        p->failed = true;
    if (p->failed) {
        p->dropped = *s;
        return &p->dropped;
    }
    p->shapes[p->count] = *s;
    return &p->shapes[p->count++];
}

/* A layout that overflowed still gives a picture. */
static float coordinate(double v)
{
    if (!isfinite(v)) return 0;
    return (float)fmax(-1e7, fmin(1e7, v));
}

shape *picture_rect(picture_list *p, double x, double y, double width, double height, double radius,
                    paint fill)
{
    return append(p, &(shape){.kind = SHAPE_RECT,
                              .x = coordinate(x),
                              .y = coordinate(y),
                              .width = coordinate(fmax(width, 0)),
                              .height = coordinate(fmax(height, 0)),
                              .radius = coordinate(radius),
                              .fill = fill});
}

shape *picture_path(picture_list *p, const float *points, uint32_t count, paint fill, paint stroke,
                    double stroke_width)
{
    shape s = {.kind = SHAPE_PATH,
               .points = arena_alloc_array(&p->memory, 2 * (size_t)count, sizeof(float)),
               .count = count,
               .fill = fill,
               .stroke = stroke,
               .stroke_width = coordinate(stroke_width)};
    if (s.points)
        for (size_t i = 0; i < 2 * (size_t)count; i++) s.points[i] = coordinate(points[i]);
    else
        p->failed = true;
    return append(p, &s);
}

shape *picture_text_at(picture_list *p, double x, double y, double size, bool bold, paint fill,
                       const char *text)
{
    shape s = {.kind = SHAPE_TEXT,
               .x = coordinate(x),
               .y = coordinate(y),
               .size = coordinate(size),
               .bold = bold,
               .fill = fill,
               .text = arena_strdup(&p->memory, text)};
    if (!s.text) p->failed = true;
    return append(p, &s);
}

void picture_group(picture_list *p, const char *name, uint32_t ref, const char *title)
{
    shape s = {.kind = SHAPE_GROUP, .name = name, .ref = ref};
    if (title) s.text = arena_strdup(&p->memory, title);
    if (title && !s.text) p->failed = true;
    append(p, &s);
}

void picture_end(picture_list *p)
{
    append(p, &(shape){.kind = SHAPE_END});
}

/* ---- Text ----------------------------------------------------------------------------------- */

enum { LONGEST_NAME = 2000 };

static const char *kept(picture_list *p, str *text)
{
    const char *copy = text->failed ? NULL : arena_strdup(&p->memory, str_text(text));
    if (!copy) p->failed = true;
    str_deinit(text);
    return copy ? copy : "";
}

const char *picture_shown(picture_list *p, const char *name)
{
    str text = {0};
    const size_t size = strlen(name);
    size_t n = size < LONGEST_NAME ? size : LONGEST_NAME;
    while (n < size && n && ((unsigned char)name[n] & 0xC0) == 0x80) n--;
    str_append_printable(&text, name, n, "");
    if (n < size) str_append(&text, "…");
    return kept(p, &text);
}

double picture_text_width(const char *text, double size, bool bold)
{
    return size * glyph_text_width(text, strlen(text), bold);
}

/* Bytes at the start of the text that are at most `width` wide. */
static size_t start_within(const char *text, size_t size, bool bold, double width)
{
    size_t n = 0;
    double sum = 0;
    while (n < size) {
        uint32_t c;
        const size_t bytes = utf8_read(text + n, text + size, &c);
        if (!bytes) break;
        sum += (double)glyph_of(c, bold).advance / GLYPH_UNITS;
        if (sum > width) break;
        n += bytes;
    }
    return n;
}

/* Bytes at the end. */
static size_t end_within(const char *text, size_t size, bool bold, double width)
{
    size_t n = size;
    double sum = 0;
    while (n) {
        size_t begin = n - 1;
        while (begin && ((unsigned char)text[begin] & 0xC0) == 0x80) begin--;
        uint32_t c;
        if (!utf8_read(text + begin, text + n, &c)) break;
        sum += (double)glyph_of(c, bold).advance / GLYPH_UNITS;
        if (sum > width) break;
        n = begin;
    }
    return size - n;
}

const char *picture_fit(picture_list *p, const char *text, double size, bool bold, double width)
{
    const size_t bytes = strlen(text);
    if (!(size > 0) || !(width > 0)) return "";
    const double wanted = width / size;
    if (glyph_text_width(text, bytes, bold) <= wanted) return text;
    const double rest = wanted - glyph_text_width("…", strlen("…"), bold);
    /* Ends of names differ more than their beginnings. */
    const size_t last = end_within(text, bytes, bold, rest * 0.55);
    const size_t first = start_within(text, bytes - last, bold,
                                      rest - glyph_text_width(text + bytes - last, last, bold));
    if (!first && !last) return "";
    str shown = {0};
    str_append_n(&shown, text, first);
    str_append(&shown, "…");
    str_append_n(&shown, text + bytes - last, last);
    return kept(p, &shown);
}

const char *picture_printf(picture_list *p, const char *format, ...)
{
    str text = {0};
    va_list args;
    va_start(args, format);
    str_vprintf(&text, format, args);
    va_end(args);
    return kept(p, &text);
}
