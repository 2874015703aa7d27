// SPDX-License-Identifier: Apache-2.0
// Attention of 16-bit floats by tensor cores: a block computes ROWS query rows of one head, with scores, exponentials against the largest
// score so far, and the weighted sum of values, which is scaled when a larger score comes. SIZE and V_SIZE are multiples of 16. SPLIT warps
// share 16 query rows: each takes its part of a block of KEYS keys, and their sums are joined at the end, in a fixed order.
// WHOLE: all keys and values lie in shared memory at once, so that each warp goes through its keys without waiting for others; else blocks
// of keys follow each other there, and ROWS is 16 if SPLIT is not 1. STAGED: all rows have the same mask and keys, so that a block of keys
// brings its mask to shared memory. BLOCKS: that a multiprocessor shall run at the same time.
enum { ATTENTION_THREADS = ROWS * 2 * SPLIT };
enum { K_PITCH = SIZE + 8, V_PITCH = V_SIZE + 8 };

// Copies rows of `size` elements, `from` on, into a tile; zeros behind row `end`. A thread always takes the same elements of a row.
DEVICE void bring(uint16_t *tile, uint32_t pitch, const lines *l, uint64_t from, uint64_t end, uint32_t rows, uint32_t size)
{
    const uint32_t packs = size / 8, step = ATTENTION_THREADS / packs, r0 = THREAD / packs, c = THREAD % packs * 8;
    uint16_t *to = tile + r0 * pitch + c;
#if PAST
    if (r0 >= step) return;
    for (uint32_t r = r0; r < rows; r += step, to += step * pitch) {
        const int inside = from + r < end;
        copy_16(to, line_at(l, inside ? from + r : 0) + c, inside);
    }
#else
    const X *at = l->now + (from + r0) * l->step + c;
    const uint64_t by = step * l->step;
    const uint32_t left = end > from ? (uint32_t)(end - from) : 0;
    if (r0 >= step) return;
    UNROLL_4 for (uint32_t r = r0; r < rows; r += step, to += step * pitch, at += by)
        copy_16(to, r < left ? at : l->now, r < left);
#endif
}

#if SPLIT > 1
// What each of the warps that share rows found: sums of its lanes, then largest scores and totals.
enum { PART = (V_SIZE + 8) * 16 };

DEVICE void keep_part(float *part, const query_row *low, const query_row *high, float (*sum)[4])
{
    const uint32_t lane = THREAD % 32;
    float *const numbers = part + V_SIZE * 16 + lane;
    UNROLL for (int j = 0; j < V_SIZE / 8; j++)
        UNROLL for (int e = 0; e < 4; e++) part[(j * 4 + e) * 32 + lane] = sum[j][e];
    numbers[0] = low->largest, numbers[32] = low->total;
    numbers[64] = high->largest, numbers[96] = high->total;
}

// Joins the parts of a row in their order; each of the warps stores every SPLIT-th eight columns.
DEVICE void join_row(const attention *a, X *y, uint64_t row, const float *parts, int half)
{
    const uint32_t lane = THREAD % 32, own = THREAD / 32 % SPLIT;
    const float *const numbers = parts + V_SIZE * 16 + half * 64 + lane;
    float factors[SPLIT], most = -INFINITY, total = 0;
    UNROLL for (int w = 0; w < SPLIT; w++) most = fmaxf(numbers[w * PART], most);
    UNROLL for (int w = 0; w < SPLIT; w++) {
        factors[w] = numbers[w * PART] == -INFINITY ? 0 : power(numbers[w * PART] - most);
        total += numbers[w * PART + 32] * factors[w];
    }
    UNROLL for (int lanes = 2; lanes; lanes /= 2) total += SHUFFLE_XOR(total, lanes);
    if (row >= a->rows) return;
    const float factor = total == 0 ? 0 : 1 / total;
    uint32_t *const to = (uint32_t *)(y + row * a->y_at.row) + lane % 4;
    UNROLL for (uint32_t i = 0; i < (V_SIZE / 8 + SPLIT - 1) / SPLIT; i++) {
        const uint32_t j = own + i * SPLIT;
        const float *const sums = parts + (j * 4 + (uint32_t)half * 2) * 32 + lane;
        float low = 0, high = 0;
        if (j >= V_SIZE / 8) break;
        UNROLL for (int w = 0; w < SPLIT; w++) {
            low += sums[w * PART] * factors[w];
            high += sums[w * PART + 32] * factors[w];
        }
        to[j * 4] = total == 0 ? 0 : narrow_pair(low * factor, high * factor);
    }
}
#endif

// Scores of the warp's keys of a block that begins at `from`, as weights. Of 16 keys that no row of the block of threads may attend to,
// nothing is computed. `factors`: for what was summed before, for both rows.
DEVICE void find_weights(const attention *a, query_row *low, query_row *high, float (*s)[4], float *factors, uint32_t (*x)[4],
                         const uint16_t *keys, const float *mask, uint32_t slice, uint32_t from, uint32_t open)
{
    const uint32_t lane = THREAD % 32, key = from + slice + lane % 4 * 2;
    UNROLL for (int j = 0; j < SLICE / 8; j++) UNROLL for (int e = 0; e < 4; e++) s[j][e] = 0;
    UNROLL for (int j = 0; j < SLICE / 16; j++) {
        if (from + slice + (uint32_t)j * 16 >= open) break;
        UNROLL for (int d = 0; d < SIZE / 16; d++) {
            uint32_t y[4];
            load_matrices(y, keys + (slice + j * 16 + lane / 16 * 8 + lane % 8) * K_PITCH + d * 16 + lane / 8 % 2 * 8);
            multiply(s[2 * j], x[d], y);
            multiply(s[2 * j + 1], x[d], y + 2);
        }
    }
#if STAGED
    (void)key;
    add_staged(a, mask + slice, s);
#else
    (void)mask;
    if (NATURAL || from + KEYS > low->open || from + KEYS > high->open)
        finish_scores(a, low, high, key, s);
    else
        UNROLL for (int j = 0; j < SLICE / 8; j++) UNROLL for (int e = 0; e < 4; e++) s[j][e] *= a->scale;
#endif
    factors[0] = weigh(low, s, 0);
    factors[1] = weigh(high, s, 1);
}

// Adds the values of the same keys, weighted.
DEVICE void add_values(float (*sum)[4], float (*s)[4], const uint16_t *values, uint32_t slice, uint32_t from, uint32_t open)
{
    const uint32_t lane = THREAD % 32;
    UNROLL for (int i = 0; i < SLICE / 16; i++) {
        if (from + slice + (uint32_t)i * 16 >= open) break;
        const uint32_t w[4] = {narrow_pair(s[2 * i][0], s[2 * i][1]), narrow_pair(s[2 * i][2], s[2 * i][3]),
                               narrow_pair(s[2 * i + 1][0], s[2 * i + 1][1]), narrow_pair(s[2 * i + 1][2], s[2 * i + 1][3])};
        UNROLL for (int j = 0; j < V_SIZE / 16; j++) {
            uint32_t y[4];
            load_turned(y, values + (slice + i * 16 + lane / 8 % 2 * 8 + lane % 8) * V_PITCH + j * 16 + lane / 16 * 8);
            multiply(sum[2 * j], w, y);
            multiply(sum[2 * j + 1], w, y + 2);
        }
    }
}

// What a block computes: rows of a head. `idle`: a warp has no rows.
typedef struct work {
    uint64_t b, h, first, row;
    lines q, k, v;
    uint64_t open; // keys behind are masked for all rows
    int idle;
} work;

DEVICE work find_work(const attention *a)
{
    // fewer than 2^31 each: a division of 64 bits takes many times as long
    const uint32_t tiles = (uint32_t)a->row_tiles, heads = (uint32_t)a->heads, shared = heads / (uint32_t)a->kv_heads;
    const uint32_t warp = THREAD / 32 / SPLIT, head = BLOCK_X / tiles, batch = head / heads;
    work w;
    w.b = batch;
    w.h = head - batch * heads;
    w.first = (BLOCK_X - head * tiles) * ROWS;
    w.row = w.first + warp * 16 + THREAD % 32 / 4;
    w.k = keys_of(a, w.b, (uint32_t)w.h / shared);
    w.v = values_of(a, w.b, (uint32_t)w.h / shared);
    w.q = w.k;
    w.q.now = a->q + w.b * a->q_at.batch + w.h * a->q_at.head;
    w.q.step = a->q_at.row;
    w.q.past = 0;
    w.open = open_keys(a, w.first + ROWS < a->rows ? w.first + ROWS - 1 : a->rows - 1);
    w.idle = w.first + warp * 16 >= a->rows;
    return w;
}

DEVICE void store(const attention *a, const work *w, query_row *low, query_row *high, float (*sum)[4], float *room)
{
    X *const y = a->y + w->b * a->y_at.batch + w->h * a->y_at.head;
#if SPLIT > 1
    float *const parts = room + THREAD / 32 / SPLIT * (SPLIT * PART);
    BARRIER(); // `room` lies where keys or values were
    keep_part(parts + THREAD / 32 % SPLIT * PART, low, high, sum);
    BARRIER();
    join_row(a, y, w->row, parts, 0);
    join_row(a, y, w->row + 8, parts, 1);
#else
    (void)room;
    store_row(a, y, w->row, low, sum, 0);
    store_row(a, y, w->row + 8, high, sum, 1);
#endif
}

#if WHOLE
DEVICE uint32_t query_pair(const work *w, uint64_t row, uint64_t rows, uint32_t column)
{
    const uint32_t two = *(const uint32_t *)(w->q.now + (row < rows ? row : 0) * w->q.step + column);
    return row < rows ? two : 0;
}

KERNEL_CLUSTER(run, attention, ATTENTION_THREADS, 1, 1)
{
    SHARED_ROOM(room);
    const uint32_t filled = (uint32_t)(a.keys + 15) / 16 * 16, slice = THREAD / 32 % SPLIT * SLICE, column = THREAD % 4 * 2;
    uint16_t *const keys = (uint16_t *)room, *const values = keys + filled * K_PITCH;
    float *const masks = (float *)(values + filled * V_PITCH); // with STAGED
    const work w = find_work(&a);
    uint32_t x[SIZE / 16][4];
    float s[SLICE / 8][4], sum[V_SIZE / 8][4], unused[2];
    WAIT_FOR_LAST();
    bring(keys, K_PITCH, &w.k, 0, a.keys, filled, SIZE);
    COPIES_END();
    bring(values, V_PITCH, &w.v, 0, a.keys, filled, V_SIZE);
    COPIES_END();
    UNROLL for (uint32_t d = 0; d < SIZE / 16; d++)
        UNROLL for (uint32_t e = 0; e < 4; e++) x[d][e] = query_pair(&w, w.row + e % 2 * 8, a.rows, d * 16 + e / 2 * 8 + column);
    query_row low = find_row(&a, w.b, w.h, w.row), high = find_row(&a, w.b, w.h, w.row + 8);
#if STAGED
    for (uint32_t i = THREAD; i < KEYS; i += ATTENTION_THREADS) masks[i] = staged_mask(&a, &low, i);
#endif
    UNROLL for (int j = 0; j < V_SIZE / 8; j++) UNROLL for (int e = 0; e < 4; e++) sum[j][e] = 0;
    COPIES_WAIT(1);
    BARRIER();
    if (!w.idle) find_weights(&a, &low, &high, s, unused, x, keys, masks, slice, 0, (uint32_t)w.open);
    COPIES_WAIT(0);
    BARRIER();
    if (!w.idle) add_values(sum, s, values, slice, 0, (uint32_t)w.open);
    store(&a, &w, &low, &high, sum, (float *)room);
}
#else
KERNEL_OF(run, attention, ATTENTION_THREADS, BLOCKS)
{
    // The query rows are brought where the keys come later.
    SHARED ALIGNED(16) uint16_t k_tile[2 * KEYS * K_PITCH];
    SHARED ALIGNED(16) uint16_t v_tile[2 * KEYS * V_PITCH];
    SHARED ALIGNED(16) float masks[2 * KEYS]; // with STAGED
    const uint32_t lane = THREAD % 32, slice = THREAD / 32 % SPLIT * SLICE;
    const work w = find_work(&a);
    const uint64_t open = w.open;
    query_row low = find_row(&a, w.b, w.h, w.row), high = find_row(&a, w.b, w.h, w.row + 8);
    uint32_t x[SIZE / 16][4];
    float sum[V_SIZE / 8][4];
    UNROLL for (int j = 0; j < V_SIZE / 8; j++) UNROLL for (int e = 0; e < 4; e++) sum[j][e] = 0;
    bring(k_tile, K_PITCH, &w.q, w.first, a.rows, ROWS, SIZE);
    COPIES_END();
    COPIES_WAIT(0);
    BARRIER();
    UNROLL for (int d = 0; d < SIZE / 16; d++)
        load_matrices(x[d], k_tile + (THREAD / 32 / SPLIT * 16 + lane % 16) * K_PITCH + d * 16 + lane / 16 * 8);
    BARRIER();
    bring(k_tile, K_PITCH, &w.k, 0, a.keys, KEYS, SIZE);
    bring(v_tile, V_PITCH, &w.v, 0, a.keys, KEYS, V_SIZE);
    COPIES_END();
#if STAGED
    if (THREAD < KEYS) masks[THREAD] = staged_mask(&a, &low, THREAD);
#endif
    for (uint64_t from = 0; from < open; from += KEYS) {
        const uint32_t stage = (uint32_t)(from / KEYS) % 2, next = 1 - stage;
        const uint16_t *const keys = k_tile + stage * KEYS * K_PITCH, *const values = v_tile + stage * KEYS * V_PITCH;
#if STAGED
        const float coming = THREAD < KEYS ? staged_mask(&a, &low, from + KEYS + THREAD) : 0;
#endif
        if (from + KEYS < open) {
            bring(k_tile + next * KEYS * K_PITCH, K_PITCH, &w.k, from + KEYS, a.keys, KEYS, SIZE);
            bring(v_tile + next * KEYS * V_PITCH, V_PITCH, &w.v, from + KEYS, a.keys, KEYS, V_SIZE);
        }
        COPIES_END();
        COPIES_WAIT(1);
        BARRIER();
        if (!w.idle) {
            float s[SLICE / 8][4], factors[2];
            find_weights(&a, &low, &high, s, factors, x, keys, masks + stage * KEYS, slice, (uint32_t)from, (uint32_t)open);
            UNROLL for (int j = 0; j < V_SIZE / 8; j++)
                UNROLL for (int e = 0; e < 4; e++) sum[j][e] *= factors[e / 2];
            add_values(sum, s, values, slice, (uint32_t)from, (uint32_t)open);
        }
#if STAGED
        if (THREAD < KEYS) masks[next * KEYS + THREAD] = coming;
#endif
        BARRIER();
    }
    COPIES_WAIT(0);
    store(&a, &w, &low, &high, sum, (float *)(void *)v_tile);
}
#endif
