// SPDX-License-Identifier: Apache-2.0
// Matrix products of up to ROWS rows: each of the 8 warps of a block takes a part of k for 32 columns, and
// the parts are added in their order. With B_TURNED, neighbours in memory are neighbours in k: then a
// warp computes one column, and its lanes share k.
enum { NARROW_AXES = 8 };

typedef struct narrow_product {
    const X *a, *b;
    const BIAS *bias;
    const RESIDUAL *residual;
    Y *c;
    uint64_t m, n, k, batch;
    uint64_t a_row, a_column, b_row, b_column;
    uint64_t batch_shape[NARROW_AXES], a_batch[NARROW_AXES], b_batch[NARROW_AXES];
    uint32_t batch_rank;
    float alpha, beta, first, second;
} narrow_product;

DEVICE uint64_t batch_offset(const narrow_product *a, const uint64_t *strides, uint64_t i)
{
    uint64_t offset = 0;
    for (int d = (int)a->batch_rank - 1; d >= 0; d--) {
        offset += i % a->batch_shape[d] * strides[d];
        i /= a->batch_shape[d];
    }
    return offset;
}

DEVICE void store(const narrow_product *a, uint64_t batch, uint64_t m, uint64_t n, float sum)
{
    const uint64_t at = (batch * a->m + m) * a->n + n;
    float v = a->alpha * sum;
#if BIASED
    v += a->beta * WIDEN(BIAS, a->bias[BIASED == 2 ? n : BIASED == 3 ? m : BIASED == 4 ? at : 0]);
#endif
#if ADDED
    v += WIDEN(RESIDUAL, a->residual[at]);
#endif
    a->c[at] = NARROW(Y, activate(v, a->first, a->second));
}

KERNEL(rows, narrow_product, 256)
{
#if B_TURNED
    const uint64_t tiles = (a.n + 7) / 8, batch = BLOCK_X / tiles, n = BLOCK_X % tiles * 8 + THREAD / 32;
    const uint32_t first = THREAD % 32, step = 32;
#else
    const uint64_t tiles = (a.n + 31) / 32, batch = BLOCK_X / tiles, n = BLOCK_X % tiles * 32 + THREAD % 32;
    const uint32_t first = THREAD / 32, step = 8;
    SHARED float room[8][ROWS][32];
#endif
    const X *x = a.a + batch_offset(&a, a.a_batch, batch);
    const X *y = a.b + batch_offset(&a, a.b_batch, batch) + n * a.b_column;
    float sum[ROWS];
    UNROLL for (int i = 0; i < ROWS; i++) sum[i] = 0;
    for (uint64_t k = first; n < a.n && k < a.k; k += step) {
        const float w = WIDEN(X, y[k * a.b_row]);
        UNROLL for (int i = 0; i < ROWS; i++)
            if ((uint64_t)i < a.m) sum[i] += WIDEN(X, x[i * a.a_row + k * a.a_column]) * w;
    }
#if B_TURNED
    UNROLL for (int i = 0; i < ROWS; i++) {
        UNROLL for (int lanes = 16; lanes; lanes /= 2) sum[i] += SHUFFLE_XOR(sum[i], lanes);
        if ((uint64_t)i < a.m && n < a.n && THREAD % 32 == 0) store(&a, batch, (uint64_t)i, n, sum[i]);
    }
#else
    UNROLL for (int i = 0; i < ROWS; i++) room[THREAD / 32][i][THREAD % 32] = sum[i];
    BARRIER();
    for (uint32_t i = THREAD / 32; i < ROWS; i += 8) {
        float total = 0;
        UNROLL for (int w = 0; w < 8; w++) total += room[w][i][THREAD % 32];
        if (i < a.m && n < a.n) store(&a, batch, i, n, total);
    }
#endif
}
