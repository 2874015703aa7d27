// SPDX-License-Identifier: Apache-2.0
// Products of any matrices of bytes, whose strides, zero points and scales may be known only at run time. A block computes a tile of
// packed_sums.cu. Two steps of k are in shared memory; bytes of the next one are read beside the products of this one.
//
// X_SIGNED, W_SIGNED: bytes of A and B are int8.
// Bytes of rows, which are read one by one, 16 at a time. What lies outside counts as 0, so that sums of rows are right.
typedef struct ALIGNED(16) chunk { u8 at[16]; } chunk;

DEVICE void bring_rows(char *tile, const u8 *from, uint64_t first, uint64_t rows, uint32_t height, uint64_t row_step, uint64_t k_step, uint64_t k0, uint64_t k_end)
{
    for (uint32_t i = THREAD; i < height * 8; i += PACKED_THREADS) {
        const uint32_t row = k_step == 1 ? i / 8 : i % height, part = k_step == 1 ? i % 8 : i / height; // neighbours in memory are neighbours in a warp
        const uint64_t at = first + row, k = k0 + part * 16;
        const u8 *const line = from + at * row_step + k * k_step;
        chunk c;
        if (k_step == 1 && at < rows && k + 16 <= k_end && ((uint64_t)line & 15) == 0)
            c = *(const chunk *)line;
        else
            UNROLL for (uint32_t e = 0; e < 16; e++) c.at[e] = at < rows && k + e < k_end ? line[e * k_step] : 0;
        *(chunk *)(tile + chunk_at(row, part)) = c;
    }
}

DEVICE uint64_t loose_offset(const packed *a, const uint64_t *strides, uint64_t i)
{
    uint64_t offset = 0;
    for (int d = (int)a->loose.batch_rank - 1; d >= 0; d--) {
        offset += i % a->loose.batch_shape[d] * strides[d];
        i /= a->loose.batch_shape[d];
    }
    return offset;
}

DEVICE int32_t sum_bytes(const chunk *c, int is_signed)
{
    int32_t sum = 0;
#ifndef EMULATED
    const uint32_t *const words = (const uint32_t *)c;
    UNROLL for (int i = 0; i < 4; i++)
        sum = is_signed ? __dp4a((int32_t)words[i], 0x01010101, sum) : (int32_t)__dp4a(words[i], 0x01010101u, (uint32_t)sum);
#else
    for (int i = 0; i < 16; i++) sum += is_signed ? (int8_t)c->at[i] : c->at[i];
#endif
    return sum;
}

// Adds a step to the sums of rows and columns. Eight lanes share a row; the same thread keeps its sum in each step.
DEVICE void add_rows(loose_room *room, const char *tile)
{
    for (uint32_t i = THREAD; i < (BM + BN) * 8; i += PACKED_THREADS) {
        const uint32_t row = i / 8;
        int32_t sum = sum_bytes((const chunk *)(tile + chunk_at(row, i % 8)), row < BM ? X_SIGNED : W_SIGNED); // B's rows lie behind those of A
        UNROLL for (int lanes = 4; lanes; lanes /= 2) sum += SHUFFLE_XOR(sum, lanes);
        if (i % 8 == 0) *(row < BM ? &room->row_sums[row] : &room->column_sums[row - BM]) += sum;
    }
}

// The sum of (a - a_zero) * (b - b_zero) over k is that of a * b, plus a number of each column, minus b_zero times the row's sum.
DEVICE void find_columns(loose_room *room, const packed *a, uint64_t n0)
{
    const loose *const l = &a->loose;
    const int32_t a_zero = l->a_zero ? WIDEN(X, *l->a_zero) : 0;
    for (uint32_t i = THREAD; i < BN; i += PACKED_THREADS) {
        const uint64_t n = n0 + i < a->n ? n0 + i : 0;
        const int32_t zero = l->b_zeros ? WIDEN(WEIGHT, l->b_zero[l->b_zeros > 1 ? n : 0]) : 0;
        room->zeros[i] = zero;
        room->offsets[i] = (int32_t)((uint32_t)a_zero * ((uint32_t)a->k * (uint32_t)zero - (uint32_t)room->column_sums[i]) + (l->bias ? (uint32_t)l->bias[n] : 0));
        room->scales[i] = 1;
        if (l->b_scale) room->scales[i] = MUL_F64(MUL_F64(l->alpha, l->a_scale ? (double)*l->a_scale : 1), (double)l->b_scale[l->b_scales > 1 ? n : 0]);
        if (l->y_scale) room->scales[i] /= (double)*l->y_scale;
        room->factors[i] = (float)room->scales[i];
    }
}

typedef struct source {
    const u8 *a, *b;
} source;

DEVICE void bring_step(char *tile, const packed *a, const source *s, uint64_t m0, uint64_t n0, uint32_t step)
{
    const loose *const l = &a->loose;
    bring_rows(tile, s->a, m0, a->m, BM, l->a_row, l->a_k, (uint64_t)step * BK, a->k);
    bring_rows(tile + A_BYTES, s->b, n0, a->n, BN, l->b_column, l->b_k, (uint64_t)step * BK, a->k);
}

KERNEL_OF(run, packed, PACKED_THREADS, BLOCKS)
{
    SHARED_ROOM(room);
    SHARED loose_room own;
#ifdef EMULATED
    char *const tiles = room;
#else
    char *const tiles = room + (-(uint32_t)__cvta_generic_to_shared(room) & 1023);
#endif
    const uint64_t columns = (a.n + BN - 1) / BN, rows = (a.m + BM - 1) / BM;
    const uint64_t row = quotient(BLOCK_X, columns), n0 = (BLOCK_X - row * columns) * BN, batch = quotient(row, rows), m0 = (row - batch * rows) * BM;
    const uint32_t steps = (uint32_t)((a.k + BK - 1) / BK);
    const source s = {(const u8 *)a.x + loose_offset(&a, a.loose.a_batch, batch), (const u8 *)a.w + loose_offset(&a, a.loose.b_batch, batch)};
    extras more;
    sums sum;
    more.rank = 0;
    more.room = &own;
    UNROLL for (int j = 0; j < SUMS; j++) UNROLL for (int e = 0; e < 4; e++) sum.at[j][e] = 0;
    for (uint32_t i = THREAD; i < BM; i += PACKED_THREADS) own.row_sums[i] = 0;
    for (uint32_t i = THREAD; i < BN; i += PACKED_THREADS) own.column_sums[i] = 0;
    bring_step(tiles, &a, &s, m0, n0, 0);
    for (uint32_t i = 0; i < steps; i++) {
        SHOW_TILES();
        BARRIER();
        start_products(&sum, tiles + i % 2 * STAGE_BYTES);
        add_rows(&own, tiles + i % 2 * STAGE_BYTES);
        if (i + 1 < steps) bring_step(tiles + (i + 1) % 2 * STAGE_BYTES, &a, &s, m0, n0, i + 1);
        finish_products(&sum);
    }
    BARRIER();
    keep_sums((sum_type *)tiles, &sum);
    find_columns(&own, &a, n0);
    BARRIER();
    store_sums(&a, &more, (const sum_type *)tiles, (uint32_t)batch, m0, n0);
}
