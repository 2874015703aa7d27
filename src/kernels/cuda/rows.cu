// SPDX-License-Identifier: Apache-2.0
// Kernels in which a block of THREADS threads computes a row: softmax, normalisations, reductions.
// X, Y, ...: the types of the operands.

// ---- Softmax and LogSoftmax ------------------------------------------------------------------------

#ifdef SOFTMAX
typedef struct softmax {
    const X *x;
    Y *y;
    uint64_t rows, length, inner; // a row's elements lie `inner` apart
} softmax;

KERNEL(run, softmax, THREADS)
{
    SHARED float room[THREADS / 32];
    for (uint64_t row = BLOCK_X; row < a.rows; row += BLOCKS_X) {
        const uint64_t at = row / a.inner * a.length * a.inner + row % a.inner;
        const X *x = a.x + at;
        Y *y = a.y + at;
        float most = -INFINITY, sum = 0;
        for (uint64_t i = THREAD; i < a.length; i += THREADS) most = max_f32(most, WIDEN(X, x[i * a.inner]));
        most = block_max(most, room);
        for (uint64_t i = THREAD; i < a.length; i += THREADS) sum += expf(WIDEN(X, x[i * a.inner]) - most);
        sum = block_sum(sum, room);
#if SOFTMAX == 2
        const float log_sum = logf(sum);
#else
        const float factor = 1 / sum;
#endif
        for (uint64_t i = THREAD; i < a.length; i += THREADS) {
            const float v = WIDEN(X, x[i * a.inner]) - most;
#if SOFTMAX == 2
            y[i * a.inner] = NARROW(Y, v - log_sum);
#else
            y[i * a.inner] = NARROW(Y, expf(v) * factor);
#endif
        }
        BARRIER();
    }
}
#endif

// ---- Instance, group, batch and Lp normalisation -----------------------------------------------------

#ifdef PLANES
typedef struct planes {
    const X *x;
    const SCALE *scale;
    const BIAS *bias;
    const MEAN *mean;
    const FACTOR *variance;
    Y *y;
    uint64_t rows, length, plane, groups; // groups: rows of one image
    float epsilon;
} planes;

typedef struct ALIGNED(sizeof(X) * VECTOR) x_pack { X at[VECTOR]; } x_pack;
typedef struct ALIGNED(sizeof(Y) * VECTOR) y_pack { Y at[VECTOR]; } y_pack;
typedef struct numbers { float at[VECTOR]; } numbers;

// VECTOR neighbours, which are of the same channel.
DEVICE numbers plane_at(const X *x, uint64_t i)
{
    const x_pack p = *(const x_pack *)(x + i);
    numbers v;
    UNROLL for (int e = 0; e < VECTOR; e++) v.at[e] = WIDEN(X, p.at[e]);
    return v;
}

DEVICE float moment(const numbers *v, float mean, int squares)
{
    float sum = 0;
    UNROLL for (int e = 0; e < VECTOR; e++) sum += squares ? (v->at[e] - mean) * (v->at[e] - mean) : v->at[e];
    return sum;
}

DEVICE void plane_store(const planes *a, uint64_t row, uint64_t i, const numbers *v, float mean, float variance)
{
    y_pack y;
#if PLANES == 5
    const float norm = sqrtf(variance);
    UNROLL for (int e = 0; e < VECTOR; e++) y.at[e] = NARROW(Y, norm == 0 ? 0 : v->at[e] * (1 / norm));
#else
    const uint64_t channel = row % a->groups * quotient(a->length, a->plane) + quotient(i, a->plane);
#if PLANES == 4
    mean = WIDEN(MEAN, a->mean[channel]);
    variance = WIDEN(FACTOR, a->variance[channel]);
#endif
    const float factor = WIDEN(SCALE, a->scale[channel]) / sqrtf(variance + a->epsilon), shift = WIDEN(BIAS, a->bias[channel]);
    UNROLL for (int e = 0; e < VECTOR; e++) y.at[e] = NARROW(Y, (v->at[e] - mean) * factor + shift);
#endif
    *(y_pack *)(a->y + row * a->length + i) = y;
}

// A moment of a row over all threads: KEPT packs of each are in registers; longer rows are read again.
DEVICE float row_moment(const X *x, uint64_t length, const numbers *kept, float mean, int squares, float *room)
{
    const uint64_t step = (uint64_t)THREADS * VECTOR, start = (uint64_t)THREAD * VECTOR;
    float sum = 0;
    UNROLL for (int k = 0; k < KEPT; k++)
        if (start + (uint32_t)k * step < length) sum += moment(&kept[k], mean, squares);
    for (uint64_t i = start + KEPT * step; i < length; i += step) {
        const numbers v = plane_at(x, i);
        sum += moment(&v, mean, squares);
    }
    return block_sum(sum, room);
}

KERNEL(run, planes, THREADS)
{
    SHARED float room[THREADS / 32];
    const uint64_t step = (uint64_t)THREADS * VECTOR, start = (uint64_t)THREAD * VECTOR;
    const float n = (float)a.length;
    (void)n, (void)room;
    for (uint64_t row = BLOCK_X; row < a.rows; row += BLOCKS_X) {
        const X *x = a.x + row * a.length;
        numbers kept[KEPT];
        float mean = 0, variance = 0;
        UNROLL for (int k = 0; k < KEPT; k++)
            if (start + (uint32_t)k * step < a.length) kept[k] = plane_at(x, start + (uint32_t)k * step);
#if PLANES == 2
        mean = row_moment(x, a.length, kept, 0, 0, room) / n;
#endif
#if PLANES != 4
        variance = row_moment(x, a.length, kept, mean, 1, room);
#endif
#if PLANES == 2
        variance /= n;
#endif
        UNROLL for (int k = 0; k < KEPT; k++)
            if (start + (uint32_t)k * step < a.length) plane_store(&a, row, start + (uint32_t)k * step, &kept[k], mean, variance);
        for (uint64_t i = start + KEPT * step; i < a.length; i += step) {
            const numbers v = plane_at(x, i);
            plane_store(&a, row, i, &v, mean, variance);
        }
        BARRIER();
    }
}
#endif

// ---- Reductions ------------------------------------------------------------------------------------

#ifdef REDUCE
enum { REDUCE_AXES = 8, SUM, MEAN, MAX, MIN, PROD, L1, L2, SUM_SQUARE, LOG_SUM, LOG_SUM_EXP };
typedef struct axes {
    uint64_t count, shape[REDUCE_AXES], strides[REDUCE_AXES];
    uint32_t rank;
} axes;

typedef struct reduce {
    const X *x;
    Y *y;
    axes kept, reduced;
} reduce;

DEVICE uint64_t offset_of(const axes *s, uint64_t i)
{
    uint64_t offset = 0;
    for (int d = (int)s->rank - 1; d > 0; d--) {
        offset += i % s->shape[d] * s->strides[d];
        i /= s->shape[d];
    }
    return offset + i * s->strides[0];
}

#if REDUCE_INTEGER
DEVICE X combine(X y, X x)
{
    if (REDUCE == MAX) return x > y ? x : y;
    if (REDUCE == MIN) return x < y ? x : y;
    return REDUCE == PROD ? JOIN(mul_, X)(y, x) : JOIN(add_, X)(y, x);
}

KERNEL(columns, reduce, 256)
{
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < a.kept.count; i += (uint64_t)BLOCKS_X * 256) {
        const X *x = a.x + offset_of(&a.kept, i);
        X y = x[0];
        for (uint64_t k = 1; k < a.reduced.count; k++) y = combine(y, x[offset_of(&a.reduced, k)]);
        a.y[i] = y;
    }
}
#else
DEVICE float start(void) { return REDUCE == MAX ? -INFINITY : REDUCE == MIN ? INFINITY : REDUCE == PROD ? 1 : 0; }
DEVICE float combine(float y, float x)
{
    if (REDUCE == MAX) return max_f32(x, y);
    if (REDUCE == MIN) return min_f32(x, y);
    if (REDUCE == PROD) return y * x;
    if (REDUCE == L1) return y + fabsf(x);
    return REDUCE == L2 || REDUCE == SUM_SQUARE ? y + x * x : y + x;
}
DEVICE float finish(float y, uint64_t count)
{
    if (REDUCE == MEAN) return y / (float)count;
    if (REDUCE == L2) return sqrtf(y);
    return REDUCE == LOG_SUM ? logf(y) : y;
}

// A thread for each element of the output.
KERNEL(columns, reduce, 256)
{
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < a.kept.count; i += (uint64_t)BLOCKS_X * 256) {
        const X *x = a.x + offset_of(&a.kept, i);
        float y = start(), most = 0;
        if (REDUCE == LOG_SUM_EXP) {
            most = -INFINITY;
            for (uint64_t k = 0; k < a.reduced.count; k++) most = max_f32(WIDEN(X, x[offset_of(&a.reduced, k)]), most);
            if (most == INFINITY || most == -INFINITY) most = 0;
        }
        for (uint64_t k = 0; k < a.reduced.count; k++) {
            const float v = WIDEN(X, x[offset_of(&a.reduced, k)]);
            y = combine(y, REDUCE == LOG_SUM_EXP ? expf(v - most) : v);
        }
        a.y[i] = NARROW(Y, REDUCE == LOG_SUM_EXP ? most + logf(y) : finish(y, a.reduced.count));
    }
}

// A block for each element of the output.
KERNEL(rows, reduce, THREADS)
{
    SHARED float room[THREADS / 32];
    for (uint64_t i = BLOCK_X; i < a.kept.count; i += BLOCKS_X) {
        const X *x = a.x + offset_of(&a.kept, i);
        float y = start(), most = 0;
        if (REDUCE == LOG_SUM_EXP) {
            most = -INFINITY;
            for (uint64_t k = THREAD; k < a.reduced.count; k += THREADS)
                most = max_f32(WIDEN(X, x[offset_of(&a.reduced, k)]), most);
            most = block_max(most, room);
            if (most == INFINITY || most == -INFINITY) most = 0;
        }
        for (uint64_t k = THREAD; k < a.reduced.count; k += THREADS) {
            const float v = WIDEN(X, x[offset_of(&a.reduced, k)]);
            y = combine(y, REDUCE == LOG_SUM_EXP ? expf(v - most) : v);
        }
        y = REDUCE == MAX ? block_max(y, room)
            : REDUCE == MIN ? block_min(y, room)
            : REDUCE == PROD ? block_product(y, room)
                             : block_sum(y, room);
        if (THREAD == 0)
            a.y[i] = NARROW(Y, REDUCE == LOG_SUM_EXP ? most + logf(y) : finish(y, a.reduced.count));
    }
}
#endif
#endif
