/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders of image files, for ImageDecoder. Each fills 8-bit RGB rows from top to bottom. A
 * damaged or unfinished file is an error, never a part of an image. Alpha is left out, colors stay
 * as stored. */
#ifndef OPS_CLASS_IMAGE_H
#define OPS_CLASS_IMAGE_H

#include "base/dl.h"

typedef struct image {
    const uint8_t *data; /* the file */
    size_t size;
    uint64_t max_bytes;    /* limit for what a decoder allocates */
    uint64_t result_bytes; /* that the caller needs for each pixel, which count too */
    size_t width, height;
    uint8_t *rgb; /* freed by the caller, also after an error */
} image;

/* Checks the size that a file claims, and allocates `rgb`; a decoder that needs more memory for
 * each pixel says so. PGY_E_FORMAT: a side is 0; PGY_E_MEMORY. */
pgy_status image_reserve(image *m, uint64_t width, uint64_t height, uint64_t extra_bytes,
                         pgy_error *err) PGY_MUST_CHECK;
pgy_status image_cut_off(const image *m, pgy_error *err); /* PGY_E_FORMAT */

/* A library that decodes a format, opened at the first use. */
typedef struct image_library {
    const char *format, *package; /* Debian's */
    const char *name;             /* of the file */
    const dl_symbol *symbols;
    size_t symbol_count;
    bool opened;
} image_library;
/* PGY_E_NOT_FOUND names the format, the file and the package. */
pgy_status image_library_open(image_library *l, pgy_error *err) PGY_MUST_CHECK;

pgy_status image_decode_bmp(image *m, pgy_error *err) PGY_MUST_CHECK;
pgy_status image_decode_jpeg(image *m, pgy_error *err) PGY_MUST_CHECK;
pgy_status image_decode_jpeg2000(image *m, pgy_error *err) PGY_MUST_CHECK;
pgy_status image_decode_png(image *m, pgy_error *err) PGY_MUST_CHECK;
pgy_status image_decode_pnm(image *m, pgy_error *err) PGY_MUST_CHECK;
pgy_status image_decode_tiff(image *m, pgy_error *err) PGY_MUST_CHECK;
pgy_status image_decode_webp(image *m, pgy_error *err) PGY_MUST_CHECK;

#endif
