/* SPDX-License-Identifier: Apache-2.0 */
/* PBM, PGM and PPM, each as text and in bytes. */
#include <inttypes.h>
#include <math.h>

#include "ops/class_image.h"

typedef struct pnm {
    image *m;
    size_t at;
    uint32_t most; /* the largest sample */
    bool bits, color, text;
} pnm;

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_blanks(pnm *p)
{
    const image *m = p->m;
    while (p->at < m->size && (is_blank(m->data[p->at]) || m->data[p->at] == '#')) {
        if (m->data[p->at] == '#')
            while (p->at < m->size && m->data[p->at] != '\n' && m->data[p->at] != '\r') p->at++;
        else
            p->at++;
    }
}

static pgy_status read_number(pnm *p, uint32_t *out, const char *what, pgy_error *err)
{
    const image *m = p->m;
    uint64_t value = 0;
    skip_blanks(p);
    if (p->at >= m->size) return image_cut_off(m, err);
    const size_t from = p->at;
    while (p->at < m->size && m->data[p->at] >= '0' && m->data[p->at] <= '9' && value <= UINT32_MAX)
        value = value * 10 + (m->data[p->at++] - '0');
    if (p->at == from || value > UINT32_MAX)
        return pgy_error_set(err, PGY_E_FORMAT, "byte %zu is not a %s", from, what);
    *out = (uint32_t)value;
    return PGY_OK;
}

static pgy_status read_header(pnm *p, pgy_error *err)
{
    const uint8_t kind = p->m->data[1] - '0';
    uint32_t width = 0, height = 0;
    *p = (pnm){.m = p->m,
               .at = 2,
               .most = 1,
               .bits = kind % 3 == 1,
               .color = kind % 3 == 0,
               .text = kind < 4};
    pgy_status st = read_number(p, &width, "width", err);
    if (!st) st = read_number(p, &height, "height", err);
    if (!st && !p->bits) st = read_number(p, &p->most, "largest sample", err);
    if (!st && (!p->most || p->most > UINT16_MAX))
        st =
            pgy_error_set(err, PGY_E_FORMAT,
                          "the largest sample is %" PRIu32 ", but must lie in 1 to 65535", p->most);
    if (!st && p->at >= p->m->size) st = image_cut_off(p->m, err);
    if (!st && !p->text) p->at++; /* one blank, then bytes */
    return st ? st : image_reserve(p->m, width, height, 0, err);
}

static pgy_status scale(const pnm *p, uint8_t *out, uint32_t sample, pgy_error *err)
{
    if (sample > p->most)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "a sample is %" PRIu32 ", above the largest of %" PRIu32, sample,
                             p->most);
    *out = (uint8_t)rint(sample * 255.0 / p->most);
    return PGY_OK;
}

/* Samples of PBM as text need no blanks between them. */
static pgy_status read_text(pnm *p, uint8_t *out, pgy_error *err)
{
    uint32_t sample = 0;
    pgy_status st = PGY_OK;
    if (!p->bits) {
        st = read_number(p, &sample, "sample", err);
    } else {
        skip_blanks(p);
        if (p->at >= p->m->size) return image_cut_off(p->m, err);
        const uint8_t c = p->m->data[p->at];
        if (c != '0' && c != '1')
            return pgy_error_set(err, PGY_E_FORMAT, "byte %zu is neither 0 nor 1", p->at);
        sample = c == '0'; /* 1 is black */
        p->at++;
    }
    return st ? st : scale(p, out, sample, err);
}

static pgy_status read_sample(pnm *p, uint8_t *out, size_t row, size_t i, pgy_error *err)
{
    const image *m = p->m;
    const size_t width = m->width * (p->color ? 3 : 1), k = row * width + i;
    if (p->text) return read_text(p, out, err);
    if (p->bits) {
        *out = m->data[p->at + row * ((width + 7) / 8) + i / 8] >> (7 - i % 8) & 1 ? 0 : 255;
        return PGY_OK;
    }
    if (p->most < 256) return scale(p, out, m->data[p->at + k], err);
    const uint8_t *pair = m->data + p->at + 2 * k;
    return scale(p, out, (uint32_t)pair[0] << 8 | pair[1], err);
}

/* The bytes that the samples take at least. */
static uint64_t least_bytes(const pnm *p)
{
    const uint64_t samples = (uint64_t)p->m->width * p->m->height * (p->color ? 3 : 1);
    if (p->text) return p->bits ? samples : 2 * samples - 1;
    if (p->bits) return ((uint64_t)p->m->width + 7) / 8 * p->m->height;
    return samples * (p->most < 256 ? 1 : 2);
}

pgy_status image_decode_pnm(image *m, pgy_error *err)
{
    pnm p = {.m = m};
    const pgy_status bad = read_header(&p, err);
    if (bad) return bad;
    if (p.at > m->size || m->size - p.at < least_bytes(&p)) return image_cut_off(m, err);
    const size_t width = m->width * (p.color ? 3 : 1);
    pgy_status st = PGY_OK;
    for (size_t row = 0; row < m->height; row++)
        for (size_t i = 0; !st && i < width; i++) {
            uint8_t *rgb = m->rgb + (row * width + i) * (p.color ? 1 : 3);
            st = read_sample(&p, rgb, row, i, err);
            if (!p.color) rgb[2] = rgb[1] = rgb[0];
        }
    return st;
}
