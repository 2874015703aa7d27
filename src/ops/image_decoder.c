/* SPDX-License-Identifier: Apache-2.0 */
/* ImageDecoder: the pixels of an image file that is an input. */
#include <string.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "ops/class_check.h"
#include "ops/class_image.h"

static const op_attr_def ATTRS[] = {
    {"pixel_format", OP_ATTR_STRING, false, "RGB", "RGB BGR Grayscale"},
    {NULL},
};

/* A format is known by its first bytes; a dot in `start` stands for any byte. */
typedef struct image_format {
    const char *name, *start;
    size_t size;
    pgy_status (*decode)(image *m, pgy_error *err);
} image_format;

#define START(text) text, sizeof text - 1
static const image_format FORMATS[] = {
    {"BMP", START("BM"), image_decode_bmp},
    {"JPEG", START("\xFF\xD8\xFF"), image_decode_jpeg},
    {"JPEG 2000", START("\0\0\0\x0CjP  \r\n\x87\n"), image_decode_jpeg2000},
    {"JPEG 2000", START("\xFF\x4F\xFF\x51"), image_decode_jpeg2000},
    {"PNG", START("\x89PNG\r\n\x1A\n"), image_decode_png},
    {"PBM", START("P1"), image_decode_pnm},
    {"PGM", START("P2"), image_decode_pnm},
    {"PPM", START("P3"), image_decode_pnm},
    {"PBM", START("P4"), image_decode_pnm},
    {"PGM", START("P5"), image_decode_pnm},
    {"PPM", START("P6"), image_decode_pnm},
    {"TIFF", START("II*\0"), image_decode_tiff},
    {"TIFF", START("MM\0*"), image_decode_tiff},
    {"TIFF", START("II+\0"), image_decode_tiff},
    {"TIFF", START("MM\0+"), image_decode_tiff},
    {"WebP", START("RIFF....WEBP"), image_decode_webp},
};

static bool starts(const image_format *f, const image *m)
{
    bool same = m->size >= f->size;
    for (size_t i = 0; same && i < f->size; i++)
        same = f->start[i] == '.' || (uint8_t)f->start[i] == m->data[i];
    return same;
}

static pgy_status decode(const op_node *n, image *m, pgy_error *err)
{
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++) {
        if (!starts(&FORMATS[i], m)) continue;
        const pgy_status st = FORMATS[i].decode(m, err);
        return st ? pgy_error_prefix(err, st, "%s '%s': %s: ", n->def->name, n->name,
                                     FORMATS[i].name)
                  : PGY_OK;
    }
    str bytes = {0};
    for (size_t i = 0; i < 8 && i < m->size; i++) str_printf(&bytes, " %02X", m->data[i]);
    const pgy_status st =
        op_error(n, err, PGY_E_FORMAT,
                 "the input (%zu bytes, first%s) is no image in BMP, JPEG, JPEG 2000, PNG, PNM, "
                 "TIFF or WebP",
                 m->size, bytes.size ? str_text(&bytes) : " none");
    str_deinit(&bytes);
    return st;
}

static bool is_gray(const op_node *n)
{
    return op_attr_is(n, "pixel_format", "Grayscale", "RGB");
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    static const char WHY[] = "the image's size is known when it is decoded";
    const pgy_status st = rank_check(c, 0, 1, 1, err);
    dim *dims = st ? NULL : op_dims(c, 3);
    if (st) return st;
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = dim_unknown(c->dims, WHY);
    dims[1] = dim_unknown(c->dims, WHY);
    dims[2] = dim_const(is_gray(c->node) ? 1 : 3);
    op_set_output(c, 0, PGY_U8, 3, dims);
    return PGY_OK;
}

/* Luma by ITU-R 601-2, as Pillow computes it. */
static void write_pixels(const op_eval *c, const image *m)
{
    int64_t *y = out_i64(c, 0);
    const bool gray = is_gray(c->node), bgr = op_attr_is(c->node, "pixel_format", "BGR", "RGB");
    for (size_t i = 0; i < m->width * m->height; i++) {
        const uint8_t *p = m->rgb + 3 * i;
        if (gray)
            y[i] = (p[0] * 19595 + p[1] * 38470 + p[2] * 7471 + 0x8000) >> 16;
        else
            for (size_t k = 0; k < 3; k++) y[3 * i + k] = p[bgr ? 2 - k : k];
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const uint64_t limit = c->host ? c->host->max_bytes : 0;
    uint8_t *bytes = NULL;
    pgy_status st = inputs_check(c, "I", err);
    if (!st) st = workspace_alloc((void **)&bytes, c, in_count(c, 0), 1, err);
    if (st) return st;
    for (size_t i = 0; i < in_count(c, 0); i++) bytes[i] = (uint8_t)in_i64(c, 0)[i];
    image m = {.data = bytes,
               .size = in_count(c, 0),
               .max_bytes = limit ? limit : memory_limit_bytes(),
               .result_bytes = (is_gray(c->node) ? 1 : 3) * sizeof(int64_t)};
    st = decode(c->node, &m, err);
    const int64_t shape[] = {(int64_t)m.height, (int64_t)m.width, is_gray(c->node) ? 1 : 3};
    if (!st) st = op_output(c, 0, PGY_U8, 3, shape, err);
    if (!st) write_pixels(c, &m);
    mem_free(m.rgb);
    mem_free(bytes);
    return st;
}

const op_def OP_image_decoder[] = {
    {"ImageDecoder", "", 20, 0, 1, 1, 1, 1, 0, ATTRS, "uint8", infer, eval, rule_no_flops},
    {NULL},
};
