/* SPDX-License-Identifier: Apache-2.0 */
/* WebP by libwebp. */
#include "ops/class_image.h"

typedef struct webp_features {
    int width, height, has_alpha, has_animation, format;
    uint32_t pad[5];
} webp_features;

enum { WEBP_ABI = 0x0209, WEBP_CUT_OFF = 7 };

static struct {
    int (*features)(const uint8_t *data, size_t size, webp_features *out, int abi);
    uint8_t *(*decode)(const uint8_t *data, size_t size, uint8_t *out, size_t out_size, int stride);
} webp;

static const dl_symbol SYMBOLS[] = {
    {"WebPGetFeaturesInternal", (void **)(void *)&webp.features, true},
    {"WebPDecodeRGBInto", (void **)(void *)&webp.decode, true},
};

static image_library library = {.format = "WebP",
                                .package = "libwebp7",
                                .name = "libwebp.so.7",
                                .symbols = SYMBOLS,
                                .symbol_count = sizeof SYMBOLS / sizeof *SYMBOLS};

pgy_status image_decode_webp(image *m, pgy_error *err)
{
    webp_features found = {0};
    pgy_status st = image_library_open(&library, err);
    if (st) return st;
    const int code = webp.features(m->data, m->size, &found, WEBP_ABI);
    if (code == WEBP_CUT_OFF) return image_cut_off(m, err);
    if (code || found.width < 0 || found.height < 0)
        return pgy_error_set(err, PGY_E_FORMAT, "the header is not valid (code %d of libwebp)",
                             code);
    if (found.has_animation)
        return pgy_error_set(err, PGY_E_UNSUPPORTED, "the file holds an animation, not one image");
    st = image_reserve(m, (uint64_t)found.width, (uint64_t)found.height, 4, err);
    if (st) return st;
    if (!webp.decode(m->data, m->size, m->rgb, m->width * m->height * 3, found.width * 3))
        return pgy_error_set(err, PGY_E_FORMAT, "the file is damaged or cut off");
    return PGY_OK;
}
