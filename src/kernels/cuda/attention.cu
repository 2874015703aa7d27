// SPDX-License-Identifier: Apache-2.0
// Attention: a block computes ROWS query rows of one head. It goes through
// blocks of KEYS keys: scores, exponentials against the largest score so far, and the weighted sum of
// values, which is scaled when a larger score comes. SIZE and V_SIZE: padded to multiples of 4; MASK: 0
// none, 1 added numbers of type MASKS, 2 truth values. ROWS and KEYS are such that shared memory
// suffices.
// TENSOR: tensor cores compute products of 16-bit floats; then SIZE and V_SIZE are exact. SPLIT warps share 16
// query rows: each takes its part of a block of keys, and their sums are joined at the end, in a fixed order.
// CAPPED: scores go through tanh. STAGED: all rows have the same mask and keys, so that a block of keys brings its mask to
// shared memory. BLOCKS: that a multiprocessor shall run at the same time.
// DECODE: a cluster of SHARES blocks computes one query row, each with its part of the keys; LANES threads with VECTOR elements each
// take a key. PAST: the first keys and values lie in caches.
#if TENSOR
enum { ATTENTION_THREADS = ROWS * 2 * SPLIT, SLICE = KEYS / SPLIT };
#elif DECODE
enum { ATTENTION_THREADS = 512, GROUPS = ATTENTION_THREADS / LANES, BATCH = 4 };
#else
enum { ATTENTION_THREADS = 256, PARTS = ATTENTION_THREADS / ROWS };
#endif

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
    const X *past_k, *past_v;
    uint64_t past;
    place past_k_at, past_v_at;
} attention;

// The keys or the values of one head.
typedef struct lines {
    const X *now, *old;
    uint64_t step, old_step, past;
} lines;

DEVICE lines lines_of(const X *now, const place *at, const X *old, const place *old_at, uint64_t past, uint64_t b, uint64_t head)
{
    lines l;
    l.now = now + b * at->batch + head * at->head;
    l.step = at->row;
    l.old = old + b * old_at->batch + head * old_at->head;
    l.old_step = old_at->row;
    l.past = past;
    return l;
}
DEVICE lines keys_of(const attention *a, uint64_t b, uint64_t head)
{
    return lines_of(a->k, &a->k_at, a->past_k, &a->past_k_at, a->past, b, head);
}
DEVICE lines values_of(const attention *a, uint64_t b, uint64_t head)
{
    return lines_of(a->v, &a->v_at, a->past_v, &a->past_v_at, a->past, b, head);
}

DEVICE const X *line_at(const lines *l, uint64_t i)
{
#if PAST
    return i < l->past ? l->old + i * l->old_step : l->now + (i - l->past) * l->step;
#else
    return l->now + i * l->step;
#endif
}

// Keys that a row may attend to; those behind are masked.
DEVICE uint64_t open_keys(const attention *a, uint64_t row)
{
    uint64_t n = a->m_keys < a->keys ? a->m_keys : a->keys;
    if (a->causal && row + a->past + 1 < n) n = row + a->past + 1;
    return n;
}

DEVICE float scored(const attention *a, uint64_t b, uint64_t h, uint64_t row, uint64_t key, float x)
{
#if CAPPED
    x = a->cap * tanhf(x / a->cap);
#endif
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

#if DECODE
typedef struct ALIGNED(sizeof(X) * VECTOR) pack { X at[VECTOR]; } pack;

// What a block of the cluster found: the largest score, the sum of weights, the weighted sums of values.
enum { FOUND = SIZE + 2 };

#if SHARES > 1 && __CUDA_ARCH__ >= 900
#define CLUSTER_BARRIER() asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory")
#else
#define CLUSTER_BARRIER() BARRIER()
#endif

DEVICE float found_by(const float *own, uint32_t i, uint32_t rank)
{
#if SHARES > 1 && __CUDA_ARCH__ >= 900
    uint32_t there;
    float x;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"((uint32_t)__cvta_generic_to_shared(own + i)), "r"(rank));
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(there) : "memory");
    return x;
#else
    return own[rank * FOUND + i];
#endif
}

// Element i of the result, from all blocks in their order.
DEVICE float join_shares(const float *own, uint32_t i)
{
    float largest[SHARES], most = -INFINITY, all = 0, y = 0;
    UNROLL for (uint32_t r = 0; r < SHARES; r++) {
        largest[r] = found_by(own, SIZE, r);
        most = max_f32(largest[r], most);
    }
    UNROLL for (uint32_t r = 0; r < SHARES; r++) {
        const float factor = largest[r] == -INFINITY ? 0 : expf(largest[r] - most);
        all += found_by(own, SIZE + 1, r) * factor;
        y += found_by(own, i, r) * factor;
    }
    return all == 0 ? 0 : y / all;
}

// Each group of threads goes through its own keys; their sums are joined at the end, in a fixed order.
KERNEL_CLUSTER(run, attention, ATTENTION_THREADS, 1, SHARES)
{
    SHARED float part[GROUPS][SIZE];
    SHARED float larges[GROUPS];
    SHARED float totals[GROUPS];
#if __CUDA_ARCH__ >= 900
    SHARED float found[FOUND];
    float *const own = found;
#else
    // The blocks of an emulated cluster run one after the other: the last one joins.
    SHARED float found[SHARES * FOUND];
    float *const own = found + BLOCK_X % SHARES * FOUND;
#endif
    const uint32_t group = THREAD / LANES, at = THREAD % LANES * VECTOR, rank = BLOCK_X % SHARES;
    const uint64_t unit = BLOCK_X / SHARES, head = unit / a.rows, row = unit % a.rows, b = head / a.heads, h = head % a.heads;
    const uint64_t kv_head = h / (a.heads / a.kv_heads), all_open = open_keys(&a, row), each = (all_open + SHARES - 1) / SHARES;
    const uint64_t begin = rank * each, open = begin + each < all_open ? begin + each : all_open;
    const lines k = keys_of(&a, b, kv_head), v = values_of(&a, b, kv_head);
    WAIT_FOR_LAST();
    const pack q = *(const pack *)(a.q + b * a.q_at.batch + h * a.q_at.head + row * a.q_at.row + at);
    float largest = -INFINITY, total = 0, sum[VECTOR];
    UNROLL for (int e = 0; e < VECTOR; e++) sum[e] = 0;
    for (uint64_t from = begin + group; from < open + group; from += BATCH * GROUPS) {
        pack x[BATCH], y[BATCH];
        float s[BATCH], most = -INFINITY;
        UNROLL for (int j = 0; j < BATCH; j++) {
            const uint64_t key = from + (uint64_t)j * GROUPS, safe = key < open ? key : 0;
            x[j] = *(const pack *)(line_at(&k, safe) + at);
            y[j] = *(const pack *)(line_at(&v, safe) + at);
        }
        UNROLL for (int j = 0; j < BATCH; j++) {
            const uint64_t key = from + (uint64_t)j * GROUPS;
            s[j] = 0;
            UNROLL for (int e = 0; e < VECTOR; e++) s[j] += WIDEN(X, q.at[e]) * WIDEN(X, x[j].at[e]);
            UNROLL for (int lanes = LANES / 2; lanes; lanes /= 2) s[j] += SHUFFLE_XOR(s[j], lanes);
            s[j] = key < open ? scored(&a, b, h, row, key, s[j] * a.scale) : -INFINITY;
            most = max_f32(s[j], most);
        }
        const float now = max_f32(most, largest), base = now == -INFINITY ? 0 : now;
        const float factor = largest == -INFINITY ? 0 : expf(largest - base);
        total *= factor;
        UNROLL for (int e = 0; e < VECTOR; e++) sum[e] *= factor;
        UNROLL for (int j = 0; j < BATCH; j++) {
            const float w = expf(s[j] - base);
            total += w;
            if (from + (uint64_t)j * GROUPS < open)
                UNROLL for (int e = 0; e < VECTOR; e++) sum[e] += w * WIDEN(X, y[j].at[e]);
        }
        largest = now;
    }
    UNROLL for (int e = 0; e < VECTOR; e++) part[group][at + (uint32_t)e] = sum[e];
    if (THREAD % LANES == 0) larges[group] = largest, totals[group] = total;
    BARRIER();
    if (THREAD < 32) {
        float most = -INFINITY;
        for (uint32_t i = THREAD; i < GROUPS; i += 32) most = max_f32(larges[i], most);
        UNROLL for (int lanes = 16; lanes; lanes /= 2) most = max_f32(SHUFFLE_XOR(most, lanes), most);
        if (THREAD == 0) own[SIZE] = most;
        for (uint32_t i = THREAD; i < GROUPS; i += 32) {
            larges[i] = larges[i] == -INFINITY ? 0 : expf(larges[i] - most);
            totals[i] *= larges[i];
        }
    }
    BARRIER();
    X *const to = a.y + b * a.y_at.batch + h * a.y_at.head + row * a.y_at.row;
    if (THREAD < SIZE) {
        float all = 0, y = 0;
        UNROLL for (int i = 0; i < GROUPS; i++) {
            all += totals[i];
            y += part[i][THREAD] * larges[i];
        }
        if (SHARES == 1) to[THREAD] = NARROW(X, all == 0 ? 0 : y / all);
        own[THREAD] = y;
        if (THREAD == 0) own[SIZE + 1] = all;
    }
#if SHARES > 1
    CLUSTER_BARRIER();
    if (rank + 1 == SHARES && THREAD < SIZE) to[THREAD] = NARROW(X, join_shares(found, THREAD));
    CLUSTER_LEAVE(); // the last one reads what lies in the others
#endif
}
#elif !TENSOR
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
    const lines k = keys_of(&a, b, kv_head), v = values_of(&a, b, kv_head);
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
            block[at][d] = from + at < a.keys && d < a.size ? WIDEN(X, line_at(&k, from + at)[d]) : 0;
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
            block[at][d] = from + at < a.keys && d < a.v_size ? WIDEN(X, line_at(&v, from + at)[d]) : 0;
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
#else

enum { K_PITCH = SIZE + 8, V_PITCH = V_SIZE + 8 };

// Copies ROWS_ rows of `size` elements, `from` on, into a tile; zeros behind row `end`.
DEVICE void bring(uint16_t *tile, uint32_t pitch, const lines *l, uint64_t from, uint64_t end, uint32_t rows, uint32_t size)
{
    for (uint32_t i = THREAD; i < rows * (size / 8); i += ATTENTION_THREADS) {
        const uint32_t r = i / (size / 8), c = i % (size / 8) * 8;
        const int inside = from + r < end;
        copy_16(tile + r * pitch + c, line_at(l, inside ? from + r : 0) + c, inside);
    }
}

// Scores are in units of ln(2), so that weights are powers of 2, unless each thread adds its own mask: the lowest number
// would become an infinity.
#define NATURAL ((MASK && !STAGED) || CAPPED)
DEVICE float power(float x) { return short_exp2(NATURAL ? x * 1.44269504f : x); }

// What a thread knows of one of its two query rows.
typedef struct query_row {
    uint32_t open; // keys behind are masked
    const MASKS *mask;
    float largest, total;
} query_row;

DEVICE query_row find_row(const attention *a, uint64_t b, uint64_t h, uint64_t row)
{
    query_row q;
    q.open = row < a->rows ? (uint32_t)open_keys(a, row) : 0;
    q.mask = a->mask + b * a->m_batch + h * a->m_head + (row < a->rows ? row : 0) * a->m_row;
    q.largest = -INFINITY;
    q.total = 0;
    return q;
}

DEVICE float cap_score(const attention *a, float x)
{
#if CAPPED
    return a->cap * tanhf(x / a->cap);
#else
    (void)a;
    return x;
#endif
}

// What the mask adds to the score of a key. Without branches, so that all loads are under way at the same time.
DEVICE float mask_of(const attention *a, const query_row *q, uint32_t key)
{
#if MASK
    const MASKS m = q->mask[key < q->open ? key * (uint32_t)a->m_key : 0];
#endif
#if MASK == 1
    return WIDEN(MASKS, m);
#elif MASK == 2
    return m ? 0 : -INFINITY;
#else
    (void)a, (void)q, (void)key;
    return 0;
#endif
}

DEVICE float mask_score(const query_row *q, uint32_t key, float x, float mask)
{
#if MASK == 1
    x += mask;
#elif MASK == 2
    x = mask == 0 ? x : mask;
#else
    (void)mask;
#endif
    return key < q->open ? x : -INFINITY;
}

// Scales and masks the scores of the keys from `key` on.
DEVICE void finish_scores(const attention *a, const query_row *low, const query_row *high, uint32_t key, float (*s)[4])
{
    UNROLL for (int j = 0; j < SLICE / 8; j++)
        UNROLL for (int e = 0; e < 2; e++) {
            const uint32_t k = key + (uint32_t)(j * 8 + e);
            s[j][e] = mask_score(low, k, cap_score(a, s[j][e] * a->scale), mask_of(a, low, k));
            s[j][e + 2] = mask_score(high, k, cap_score(a, s[j][e + 2] * a->scale), mask_of(a, high, k));
        }
}

#if STAGED
typedef struct ALIGNED(8) two { float at[2]; } two;

// What is added to the scores of a key, in their units.
DEVICE float staged_mask(const attention *a, const query_row *q, uint64_t key)
{
    if (key >= open_keys(a, 0)) return -INFINITY;
    const MASKS m = q->mask[key * a->m_key];
#if MASK == 1
    const float x = WIDEN(MASKS, m), y = x * 1.44269504f;
    return y == -INFINITY && x != y ? -3.40282347e38f : y;
#else
    return m ? 0 : -INFINITY;
#endif
}

DEVICE void add_staged(const attention *a, const float *mask, float (*s)[4])
{
    UNROLL for (int j = 0; j < SLICE / 8; j++) {
        const two m = *(const two *)(mask + j * 8 + THREAD % 4 * 2);
        UNROLL for (int e = 0; e < 4; e++) {
            const float x = s[j][e] * a->scale + m.at[e % 2];
            s[j][e] = MASK == 2 && m.at[e % 2] != 0 ? -INFINITY : x;
        }
    }
}
#endif

// Turns the scores of one row into weights against its largest score; the factor for what was summed before.
DEVICE float weigh(query_row *q, float (*s)[4], int half)
{
    float most = -INFINITY;
    UNROLL for (int j = 0; j < SLICE / 8; j++)
        UNROLL for (int e = 0; e < 2; e++) most = fmaxf(s[j][half * 2 + e], most); // NaN: its weight is NaN
    UNROLL for (int lanes = 2; lanes; lanes /= 2) most = fmaxf(SHUFFLE_XOR(most, lanes), most);
    const float now = fmaxf(most, q->largest), base = now == -INFINITY ? 0 : now;
    const float factor = q->largest == -INFINITY ? 0 : power(q->largest - base);
    float added = 0;
    UNROLL for (int j = 0; j < SLICE / 8; j++)
        UNROLL for (int e = 0; e < 2; e++) {
            const float w = power(s[j][half * 2 + e] - base);
            s[j][half * 2 + e] = w;
            added += w;
        }
    q->total = q->total * factor + added;
    q->largest = now;
    return factor;
}

#if SPLIT > 1
DEVICE void join_row(query_row *q, float (*sum)[4], int half, float largest, float total, const float *other)
{
    const float now = fmaxf(largest, q->largest), base = now == -INFINITY ? 0 : now;
    const float own = q->largest == -INFINITY ? 0 : power(q->largest - base);
    const float factor = largest == -INFINITY ? 0 : power(largest - base);
    UNROLL for (int j = 0; j < V_SIZE / 8; j++)
        UNROLL for (int e = 0; e < 2; e++)
            sum[j][half * 2 + e] = sum[j][half * 2 + e] * own + other[(j * 4 + half * 2 + e) * 32] * factor;
    q->total = q->total * own + total * factor;
    q->largest = now;
}

// The first of the warps that share rows takes the sums of the others, one after the other. ROWS is 16.
DEVICE void join(float *room, query_row *low, query_row *high, float (*sum)[4])
{
    const uint32_t lane = THREAD % 32;
    float *numbers = room + V_SIZE * 16 + lane;
    for (uint32_t w = 1; w < SPLIT; w++) {
        if (THREAD / 32 == w) {
            UNROLL for (int j = 0; j < V_SIZE / 8; j++)
                UNROLL for (int e = 0; e < 4; e++) room[(j * 4 + e) * 32 + lane] = sum[j][e];
            numbers[0] = low->largest, numbers[32] = low->total;
            numbers[64] = high->largest, numbers[96] = high->total;
        }
        BARRIER();
        if (THREAD < 32) {
            join_row(low, sum, 0, numbers[0], numbers[32], room + lane);
            join_row(high, sum, 1, numbers[64], numbers[96], room + lane);
        }
        BARRIER();
    }
}
#endif

DEVICE void store_row(const attention *a, X *y, uint64_t row, const query_row *q, float (*sum)[4], int half)
{
    float total = q->total;
    UNROLL for (int lanes = 2; lanes; lanes /= 2) total += SHUFFLE_XOR(total, lanes);
    if (row >= a->rows) return;
    const float factor = total == 0 ? 0 : 1 / total;
    uint32_t *to = (uint32_t *)(y + row * a->y_at.row) + THREAD % 4;
    UNROLL for (int j = 0; j < V_SIZE / 8; j++)
        to[j * 4] = narrow_pair(total == 0 ? 0 : sum[j][half * 2] * factor, total == 0 ? 0 : sum[j][half * 2 + 1] * factor);
}

// Adds the weighted values of a block of keys, `from` on, to the sums of two rows. Of 16 keys that no row of the block
// of threads may attend to, nothing is computed.
DEVICE void attend(const attention *a, query_row *low, query_row *high, float (*sum)[4], uint32_t (*x)[4],
                   const uint16_t *keys, const uint16_t *values, const float *mask, uint32_t slice, uint32_t from, uint32_t open)
{
    const uint32_t lane = THREAD % 32, key = from + slice + lane % 4 * 2;
    float s[SLICE / 8][4];
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
    const float low_factor = weigh(low, s, 0), high_factor = weigh(high, s, 1);
    UNROLL for (int j = 0; j < V_SIZE / 8; j++)
        UNROLL for (int e = 0; e < 4; e++) sum[j][e] *= e < 2 ? low_factor : high_factor;
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

KERNEL_OF(run, attention, ATTENTION_THREADS, BLOCKS)
{
    // The query rows are brought where the keys come later.
    SHARED ALIGNED(16) uint16_t k_tile[2 * KEYS * K_PITCH];
    SHARED ALIGNED(16) uint16_t v_tile[2 * KEYS * V_PITCH];
    SHARED ALIGNED(16) float masks[2 * KEYS]; // with STAGED
    const uint32_t warp = THREAD / 32 / SPLIT, lane = THREAD % 32, slice = THREAD / 32 % SPLIT * SLICE;
    const uint64_t head = BLOCK_X / a.row_tiles, b = head / a.heads, h = head % a.heads;
    const uint64_t first = BLOCK_X % a.row_tiles * ROWS, row = first + warp * 16 + lane / 4;
    const uint64_t kv_head = h / (a.heads / a.kv_heads);
    const lines k = keys_of(&a, b, kv_head), v = values_of(&a, b, kv_head);
    lines q = k;
    q.now = a.q + b * a.q_at.batch + h * a.q_at.head;
    q.step = a.q_at.row;
    q.past = 0;
    const uint64_t last = first + ROWS < a.rows ? first + ROWS - 1 : a.rows - 1, open = open_keys(&a, last);
    const int idle = first + warp * 16 >= a.rows; // the warp has no rows
    query_row low = find_row(&a, b, h, row), high = find_row(&a, b, h, row + 8);
    uint32_t x[SIZE / 16][4];
    float sum[V_SIZE / 8][4];
    UNROLL for (int j = 0; j < V_SIZE / 8; j++) UNROLL for (int e = 0; e < 4; e++) sum[j][e] = 0;
    bring(k_tile, K_PITCH, &q, first, a.rows, ROWS, SIZE);
    COPIES_END();
    COPIES_WAIT(0);
    BARRIER();
    UNROLL for (int d = 0; d < SIZE / 16; d++)
        load_matrices(x[d], k_tile + (warp * 16 + lane % 16) * K_PITCH + d * 16 + lane / 16 * 8);
    BARRIER();
    bring(k_tile, K_PITCH, &k, 0, a.keys, KEYS, SIZE);
    bring(v_tile, V_PITCH, &v, 0, a.keys, KEYS, V_SIZE);
    COPIES_END();
#if STAGED
    if (THREAD < KEYS) masks[THREAD] = staged_mask(&a, &low, THREAD);
#endif
    for (uint64_t from = 0; from < open; from += KEYS) {
        const uint32_t stage = (uint32_t)(from / KEYS) % 2, next = 1 - stage;
#if STAGED
        const float coming = THREAD < KEYS ? staged_mask(&a, &low, from + KEYS + THREAD) : 0;
#endif
        if (from + KEYS < open) {
            bring(k_tile + next * KEYS * K_PITCH, K_PITCH, &k, from + KEYS, a.keys, KEYS, SIZE);
            bring(v_tile + next * KEYS * V_PITCH, V_PITCH, &v, from + KEYS, a.keys, KEYS, V_SIZE);
        }
        COPIES_END();
        COPIES_WAIT(1);
        BARRIER();
        if (!idle)
            attend(&a, &low, &high, sum, x, k_tile + stage * KEYS * K_PITCH, v_tile + stage * KEYS * V_PITCH, masks + stage * KEYS, slice,
                   (uint32_t)from, (uint32_t)open);
#if STAGED
        if (THREAD < KEYS) masks[next * KEYS + THREAD] = coming;
#endif
        BARRIER();
    }
#if SPLIT > 1
    COPIES_WAIT(0);
    BARRIER();
    join((float *)(void *)v_tile, &low, &high, sum);
    if (THREAD / 32 % SPLIT) return;
#endif
    X *y = a.y + b * a.y_at.batch + h * a.y_at.head;
    store_row(&a, y, row, &low, sum, 0);
    store_row(&a, y, row + 8, &high, sum, 1);
}
#endif
