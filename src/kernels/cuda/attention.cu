// SPDX-License-Identifier: Apache-2.0
// Attention without a key-value cache: a block computes ROWS query rows of one head. It goes through
// blocks of KEYS keys: scores, exponentials against the largest score so far, and the weighted sum of
// values, which is scaled when a larger score comes. SIZE and V_SIZE: padded to multiples of 4; MASK: 0
// none, 1 added numbers of type MASKS, 2 truth values. ROWS and KEYS are such that shared memory
// suffices.
enum { ATTENTION_THREADS = 256, PARTS = ATTENTION_THREADS / ROWS };

typedef struct place { uint64_t batch, head, row; } place; // strides

typedef struct attention {
    const X *q, *k, *v;
    const MASKS *mask;
    X *y;
    place q_at, k_at, v_at, y_at;
    uint64_t heads, kv_heads, rows, keys, size, v_size, row_tiles;
    uint64_t m_batch, m_head, m_row, m_key, m_keys;
    float scale, cap;
    uint32_t causal;
} attention;

// Keys that a row may attend to; those behind are masked.
DEVICE uint64_t open_keys(const attention *a, uint64_t row)
{
    uint64_t n = a->m_keys < a->keys ? a->m_keys : a->keys;
    if (a->causal && row + 1 < n) n = row + 1;
    return n;
}

DEVICE float scored(const attention *a, uint64_t b, uint64_t h, uint64_t row, uint64_t key, float x)
{
    if (a->cap > 0) x = a->cap * tanhf(x / a->cap);
#if MASK
    if (key >= open_keys(a, row)) return -INFINITY;
    const MASKS *mask = a->mask + b * a->m_batch + h * a->m_head + row * a->m_row + key * a->m_key;
#if MASK == 1
    x += WIDEN(MASKS, *mask);
#else
    x = *mask ? x : -INFINITY;
#endif
#else
    (void)b, (void)h;
#endif
    return key < open_keys(a, row) ? x : -INFINITY;
}

KERNEL(run, attention, ATTENTION_THREADS)
{
    SHARED ALIGNED(16) float query[ROWS][SIZE + 4];
    SHARED ALIGNED(16) float block[KEYS][(SIZE > V_SIZE ? SIZE : V_SIZE) + 4];
    SHARED ALIGNED(16) float weight[ROWS][KEYS + 4];
    // A row belongs to PARTS neighbouring threads; each has every PARTS-th key and value column.
    const uint32_t r = THREAD / PARTS, part = THREAD % PARTS;
    const uint64_t head = BLOCK_X / a.row_tiles, b = head / a.heads, h = head % a.heads;
    const uint64_t first = BLOCK_X % a.row_tiles * ROWS, row = first + r;
    const uint64_t kv_head = h / (a.heads / a.kv_heads);
    const X *q = a.q + b * a.q_at.batch + h * a.q_at.head;
    const X *k = a.k + b * a.k_at.batch + kv_head * a.k_at.head;
    const X *v = a.v + b * a.v_at.batch + kv_head * a.v_at.head;
    float largest = -INFINITY, total = 0, sum[(V_SIZE + PARTS - 1) / PARTS];
    UNROLL for (int i = 0; i < (V_SIZE + PARTS - 1) / PARTS; i++) sum[i] = 0;
    for (uint32_t i = THREAD; i < ROWS * SIZE; i += ATTENTION_THREADS) {
        const uint32_t at = i / SIZE, d = i % SIZE;
        const int inside = first + at < a.rows && d < a.size;
        query[at][d] = inside ? WIDEN(X, q[(first + at) * a.q_at.row + d]) * a.scale : 0;
    }
    const uint64_t last = first + ROWS < a.rows ? first + ROWS - 1 : a.rows - 1, open = open_keys(&a, last);
    for (uint64_t from = 0; from < open; from += KEYS) {
        BARRIER();
        for (uint32_t i = THREAD; i < KEYS * SIZE; i += ATTENTION_THREADS) {
            const uint32_t at = i / SIZE, d = i % SIZE;
            block[at][d] = from + at < a.keys && d < a.size ? WIDEN(X, k[(from + at) * a.k_at.row + d]) : 0;
        }
        BARRIER();
        float score[KEYS / PARTS], most = -INFINITY;
        UNROLL for (int j = 0; j < KEYS / PARTS; j++) score[j] = 0;
        for (uint32_t d = 0; d < SIZE; d++) {
            const float x = query[r][d];
            UNROLL for (int j = 0; j < KEYS / PARTS; j++) score[j] += x * block[part + (uint32_t)j * PARTS][d];
        }
        UNROLL for (int j = 0; j < KEYS / PARTS; j++) {
            const uint64_t key = from + part + (uint32_t)j * PARTS;
            score[j] = row < a.rows && key < open ? scored(&a, b, h, row, key, score[j]) : -INFINITY;
            most = max_f32(score[j], most);
        }
        UNROLL for (int lanes = PARTS / 2; lanes; lanes /= 2) most = max_f32(SHUFFLE_XOR(most, lanes), most);
        const float now = max_f32(most, largest);
        // As long as all keys are masked, there is nothing to subtract and nothing to add.
        const float base = now == -INFINITY ? 0 : now, factor = largest == -INFINITY ? 0 : expf(largest - base);
        float added = 0;
        UNROLL for (int j = 0; j < KEYS / PARTS; j++) {
            const float e = expf(score[j] - base);
            weight[r][part + (uint32_t)j * PARTS] = e;
            added += e;
        }
        UNROLL for (int lanes = PARTS / 2; lanes; lanes /= 2) added += SHUFFLE_XOR(added, lanes);
        total = total * factor + added;
        largest = now;
        BARRIER();
        for (uint32_t i = THREAD; i < KEYS * V_SIZE; i += ATTENTION_THREADS) {
            const uint32_t at = i / V_SIZE, d = i % V_SIZE;
            block[at][d] = from + at < a.keys && d < a.v_size ? WIDEN(X, v[(from + at) * a.v_at.row + d]) : 0;
        }
        BARRIER();
        UNROLL for (int i = 0; i < (V_SIZE + PARTS - 1) / PARTS; i++) sum[i] *= factor;
        for (uint32_t j = 0; j < KEYS; j++) {
            const float w = weight[r][j];
            if (from + j >= open) break;
            UNROLL for (int i = 0; i < (V_SIZE + PARTS - 1) / PARTS; i++)
                if (part + (uint32_t)i * PARTS < V_SIZE) sum[i] += w * block[j][part + (uint32_t)i * PARTS];
        }
    }
    if (row >= a.rows) return;
    X *y = a.y + b * a.y_at.batch + h * a.y_at.head + row * a.y_at.row;
    UNROLL for (int i = 0; i < (V_SIZE + PARTS - 1) / PARTS; i++) {
        const uint32_t d = part + (uint32_t)i * PARTS;
        if (d < a.v_size) y[d] = NARROW(X, total == 0 ? 0 : sum[i] / total);
    }
}
