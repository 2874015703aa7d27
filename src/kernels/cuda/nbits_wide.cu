// SPDX-License-Identifier: Apache-2.0
// Weights of 4 bits as 16-bit floats, for products of many rows (nbits_wide.c): eight neighbours along k for a thread. They are rounded
// once, from float32.
//
// SCALE, W: types; ZEROS: 1 if there are zero points, two in a byte, else they are 8.
typedef struct nbits_wide {
    const uint32_t *codes; // eight in a word; rows of `pitch` words
    const SCALE *scales;   // rows of `blocks`
    const u8 *zeros;       // rows of `zero_pitch`
    W *w;                  // rows of `eights` times eight
    uint64_t rows;
    uint32_t pitch, blocks, zero_pitch, eights, block; // block: words that share a scale
} nbits_wide;

typedef struct ALIGNED(16) pack { W at[8]; } pack;

KERNEL(run, nbits_wide, 256)
{
    const uint64_t count = a.rows * a.eights;
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < count; i += (uint64_t)BLOCKS_X * 256) {
        const uint64_t row = quotient(i, a.eights);
        const uint32_t k = (uint32_t)(i - row * a.eights), block = k / a.block, word = a.codes[row * a.pitch + k];
        const float scale = WIDEN(SCALE, a.scales[row * a.blocks + block]);
#if ZEROS
        const uint32_t zero = a.zeros[row * a.zero_pitch + block / 2] >> block % 2 * 4 & 15;
#else
        const uint32_t zero = 8;
#endif
        const float less = 0x1p23f + (float)zero;
        pack p;
        UNROLL for (uint32_t e = 0; e < 8; e++) p.at[e] = NARROW(W, (bits_f32(0x4b000000 | (word >> e * 4 & 15)) - less) * scale); // 2^23 plus the code
        ((pack *)a.w)[i] = p;
    }
}
