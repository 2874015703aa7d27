// SPDX-License-Identifier: Apache-2.0
// Softmax of quantised bytes; behind bytes.cu. LANES neighbours of a warp compute a row: a number lies a whole number of steps below the
// largest one of its row, so tables have all exponentials. Where a share in float32 is too close to a half, float64 decides for its row.
//
// CHUNKS: of 16 bytes that a lane keeps of a row, whose elements are neighbours; 0: elements are read again, `inner` bytes apart.
typedef struct byte_softmax {
    const u8 *x;
    u8 *y;
    uint64_t rows, length, inner;
    double scale;
    byte_limits limits;
    uint32_t flip; // of each byte: 0x80 for int8
    double powers[256]; // of a number that lies as many steps below the largest one
} byte_softmax;

enum { SOFTMAX_THREADS = 256, ROWS = SOFTMAX_THREADS / LANES, BELOW = 256, WORDS = CHUNKS * 4 };

typedef struct softmax_tables {
    double exact[BELOW];
#if CHUNKS
    float fast[BELOW][32]; // for each lane, whose memory bank is its own
#endif
} softmax_tables;

DEVICE uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

DEVICE uint32_t row_most(uint32_t most)
{
    UNROLL for (int lanes = LANES / 2; lanes; lanes /= 2) most = larger(most, SHUFFLE_XOR(most, lanes));
    return most;
}

// A row whose largest byte is known, in float64. All lanes of a warp call it: those of rows that do not exist do nothing.
DEVICE void exact_row(const byte_softmax *a, const softmax_tables *t, const u8 *x, u8 *y, uint32_t most, int exists)
{
    double sum = 0;
    UNROLL_1 for (uint64_t i = THREAD % LANES; exists && i < a->length; i += LANES) sum = ADD_F64(sum, t->exact[most - (x[i * a->inner] ^ a->flip)]);
    UNROLL for (int lanes = LANES / 2; lanes; lanes /= 2) sum = ADD_F64(sum, SHUFFLE_XOR(sum, lanes));
    UNROLL_1 for (uint64_t i = THREAD % LANES; exists && i < a->length; i += LANES)
        y[i * a->inner] = (u8)exact_byte(t->exact[most - (x[i * a->inner] ^ a->flip)] / sum / a->scale, a->limits);
}

#if CHUNKS
typedef struct ALIGNED(16) chunk { uint32_t at[4]; } chunk;

DEVICE int differs(uint32_t bits)
{
#ifndef EMULATED
    return __any_sync(0xffffffff, bits != 0);
#else
    UNROLL for (int lanes = 16; lanes; lanes /= 2) bits |= SHUFFLE_XOR(bits, lanes);
    return bits != 0;
#endif
}

DEVICE void softmax_row(const byte_softmax *a, const softmax_tables *t, uint64_t row, int exists)
{
    // Each lane's sums, those of all lanes and four more roundings are off by less than this part of a share.
    const float part = (WORDS + 12) * 0x1p-24f, low = (float)(a->limits.low - a->limits.zero), high = (float)(a->limits.high - a->limits.zero);
    const float end = ROUNDING_F32 + (float)a->limits.zero;
    const uint32_t lane = THREAD % LANES, chunks = (uint32_t)(a->length / 16), flips = a->flip * 0x01010101;
    const chunk none = {{0, 0, 0, 0}};
    const u8 *const x = a->x + row * a->length;
    u8 *const y = a->y + row * a->length;
    chunk own[CHUNKS], made[CHUNKS];
    uint32_t most = 0, differ = 0;
    float shares[CHUNKS][16], sums[4] = {0, 0, 0, 0};
    UNROLL for (uint32_t i = 0; i < CHUNKS; i++) own[i] = exists && lane + i * LANES < chunks ? ((const chunk *)x)[lane + i * LANES] : none;
    UNROLL for (uint32_t i = 0; i < CHUNKS; i++)
        UNROLL for (uint32_t e = 0; e < 16; e++) {
            own[i].at[e / 4] ^= e % 4 || lane + i * LANES >= chunks ? 0 : flips;
            most = larger(most, own[i].at[e / 4] >> e % 4 * 8 & 255);
        }
    most = row_most(most);
    UNROLL for (uint32_t i = 0; i < CHUNKS; i++)
        UNROLL for (uint32_t e = 0; e < 16; e++) {
            shares[i][e] = lane + i * LANES < chunks ? t->fast[most - (own[i].at[e / 4] >> e % 4 * 8 & 255)][THREAD % 32] : 0;
            sums[e % 4] = ADD_F32(sums[e % 4], shares[i][e]);
        }
    float sum = ADD_F32(ADD_F32(sums[0], sums[1]), ADD_F32(sums[2], sums[3]));
    UNROLL for (int lanes = LANES / 2; lanes; lanes /= 2) sum = ADD_F32(sum, SHUFFLE_XOR(sum, lanes));
    const float inverse = 1 / MUL_F32(sum, (float)a->scale);
    UNROLL for (uint32_t i = 0; i < CHUNKS; i++) {
        made[i] = none;
        UNROLL for (uint32_t e = 0; e < 16; e++) {
            const float v = fminf(fmaxf(MUL_F32(shares[i][e], inverse), low), high), off = v * part;
            const uint32_t bits = f32_bits(ADD_F32(ADD_F32(v, -off), end));
            differ |= bits ^ f32_bits(ADD_F32(ADD_F32(v, off), end));
            made[i].at[e / 4] |= (bits & 255) << e % 4 * 8;
        }
    }
    if (differs(exists ? differ : 0)) {
        exact_row(a, t, x, y, most, exists);
        return;
    }
    UNROLL for (uint32_t i = 0; i < CHUNKS; i++)
        if (exists && lane + i * LANES < chunks) ((chunk *)y)[lane + i * LANES] = made[i];
}
#else
DEVICE void softmax_row(const byte_softmax *a, const softmax_tables *t, uint64_t row, int exists)
{
    const uint64_t at = row / a->inner * a->length * a->inner + row % a->inner;
    const u8 *const x = a->x + at;
    uint32_t most = 0;
    for (uint64_t i = THREAD % LANES; exists && i < a->length; i += LANES) most = larger(most, x[i * a->inner] ^ a->flip);
    exact_row(a, t, x, a->y + at, row_most(most), exists);
}
#endif

KERNEL(run, byte_softmax, SOFTMAX_THREADS)
{
    SHARED softmax_tables tables;
    for (uint32_t i = THREAD; i < BELOW; i += SOFTMAX_THREADS) tables.exact[i] = a.powers[i];
#if CHUNKS
    for (uint32_t i = THREAD; i < BELOW * 32; i += SOFTMAX_THREADS) tables.fast[i / 32][i % 32] = (float)a.powers[i / 32];
#endif
    BARRIER();
    for (uint64_t first = (uint64_t)BLOCK_X * ROWS; first < a.rows; first += (uint64_t)BLOCKS_X * ROWS) {
        const uint64_t row = first + THREAD / LANES;
        softmax_row(&a, &tables, row, row < a.rows);
    }
}
