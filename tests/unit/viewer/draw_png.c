/* SPDX-License-Identifier: Apache-2.0 */
/* Drawings as PNG: the file decodes, and its pixels are what the shapes say. */
#include "drawing_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "viewer/draw/outline.h"

typedef struct pixels {
    uint32_t width, height;
    uint8_t *rgb;
} pixels;

static uint32_t read_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Joins the IDAT chunks, whose checksums must be right. */
static void read_chunks(const uint8_t *file, size_t size, pixels *out, str *packed)
{
    bool ended = false;
    assert_memory_equal(file, "\x89PNG\r\n\x1a\n", 8);
    for (size_t at = 8; at < size;) {
        assert_false(ended);
        const uint32_t length = read_u32(file + at);
        const uint8_t *name = file + at + 4, *data = name + 4;
        assert_true(at + 12 + length <= size);
        assert_int_equal(crc32(0, name, length + 4), read_u32(data + length));
        if (!memcmp(name, "IHDR", 4)) {
            out->width = read_u32(data);
            out->height = read_u32(data + 4);
            assert_memory_equal(data + 8, "\x08\x02\0\0\0", 5);
        }
        if (!memcmp(name, "IDAT", 4)) str_append_n(packed, (const char *)data, length);
        ended = !memcmp(name, "IEND", 4);
        at += 12 + length;
    }
    assert_true(ended);
}

static pixels decode(const str *file)
{
    pixels p = {0};
    str packed = {0};
    read_chunks((const uint8_t *)file->data, file->size, &p, &packed);
    const size_t row = 3 * (size_t)p.width;
    uLongf bytes = (row + 1) * p.height;
    uint8_t *raw = mem_alloc(bytes);
    assert_int_equal(uncompress(raw, &bytes, (const Bytef *)packed.data, packed.size), Z_OK);
    assert_int_equal(bytes, (row + 1) * p.height);
    p.rgb = mem_calloc(row, p.height);
    for (size_t y = 0; y < p.height; y++) {
        assert_int_equal(raw[y * (row + 1)], 2); /* the difference to the row above */
        for (size_t i = 0; i < row; i++)
            p.rgb[y * row + i] =
                (uint8_t)(raw[y * (row + 1) + 1 + i] + (y ? p.rgb[(y - 1) * row + i] : 0));
    }
    mem_free(raw);
    str_deinit(&packed);
    return p;
}

static pixels render(const picture_list *list, view_theme theme, double scale)
{
    str out = {0};
    pgy_error err = {0};
    if (png_write(&out, list, theme, scale, &err)) fail_msg("%s", err.text);
    const pixels p = decode(&out);
    str_deinit(&out);
    return p;
}

static uint32_t at(const pixels *p, double x, double y)
{
    const uint8_t *rgb = p->rgb + 3 * ((size_t)y * p->width + (size_t)x);
    return (uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2];
}

/* How much darker than white, in pixels. */
static double ink(const pixels *p)
{
    double sum = 0;
    for (size_t i = 0; i < (size_t)p->width * p->height; i++) sum += 1 - p->rgb[3 * i] / 255.0;
    return sum;
}

/* ---- Shapes --------------------------------------------------------------------------------- */

static picture_list blank(float width, float height)
{
    return (picture_list){.width = width, .height = height};
}

static double area_of(picture_list *list, double scale)
{
    const pixels p = render(list, VIEW_THEME_LIGHT, scale);
    const double sum = ink(&p);
    mem_free(p.rgb);
    picture_list_deinit(list);
    return sum;
}

static void assert_near(double found, double wanted, double far)
{
    if (fabs(found - wanted) > far) fail_msg("%g is not %g", found, wanted);
}

/* Anti-aliasing keeps areas, whatever the place between pixels. */
static void test_draw_png__areas(void **state)
{
    (void)state;
    const paint black = paint_rgb(0);
    picture_list l = blank(60, 60);
    picture_rect(&l, 10.3, 9.7, 30.25, 20.5, 0, black);
    assert_near(area_of(&l, 1), 30.25 * 20.5, 1.5);
    l = blank(60, 60);
    picture_rect(&l, 10.3, 9.7, 40, 40, 20, black); /* a disc */
    assert_near(area_of(&l, 1), 3.14159265 * 400, 6);
    l = blank(60, 60);
    picture_path(&l, (float[]){10, 10, 50, 37, 20, 50}, 3, black, (paint){0}, 1);
    assert_near(area_of(&l, 2), 4 * (40 * 40 - 27 * 10) / 2.0, 4);
    l = blank(60, 60);
    picture_path(&l, (float[]){10, 10, 50, 40}, 2, (paint){0}, black, 3);
    assert_near(area_of(&l, 1), 150, 2);
    l = blank(60, 60); /* a corner is neither left open nor counted twice */
    picture_path(&l, (float[]){10, 10, 40, 10, 40, 40}, 3, (paint){0}, black, 4);
    assert_near(area_of(&l, 1), 240, 2);
    l = blank(60, 60);
    picture_rect(&l, 10, 10, 30, 20, 0, (paint){0})->stroke = black;
    l.shapes[0].stroke_width = 2;
    assert_near(area_of(&l, 1), 32 * 22 - 28 * 18, 2);
    l = blank(60, 60); /* what lies outside is cut off */
    picture_rect(&l, -20, -20, 30, 30, 0, black);
    picture_rect(&l, 50, 50, 1e6, 1e6, 0, black);
    assert_near(area_of(&l, 1), 200, 1);
}

static void test_draw_png__dashes(void **state)
{
    (void)state;
    picture_list l = blank(80, 20);
    picture_path(&l, (float[]){5, 10, 75, 10}, 2, (paint){0}, paint_rgb(0), 2)->dashed = true;
    const pixels p = render(&l, VIEW_THEME_LIGHT, 1);
    int dark = 0, light = 0, changes = 0;
    for (int x = 6; x < 74; x++) {
        dark += at(&p, x, 10) == 0;
        light += at(&p, x, 10) == 0xffffff;
        changes += (at(&p, x, 10) > 0x7f7f7f) != (at(&p, x + 1, 10) > 0x7f7f7f);
    }
    assert_true(dark >= 36 && light >= 26 && changes >= 18);
    mem_free(p.rgb);
    picture_list_deinit(&l);
}

static void test_draw_png__text(void **state)
{
    (void)state;
    picture_list l = blank(200, 40);
    picture_text_at(&l, 10, 25, 16, false, paint_rgb(0), "Conv_1 x7");
    const double small = area_of(&l, 1);
    l = blank(200, 40);
    picture_text_at(&l, 10, 25, 16, false, paint_rgb(0), "Conv_1 x7");
    assert_near(area_of(&l, 4) / small, 16, 0.3); /* outlines, not enlarged pixels */
    l = blank(200, 40);
    picture_text_at(&l, 10, 25, 16, true, paint_rgb(0), "Conv_1 x7");
    assert_true(area_of(&l, 1) > 1.25 * small);
    /* Every letter has a picture of its own. */
    double areas[95];
    for (int c = '!'; c <= '~'; c++) {
        const char text[2] = {(char)c, 0};
        l = blank(40, 40);
        picture_text_at(&l, 5, 30, 30, false, paint_rgb(0), text);
        areas[c - '!'] = area_of(&l, 1);
        assert_true(areas[c - '!'] > 10);
        for (int b = '!'; b < c; b++)
            if (strchr("db()pq[]{}<>/\\69WM", c) == NULL)
                assert_true(areas[c - '!'] != areas[b - '!']);
    }
    l = blank(60, 40); /* others: a frame */
    picture_text_at(&l, 5, 30, 30, false, paint_rgb(0), "\u5c42");
    assert_true(area_of(&l, 1) > 50);
}

/* Long pictures are made in bands: a shape looks the same where two bands meet. */
static void test_draw_png__bands(void **state)
{
    (void)state;
    pixels p[2];
    for (int k = 0; k < 2; k++) {
        picture_list l = blank(120, 600);
        const double y = k ? 230 : 30;
        picture_rect(&l, 10, y, 90, 60, 8, paint_rgb(0x336699));
        picture_text_at(&l, 20, y + 32, 20, true, paint_rgb(0), "middle");
        picture_path(&l, (float[]){10, (float)y, 100, (float)y + 60}, 2, (paint){0},
                     paint_rgb(0xff0000), 3)
            ->curved = true;
        mark_draw(&l, VIEW_MARK_FIRST, 80, y + 26, 12);
        p[k] = render(&l, VIEW_THEME_LIGHT, 1);
        picture_list_deinit(&l);
    }
    for (size_t y = 20; y < 100; y++)
        for (size_t i = 0; i < 360; i++)
            assert_true(abs(p[0].rgb[y * 360 + i] - p[1].rgb[(y + 200) * 360 + i]) <= 1);
    mem_free(p[0].rgb);
    mem_free(p[1].rgb);
}

/* ---- A drawing ------------------------------------------------------------------------------ */

static const shape *body_of(const picture_list *l, const char *class, uint32_t ref)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->shapes[i].kind == SHAPE_GROUP && !strcmp(l->shapes[i].name, class) &&
            l->shapes[i].ref == ref)
            for (size_t k = i; k < l->count; k++)
                if (l->shapes[k].kind == SHAPE_RECT &&
                    (l->shapes[k].hatched || l->shapes[k].fill.kind == PAINT_RGB))
                    return &l->shapes[k];
    fail_msg("no %s %u", class, (unsigned)ref);
    return NULL;
}

static void test_draw_png__cards(void **state)
{
    (void)state;
    drawing_case c;
    picture_list l;
    case_begin(&c);
    case_errors(&c);
    case_draw(&c, &l, &(view_draw_options){0});
    const pixels p = render(&l, VIEW_THEME_LIGHT, 2);
    assert_int_equal(p.width, (uint32_t)ceil(2 * l.width));
    assert_int_equal(p.height, (uint32_t)ceil(2 * l.height));
    assert_int_equal(at(&p, 1, 1), 0xffffff);
    const shape *zero = body_of(&l, "card", N_IMAGE), *worst = body_of(&l, "card", N_ADD),
                *unknown = body_of(&l, "card folded", C_CALL);
    assert_int_equal(at(&p, 2 * (zero->x + 60), 2 * (zero->y + 36)), 0xe1eaf4);
    assert_int_equal(at(&p, 2 * (worst->x + 60), 2 * (worst->y + 36)), 0xffe94e);
    /* Hatched: both colours stand on the card, and neither is that of zero. */
    int stripes = 0, gaps = 0;
    for (int x = 30; x < 200; x++) {
        const uint32_t colour = at(&p, 2 * unknown->x + x, 2 * (unknown->y + 37));
        stripes += colour == 0xc3cad2;
        gaps += colour == 0xfbfcfd;
    }
    assert_true(stripes > 20 && gaps > 40);
    /* The operator's name is there, in black on yellow. */
    int dark = 0;
    for (int y = 8; y < 38; y++)
        for (int x = 20; x < 80; x++) dark += at(&p, 2 * worst->x + x, 2 * worst->y + y) == 0;
    assert_true(dark > 60);
    mem_free(p.rgb);
    const pixels night = render(&l, VIEW_THEME_DARK, 1);
    assert_int_equal(at(&night, 1, 1), 0x14181d);
    mem_free(night.rgb);
    picture_list_deinit(&l);
    case_end(&c);
}

static void test_draw_png__limits(void **state)
{
    (void)state;
    str out = {0};
    pgy_error err = {0};
    picture_list l = blank(60000, 100);
    assert_int_equal(png_write(&out, &l, VIEW_THEME_LIGHT, 2, &err), PGY_E_UNSUPPORTED);
    assert_string_equal(err.text,
                        "a PNG file of 120000 x 200 pixels is too large: the limit is 100000 "
                        "pixels for a side and 500 million in all; use a smaller scale, fold "
                        "parts of the graph, or write SVG");
    l = blank(50000, 50000);
    assert_int_equal(png_write(&out, &l, VIEW_THEME_LIGHT, 1, &err), PGY_E_UNSUPPORTED);
    l = blank(0, 10);
    assert_int_equal(png_write(&out, &l, VIEW_THEME_LIGHT, 1, &err), PGY_E_ARGUMENT);
    l = blank(NAN, 10);
    assert_int_equal(png_write(&out, &l, VIEW_THEME_LIGHT, 1, &err), PGY_E_ARGUMENT);
    assert_int_equal(out.size, 0);
    l = blank(100000, 20); /* the widest */
    picture_rect(&l, 99990, 0, 10, 20, 0, paint_rgb(0));
    const pixels p = render(&l, VIEW_THEME_LIGHT, 1);
    assert_int_equal(at(&p, 99999, 19), 0);
    assert_int_equal(at(&p, 99989, 19), 0xffffff);
    mem_free(p.rgb);
    picture_list_deinit(&l);
    str_deinit(&out);
}

static void test_draw_png__same_bytes(void **state)
{
    (void)state;
    drawing_case c;
    str files[2] = {{0}};
    case_begin(&c);
    case_errors(&c);
    for (int k = 0; k < 2; k++) {
        picture_list l;
        case_draw(&c, &l, &(view_draw_options){0});
        GOOD(&c, png_write(&files[k], &l, VIEW_THEME_LIGHT, 1.5, &c.err));
        picture_list_deinit(&l);
    }
    assert_int_equal(files[0].size, files[1].size);
    assert_memory_equal(files[0].data, files[1].data, files[0].size);
    str_deinit(&files[0]);
    str_deinit(&files[1]);
    case_end(&c);
}

static void test_draw_png__no_memory(void **state)
{
    (void)state;
    drawing_case c;
    picture_list l;
    pgy_status st = PGY_E_MEMORY;
    case_begin(&c);
    case_draw(&c, &l, &(view_draw_options){0});
    for (uint64_t n = 1; st; n++) {
        str out = {0};
        if (!mem_fail_nth(n)) {
            picture_list_deinit(&l);
            case_end(&c);
            skip();
        }
        st = png_write(&out, &l, VIEW_THEME_LIGHT, 1, &c.err);
        mem_fail_nth(0);
        assert_true(!st || st == PGY_E_MEMORY);
        str_deinit(&out);
    }
    picture_list_deinit(&l);
    case_end(&c);
}
