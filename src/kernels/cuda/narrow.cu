// SPDX-License-Identifier: Apache-2.0
// Matrix products of ROWS rows. LANES threads with VECTOR columns each read a row of B; the other threads
// of the THREADS of a block take other k, and the parts are added in a fixed order. With B_TURNED, neighbours in memory
// are neighbours in k: then a warp computes one column, and its lanes share k.
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

typedef struct ALIGNED(sizeof(X) * VECTOR) pack { X at[VECTOR]; } pack;

#if B_TURNED
KERNEL(rows, narrow_product, 256)
{
    const uint64_t tiles = (a.n + 7) / 8, batch = BLOCK_X / tiles, n = BLOCK_X % tiles * 8 + THREAD / 32;
    const X *x = a.a + batch_offset(&a, a.a_batch, batch);
    const X *y = a.b + batch_offset(&a, a.b_batch, batch) + n * a.b_column;
    float sum[ROWS];
    UNROLL for (int i = 0; i < ROWS; i++) sum[i] = 0;
    for (uint64_t k = THREAD % 32 * VECTOR; n < a.n && k < a.k; k += 32 * VECTOR) {
        const pack w = *(const pack *)(y + k);
        UNROLL for (int i = 0; i < ROWS; i++)
            UNROLL for (int v = 0; v < VECTOR; v++)
                sum[i] += WIDEN(X, x[i * a.a_row + (k + (uint32_t)v) * a.a_column]) * WIDEN(X, w.at[v]);
    }
    UNROLL for (int i = 0; i < ROWS; i++) {
        UNROLL for (int lanes = 16; lanes; lanes /= 2) sum[i] += SHUFFLE_XOR(sum[i], lanes);
        if (n < a.n && THREAD % 32 == 0) store(&a, batch, (uint64_t)i, n, sum[i]);
    }
}
#else
enum { COLUMNS = LANES * VECTOR, STEP = THREADS / LANES };

KERNEL(rows, narrow_product, THREADS)
{
    SHARED float room[THREADS / 32][ROWS][COLUMNS];
    const uint64_t tiles = (a.n + COLUMNS - 1) / COLUMNS, batch = BLOCK_X / tiles, first = BLOCK_X % tiles * COLUMNS;
    const uint64_t n = first + THREAD % LANES * VECTOR;
    const X *x = a.a + batch_offset(&a, a.a_batch, batch);
    const X *y = a.b + batch_offset(&a, a.b_batch, batch) + n * a.b_column;
    float sum[ROWS][VECTOR];
    UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int v = 0; v < VECTOR; v++) sum[i][v] = 0;
    UNROLL_4 for (uint64_t k = THREAD / LANES; k < (n < a.n ? a.k : 0); k += STEP) {
        const pack w = *(const pack *)(y + k * a.b_row);
        UNROLL for (int i = 0; i < ROWS; i++) {
            const float f = WIDEN(X, x[i * a.a_row + k * a.a_column]);
            UNROLL for (int v = 0; v < VECTOR; v++) sum[i][v] += f * WIDEN(X, w.at[v]);
        }
    }
    UNROLL for (int i = 0; i < ROWS; i++)
        UNROLL for (int v = 0; v < VECTOR; v++) {
            UNROLL for (int lanes = 16; lanes >= LANES; lanes /= 2) sum[i][v] += SHUFFLE_XOR(sum[i][v], lanes);
            if (THREAD % 32 < LANES) room[THREAD / 32][i][THREAD % LANES * VECTOR + v] = sum[i][v];
        }
    BARRIER();
    for (uint32_t i = THREAD; i < ROWS * COLUMNS; i += THREADS) {
        const uint32_t row = i / COLUMNS, column = i % COLUMNS;
        float total = 0;
        UNROLL for (int w = 0; w < THREADS / 32; w++) total += room[w][row][column];
        if (first + column < a.n) store(&a, batch, row, first + column, total);
    }
}
#endif
