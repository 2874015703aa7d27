// SPDX-License-Identifier: Apache-2.0
// Text in front of attention_tensor.cu and attention_groups.cu: it turns scores into weights, and stores sums. A thread has the scores
// of two query rows, for two of each eight keys among SLICE = KEYS / SPLIT. STAGED: all rows have the same mask, which is copied to
// shared memory.
enum { SLICE = KEYS / SPLIT };

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
    float most, mosts[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY}, added[4] = {0, 0, 0, 0}; // four of each, so that few instructions wait for each other
    UNROLL for (int j = 0; j < SLICE / 8; j++)
        UNROLL for (int e = 0; e < 2; e++) mosts[j % 2 * 2 + e] = fmaxf(s[j][half * 2 + e], mosts[j % 2 * 2 + e]); // NaN: its weight is NaN
    most = fmaxf(fmaxf(mosts[0], mosts[1]), fmaxf(mosts[2], mosts[3]));
    UNROLL for (int lanes = 2; lanes; lanes /= 2) most = fmaxf(SHUFFLE_XOR(most, lanes), most);
    const float now = fmaxf(most, q->largest), base = now == -INFINITY ? 0 : now;
    const float factor = q->largest == -INFINITY ? 0 : power(q->largest - base);
    UNROLL for (int j = 0; j < SLICE / 8; j++)
        UNROLL for (int e = 0; e < 2; e++) {
            const float w = power(s[j][half * 2 + e] - base);
            s[j][half * 2 + e] = w;
            added[j % 2 * 2 + e] += w;
        }
    q->total = q->total * factor + (added[0] + added[1] + (added[2] + added[3]));
    q->largest = now;
    return factor;
}

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
