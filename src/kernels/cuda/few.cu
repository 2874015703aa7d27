// SPDX-License-Identifier: Apache-2.0
// Products of ROWS rows of 16-bit floats and constant weights: Y[m, n] = sum of X[m, k] * W[n, k], where k lies together
// in both. A warp computes COLUMNS columns, or shares them with the other warps of SHARE neighbours, each with its part
// of k; parts are added in a fixed order. BATCH packs of weights of each column are under way for each thread, the first
// ones before the kernel in front of this one has ended: the weights are constants.
// NORMED: rows of LENGTH elements are normalised first, in shared memory, by each block for itself: a kernel of its own would
// cost a launch. ROOTED: without a mean; SHIFTED: there is a shift.
enum { FEW_THREADS = 256, FEW_WARPS = FEW_THREADS / 32, PACK = 8, GROUPS = FEW_WARPS / SHARE, STRIDE = SHARE * 32 * PACK };

typedef struct few_product {
    const X *x, *w;
    const BIAS *bias;
    const RESIDUAL *residual;
    Y *y;
    uint64_t x_row, w_row; // elements from one row to the next
    uint32_t n, k;
    float alpha, beta, first, second;
    const X *scale, *shift;
    float epsilon;
} few_product;

// 16 bytes of weights, which no other thread of the multiprocessor reads; zeros behind the end.
DEVICE quarters load_weights(const X *from, int valid)
{
#ifndef EMULATED
    quarters q = {{0, 0, 0, 0}};
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %5, 0;\n@p ld.global.nc.L1::no_allocate.L2::128B.v4.b32 {%0, %1, %2, %3}, [%4];\n}"
                 : "+r"(q.at[0]), "+r"(q.at[1]), "+r"(q.at[2]), "+r"(q.at[3]) : "l"(__cvta_generic_to_global(from)), "r"(valid));
    return q;
#else
    return load_quarters(from, valid);
#endif
}

DEVICE void unpack(float *to, const quarters *q)
{
    UNROLL for (int i = 0; i < 4; i++) {
        X low, high;
        low.bits = (uint16_t)q->at[i];
        high.bits = (uint16_t)(q->at[i] >> 16);
        to[2 * i] = WIDEN(X, low);
        to[2 * i + 1] = WIDEN(X, high);
    }
}

DEVICE void store(const few_product *a, uint32_t m, uint32_t n, float sum)
{
    const uint64_t at = (uint64_t)m * a->n + n;
    float v = a->alpha * sum;
#if BIASED
    v += a->beta * WIDEN(BIAS, a->bias[BIASED == 2 ? n : BIASED == 3 ? m : BIASED == 4 ? at : 0]);
#endif
#if ADDED
    v += WIDEN(RESIDUAL, a->residual[at]);
#endif
    a->y[at] = NARROW(Y, activate(v, a->first, a->second));
}

#if NORMED
// OWN: packs of a row that a thread keeps.
enum { PACKS = LENGTH / PACK, OWN = (PACKS + FEW_THREADS - 1) / FEW_THREADS };

typedef struct affine {
    quarters scale[OWN], shift[OWN];
} affine;

DEVICE void load_affine(affine *w, const few_product *a)
{
    UNROLL for (int i = 0; i < OWN; i++) {
        const uint32_t at = THREAD + (uint32_t)i * FEW_THREADS;
        w->scale[i] = load_quarters(a->scale + at * PACK, at < PACKS);
        if (SHIFTED) w->shift[i] = load_quarters(a->shift + at * PACK, at < PACKS);
    }
}

DEVICE quarters pack_up(const float *x)
{
    quarters q;
    UNROLL for (int i = 0; i < 4; i++) {
        const X low = NARROW(X, x[2 * i]), high = NARROW(X, x[2 * i + 1]);
        q.at[i] = low.bits | (uint32_t)high.bits << 16;
    }
    return q;
}

// As layer_norm.cu does, and rounded like its results.
DEVICE void normalise(quarters *to, const few_product *a, const affine *w, uint32_t row, float *sums)
{
    float x[OWN][PACK], sum = 0, squares = 0, mean = 0;
    UNROLL for (int i = 0; i < OWN; i++) {
        const uint32_t at = THREAD + (uint32_t)i * FEW_THREADS;
        const quarters q = load_quarters(a->x + row * a->x_row + at * PACK, at < PACKS);
        unpack(x[i], &q);
        UNROLL for (int e = 0; e < PACK; e++) sum += x[i][e];
    }
    if (!ROOTED) mean = block_sum(sum, sums) / LENGTH;
    UNROLL for (int i = 0; i < OWN; i++)
        UNROLL for (int e = 0; e < PACK; e++)
            if (THREAD + (uint32_t)i * FEW_THREADS < PACKS) squares += (x[i][e] - mean) * (x[i][e] - mean);
    const float factor = 1 / sqrtf(block_sum(squares, sums) / LENGTH + a->epsilon);
    UNROLL for (int i = 0; i < OWN; i++) {
        const uint32_t at = THREAD + (uint32_t)i * FEW_THREADS;
        float scale[PACK], shift[PACK];
        unpack(scale, &w->scale[i]);
        if (SHIFTED) unpack(shift, &w->shift[i]);
        UNROLL for (int e = 0; e < PACK; e++) {
            x[i][e] = (x[i][e] - mean) * factor * scale[e];
            if (SHIFTED) x[i][e] += shift[e];
        }
        if (at < PACKS) to[at] = pack_up(x[i]);
    }
}
#endif

KERNEL_CLUSTER(run, few_product, FEW_THREADS, BLOCKS, 1)
{
    SHARED float room[FEW_WARPS][COLUMNS][ROWS];
    const uint32_t lane = THREAD % 32, warp = THREAD / 32, first = (BLOCK_X * GROUPS + warp / SHARE) * COLUMNS;
    const uint32_t start = (warp % SHARE * 32 + lane) * PACK;
    const X *const w = a.w + first * a.w_row;
    quarters coming[BATCH][COLUMNS];
    float sum[COLUMNS][ROWS];
#define BRING(b, at)                                  \
    UNROLL for (int c = 0; c < COLUMNS; c++)          \
        coming[b][c] = load_weights(w + (uint32_t)c * a.w_row + (at), (at) < a.k && first + (uint32_t)c < a.n)
    UNROLL for (int b = 0; b < BATCH; b++) BRING(b, start + (uint32_t)b * STRIDE);
    UNROLL for (int c = 0; c < COLUMNS; c++) UNROLL for (int r = 0; r < ROWS; r++) sum[c][r] = 0;
#if NORMED
    SHARED quarters rows[ROWS][PACKS];
    SHARED float sums[FEW_WARPS];
    affine by;
    load_affine(&by, &a);
#endif
    WAIT_FOR_LAST();
#if NORMED
    for (uint32_t r = 0; r < ROWS; r++) normalise(rows[r], &a, &by, r, sums);
    BARRIER();
#endif
    for (uint32_t from = start; from < a.k; from += BATCH * STRIDE) {
        UNROLL for (int b = 0; b < BATCH; b++) {
            const uint32_t k = from + (uint32_t)b * STRIDE;
            float y[COLUMNS][PACK];
            UNROLL for (int c = 0; c < COLUMNS; c++) unpack(y[c], &coming[b][c]);
            BRING(b, k + BATCH * STRIDE);
            UNROLL for (int r = 0; r < ROWS; r++) {
#if NORMED
                const quarters q = rows[r][k < a.k ? k / PACK : 0]; // weights behind the end are 0
#else
                const quarters q = load_quarters(a.x + (uint32_t)r * a.x_row + k, k < a.k);
#endif
                float x[PACK];
                unpack(x, &q);
                UNROLL for (int c = 0; c < COLUMNS; c++)
                    UNROLL for (int e = 0; e < PACK; e++) sum[c][r] += x[e] * y[c][e];
            }
        }
    }
    UNROLL for (int c = 0; c < COLUMNS; c++)
        UNROLL for (int r = 0; r < ROWS; r++) {
            UNROLL for (int lanes = 16; lanes; lanes /= 2) sum[c][r] += SHUFFLE_XOR(sum[c][r], lanes);
            if (lane == 0) room[warp][c][r] = sum[c][r];
        }
    BARRIER();
    if (THREAD < GROUPS * COLUMNS * ROWS) {
        const uint32_t row = THREAD % ROWS, c = THREAD / ROWS % COLUMNS, group = THREAD / (ROWS * COLUMNS);
        const uint32_t n = (BLOCK_X * GROUPS + group) * COLUMNS + c;
        float total = 0;
        UNROLL for (uint32_t i = 0; i < SHARE; i++) total += room[group * SHARE + i][c][row];
        if (n < a.n) store(&a, row, n, total);
    }
}
