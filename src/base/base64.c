/* SPDX-License-Identifier: Apache-2.0 */
/* Base64. The AVX2 paths translate 24 bytes to 32 characters and back with table shuffles (after
 * Mula and Lemire); the portable paths use tables and finish the remainder of the vector loops. */
#include "base/base64.h"

#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/system.h"

static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#define NO 0xFF
static const uint8_t VALUES[256] = {
    NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
    NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, 62, NO, NO, NO, 63,
    52, 53, 54, 55, 56, 57, 58, 59, 60, 61, NO, NO, NO, NO, NO, NO, NO, 0,  1,  2,  3,  4,  5,  6,
    7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, NO, NO, NO, NO, NO,
    NO, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48,
    49, 50, 51, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
    NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
    NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
    NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
    NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
    NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
};
#undef NO

/* ---- vector loops: each returns how many input bytes it has done ---------------------------- */

#if defined(__x86_64__)

__attribute__((target("avx2"))) static size_t encode_avx2(char *out, const uint8_t *in, size_t size)
{
    const __m256i spread = _mm256_setr_epi8(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10, 1, 0,
                                            2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10);
    /* The offsets that turn 6-bit values into characters, by class: a-z, ten digits, '+', '/', A-Z.
     */
    const __m256i offsets =
        _mm256_setr_epi8(71, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -19, -16, 65, 0, 0, 71, -4, -4,
                         -4, -4, -4, -4, -4, -4, -4, -4, -19, -16, 65, 0, 0);
    size_t i = 0;
    for (; size - i >= 28; i += 24, out += 32) {
        const __m128i low = _mm_loadu_si128((const __m128i *)(in + i));
        const __m128i high = _mm_loadu_si128((const __m128i *)(in + i + 12));
        const __m256i bytes = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), spread);
        const __m256i ac = _mm256_mulhi_epu16(
            _mm256_and_si256(bytes, _mm256_set1_epi32(0x0FC0FC00)), _mm256_set1_epi32(0x04000040));
        const __m256i bd = _mm256_mullo_epi16(
            _mm256_and_si256(bytes, _mm256_set1_epi32(0x003F03F0)), _mm256_set1_epi32(0x01000010));
        const __m256i values = _mm256_or_si256(ac, bd);
        const __m256i upper = _mm256_cmpgt_epi8(_mm256_set1_epi8(26), values);
        const __m256i class = _mm256_or_si256(_mm256_subs_epu8(values, _mm256_set1_epi8(51)),
                                              _mm256_and_si256(upper, _mm256_set1_epi8(13)));
        const __m256i text = _mm256_add_epi8(values, _mm256_shuffle_epi8(offsets, class));
        _mm256_storeu_si256((__m256i *)out, text);
    }
    return i;
}

/* Stops at a character outside the alphabet. It stores 32 bytes per 24 decoded, so the caller
 * decodes the last groups. */
__attribute__((target("avx2"))) static size_t decode_avx2(uint8_t *out, const char *in, size_t size)
{
    const __m256i low_bits =
        _mm256_setr_epi8(0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1A,
                         0x1B, 0x1B, 0x1B, 0x1A, 0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11,
                         0x11, 0x11, 0x13, 0x1A, 0x1B, 0x1B, 0x1B, 0x1A);
    const __m256i high_bits =
        _mm256_setr_epi8(0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10,
                         0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08,
                         0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10);
    const __m256i offsets =
        _mm256_setr_epi8(0, 16, 19, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 19, 4,
                         -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m256i gather = _mm256_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1,
                                            2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1);
    const __m256i slash = _mm256_set1_epi8('/');
    size_t i = 0;
    for (; size - i >= 48; i += 32, out += 24) {
        const __m256i text = _mm256_loadu_si256((const __m256i *)(in + i));
        const __m256i high = _mm256_and_si256(_mm256_srli_epi32(text, 4), slash);
        const __m256i low = _mm256_and_si256(text, slash);
        if (!_mm256_testz_si256(_mm256_shuffle_epi8(low_bits, low),
                                _mm256_shuffle_epi8(high_bits, high)))
            break;
        const __m256i class = _mm256_add_epi8(_mm256_cmpeq_epi8(text, slash), high);
        const __m256i values = _mm256_add_epi8(text, _mm256_shuffle_epi8(offsets, class));
        const __m256i pairs = _mm256_maddubs_epi16(values, _mm256_set1_epi32(0x01400140));
        const __m256i triples = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00011000));
        const __m256i lanes = _mm256_shuffle_epi8(triples, gather);
        const __m256i packed =
            _mm256_permutevar8x32_epi32(lanes, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, -1, -1));
        _mm256_storeu_si256((__m256i *)out, packed);
    }
    return i;
}

static size_t encode_vector(char *out, const uint8_t *in, size_t size)
{
    return cpu_features() >= CPU_AVX2 ? encode_avx2(out, in, size) : 0;
}

static size_t decode_vector(uint8_t *out, const char *in, size_t size)
{
    return cpu_features() >= CPU_AVX2 ? decode_avx2(out, in, size) : 0;
}

#else

static size_t encode_vector(char *out, const uint8_t *in, size_t size)
{
    (void)out, (void)in, (void)size;
    return 0;
}

static size_t decode_vector(uint8_t *out, const char *in, size_t size)
{
    (void)out, (void)in, (void)size;
    return 0;
}

#endif

/* ---- encode --------------------------------------------------------------------------------- */

size_t base64_encoded_size(size_t size_bytes)
{
    return (size_bytes / 3 + (size_bytes % 3 != 0)) * 4;
}

static void encode_group(char *out, uint32_t bits)
{
    out[0] = ALPHABET[bits >> 18];
    out[1] = ALPHABET[bits >> 12 & 63];
    out[2] = ALPHABET[bits >> 6 & 63];
    out[3] = ALPHABET[bits & 63];
}

void base64_encode(char *out, const void *data, size_t size_bytes)
{
    const uint8_t *in = data;
    size_t i = encode_vector(out, in, size_bytes);
    out += i / 3 * 4;
    for (; size_bytes - i >= 3; i += 3, out += 4)
        encode_group(out, (uint32_t)in[i] << 16 | (uint32_t)in[i + 1] << 8 | in[i + 2]);
    const size_t left = size_bytes - i;
    if (!left) return;
    encode_group(out, (uint32_t)in[i] << 16 | (left == 2 ? (uint32_t)in[i + 1] << 8 : 0));
    out[3] = '=';
    if (left == 1) out[2] = '=';
}

/* ---- decode --------------------------------------------------------------------------------- */

/* Decodes four characters to 24 bits; false if one is not in the alphabet. */
static bool decode_group(uint32_t *bits, const char *in)
{
    const uint32_t a = VALUES[(uint8_t)in[0]], b = VALUES[(uint8_t)in[1]];
    const uint32_t c = VALUES[(uint8_t)in[2]], d = VALUES[(uint8_t)in[3]];
    *bits = a << 18 | b << 12 | c << 6 | d;
    return (a | b | c | d) < 64;
}

static void put_group(uint8_t *out, uint32_t bits, size_t count)
{
    for (size_t i = 0; i < count; i++) out[i] = (uint8_t)(bits >> (16 - 8 * i));
}

/* Decodes a last group with padding. Its unused bits must be zero. */
static bool decode_padded(uint8_t *out, size_t *count, const char *in)
{
    const size_t kept = in[2] == '=' ? 1 : 2;
    const char filled[4] = {in[0], in[1], kept == 1 ? 'A' : in[2], 'A'};
    uint32_t bits;
    if (!decode_group(&bits, filled) || bits & (kept == 1 ? 0xFFFFu : 0xFFu)) return false;
    put_group(out, bits, kept);
    *count = kept;
    return true;
}

bool base64_decode(void *out, size_t *out_size, const char *text, size_t size, bool last)
{
    uint8_t *bytes = out;
    if (size % 4) return false;
    const bool padded = last && size && text[size - 1] == '=';
    const size_t whole = padded ? size - 4 : size;
    size_t i = decode_vector(bytes, text, whole);
    uint8_t *p = bytes + i / 4 * 3;
    for (; i < whole; i += 4, p += 3) {
        uint32_t bits;
        if (!decode_group(&bits, text + i)) return false;
        put_group(p, bits, 3);
    }
    size_t count = 0;
    if (padded && !decode_padded(p, &count, text + whole)) return false;
    *out_size = (size_t)(p - bytes) + count;
    return true;
}

bool base64_decoded_size(size_t *out, const char *text, size_t size)
{
    if (size % 4) return false;
    size_t padding = 0;
    while (padding < 2 && padding < size && text[size - 1 - padding] == '=') padding++;
    *out = size / 4 * 3 - padding;
    return true;
}
