/* SPDX-License-Identifier: Apache-2.0 */
/* Packs weights of 4 bits in the order in which the threads of nbits.cu read them. */
#include <string.h>

#include "kernels/cuda/nbits.h"
#include "tensor/convert.h"

enum { STEP = 16, HALF = 32, MIDDLE = 8 };

uint32_t cuda_nbits_sub(const cuda_nbits_params *p)
{
    uint32_t sub = NBITS_GROUP;
    while (p->blocks > 1 && p->block % sub) sub /= 2;
    return sub;
}

uint64_t cuda_nbits_span(const cuda_nbits_params *p)
{
    return p->blocks > 1 ? p->block / cuda_nbits_sub(p) : nbits_groups(p);
}

uint64_t cuda_nbits_blocks(const cuda_nbits_params *p)
{
    const uint64_t subs = nbits_groups(p) * (NBITS_GROUP / cuda_nbits_sub(p));
    return (subs + cuda_nbits_span(p) - 1) / cuda_nbits_span(p);
}

nbits_places cuda_nbits_places(const cuda_nbits_params *p)
{
    const uint64_t numbers = extent_mul3(nbits_tiles(p), cuda_nbits_blocks(p), NBITS_TILE);
    const uint64_t zeros = p->zeros == NBITS_FLOAT_ZEROS    ? extent_mul(numbers, sizeof(float))
                           : p->zeros == NBITS_PACKED_ZEROS ? numbers / 2
                                                            : 0;
    nbits_places at;
    at.scales = extent_mul3(nbits_tiles(p), nbits_groups(p), NBITS_GROUP_BYTES);
    at.zeros = extent_add(
        at.scales, extent_round_up(extent_mul(numbers, cuda_item((pgy_dtype)p->scale_type)), 64));
    at.bytes = extent_add(at.zeros, extent_round_up(zeros, 64));
    return at;
}

static uint32_t code_at(const uint8_t *codes, uint64_t i)
{
    return codes[i / 2] >> i % 2 * 4 & 15;
}

/* The first pair of k of a lane in a step of 16: in the order of fragments, or for few rows that of
 * first_k in nbits.cu. */
static uint64_t first_k(const cuda_nbits_params *p, uint32_t step, uint32_t lane)
{
    const uint32_t own = lane % 4, half = step % 2;
    if (!p->few) return step * STEP + own * 2;
    return step / 2 * HALF +
           (cuda_nbits_sub(p) == STEP ? half * STEP + own * 4 : own * 8 + half * 4);
}

/* A word: two pairs of neighbouring k, first ones in the low half, of the column and the eighth one
 * behind it in turns. */
static uint32_t word_of(const cuda_nbits_params *p, const uint8_t *codes, uint64_t column,
                        uint64_t k)
{
    const uint64_t row = p->blocks * p->block, next = p->few ? 2 : 8;
    uint32_t word = 0;
    for (uint32_t i = 0; i < 8; i++) {
        const uint64_t n = column + i % 2 * 8, first = k + i / 2 % 2 * next + i / 4;
        if (n < p->n && first < p->k) word |= code_at(codes, n * row + first) << 4 * i;
    }
    return word;
}

static void pack_codes(uint32_t *to, const cuda_nbits_params *p, const uint8_t *codes)
{
    for (uint64_t tile = 0; tile < nbits_tiles(p); tile++)
        for (uint64_t group = 0; group < nbits_groups(p); group++)
            for (uint32_t lane = 0; lane < 32; lane++)
                for (uint32_t step = 0; step < 4; step++)
                    *to++ = word_of(p, codes, tile * NBITS_TILE + lane / 4,
                                    group * NBITS_GROUP + first_k(p, step, lane));
}

static uint32_t zero_at(const cuda_nbits_params *p, const uint8_t *zeros, uint64_t n, uint64_t b)
{
    return n < p->n && b < p->blocks ? code_at(zeros, n * ((p->blocks + 1) / 2 * 2) + b) : 0;
}

/* What a block has of columns n and n + 8. */
static void pack_pair(char *packed, const nbits_places *at, uint64_t i, const cuda_nbits_params *p,
                      const cuda_nbits_weights *w, uint64_t n, uint64_t b)
{
    const uint32_t item = cuda_item((pgy_dtype)p->scale_type);
    for (uint64_t h = 0; h < 2; h++) {
        const uint64_t column = n + h * 8, from = column * p->blocks + b, to = i * 2 + h;
        if (column >= p->n || b >= p->blocks) continue;
        memcpy(packed + at->scales + to * item, (const char *)w->scales + from * item, item);
        if (!w->float_zeros) continue;
        const float zero =
            (float)(element_as_f64((pgy_dtype)p->scale_type, w->float_zeros, from) - MIDDLE);
        memcpy(packed + at->zeros + to * sizeof zero, &zero, sizeof zero);
    }
    if (w->zeros)
        packed[at->zeros + i] =
            (char)(zero_at(p, w->zeros, n, b) | zero_at(p, w->zeros, n + 8, b) << 4);
}

void cuda_nbits_pack(void *to, const cuda_nbits_params *p, const cuda_nbits_weights *w)
{
    const nbits_places at = cuda_nbits_places(p);
    uint64_t i = 0;
    memset((char *)to + at.scales, 0, at.bytes - at.scales);
    pack_codes(to, p, w->codes);
    for (uint64_t tile = 0; tile < nbits_tiles(p); tile++)
        for (uint64_t b = 0; b < cuda_nbits_blocks(p); b++)
            for (uint64_t n = 0; n < 8; n++)
                pack_pair(to, &at, i++, p, w, tile * NBITS_TILE + n, b);
}
