/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG by libjpeg-turbo, with its exact DCT and smooth upsampling of chroma. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_image.h"

typedef void *jpeg_handle;

enum { JPEG_CMYK = 3, JPEG_YCCK = 4 };       /* color spaces */
enum { JPEG_AS_RGB = 0, JPEG_AS_CMYK = 11 }; /* formats of pixels */
enum { JPEG_EXACT_DCT = 4096, JPEG_STOP_ON_WARNING = 8192, JPEG_LIMIT_SCANS = 32768 };

static struct {
    jpeg_handle (*create)(void);
    int (*header)(jpeg_handle h, const unsigned char *data, unsigned long size, int *width,
                  int *height, int *sampling, int *space);
    int (*decode)(jpeg_handle h, const unsigned char *data, unsigned long size, unsigned char *out,
                  int width, int pitch, int height, int format, int flags);
    char *(*why)(jpeg_handle h);
    int (*destroy)(jpeg_handle h);
} jpeg;

static const dl_symbol SYMBOLS[] = {
    {"tjInitDecompress", (void **)(void *)&jpeg.create, true},
    {"tjDecompressHeader3", (void **)(void *)&jpeg.header, true},
    {"tjDecompress2", (void **)(void *)&jpeg.decode, true},
    {"tjGetErrorStr2", (void **)(void *)&jpeg.why, true},
    {"tjDestroy", (void **)(void *)&jpeg.destroy, true},
};

static image_library library = {.format = "JPEG",
                                .package = "libturbojpeg0",
                                .name = "libturbojpeg.so.0",
                                .symbols = SYMBOLS,
                                .symbol_count = sizeof SYMBOLS / sizeof *SYMBOLS};

static pgy_status bad(jpeg_handle h, pgy_error *err)
{
    const char *why = jpeg.why(h);
    return pgy_error_set(err, PGY_E_FORMAT, "libjpeg-turbo: %s", why ? why : "unknown error");
}

static uint8_t product(uint32_t a, uint32_t b)
{
    const uint32_t x = a * b + 128;
    return (uint8_t)((x + (x >> 8)) >> 8);
}

/* Files hold inverted CMYK, as Adobe writes it. */
static pgy_status decode_cmyk(image *m, jpeg_handle h, int flags, pgy_error *err)
{
    const size_t pixels = m->width * m->height;
    uint8_t *cmyk = mem_calloc(pixels, 4);
    if (!cmyk) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for the image");
    pgy_status st = PGY_OK;
    if (jpeg.decode(h, m->data, m->size, cmyk, (int)m->width, 0, (int)m->height, JPEG_AS_CMYK,
                    flags))
        st = bad(h, err);
    for (size_t i = 0; !st && i < pixels; i++)
        for (size_t k = 0; k < 3; k++)
            m->rgb[3 * i + k] = product(cmyk[4 * i + k], cmyk[4 * i + 3]);
    mem_free(cmyk);
    return st;
}

pgy_status image_decode_jpeg(image *m, pgy_error *err)
{
    static const int FLAGS = JPEG_EXACT_DCT | JPEG_STOP_ON_WARNING | JPEG_LIMIT_SCANS;
    int width = 0, height = 0, sampling = 0, space = 0;
    pgy_status st = image_library_open(&library, err);
    jpeg_handle h = st ? NULL : jpeg.create();
    if (!st && !h) st = pgy_error_set(err, PGY_E_MEMORY, "libjpeg-turbo does not start");
    if (!st && jpeg.header(h, m->data, m->size, &width, &height, &sampling, &space))
        st = bad(h, err);
    if (!st && (width <= 0 || height <= 0))
        st = pgy_error_set(err, PGY_E_FORMAT, "the file has no image after its header");
    const bool four = space == JPEG_CMYK || space == JPEG_YCCK;
    /* a progressive image has its coefficients in memory */
    if (!st) st = image_reserve(m, (uint64_t)width, (uint64_t)height, four ? 12 : 6, err);
    if (!st && four)
        st = decode_cmyk(m, h, FLAGS, err);
    else if (!st && jpeg.decode(h, m->data, m->size, m->rgb, width, 0, height, JPEG_AS_RGB, FLAGS))
        st = bad(h, err);
    if (h) jpeg.destroy(h);
    return st;
}
