/* SPDX-License-Identifier: Apache-2.0 */
/* XXH64 by its specification: four lanes over stripes of 32 bytes, merged, then the rest in
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

static void start_lanes(uint64_t *lanes, uint64_t seed)
{
    lanes[0] = seed + P1 + P2;
    lanes[1] = seed + P2;
    lanes[2] = seed;
    lanes[3] = seed - P1;
}

/* Hashes whole stripes; returns the end of the last one. */
static const unsigned char *hash_stripes(uint64_t *lanes, const unsigned char *at, size_t count)
{
    uint64_t a = lanes[0], b = lanes[1], c = lanes[2], d = lanes[3];
    for (size_t i = 0; i < count; i++, at += 32) {
        a = round_of(a, read_word(at));
        b = round_of(b, read_word(at + 8));
        c = round_of(c, read_word(at + 16));
        d = round_of(d, read_word(at + 24));
    }
    lanes[0] = a;
    lanes[1] = b;
    lanes[2] = c;
    lanes[3] = d;
    return at;
}

static uint64_t merge_lanes(const uint64_t *lanes)
{
    uint64_t hash =
        rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
    for (size_t i = 0; i < 4; i++) hash = merge(hash, lanes[i]);
    return hash;
}

static uint64_t finish(uint64_t hash, const unsigned char *p, size_t left)
{
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

uint64_t hash_xxh64(const void *data, size_t size_bytes, uint64_t seed)
{
    const unsigned char *p = data;
    uint64_t lanes[4], hash = seed + P5;
    if (size_bytes >= 32) {
        start_lanes(lanes, seed);
        p = hash_stripes(lanes, p, size_bytes / 32);
        hash = merge_lanes(lanes);
    }
    return finish(hash + size_bytes, p, size_bytes % 32);
}

/* ---- In pieces ------------------------------------------------------------------------------ */

void hash_stream_start(hash_stream *s)
{
    s->total = 0;
    start_lanes(s->lanes, 0);
}

void hash_stream_add(hash_stream *s, const void *data, size_t size_bytes)
{
    const unsigned char *p = data;
    const size_t have = s->total % sizeof s->rest;
    s->total += size_bytes;
    if (have) {
        const size_t missing = sizeof s->rest - have;
        const size_t taken = size_bytes < missing ? size_bytes : missing;
        if (taken) memcpy(s->rest + have, p, taken);
        p += taken;
        size_bytes -= taken;
        if (taken < missing) return;
        (void)hash_stripes(s->lanes, s->rest, 1);
    }
    if (size_bytes >= 32) p = hash_stripes(s->lanes, p, size_bytes / 32);
    if (size_bytes % 32) memcpy(s->rest, p, size_bytes % 32);
}

uint64_t hash_stream_finish(const hash_stream *s)
{
    const uint64_t hash = s->total >= 32 ? merge_lanes(s->lanes) : P5;
    return finish(hash + s->total, s->rest, s->total % sizeof s->rest);
}
