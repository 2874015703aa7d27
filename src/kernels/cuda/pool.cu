// SPDX-License-Identifier: Apache-2.0
// Pooling over up to three spatial axes. AVERAGE: the mean, else the largest element.
typedef struct pool {
    const X *x;
    Y *y;
    uint64_t planes;
    int64_t in[3], out[3], window[3], stride[3], dilation[3], begin[3], end[3];
    uint32_t count_padding;
} pool;

// Taps at output `o` of axis d that fall inside the input: [from, to); counted: those of the mean.
typedef struct reach {
    int64_t start, from, to, counted;
} reach;

DEVICE int64_t taps_until(int64_t limit, int64_t start, int64_t step, int64_t most)
{
    const int64_t count = start < limit ? (int64_t)quotient((uint64_t)(limit - start + step - 1), (uint64_t)step) : 0;
    return count < most ? count : most;
}

DEVICE reach find_reach(const pool *a, int d, int64_t o)
{
    reach r;
    r.start = o * a->stride[d] - a->begin[d];
    r.from = r.start < 0 ? (int64_t)quotient((uint64_t)(-r.start + a->dilation[d] - 1), (uint64_t)a->dilation[d]) : 0;
    r.to = taps_until(a->in[d], r.start, a->dilation[d], a->window[d]);
    if (r.to < r.from) r.to = r.from;
    r.counted = a->count_padding ? taps_until(a->in[d] + a->end[d], r.start, a->dilation[d], a->window[d])
                                 : r.to - r.from;
    return r;
}

KERNEL(run, pool, 256)
{
    const uint64_t each = (uint64_t)(a.out[0] * a.out[1] * a.out[2]), count = a.planes * each;
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < count; i += (uint64_t)BLOCKS_X * 256) {
        const uint64_t plane = quotient(i, each), at = i - plane * each;
        const uint64_t row = quotient(at, (uint64_t)a.out[2]), slice = quotient(row, (uint64_t)a.out[1]);
        const reach z = find_reach(&a, 0, (int64_t)slice), v = find_reach(&a, 1, (int64_t)(row - slice * (uint64_t)a.out[1]));
        const reach h = find_reach(&a, 2, (int64_t)(at - row * (uint64_t)a.out[2]));
        const X *x = a.x + plane * (uint64_t)(a.in[0] * a.in[1] * a.in[2]);
        float y = AVERAGE ? 0 : -INFINITY;
        for (int64_t tz = z.from; tz < z.to; tz++)
            for (int64_t tv = v.from; tv < v.to; tv++)
                for (int64_t th = h.from; th < h.to; th++) {
                    const int64_t from = ((z.start + tz * a.dilation[0]) * a.in[1] + v.start + tv * a.dilation[1]) * a.in[2];
                    const float e = WIDEN(X, x[from + h.start + th * a.dilation[2]]);
                    y = AVERAGE ? y + e : max_f32(e, y);
                }
        if (AVERAGE) y /= (float)(z.counted * v.counted * h.counted);
        a.y[i] = NARROW(Y, y);
    }
}

// The window is the whole plane: a block for each.
KERNEL(whole_plane, pool, THREADS)
{
    SHARED float room[THREADS / 32];
    const uint64_t count = (uint64_t)(a.in[0] * a.in[1] * a.in[2]);
    for (uint64_t plane = BLOCK_X; plane < a.planes; plane += BLOCKS_X) {
        float y = AVERAGE ? 0 : -INFINITY;
        for (uint64_t i = THREAD; i < count; i += THREADS) {
            const float e = WIDEN(X, a.x[plane * count + i]);
            y = AVERAGE ? y + e : max_f32(e, y);
        }
        y = AVERAGE ? block_sum(y, room) / (float)count : block_max(y, room);
        if (THREAD == 0) a.y[plane] = NARROW(Y, y);
    }
}
