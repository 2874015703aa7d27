// SPDX-License-Identifier: Apache-2.0
// Attention of 16-bit floats for Hopper, with rows of 64 elements. A block of four warps computes ROWS query rows of a head, 64 at a
// time. It copies all keys and values of the head to shared memory once. KEYS is the number of keys, rounded up to a multiple of
// 16 * SPLIT. They are taken in SPLIT parts, one after the other, because the scores of a part must fit into registers. PLAIN_SCORES:
// there is no mask, and the factor of the scores is positive. BLOCKS: how many blocks a multiprocessor runs at the same time.
enum { GROUP_THREADS = 128, GROUP_ROWS = 64, LINE_BYTES = 128, Q_BYTES = GROUP_ROWS * LINE_BYTES, KEYS_BYTES = KEYS * LINE_BYTES };
enum { AT_ONCE = 132 * BLOCKS }; // blocks that run at the same time

// Where the elements 8 * chunk to 8 * chunk + 7 of a row lie: the tensor cores want the chunks of a row permuted by its number.
DEVICE uint32_t chunk_at(uint32_t row, uint32_t chunk) { return row * LINE_BYTES + (chunk ^ (row & 7)) * 16; }

// Copies rows of a head, `from` on, into a tile; zeros behind row `end`.
DEVICE void bring(char *tile, const X *rows, uint64_t step, uint32_t from, uint32_t end, uint32_t count)
{
    const uint32_t chunk = THREAD % 8;
    const X *at = rows + (from + THREAD / 8) * step + chunk * 8;
    const uint64_t by = GROUP_THREADS / 8 * step;
    char *to = tile + chunk_at(THREAD / 8, chunk); // 16 rows further the chunk is the same
    UNROLL_4 for (uint32_t r = THREAD / 8; r < count; r += GROUP_THREADS / 8, at += by, to += GROUP_THREADS / 8 * LINE_BYTES) {
        const int inside = from + r < end;
        copy_16(to, inside ? at : rows, inside);
    }
}

// Brings keys, values and query rows of the block that follows on this multiprocessor to the second-level cache: blocks that began
// together also end together, and would wait for the memory together.
DEVICE void prefetch_next(const attention *a)
{
#ifndef EMULATED
    const uint32_t unit = BLOCK_X + AT_ONCE, tiles = (uint32_t)a->row_tiles, heads = (uint32_t)a->heads, head = unit / tiles;
    const uint32_t b = head / heads, h = head - b * heads, first = (unit - head * tiles) * ROWS, shared = heads / (uint32_t)a->kv_heads;
    if (unit >= BLOCKS_X) return;
    const lines k = keys_of(a, b, h / shared), v = values_of(a, b, h / shared);
    const X *const q = a->q + b * a->q_at.batch + h * a->q_at.head;
    for (uint32_t r = THREAD; r < (uint32_t)a->keys; r += GROUP_THREADS) {
        asm volatile("prefetch.global.L2 [%0];" : : "l"(k.now + r * k.step));
        asm volatile("prefetch.global.L2 [%0];" : : "l"(v.now + r * v.step));
    }
    for (uint32_t r = first + THREAD; r < first + ROWS && r < (uint32_t)a->rows; r += GROUP_THREADS)
        asm volatile("prefetch.global.L2 [%0];" : : "l"(q + r * a->q_at.row));
#else
    (void)a;
#endif
}

#if HAS_GROUPS
// d += weights of 16 keys and their values, which lie in rows of keys.
DEVICE void multiply_values(float (*d)[4], const uint32_t *w, uint64_t b)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64" GROUP_FORM " {" NAMES_32 "}, {%32, %33, %34, %35}, %36, p, 1, 1, 1;\n}\n"
                 : SUMS_8(d, 0) : "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "l"(b));
}

DEVICE void find_scores(float (*s)[4], const char *queries, const char *keys)
{
    PRODUCTS_BEGIN();
    UNROLL for (uint32_t d = 0; d < SIZE / 16; d++) {
        const uint64_t a = describe(shared_at(queries)) + d * 2;
        UNROLL for (int j = 0; j < SLICE / 64; j++) multiply_64(s + j * 8, a, describe(shared_at(keys + j * 64 * LINE_BYTES)) + d * 2, d > 0);
        if (SLICE % 64 >= 32) multiply_32(s + SLICE / 64 * 8, a, describe(shared_at(keys + SLICE / 64 * 64 * LINE_BYTES)) + d * 2, d > 0);
        if (SLICE % 32) multiply_16(s + SLICE / 32 * 4, a, describe(shared_at(keys + SLICE / 32 * 32 * LINE_BYTES)) + d * 2, d > 0);
    }
    PRODUCTS_END();
    PRODUCTS_WAIT(0);
}

DEVICE void add_values(float (*sum)[4], float (*s)[4], const char *values)
{
    uint32_t w[SLICE / 16][4];
    UNROLL for (int i = 0; i < SLICE / 16; i++)
        UNROLL for (int e = 0; e < 4; e++) w[i][e] = narrow_pair(s[2 * i + e / 2][e % 2 * 2], s[2 * i + e / 2][e % 2 * 2 + 1]);
    PRODUCTS_BEGIN();
    UNROLL for (int i = 0; i < SLICE / 16; i++) multiply_values(sum, w[i], describe(shared_at(values + i * 16 * LINE_BYTES)));
    PRODUCTS_END();
    PRODUCTS_WAIT(0);
}
#elif defined(EMULATED)
DEVICE float element(const char *tile, uint32_t row, uint32_t column) { return WIDEN(X, ((const X *)(tile + chunk_at(row, column / 8)))[column % 8]); }

DEVICE void find_scores(float (*s)[4], const char *queries, const char *keys)
{
    const uint32_t row = THREAD / 32 * 16 + THREAD % 32 / 4, column = THREAD % 4 * 2;
    for (uint32_t i = 0; i < SLICE / 2; i++) {
        float sum = 0;
        for (uint32_t d = 0; d < SIZE; d++) sum += element(queries, row + i % 4 / 2 * 8, d) * element(keys, i / 4 * 8 + column + i % 2, d);
        s[i / 4][i % 4] = sum;
    }
}

DEVICE void add_values(float (*sum)[4], float (*s)[4], const char *values)
{
    const uint32_t lane = THREAD % 32, column = lane % 4 * 2;
    for (uint32_t k = 0; k < SLICE; k++)
        for (uint32_t h = 0; h < 2; h++) {
            const X w = NARROW(X, SHUFFLE(s[k / 8][h * 2 + k % 2], lane / 4 * 4 + k % 8 / 2));
            for (uint32_t j = 0; j < V_SIZE / 4; j++) sum[j / 2][h * 2 + j % 2] += WIDEN(X, w) * element(values, k, j / 2 * 8 + column + j % 2);
        }
}
#endif

#if defined(EMULATED) || __CUDA_ARCH__ == 900
#if PLAIN_SCORES
// As `weigh`, for scores without their factor, of which those behind the last key do not count. `from`: the thread's first key.
DEVICE float weigh_plain(query_row *q, float (*s)[4], int half, uint32_t from, float scale)
{
    float most, mosts[4] = {q->largest, q->largest, q->largest, q->largest}, added[4] = {0, 0, 0, 0}; // four of each, so that few instructions wait for each other
    UNROLL for (int j = 0; j < SLICE / 8; j++)
        UNROLL for (int e = 0; e < 2; e++) {
            float *const x = &s[j][half * 2 + e];
            if (j >= SLICE / 8 - 2 * SPLIT && from + (uint32_t)(j * 8 + e) >= q->open) *x = -INFINITY;
            mosts[j % 2 * 2 + e] = fmaxf(*x, mosts[j % 2 * 2 + e]); // NaN: its weight is NaN
        }
    most = fmaxf(fmaxf(mosts[0], mosts[1]), fmaxf(mosts[2], mosts[3]));
    UNROLL for (int lanes = 2; lanes; lanes /= 2) most = fmaxf(SHUFFLE_XOR(most, lanes), most);
    const float base = most == -INFINITY ? 0 : most * scale;
    const float factor = q->largest == -INFINITY ? 0 : short_exp2(q->largest * scale - base);
    UNROLL for (int j = 0; j < SLICE / 8; j++)
        UNROLL for (int e = 0; e < 2; e++) {
            const float w = short_exp2(s[j][half * 2 + e] * scale - base);
            s[j][half * 2 + e] = w;
            added[j % 2 * 2 + e] += w;
        }
    q->total = q->total * factor + (added[0] + added[1] + (added[2] + added[3]));
    q->largest = most;
    return factor;
}
#endif

// Weights of a part of the keys, and the factors for what was summed before.
DEVICE void find_weights(const attention *a, query_row *low, query_row *high, float (*s)[4], float *factors, const float *masks, uint32_t from)
{
    const uint32_t key = from + THREAD % 4 * 2;
#if PLAIN_SCORES
    (void)masks;
    factors[0] = weigh_plain(low, s, 0, key, a->scale);
    factors[1] = weigh_plain(high, s, 1, key, a->scale);
#else
#if STAGED
    (void)key;
    add_staged(a, masks + from, s);
#else
    (void)masks;
    finish_scores(a, low, high, key, s);
#endif
    factors[0] = weigh(low, s, 0);
    factors[1] = weigh(high, s, 1);
#endif
}

KERNEL_OF(run, attention, GROUP_THREADS, BLOCKS)
{
    SHARED_ROOM(room);
#ifdef EMULATED
    char *const keys = room;
#else
    char *const keys = room + (-(uint32_t)__cvta_generic_to_shared(room) & 1023);
#endif
    char *const values = keys + KEYS_BYTES, *const queries = values + KEYS_BYTES;
    float *const masks = (float *)(queries + 2 * Q_BYTES); // with STAGED
    // fewer than 2^31 each: a division of 64 bits takes many times as long
    const uint32_t tiles = (uint32_t)a.row_tiles, heads = (uint32_t)a.heads, head = BLOCK_X / tiles, b = head / heads, h = head - b * heads;
    const uint32_t first = (BLOCK_X - head * tiles) * ROWS, rows = (uint32_t)a.rows, end = first + ROWS < rows ? first + ROWS : rows;
    const lines k = keys_of(&a, b, h / (heads / (uint32_t)a.kv_heads)), v = values_of(&a, b, h / (heads / (uint32_t)a.kv_heads));
    const X *const q = a.q + b * a.q_at.batch + h * a.q_at.head;
    X *const y = a.y + b * a.y_at.batch + h * a.y_at.head;
    bring(queries, q, a.q_at.row, first, end, GROUP_ROWS);
    bring(keys, k.now, k.step, 0, (uint32_t)a.keys, KEYS);
    COPIES_END();
    bring(values, v.now, v.step, 0, (uint32_t)a.keys, KEYS);
    COPIES_END();
#if STAGED
    const query_row any = find_row(&a, b, h, 0);
    for (uint32_t i = THREAD; i < KEYS; i += GROUP_THREADS) masks[i] = staged_mask(&a, &any, i);
#endif
    for (uint32_t at = first; at < end; at += GROUP_ROWS) {
        const uint32_t odd = (at - first) / GROUP_ROWS % 2, row = at + THREAD / 32 * 16 + THREAD % 32 / 4;
        const int idle = at + THREAD / 32 * 16 >= end; // a warp without rows only multiplies with the others
        float sum[V_SIZE / 8][4];
        query_row low = find_row(&a, b, h, row), high = find_row(&a, b, h, row + 8);
        if (at == first)
            COPIES_WAIT(1);
        else
            COPIES_WAIT(0);
        SHOW_TILES();
        BARRIER(); // all warps have used the queries that the next ones replace
        if (at + GROUP_ROWS < end) bring(queries + (1 - odd) * Q_BYTES, q, a.q_at.row, at + GROUP_ROWS, end, GROUP_ROWS);
        COPIES_END();
        if (at == first) prefetch_next(&a);
        UNROLL for (int j = 0; j < V_SIZE / 8; j++) UNROLL for (int e = 0; e < 4; e++) sum[j][e] = 0;
        UNROLL_1 for (uint32_t part = 0; part < SPLIT; part++) {
            float s[SLICE / 8][4], factors[2] = {0, 0};
            find_scores(s, queries + odd * Q_BYTES, keys + part * SLICE * LINE_BYTES);
            if (!idle) find_weights(&a, &low, &high, s, factors, masks, part * SLICE);
            if (part == 0 && at == first) {
                COPIES_WAIT(1);
                SHOW_TILES();
                BARRIER();
            }
            UNROLL for (int j = 0; j < V_SIZE / 8; j++)
                UNROLL for (int e = 0; e < 4; e++) sum[j][e] *= factors[e / 2];
            add_values(sum, s, values + part * SLICE * LINE_BYTES);
        }
        store_row(&a, y, row, &low, sum, 0);
        store_row(&a, y, row + 8, &high, sum, 1);
    }
}
#else
KERNEL(run, attention, GROUP_THREADS) { (void)a; } // other GPUs use attention_tensor.cu
#endif
