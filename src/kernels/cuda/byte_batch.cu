// SPDX-License-Identifier: Apache-2.0
// Many products of bytes with scales and zero points that the plan knows, as of attention (BATCHED); behind packed_sums.cu and byte_rows.cu. A
// block computes a tile of one product. Rows of A, and of B if it is TURNED, are whole vectors of 16 and come by asynchronous copies; else words of
// the columns of B are read, and turned. Columns of B lie in the order of byte_columns_row, so bytes go from registers to Y.
//
// X_SIGNED, W_SIGNED: bytes of A and B are int8. ZERO_A, ZERO_B: zero points. STEP_PARTS: chunks of 16 k of a step, 2, 4 or 8.
#if HAS_GROUPS
enum { PARTS = STEP_PARTS };
#else
enum { PARTS = 8 }; // single warps multiply whole steps
#endif
typedef struct batch_room {
    int32_t sums[BM + BN]; // of the rows of A and of the columns of B, later what is added for them
} batch_room;

DEVICE uint32_t batch_row(uint32_t column) { return column / 64 * 64 + column % 16 / 2 * 8 + column % 64 / 16 * 2 + column % 2; }

// 128 k of `height` rows; what lies outside is 0. `turned`: rows take the places of columns of B.
DEVICE void bring_lines(char *tile, const u8 *from, uint32_t first, uint32_t rows, uint32_t height, uint32_t k0, uint32_t k_end, int turned)
{
    UNROLL for (uint32_t i = THREAD; i < height * PARTS; i += PACKED_THREADS) {
        const uint32_t row = i / PARTS, part = i % PARTS, k = k0 + part * 16;
        const int inside = first + row < rows && k < k_end;
        copy_16(tile + chunk_at(turned ? batch_row(row) : row, part), inside ? from + (uint64_t)(first + row) * k_end + k : from, inside);
    }
}

DEVICE void bring_columns(char *tile, const u8 *from, uint32_t first, uint32_t columns, uint32_t k0, uint32_t k_end)
{
    for (uint32_t i = THREAD; i < BN / 4 * PARTS; i += PACKED_THREADS) {
        const uint32_t column = i % (BN / 4) * 4, part = i / (BN / 4);
        four_words lines[4];
        UNROLL for (uint32_t q = 0; q < 4; q++) {
            uint32_t w[4], turned[4];
            UNROLL for (uint32_t e = 0; e < 4; e++) {
                const uint32_t k = k0 + part * 16 + q * 4 + e;
                w[e] = first + column < columns && k < k_end ? *(const uint32_t *)(from + (uint64_t)k * columns + first + column) : 0;
            }
            turn_words(turned, w);
            UNROLL for (uint32_t e = 0; e < 4; e++) lines[e].at[q] = turned[e];
        }
        UNROLL for (uint32_t e = 0; e < 4; e++) *(four_words *)(tile + chunk_at(batch_row(column + e), part)) = lines[e];
    }
}

DEVICE void bring_tiles(char *tile, const packed *a, const u8 *x, const u8 *w, uint32_t m0, uint32_t n0, uint32_t step)
{
    bring_lines(tile, x, m0, (uint32_t)a->m, BM, step * BK, (uint32_t)a->k, 0);
#if TURNED
    bring_lines(tile + A_BYTES, w, n0, (uint32_t)a->n, BN, step * BK, (uint32_t)a->k, 1);
#else
    bring_columns(tile + A_BYTES, w, n0, (uint32_t)a->n, step * BK, (uint32_t)a->k);
#endif
    COPIES_END();
}

// Adds a step to the sums that zero points need. PARTS lanes share a row; the same thread keeps its sum in each step.
DEVICE void add_sums(batch_room *room, const char *tile)
{
    UNROLL for (uint32_t i = THREAD + (ZERO_B ? 0 : BM * PARTS); i < (BM + (ZERO_A ? BN : 0)) * PARTS; i += PACKED_THREADS) {
        const uint32_t row = i / PARTS;
        int32_t sum = sum_of_bytes((const four_words *)(tile + chunk_at(row, i % PARTS)), row < BM ? X_SIGNED : W_SIGNED); // B's rows lie behind those of A
        UNROLL for (int lanes = PARTS / 2; lanes; lanes /= 2) sum += SHUFFLE_XOR(sum, lanes);
        if (i % PARTS == 0) room->sums[row] += sum;
    }
}

DEVICE void start_step(sums *s, const char *tile)
{
#if HAS_GROUPS
    const uint64_t x = describe(shared_at(tile)), w = describe(shared_at(tile) + A_BYTES);
    PRODUCTS_BEGIN();
    UNROLL for (int k = 0; k < PARTS / 2; k++) multiply_64(s->at, x + (uint64_t)k * 2, w + (uint64_t)k * 2, 1);
    PRODUCTS_END();
#else
    start_products(s, tile);
#endif
}

// Where the matrices of this product begin.
DEVICE uint64_t batch_offset(const packed *a, const uint64_t *strides, uint32_t i)
{
    uint64_t offset = 0;
    for (int d = (int)a->loose.batch_rank - 1; d >= 0; d--) {
        const uint32_t size = (uint32_t)a->loose.batch_shape[d], rest = i / size;
        offset += (i - rest * size) * strides[d];
        i = rest;
    }
    return offset;
}

// The sum of (a - ZERO_A) * (b - ZERO_B) is that of a * b, plus a number of each row and one of each column.
DEVICE void add_zeros(sums *s, const batch_room *room, uint32_t k)
{
    const uint32_t row = own_row(0), column = BM + THREAD % 4 * 2;
    int32_t of_row[2];
    UNROLL for (uint32_t h = 0; h < 2; h++) of_row[h] = (ZERO_B ? (0 - ZERO_B) * room->sums[row + h * 8] : 0) + ZERO_A * ZERO_B * (int32_t)k;
    UNROLL for (uint32_t j = 0; j < SUMS; j++)
        UNROLL for (uint32_t e = 0; e < 2; e++) {
            const int32_t of_column = ZERO_A ? (0 - ZERO_A) * room->sums[column + j * 8 + e] : 0;
            UNROLL for (uint32_t h = 0; h < 2; h++) s->at[j][h * 2 + e] += of_row[h] + of_column;
        }
}

DEVICE void store_batch(const packed *a, const sums *s, uint32_t batch, uint32_t m0, uint32_t n0)
{
    UNROLL for (uint32_t c = 0; c < BN / 64; c++) {
        const uint32_t n = n0 + own_column(c);
        uint64_t lanes = 0;
        int32_t own[2][16];
        four_words y[2];
        UNROLL for (uint32_t h = 0; h < 2; h++) {
            uint32_t differ = 0;
            UNROLL for (uint32_t e = 0; e < 16; e++) own[h][e] = s->at[c * 8 + e / 2][h * 2 + e % 2];
            UNROLL for (uint32_t i = 0; i < 4; i++) {
                int32_t v[4];
                UNROLL for (uint32_t e = 0; e < 4; e++) v[e] = scale_one(own[h][i * 4 + e], a->first, a->second, a, 0, 0, (int)e, &differ);
                y[h].at[i] = four_bytes(v);
            }
            lanes |= (uint64_t)lanes_with(m0 + own_row(h) < a->m && n < a->n && differ) << h * 32;
        }
        if (lanes) settle(y, (const int32_t (*)[16])own, lanes, 0, a, (const double *)0, (const four_words *)0); // few differ
        UNROLL for (uint32_t h = 0; h < 2; h++) {
            const uint32_t m = m0 + own_row(h);
            if (m < a->m && n < a->n) *(four_words *)(a->y + ((uint64_t)batch * a->m + m) * a->n + n) = y[h];
        }
    }
}

KERNEL_OF(run, packed, PACKED_THREADS, BLOCKS)
{
    SHARED_ROOM(room);
    SHARED batch_room own;
#ifdef EMULATED
    char *const tiles = room;
#else
    char *const tiles = room + (-(uint32_t)__cvta_generic_to_shared(room) & 1023);
#endif
    const uint32_t columns = ((uint32_t)a.n + BN - 1) / BN, rows = ((uint32_t)a.m + BM - 1) / BM;
    const uint32_t row = BLOCK_X / columns, n0 = (BLOCK_X - row * columns) * BN, batch = row / rows, m0 = (row - batch * rows) * BM;
    const uint32_t steps = ((uint32_t)a.k + BK - 1) / BK;
    const u8 *const x = (const u8 *)a.x + batch_offset(&a, a.loose.a_batch, batch), *const w = (const u8 *)a.w + batch_offset(&a, a.loose.b_batch, batch);
    sums sum;
    UNROLL for (int j = 0; j < SUMS; j++) UNROLL for (int e = 0; e < 4; e++) sum.at[j][e] = 0;
    for (uint32_t i = THREAD; i < BM + BN; i += PACKED_THREADS) own.sums[i] = 0;
    bring_tiles(tiles, &a, x, w, m0, n0, 0);
    for (uint32_t i = 0; i < steps; i++) {
        COPIES_WAIT(0);
        SHOW_TILES();
        BARRIER();
        if (i + 1 < steps) bring_tiles(tiles + (i + 1) % 2 * STAGE_BYTES, &a, x, w, m0, n0, i + 1);
        start_step(&sum, tiles + i % 2 * STAGE_BYTES);
        add_sums(&own, tiles + i % 2 * STAGE_BYTES);
        finish_products(&sum);
    }
    BARRIER();
    add_zeros(&sum, &own, (uint32_t)a.k);
    store_batch(&a, &sum, batch, m0, n0);
}
