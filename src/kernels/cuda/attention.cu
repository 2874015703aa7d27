// SPDX-License-Identifier: Apache-2.0
// Attention without tensor cores: a block computes ROWS query rows of one head. It goes through blocks of KEYS keys: scores, exponentials
// against the largest score so far, and the weighted sum of values, which is scaled when a larger score comes. ROWS and KEYS are such that
// shared memory suffices.
// DECODE: a cluster of SHARES blocks computes one query row, each with its part of the keys; LANES threads with VECTOR elements each
// take a key.
#if DECODE
enum { ATTENTION_THREADS = 512, GROUPS = ATTENTION_THREADS / LANES, BATCH = 4 };

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

// Has the second-level cache bring what the kernel before may still write: the value is not read yet.
DEVICE void expect_line(const X *at)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("prefetch.global.L2 [%0];" : : "l"(at) : "memory");
#else
    (void)at;
#endif
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
    UNROLL for (int j = 0; j < BATCH && PAST; j++) {
        const uint64_t key = begin + group + (uint64_t)j * GROUPS;
        if (key >= open || key >= a.past) break;
        expect_line(line_at(&k, key) + at);
        expect_line(line_at(&v, key) + at);
    }
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
#else
enum { ATTENTION_THREADS = 256, PARTS = ATTENTION_THREADS / ROWS };

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
#endif
