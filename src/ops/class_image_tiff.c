/* SPDX-License-Identifier: Apache-2.0 */
/* The first page of a TIFF file by libtiff. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_image.h"

typedef struct tiff_file tiff_file;
typedef struct tiff_options tiff_options;
typedef int tiff_handler(tiff_file *t, void *user, const char *module, const char *format,
                         va_list args);

enum { TIFF_WIDTH = 256, TIFF_HEIGHT = 257, TIFF_EXTRA = 338 }; /* tags */
enum { TIFF_ASSOCIATED = 1, TIFF_UNASSOCIATED = 2 };            /* kinds of alpha */
enum { TIFF_TOP_LEFT = 1, TIFF_TEXT = 1024 };

static struct {
    tiff_options *(*options)(void);
    void (*free_options)(tiff_options *o);
    void (*set_limit)(tiff_options *o, int64_t bytes);
    void (*set_error)(tiff_options *o, tiff_handler *handler, void *user);
    void (*set_warning)(tiff_options *o, tiff_handler *handler, void *user);
    tiff_file *(*open)(const char *name, const char *mode, void *source,
                       int64_t (*read)(void *source, void *out, int64_t size),
                       int64_t (*write)(void *source, void *in, int64_t size),
                       uint64_t (*seek)(void *source, uint64_t to, int from),
                       int (*close)(void *source), uint64_t (*size)(void *source),
                       int (*map)(void *source, void **base, uint64_t *size),
                       void (*unmap)(void *source, void *base, uint64_t size), tiff_options *o);
    void (*close)(tiff_file *t);
    int (*get)(tiff_file *t, uint32_t tag, ...);
    int (*set)(tiff_file *t, uint32_t tag, ...);
    int (*is_ok)(tiff_file *t, char *why);
    int (*read)(tiff_file *t, uint32_t width, uint32_t height, uint32_t *out, int orientation,
                int stop);
} tiff;

#define F(member, symbol)                           \
    {                                               \
        symbol, (void **)(void *)&tiff.member, true \
    }
static const dl_symbol SYMBOLS[] = {
    F(options, "TIFFOpenOptionsAlloc"),
    F(free_options, "TIFFOpenOptionsFree"),
    F(set_limit, "TIFFOpenOptionsSetMaxSingleMemAlloc"),
    F(set_error, "TIFFOpenOptionsSetErrorHandlerExtR"),
    F(set_warning, "TIFFOpenOptionsSetWarningHandlerExtR"),
    F(open, "TIFFClientOpenExt"),
    F(close, "TIFFClose"),
    F(get, "TIFFGetField"),
    F(set, "TIFFSetField"),
    F(is_ok, "TIFFRGBAImageOK"),
    F(read, "TIFFReadRGBAImageOriented"),
};
#undef F

static image_library library = {.format = "TIFF",
                                .package = "libtiff6",
                                .name = "libtiff.so.6",
                                .symbols = SYMBOLS,
                                .symbol_count = sizeof SYMBOLS / sizeof *SYMBOLS};

typedef struct tiff_source {
    const image *m;
    uint64_t at;
    char why[TIFF_TEXT]; /* the first error */
} tiff_source;

static int64_t source_read(void *source, void *out, int64_t size)
{
    tiff_source *s = source;
    const uint64_t left = s->at < s->m->size ? s->m->size - s->at : 0;
    const size_t taken = size < 0 ? 0 : (uint64_t)size < left ? (size_t)size : (size_t)left;
    if (taken) memcpy(out, s->m->data + s->at, taken);
    s->at += taken;
    return (int64_t)taken;
}

static int64_t source_write(void *source, void *in, int64_t size)
{
    (void)source;
    (void)in;
    (void)size;
    return 0;
}

static uint64_t source_seek(void *source, uint64_t to, int from)
{
    tiff_source *s = source;
    s->at = to + (from == SEEK_CUR ? s->at : from == SEEK_END ? s->m->size : 0);
    return s->at;
}

static int source_close(void *source)
{
    (void)source;
    return 0;
}

static uint64_t source_size(void *source)
{
    return ((const tiff_source *)source)->m->size;
}

static int keep_error(tiff_file *t, void *user, const char *module, const char *format,
                      va_list args)
{
    tiff_source *s = user;
    (void)t;
    (void)module;
    if (!*s->why) vsnprintf(s->why, sizeof s->why, format, args);
    return 1;
}

static int ignore_warning(tiff_file *t, void *user, const char *module, const char *format,
                          va_list args)
{
    (void)t;
    (void)user;
    (void)module;
    (void)format;
    (void)args;
    return 1;
}

static tiff_file *open_source(tiff_source *s)
{
    tiff_options *o = tiff.options();
    if (!o) return NULL;
    const uint64_t limit = s->m->max_bytes;
    tiff.set_limit(o, limit > INT64_MAX ? INT64_MAX : (int64_t)limit);
    tiff.set_error(o, keep_error, s);
    tiff.set_warning(o, ignore_warning, NULL);
    tiff_file *t = tiff.open("image", "rm", s, source_read, source_write, source_seek, source_close,
                             source_size, NULL, NULL, o);
    tiff.free_options(o);
    return t;
}

/* libtiff multiplies colors by alpha that is not associated. So we claim that it is. */
static void keep_colors(tiff_file *t)
{
    uint16_t count = 0, *kinds = NULL, claimed[16];
    if (!tiff.get(t, TIFF_EXTRA, &count, &kinds) || !count || count > 16 || !kinds) return;
    if (kinds[0] != TIFF_UNASSOCIATED) return;
    memcpy(claimed, kinds, count * sizeof *claimed);
    claimed[0] = TIFF_ASSOCIATED;
    tiff.set(t, TIFF_EXTRA, (int)count, claimed);
}

static pgy_status read_pixels(image *m, tiff_file *t, bool *done, pgy_error *err)
{
    uint32_t *raster = mem_calloc(m->width * m->height, sizeof *raster);
    if (!raster) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for the image");
    *done = tiff.read(t, (uint32_t)m->width, (uint32_t)m->height, raster, TIFF_TOP_LEFT, 1) == 1;
    for (size_t i = 0; *done && i < m->width * m->height; i++)
        for (size_t k = 0; k < 3; k++) m->rgb[3 * i + k] = (uint8_t)(raster[i] >> (8 * k));
    mem_free(raster);
    return PGY_OK;
}

static pgy_status read_page(image *m, tiff_source *s, tiff_file *t, pgy_error *err)
{
    uint32_t width = 0, height = 0;
    bool done = false;
    pgy_status st = PGY_OK;
    if (!tiff.get(t, TIFF_WIDTH, &width) || !tiff.get(t, TIFF_HEIGHT, &height))
        return pgy_error_set(err, PGY_E_FORMAT, "the page has no size");
    st = image_reserve(m, width, height, sizeof(uint32_t), err);
    if (st) return st;
    keep_colors(t);
    char why[TIFF_TEXT] = "";
    if (!tiff.is_ok(t, why))
        return pgy_error_set(err, PGY_E_UNSUPPORTED, "libtiff: %s", *s->why ? s->why : why);
    st = read_pixels(m, t, &done, err);
    /* some codecs report a cut-off strip and go on */
    if (!st && (!done || *s->why))
        st = pgy_error_set(err, PGY_E_FORMAT, "libtiff: %s", *s->why ? s->why : "damaged file");
    return st;
}

pgy_status image_decode_tiff(image *m, pgy_error *err)
{
    tiff_source s = {.m = m};
    pgy_status st = image_library_open(&library, err);
    if (st) return st;
    tiff_file *t = open_source(&s);
    st =
        t ? read_page(m, &s, t, err)
          : pgy_error_set(err, PGY_E_FORMAT, "libtiff: %s", *s.why ? s.why : "it cannot be opened");
    if (t) tiff.close(t);
    return st;
}
