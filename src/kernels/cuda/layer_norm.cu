// SPDX-License-Identifier: Apache-2.0
// Layer and RMS normalisation, with an input that is added before. X, Y, ...: the types of the operands; SKIPPED, EXTRAS, SCALED, BIASED,
// SUMMED: which of them are there; VECTOR: neighbours that a thread takes at once.
typedef struct layer {
    const X *x;
    const SKIP *skip;   // NULL: none
    const EXTRA *extra; // a bias that is added, too
    const SCALE *scale;
    const BIAS *bias;
    Y *y;
    MEAN *mean;
    FACTOR *factor;
    SUM *sum;
    uint64_t rows, length, skip_count;
    float epsilon;
    uint32_t root; // no mean is subtracted
} layer;

#define PACK_OF(type, name) typedef struct ALIGNED(sizeof(type) * VECTOR) name { type at[VECTOR]; } name;
PACK_OF(X, x_pack)
PACK_OF(SKIP, skip_pack)
PACK_OF(EXTRA, extra_pack)
PACK_OF(SCALE, scale_pack)
PACK_OF(BIAS, bias_pack)
PACK_OF(Y, y_pack)
PACK_OF(SUM, sum_pack)
typedef struct numbers { float at[VECTOR]; } numbers;

// VECTOR neighbours of a row.
DEVICE numbers layer_at(const layer *a, uint64_t row, uint64_t i)
{
    const uint64_t at = row * a->length + i;
    const x_pack x = *(const x_pack *)(a->x + at);
    numbers v;
    UNROLL for (int e = 0; e < VECTOR; e++) v.at[e] = WIDEN(X, x.at[e]);
    if (a->skip) {
        const skip_pack s = *(const skip_pack *)(a->skip + at - quotient(at, a->skip_count) * a->skip_count);
        UNROLL for (int e = 0; e < VECTOR; e++) v.at[e] += WIDEN(SKIP, s.at[e]);
    }
    if (a->extra) {
        const extra_pack s = *(const extra_pack *)(a->extra + i);
        UNROLL for (int e = 0; e < VECTOR; e++) v.at[e] += WIDEN(EXTRA, s.at[e]);
    }
    return v;
}

DEVICE float added(const numbers *v)
{
    float sum = 0;
    UNROLL for (int e = 0; e < VECTOR; e++) sum += v->at[e];
    return sum;
}

DEVICE float squared(const numbers *v, float mean)
{
    float sum = 0;
    UNROLL for (int e = 0; e < VECTOR; e++) sum += (v->at[e] - mean) * (v->at[e] - mean);
    return sum;
}

// What a row's elements are multiplied by, and what is added then.
typedef struct weights {
    scale_pack scale;
    bias_pack bias;
} weights;

DEVICE weights weights_at(const layer *a, uint64_t i)
{
    weights w;
    if (SCALED) w.scale = *(const scale_pack *)(a->scale + i);
    if (BIASED) w.bias = *(const bias_pack *)(a->bias + i);
    return w;
}

DEVICE void layer_store(const layer *a, uint64_t row, uint64_t i, const numbers *v, const weights *by, float mean, float factor)
{
    const uint64_t at = row * a->length + i;
    y_pack y;
    UNROLL for (int e = 0; e < VECTOR; e++) {
        float w = (v->at[e] - mean) * factor;
        if (SCALED) w *= WIDEN(SCALE, by->scale.at[e]);
        if (BIASED) w += WIDEN(BIAS, by->bias.at[e]);
        y.at[e] = NARROW(Y, w);
    }
#if SUMMED
    sum_pack s;
    UNROLL for (int e = 0; e < VECTOR; e++) s.at[e] = NARROW(SUM, v->at[e]);
    *(sum_pack *)(a->sum + at) = s;
#endif
    *(y_pack *)(a->y + at) = y;
}

#if WARPED
// A warp computes whole rows, so that no thread waits for others; KEPT packs of a row are in a lane's registers. The next
// row is under way meanwhile. FULL: all packs of all lanes are there. BLOCKS: that a multiprocessor runs at the same time, by the registers that this needs.
enum { LINES = THREADS / 32 };
#define IS_THERE(i, length) (FULL || (i) < (length))
typedef struct packs {
    x_pack x[KEPT];
#if SKIPPED
    skip_pack skip[KEPT];
#endif
} packs;

DEVICE float line_sum(float x)
{
    UNROLL for (int lanes = 16; lanes; lanes /= 2) x += SHUFFLE_XOR(x, lanes);
    return x;
}

DEVICE void load_packs(packs *p, const layer *a, uint64_t row, uint32_t start)
{
    const uint64_t at = row * a->length;
#if SKIPPED
    const uint64_t own = at - quotient(at, a->skip_count) * a->skip_count;
#endif
    UNROLL for (uint32_t k = 0; k < KEPT; k++) {
        const uint32_t i = start + k * 32 * VECTOR;
        if (!IS_THERE(i, a->length)) break;
        p->x[k] = *(const x_pack *)(a->x + at + i);
#if SKIPPED
        p->skip[k] = *(const skip_pack *)(a->skip + own + i); // skip_count is a multiple of a row's length
#endif
    }
}

DEVICE numbers widen_pack(const packs *p, const layer *a, uint32_t k, uint32_t i)
{
    numbers v;
    UNROLL for (int e = 0; e < VECTOR; e++) v.at[e] = WIDEN(X, p->x[k].at[e]);
#if SKIPPED
    UNROLL for (int e = 0; e < VECTOR; e++) v.at[e] += WIDEN(SKIP, p->skip[k].at[e]);
#endif
#if EXTRAS
    const extra_pack s = *(const extra_pack *)(a->extra + i);
    UNROLL for (int e = 0; e < VECTOR; e++) v.at[e] += WIDEN(EXTRA, s.at[e]);
#else
    (void)a, (void)i;
#endif
    return v;
}

KERNEL_OF(run, layer, THREADS, BLOCKS)
{
    const float n = (float)a.length;
    const uint32_t start = THREAD % 32 * VECTOR, length = (uint32_t)a.length;
    const uint64_t step = (uint64_t)BLOCKS_X * LINES;
    uint64_t row = (uint64_t)BLOCK_X * LINES + THREAD / 32;
    packs next;
    if (row < a.rows) load_packs(&next, &a, row, start);
    for (; row < a.rows; row += step) {
        numbers kept[KEPT];
        float sum = 0, squares = 0, mean = 0;
        UNROLL for (uint32_t k = 0; k < KEPT; k++)
            if (IS_THERE(start + k * 32 * VECTOR, length)) kept[k] = widen_pack(&next, &a, k, start + k * 32 * VECTOR);
        if (row + step < a.rows) load_packs(&next, &a, row + step, start);
        UNROLL for (uint32_t k = 0; k < KEPT; k++)
            if (IS_THERE(start + k * 32 * VECTOR, length)) sum += added(&kept[k]);
        if (!a.root) mean = line_sum(sum) / n;
        UNROLL for (uint32_t k = 0; k < KEPT; k++)
            if (IS_THERE(start + k * 32 * VECTOR, length)) squares += squared(&kept[k], mean);
        const float variance = line_sum(squares) / n, factor = 1 / sqrtf(variance + a.epsilon);
        if (start == 0 && a.mean) a.mean[row] = NARROW(MEAN, mean);
        if (start == 0 && a.factor) a.factor[row] = NARROW(FACTOR, factor);
        UNROLL for (uint32_t k = 0; k < KEPT; k++) {
            const uint32_t i = start + k * 32 * VECTOR;
            if (!IS_THERE(i, length)) break;
            const weights by = weights_at(&a, i);
            layer_store(&a, row, i, &kept[k], &by, mean, factor);
        }
    }
}
#else
// KEPT packs of a row stay in a thread's registers; longer rows are read again. The weights of few packs are under way
// together with them.
#define WEIGHTS_EARLY (KEPT <= 2)
KERNEL(run, layer, THREADS)
{
    SHARED float room[THREADS / 32];
    const float n = (float)a.length;
    const uint64_t step = (uint64_t)THREADS * VECTOR, start = (uint64_t)THREAD * VECTOR;
    for (uint64_t row = BLOCK_X; row < a.rows; row += BLOCKS_X) {
        numbers kept[KEPT];
        weights by[KEPT];
        float sum = 0, squares = 0, mean = 0;
        UNROLL for (int k = 0; k < KEPT; k++)
            if (WEIGHTS_EARLY && start + (uint32_t)k * step < a.length) by[k] = weights_at(&a, start + (uint32_t)k * step);
        UNROLL for (int k = 0; k < KEPT; k++)
            if (start + (uint32_t)k * step < a.length) kept[k] = layer_at(&a, row, start + (uint32_t)k * step);
        UNROLL for (int k = 0; k < KEPT; k++)
            if (start + (uint32_t)k * step < a.length) sum += added(&kept[k]);
        for (uint64_t i = start + KEPT * step; i < a.length; i += step) {
            const numbers v = layer_at(&a, row, i);
            sum += added(&v);
        }
        if (!a.root) mean = block_sum(sum, room) / n;
        UNROLL for (int k = 0; k < KEPT; k++)
            if (start + (uint32_t)k * step < a.length) squares += squared(&kept[k], mean);
        for (uint64_t i = start + KEPT * step; i < a.length; i += step) {
            const numbers v = layer_at(&a, row, i);
            squares += squared(&v, mean);
        }
        const float variance = block_sum(squares, room) / n, factor = 1 / sqrtf(variance + a.epsilon);
        if (THREAD == 0 && a.mean) a.mean[row] = NARROW(MEAN, mean);
        if (THREAD == 0 && a.factor) a.factor[row] = NARROW(FACTOR, factor);
        UNROLL for (int k = 0; k < KEPT; k++) {
            const uint64_t i = start + (uint32_t)k * step;
            if (i >= a.length) break;
            if (!WEIGHTS_EARLY) by[k] = weights_at(&a, i);
            layer_store(&a, row, i, &kept[k], &by[k], mean, factor);
        }
        for (uint64_t i = start + KEPT * step; i < a.length; i += step) {
            const numbers v = layer_at(&a, row, i);
            const weights w = weights_at(&a, i);
            layer_store(&a, row, i, &v, &w, mean, factor);
        }
    }
}
#endif
