/* SPDX-License-Identifier: Apache-2.0 */
/* PNG by libpng. Samples of 16 bits keep their upper byte; gamma is not applied. */
#include <setjmp.h>
#include <string.h>

#include "ops/class_image.h"

typedef void *png_handle;

static struct {
    png_handle (*create)(const char *version, void *user,
                         void (*error)(png_handle h, const char *text),
                         void (*warn)(png_handle h, const char *text));
    png_handle (*create_info)(png_handle h);
    void (*destroy)(png_handle *h, png_handle *info, png_handle *end);
    void *(*user)(png_handle h);
    void *(*source)(png_handle h);
    void (*set_source)(png_handle h, void *source,
                       void (*read)(png_handle h, unsigned char *out, size_t size));
    void (*read_info)(png_handle h, png_handle info);
    uint32_t (*width)(png_handle h, png_handle info);
    uint32_t (*height)(png_handle h, png_handle info);
    void (*expand)(png_handle h);
    void (*strip_16)(png_handle h);
    void (*strip_alpha)(png_handle h);
    void (*gray_to_rgb)(png_handle h);
    int (*passes)(png_handle h);
    void (*update)(png_handle h, png_handle info);
    size_t (*row_bytes)(png_handle h, png_handle info);
    void (*read_row)(png_handle h, unsigned char *row, unsigned char *shown);
    void (*read_end)(png_handle h, png_handle info);
} png;

#define F(member, symbol)                          \
    {                                              \
        symbol, (void **)(void *)&png.member, true \
    }
static const dl_symbol SYMBOLS[] = {
    F(create, "png_create_read_struct"),   F(create_info, "png_create_info_struct"),
    F(destroy, "png_destroy_read_struct"), F(user, "png_get_error_ptr"),
    F(source, "png_get_io_ptr"),           F(set_source, "png_set_read_fn"),
    F(read_info, "png_read_info"),         F(width, "png_get_image_width"),
    F(height, "png_get_image_height"),     F(expand, "png_set_expand"),
    F(strip_16, "png_set_strip_16"),       F(strip_alpha, "png_set_strip_alpha"),
    F(gray_to_rgb, "png_set_gray_to_rgb"), F(passes, "png_set_interlace_handling"),
    F(update, "png_read_update_info"),     F(row_bytes, "png_get_rowbytes"),
    F(read_row, "png_read_row"),           F(read_end, "png_read_end"),
};
#undef F

static image_library library = {.format = "PNG",
                                .package = "libpng16-16",
                                .name = "libpng16.so.16",
                                .symbols = SYMBOLS,
                                .symbol_count = sizeof SYMBOLS / sizeof *SYMBOLS};

/* Outlives the jump out of libpng, so all that changes is here. */
typedef struct png_state {
    jmp_buf out;
    image *m;
    png_handle h, info;
    size_t at;
    pgy_status status;
    pgy_error *err;
} png_state;

static _Noreturn void fail(png_handle h, const char *text)
{
    png_state *s = png.user(h);
    if (!s->status) s->status = pgy_error_set(s->err, PGY_E_FORMAT, "libpng: %s", text);
    longjmp(s->out, 1);
}

static void ignore(png_handle h, const char *text)
{
    (void)h;
    (void)text;
}

static void take(png_handle h, unsigned char *out, size_t size)
{
    png_state *s = png.source(h);
    if (size > s->m->size - s->at) {
        s->status = image_cut_off(s->m, s->err);
        fail(h, "");
    }
    memcpy(out, s->m->data + s->at, size);
    s->at += size;
}

static void read_image(png_state *s)
{
    image *m = s->m;
    png.set_source(s->h, s, take);
    png.read_info(s->h, s->info);
    s->status = image_reserve(m, png.width(s->h, s->info), png.height(s->h, s->info), 0, s->err);
    if (s->status) return;
    png.expand(s->h);
    png.strip_16(s->h);
    png.strip_alpha(s->h);
    png.gray_to_rgb(s->h);
    const int passes = png.passes(s->h);
    png.update(s->h, s->info);
    if (png.row_bytes(s->h, s->info) != m->width * 3) fail(s->h, "the rows are not of RGB");
    for (int i = 0; i < passes; i++)
        for (size_t y = 0; y < m->height; y++) png.read_row(s->h, m->rgb + y * m->width * 3, NULL);
    png.read_end(s->h, NULL);
}

pgy_status image_decode_png(image *m, pgy_error *err)
{
    png_state s = {.m = m, .err = err};
    const pgy_status st = image_library_open(&library, err);
    if (st) return st;
    if (setjmp(s.out) == 0) {
        s.h = png.create("1.6.0", &s, fail, ignore);
        s.info = s.h ? png.create_info(s.h) : NULL;
        if (s.info)
            read_image(&s);
        else
            s.status = pgy_error_set(err, PGY_E_MEMORY, "libpng does not start");
    }
    if (s.h) png.destroy(&s.h, &s.info, NULL);
    return s.status;
}
