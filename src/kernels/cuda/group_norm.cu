// SPDX-License-Identifier: Apache-2.0
// Group normalisation; GROUP: channels of a group. SILU: x * sigmoid(x) follows. HALF: Y has 16 bits. THREADS of a block take packs of VECTOR
// neighbours, of which KEPT stay in each thread's registers.
// LAST: the channels are last. A block has `chunk` pixels of an image, so that its memory is contiguous: `measure` finds mean and squared
// distances of each group there, and `run` joins what all blocks found, in their order.
// Else a block computes a group, which is contiguous; of a long one, packs are read again.
typedef struct ALIGNED(8) moments { float mean, squares; } moments;

typedef struct group_norm {
    const X *x;
    const SCALE *scale;
    const BIAS *bias;
    Y *y;
    moments *found; // with LAST: [image, chunk, group]
    uint64_t units; // LAST: chunks of all images, else groups of all images
    uint32_t groups, pixels, chunk, chunks; // of an image
    float epsilon;
} group_norm;

typedef struct ALIGNED(sizeof(X) * VECTOR) x_pack { X at[VECTOR]; } x_pack;
typedef struct ALIGNED(sizeof(Y) * VECTOR) y_pack { Y at[VECTOR]; } y_pack;

// What becomes of a channel: (x - mean) * factor + shift.
typedef struct line { float mean, factor, shift; } line;

DEVICE void store(Y *to, const float *v)
{
#if VECTOR == 8
    STORE_8(Y, to, v);
#else
    y_pack y;
    UNROLL for (int e = 0; e < VECTOR; e++) y.at[e] = NARROW(Y, v[e]);
    *(y_pack *)to = y;
#endif
}

DEVICE float finished(float x, const line *l)
{
    const float v = (x - l->mean) * l->factor + l->shift;
    return !SILU ? v : HALF ? short_silu_f32(v) : silu_f32(v);
}

#if LAST
enum { CHANNELS = PARTS * VECTOR, LINES = THREADS / PARTS }; // PARTS: packs of a pixel; LINES: pixels that are read at the same time

// The packs of a block: those of thread t are t, t + THREADS ..., always of the same channels.
typedef struct block {
    uint64_t base; // first element
    uint32_t image, at, items;
} block;

DEVICE uint32_t pixels_of(const group_norm *a, uint32_t at)
{
    return a->pixels - at * a->chunk < a->chunk ? a->pixels - at * a->chunk : a->chunk;
}

DEVICE block block_of(const group_norm *a, uint64_t unit)
{
    block b;
    b.image = (uint32_t)quotient(unit, a->chunks);
    b.at = (uint32_t)(unit - (uint64_t)b.image * a->chunks);
    b.base = ((uint64_t)b.image * a->pixels + (uint64_t)b.at * a->chunk) * CHANNELS;
    b.items = pixels_of(a, b.at) * PARTS;
    return b;
}

DEVICE void bring(x_pack *kept, const group_norm *a, const block *b)
{
    UNROLL for (uint32_t k = 0; k < KEPT; k++)
        if (THREAD + k * THREADS < b->items) kept[k] = *(const x_pack *)(a->x + b->base + (uint64_t)(THREAD + k * THREADS) * VECTOR);
}

// Sums of each group over the block, for all threads: of x, or of the squared distances to the groups' means.
DEVICE void add_up(float *totals, const block *b, const x_pack *kept, const float *means, float *room)
{
    const uint32_t channel = THREAD % PARTS * VECTOR;
    float sums[VECTOR];
    UNROLL for (uint32_t e = 0; e < VECTOR; e++) {
        const float mean = means ? means[(channel + e) / GROUP] : 0;
        sums[e] = 0;
        UNROLL for (uint32_t k = 0; k < KEPT; k++) {
            const float d = THREAD + k * THREADS < b->items ? WIDEN(X, kept[k].at[e]) - mean : 0;
            sums[e] += means ? d * d : d;
        }
    }
    UNROLL for (uint32_t e = 0; e < VECTOR; e++) room[THREAD * VECTOR + e] = sums[e];
    BARRIER();
    for (uint32_t c = THREAD; c < CHANNELS; c += THREADS) {
        float sum = room[c];
        UNROLL_4 for (uint32_t i = 1; i < LINES; i++) sum += room[i * CHANNELS + c];
        room[c] = sum; // no other thread reads this one
    }
    BARRIER();
    for (uint32_t g = THREAD; g < CHANNELS / GROUP; g += THREADS) {
        float sum = 0;
        for (uint32_t c = 0; c < GROUP; c++) sum += room[g * GROUP + c];
        totals[g] = sum;
    }
    BARRIER();
}

KERNEL(measure, group_norm, THREADS)
{
    SHARED ALIGNED(16) float room[THREADS * VECTOR];
    SHARED float means[CHANNELS / GROUP];
    SHARED float squares[CHANNELS / GROUP];
    for (uint64_t unit = BLOCK_X; unit < a.units; unit += BLOCKS_X) {
        const block b = block_of(&a, unit);
        const float factor = 1 / ((float)(b.items / PARTS) * GROUP);
        x_pack kept[KEPT];
        bring(kept, &a, &b);
        add_up(means, &b, kept, (const float *)0, room);
        for (uint32_t g = THREAD; g < CHANNELS / GROUP; g += THREADS) means[g] *= factor;
        BARRIER();
        add_up(squares, &b, kept, means, room);
        for (uint32_t g = THREAD; g < CHANNELS / GROUP; g += THREADS) {
            moments m;
            m.mean = means[g];
            m.squares = squares[g];
            a.found[unit * (CHANNELS / GROUP) + g] = m;
        }
        BARRIER();
    }
}

// Mean, and 1 / sqrt(variance + epsilon), of the groups of an image: SHARERS threads share the chunks of a group.
enum { SHARERS = THREADS / (CHANNELS / GROUP) ? THREADS / (CHANNELS / GROUP) : 1 };

DEVICE void join(moments *groups, const group_norm *a, uint32_t image, float *room)
{
    const uint32_t count = CHANNELS / GROUP;
    const moments *const found = a->found + (uint64_t)image * a->chunks * count;
    const float n = (float)a->pixels * GROUP;
    for (uint32_t step = 0; step < 2; step++) {
        for (uint32_t i = THREAD; i < count * SHARERS; i += THREADS) {
            const uint32_t g = i % count;
            float sum = 0;
            UNROLL_4 for (uint32_t c = i / count; c < a->chunks; c += SHARERS) {
                const moments m = found[c * count + g];
                const float own = (float)pixels_of(a, c) * GROUP, d = step ? m.mean - groups[g].mean : 0;
                sum += step ? m.squares + own * d * d : own * m.mean;
            }
            room[i] = sum;
        }
        BARRIER();
        for (uint32_t g = THREAD; g < count; g += THREADS) {
            float sum = 0;
            for (uint32_t i = 0; i < SHARERS; i++) sum += room[i * count + g];
            if (step)
                groups[g].squares = 1 / sqrtf(sum / n + a->epsilon);
            else
                groups[g].mean = sum / n;
        }
        BARRIER();
    }
}

KERNEL(run, group_norm, THREADS)
{
    SHARED moments groups[CHANNELS / GROUP];
    SHARED float room[SHARERS * (CHANNELS / GROUP)];
    const uint32_t channel = THREAD % PARTS * VECTOR;
    for (uint64_t unit = BLOCK_X; unit < a.units; unit += BLOCKS_X) {
        const block b = block_of(&a, unit);
        x_pack kept[KEPT];
        line lines[VECTOR];
        bring(kept, &a, &b);
        join(groups, &a, b.image, room);
        UNROLL for (uint32_t e = 0; e < VECTOR; e++) {
            const moments m = groups[(channel + e) / GROUP];
            lines[e].mean = m.mean;
            lines[e].factor = WIDEN(SCALE, a.scale[channel + e]) * m.squares;
            lines[e].shift = WIDEN(BIAS, a.bias[channel + e]);
        }
        UNROLL for (uint32_t k = 0; k < KEPT; k++) {
            float y[VECTOR];
            if (THREAD + k * THREADS >= b.items) continue;
            UNROLL for (int e = 0; e < VECTOR; e++) y[e] = finished(WIDEN(X, kept[k].at[e]), &lines[e]);
            store(a.y + b.base + (uint64_t)(THREAD + k * THREADS) * VECTOR, y);
        }
        BARRIER();
    }
}
#else
DEVICE float moment(const x_pack *x, float mean, int squares)
{
    float sum = 0;
    UNROLL for (int e = 0; e < VECTOR; e++) {
        const float d = WIDEN(X, x->at[e]) - mean;
        sum += squares ? d * d : d;
    }
    return sum;
}

DEVICE float row_moment(const x_pack *x, uint32_t items, const x_pack *kept, float mean, int squares, float *room)
{
    float sum = 0;
    UNROLL for (uint32_t k = 0; k < KEPT; k++)
        if (THREAD + k * THREADS < items) sum += moment(&kept[k], mean, squares);
    for (uint32_t i = THREAD + KEPT * THREADS; i < items; i += THREADS) sum += moment(&x[i], mean, squares);
    return block_sum(sum, room);
}

DEVICE void give(const group_norm *a, uint64_t first, uint64_t base, uint32_t item, const x_pack *x, line l)
{
    const uint64_t channel = first + item * VECTOR / a->pixels;
    float y[VECTOR];
    l.factor *= WIDEN(SCALE, a->scale[channel]);
    l.shift = WIDEN(BIAS, a->bias[channel]);
    UNROLL for (int e = 0; e < VECTOR; e++) y[e] = finished(WIDEN(X, x->at[e]), &l);
    store(a->y + base + (uint64_t)item * VECTOR, y);
}

KERNEL(run, group_norm, THREADS)
{
    SHARED float room[THREADS / 32];
    const uint32_t items = GROUP * a.pixels / VECTOR;
    const float n = (float)items * VECTOR;
    for (uint64_t unit = BLOCK_X; unit < a.units; unit += BLOCKS_X) {
        const uint64_t base = unit * a.pixels * GROUP, first = (unit - quotient(unit, a.groups) * a.groups) * GROUP;
        const x_pack *const x = (const x_pack *)(a.x + base);
        x_pack kept[KEPT];
        line l;
        UNROLL for (uint32_t k = 0; k < KEPT; k++)
            if (THREAD + k * THREADS < items) kept[k] = x[THREAD + k * THREADS];
        l.mean = row_moment(x, items, kept, 0, 0, room) / n;
        l.factor = 1 / sqrtf(row_moment(x, items, kept, l.mean, 1, room) / n + a.epsilon);
        l.shift = 0;
        UNROLL for (uint32_t k = 0; k < KEPT; k++)
            if (THREAD + k * THREADS < items) give(&a, first, base, THREAD + k * THREADS, &kept[k], l);
        for (uint32_t i = THREAD + KEPT * THREADS; i < items; i += THREADS) give(&a, first, base, i, &x[i], l);
        BARRIER();
    }
}
#endif
