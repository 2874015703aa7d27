/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG 2000, bare codestreams and JP2 files, by OpenJPEG. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_image.h"

typedef void *j2k_handle;

typedef struct j2k_component {
    uint32_t dx, dy, width, height, x0, y0, precision, obsolete, is_signed, resolutions, factor;
    int32_t *data;
    uint16_t alpha;
} j2k_component;

typedef struct j2k_image {
    uint32_t x0, y0, x1, y1, count;
    int32_t space;
    j2k_component *components;
    uint8_t *profile;
    uint32_t profile_size;
} j2k_image;

enum { J2K_STREAM = 0, J2K_FILE = 2 };                                 /* codecs */
enum { J2K_UNSPECIFIED = 0, J2K_SRGB = 1, J2K_GRAY = 2, J2K_YCC = 3 }; /* color spaces */
enum { J2K_SETTINGS = 1 << 15, J2K_BUFFER = 1 << 16 };

static struct {
    j2k_handle (*stream)(size_t buffer, int is_input);
    void (*destroy_stream)(j2k_handle s);
    void (*set_read)(j2k_handle s, size_t (*read)(void *out, size_t size, void *user));
    void (*set_skip)(j2k_handle s, int64_t (*skip)(int64_t size, void *user));
    void (*set_seek)(j2k_handle s, int (*seek)(int64_t to, void *user));
    void (*set_user)(j2k_handle s, void *user, void (*release)(void *user));
    void (*set_length)(j2k_handle s, uint64_t length);
    j2k_handle (*create)(int format);
    void (*destroy)(j2k_handle c);
    void (*defaults)(void *settings);
    int (*setup)(j2k_handle c, void *settings);
    int (*set_error)(j2k_handle c, void (*handler)(const char *text, void *user), void *user);
    int (*read_header)(j2k_handle s, j2k_handle c, j2k_image **out);
    int (*decode)(j2k_handle c, j2k_handle s, j2k_image *out);
    void (*destroy_image)(j2k_image *image);
} j2k;

#define F(member, symbol)                          \
    {                                              \
        symbol, (void **)(void *)&j2k.member, true \
    }
static const dl_symbol SYMBOLS[] = {
    F(stream, "opj_stream_create"),
    F(destroy_stream, "opj_stream_destroy"),
    F(set_read, "opj_stream_set_read_function"),
    F(set_skip, "opj_stream_set_skip_function"),
    F(set_seek, "opj_stream_set_seek_function"),
    F(set_user, "opj_stream_set_user_data"),
    F(set_length, "opj_stream_set_user_data_length"),
    F(create, "opj_create_decompress"),
    F(destroy, "opj_destroy_codec"),
    F(defaults, "opj_set_default_decoder_parameters"),
    F(setup, "opj_setup_decoder"),
    F(set_error, "opj_set_error_handler"),
    F(read_header, "opj_read_header"),
    F(decode, "opj_decode"),
    F(destroy_image, "opj_image_destroy"),
};
#undef F

static image_library library = {.format = "JPEG 2000",
                                .package = "libopenjp2-7",
                                .name = "libopenjp2.so.7",
                                .symbols = SYMBOLS,
                                .symbol_count = sizeof SYMBOLS / sizeof *SYMBOLS};

/* ---- The file ------------------------------------------------------------------------------- */

typedef struct j2k_source {
    const image *m;
    size_t at;
    char why[256]; /* the first error */
} j2k_source;

static size_t source_read(void *out, size_t size, void *user)
{
    j2k_source *s = user;
    const size_t left = s->m->size - s->at, taken = size < left ? size : left;
    if (!taken) return SIZE_MAX;
    memcpy(out, s->m->data + s->at, taken);
    s->at += taken;
    return taken;
}

static int64_t source_skip(int64_t size, void *user)
{
    j2k_source *s = user;
    const size_t left = s->m->size - s->at;
    if (size < 0 ? (uint64_t)-size > s->at : (uint64_t)size > left) return -1;
    s->at += (size_t)size;
    return size;
}

static int source_seek(int64_t to, void *user)
{
    j2k_source *s = user;
    if (to < 0 || (uint64_t)to > s->m->size) return 0;
    s->at = (size_t)to;
    return 1;
}

static void keep_error(const char *text, void *user)
{
    j2k_source *s = user;
    if (*s->why) return;
    const size_t size = strcspn(text, "\n");
    const size_t kept = size < sizeof s->why ? size : sizeof s->why - 1;
    memcpy(s->why, text, kept);
    s->why[kept] = '\0';
}

/* ---- Pixels --------------------------------------------------------------------------------- */

static pgy_status check_components(const image *m, const j2k_image *j, pgy_error *err)
{
    if (j->count < 1 || j->count > 4)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "the image has %" PRIu32 " components; 1 to 4 are supported",
                             j->count);
    if (j->space < J2K_UNSPECIFIED || j->space > J2K_YCC)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "the color space (code %" PRId32 " of OpenJPEG) is not supported",
                             j->space);
    for (uint32_t i = 0; i < j->count; i++) {
        const j2k_component *c = &j->components[i];
        if (c->dx != 1 || c->dy != 1 ||
            (m->rgb && (c->width != m->width || c->height != m->height)))
            return pgy_error_set(err, PGY_E_UNSUPPORTED,
                                 "component %" PRIu32 " has another size than the image", i);
        if (c->precision < 1 || c->precision > 31)
            return pgy_error_set(err, PGY_E_UNSUPPORTED,
                                 "component %" PRIu32 " has %" PRIu32 " bits", i, c->precision);
    }
    return PGY_OK;
}

/* Few bits are scaled to 255, many are rounded to the upper 8. */
static uint8_t sample(const j2k_component *c, size_t i)
{
    const int64_t most = (INT64_C(1) << c->precision) - 1;
    int64_t v = (int64_t)c->data[i] + (c->is_signed ? INT64_C(1) << (c->precision - 1) : 0);
    v = v < 0 ? 0 : v > most ? most : v;
    if (c->precision <= 8) return (uint8_t)((v * 255 + most / 2) / most);
    const uint32_t shift = c->precision - 8;
    v = (v + (INT64_C(1) << (shift - 1))) >> shift;
    return (uint8_t)(v > 255 ? 255 : v);
}

static uint8_t clip(double v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5);
}

static void ycc_to_rgb(uint8_t *p)
{
    const double y = p[0], b = p[1] - 128.0, r = p[2] - 128.0;
    p[0] = clip(y + 1.402 * r);
    p[1] = clip(y - 0.344136 * b - 0.714136 * r);
    p[2] = clip(y + 1.772 * b);
}

static pgy_status take_pixels(image *m, const j2k_image *j, pgy_error *err)
{
    const bool gray = j->count < 3;
    pgy_status st = check_components(m, j, err);
    for (uint32_t k = 0; !st && k < 3; k++) {
        const j2k_component *c = &j->components[gray ? 0 : k];
        if (!c->data)
            return pgy_error_set(err, PGY_E_FORMAT, "component %" PRIu32 " has no samples", k);
        for (size_t i = 0; i < m->width * m->height; i++) m->rgb[3 * i + k] = sample(c, i);
    }
    for (size_t i = 0; !st && !gray && j->space == J2K_YCC && i < m->width * m->height; i++)
        ycc_to_rgb(m->rgb + 3 * i);
    return st;
}

/* ---- Decoding ------------------------------------------------------------------------------- */

static j2k_handle open_stream(j2k_source *s)
{
    j2k_handle stream = j2k.stream(J2K_BUFFER, 1);
    if (!stream) return NULL;
    j2k.set_read(stream, source_read);
    j2k.set_skip(stream, source_skip);
    j2k.set_seek(stream, source_seek);
    j2k.set_user(stream, s, NULL);
    j2k.set_length(stream, s->m->size);
    return stream;
}

/* OpenJPEG fills its settings itself, in memory larger than any version of them. */
static bool set_up(j2k_handle codec, j2k_source *s)
{
    void *settings = mem_calloc(1, J2K_SETTINGS);
    if (!settings) return false;
    j2k.defaults(settings);
    const bool works = j2k.set_error(codec, keep_error, s) && j2k.setup(codec, settings);
    mem_free(settings);
    return works;
}

static pgy_status read_image(image *m, j2k_source *s, j2k_handle codec, j2k_handle stream,
                             pgy_error *err)
{
    j2k_image *j = NULL;
    pgy_status st = PGY_OK;
    if (!j2k.read_header(stream, codec, &j) || !j)
        st = pgy_error_set(err, PGY_E_FORMAT, "OpenJPEG: %s", *s->why ? s->why : "damaged header");
    if (!st) st = check_components(m, j, err);
    if (!st && (j->x1 <= j->x0 || j->y1 <= j->y0))
        st = pgy_error_set(err, PGY_E_FORMAT, "the image has no pixels");
    if (!st) st = image_reserve(m, j->x1 - j->x0, j->y1 - j->y0, UINT64_C(8) * j->count, err);
    if (!st && (!j2k.decode(codec, stream, j) || *s->why))
        st = pgy_error_set(err, PGY_E_FORMAT, "OpenJPEG: %s", *s->why ? s->why : "damaged file");
    if (!st) st = take_pixels(m, j, err);
    if (j) j2k.destroy_image(j);
    return st;
}

pgy_status image_decode_jpeg2000(image *m, pgy_error *err)
{
    j2k_source s = {.m = m};
    pgy_status st = image_library_open(&library, err);
    if (st) return st;
    j2k_handle stream = open_stream(&s);
    j2k_handle codec = j2k.create(m->data[0] == 0xFF ? J2K_STREAM : J2K_FILE);
    st = stream && codec && set_up(codec, &s)
             ? read_image(m, &s, codec, stream, err)
             : pgy_error_set(err, PGY_E_MEMORY, "OpenJPEG does not start");
    if (codec) j2k.destroy(codec);
    if (stream) j2k.destroy_stream(stream);
    return st;
}
