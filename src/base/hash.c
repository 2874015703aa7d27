/* SPDX-License-Identifier: Apache-2.0 */
/* XXH64 as its specification says: four lanes over stripes of 32 bytes, merged, then the rest in
 * pieces of 8, 4 and 1, then a final mix. Words are little-endian. */
#include "base/hash.h"

#include <string.h>

static const uint64_t P1 = 0x9E3779B185EBCA87U, P2 = 0xC2B2AE3D27D4EB4FU, P3 = 0x165667B19E3779F9U,
                      P4 = 0x85EBCA77C2B2AE63U, P5 = 0x27D4EB2F165667C5U;

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static uint64_t read_word(const unsigned char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

static uint32_t read_half(const unsigned char *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap32(x);
#endif
    return x;
}

static uint64_t round_of(uint64_t lane, uint64_t word)
{
    return rotate(lane + word * P2, 31) * P1;
}

static uint64_t merge(uint64_t hash, uint64_t lane)
{
    return (hash ^ round_of(0, lane)) * P1 + P4;
}

/* Whole stripes; *p moves behind them. */
static uint64_t hash_stripes(const unsigned char **p, size_t count, uint64_t seed)
{
    uint64_t a = seed + P1 + P2, b = seed + P2, c = seed, d = seed - P1;
    const unsigned char *at = *p;
    for (size_t i = 0; i < count; i++, at += 32) {
        a = round_of(a, read_word(at));
        b = round_of(b, read_word(at + 8));
        c = round_of(c, read_word(at + 16));
        d = round_of(d, read_word(at + 24));
    }
    *p = at;
    uint64_t hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
    hash = merge(hash, a);
    hash = merge(hash, b);
    hash = merge(hash, c);
    return merge(hash, d);
}

uint64_t hash_xxh64(const void *data, size_t size_bytes, uint64_t seed)
{
    const unsigned char *p = data;
    size_t left = size_bytes % 32;
    uint64_t hash = size_bytes >= 32 ? hash_stripes(&p, size_bytes / 32, seed) : seed + P5;
    hash += size_bytes;
    for (; left >= 8; left -= 8, p += 8)
        hash = rotate(hash ^ round_of(0, read_word(p)), 27) * P1 + P4;
    if (left >= 4) {
        hash = rotate(hash ^ read_half(p) * P1, 23) * P2 + P3;
        left -= 4;
        p += 4;
    }
    for (; left; left--, p++) hash = rotate(hash ^ *p * P5, 11) * P1;
    hash = (hash ^ hash >> 33) * P2;
    hash = (hash ^ hash >> 29) * P3;
    return hash ^ hash >> 32;
}
