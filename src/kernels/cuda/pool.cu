// SPDX-License-Identifier: Apache-2.0
// Pooling over up to three spatial axes. AVERAGE: the mean, else the largest element. LAST: x is in channels last, and a
// thread computes 8 channels.
typedef struct pool {
    const X *x;
    Y *y;
    uint64_t planes;
    int64_t in[3], out[3], window[3], stride[3], dilation[3], begin[3], end[3];
    uint32_t count_padding;
    uint64_t channels; // for LAST: of all planes of an image
} pool;

// Taps at output `o` of axis d that fall inside the input: [from, to); counted: those of the mean. All sizes
// are below 2^31, but a place behind the padding may not be. EVERY: no window skips elements, which saves divisions.
typedef struct reach {
    int64_t start;
    int32_t from, to, counted;
} reach;

DEVICE int32_t taps_until(int64_t limit, int64_t start, int64_t step, int64_t most)
{
    const int64_t rest = limit - start, count = rest <= 0 ? 0 : EVERY ? rest : (int64_t)quotient((uint64_t)(rest + step - 1), (uint64_t)step);
    return (int32_t)(count < most ? count : most);
}

DEVICE reach find_reach(const pool *a, int d, uint64_t o, int64_t window)
{
    reach r;
    r.start = (int64_t)o * a->stride[d] - a->begin[d];
    r.from = r.start >= 0 ? 0 : EVERY ? (int32_t)(-r.start < window ? -r.start : window) : (int32_t)quotient((uint64_t)(-r.start + a->dilation[d] - 1), (uint64_t)a->dilation[d]);
    r.to = taps_until(a->in[d], r.start, a->dilation[d], window);
    if (r.to < r.from) r.to = r.from;
    r.counted = a->count_padding ? taps_until(a->in[d] + a->end[d], r.start, a->dilation[d], window) : r.to - r.from;
    return r;
}

#if LAST
typedef struct ALIGNED(16) pack { X at[8]; } pack;
typedef struct wide { float at[8]; } wide;

DEVICE wide nothing(void)
{
    wide y;
    UNROLL for (int e = 0; e < 8; e++) y.at[e] = AVERAGE ? 0 : -INFINITY;
    return y;
}

DEVICE void take(wide *y, const X *x)
{
    const pack p = *(const pack *)x;
    UNROLL for (int e = 0; e < 8; e++) {
        const float v = WIDEN(X, p.at[e]);
        y->at[e] = AVERAGE ? y->at[e] + v : max_f32(v, y->at[e]);
    }
}

#if W1 * W2 <= 16
// The taps of a small window in one slice: all are loaded before one is used, without branches.
typedef struct window { quarters at[W1 * W2]; } window;

DEVICE int is_inside(int32_t tap, const reach *v, const reach *h)
{
    const int32_t tv = tap / W2, th = tap % W2;
    return tv >= v->from && tv < v->to && th >= h->from && th < h->to;
}

DEVICE window load_window(const pool *a, const X *x, const reach *v, const reach *h)
{
    window w;
    UNROLL for (int32_t i = 0; i < W1 * W2; i++) {
        const int64_t at = i / W2 * a->dilation[1] * a->in[2] + i % W2 * a->dilation[2];
        const int inside = is_inside(i, v, h);
        w.at[i] = load_quarters(inside ? x + at * (int64_t)a->channels : a->x, inside);
    }
    return w;
}

#if AVERAGE
typedef wide total;
DEVICE total nothing_yet(void) { return nothing(); }

DEVICE void add_window(total *y, const window *w, const reach *v, const reach *h)
{
    typedef union either { quarters bits; pack numbers; } either;
    UNROLL for (int32_t i = 0; i < W1 * W2; i++) {
        either p;
        p.bits = w->at[i];
        UNROLL for (int e = 0; e < 8; e++) y->at[e] += is_inside(i, v, h) ? WIDEN(X, p.numbers.at[e]) : 0;
    }
}
#else
// Two numbers at a time, where an infinity stands for what is outside.
typedef quarters total;
#define lowest_f16 0xfc00fc00u
#define lowest_bf16 0xff80ff80u
#if !defined(EMULATED) && __CUDA_ARCH__ >= 800
DEVICE uint32_t most_f16(uint32_t x, uint32_t y)
{
    asm("max.NaN.f16x2 %0, %0, %1;" : "+r"(x) : "r"(y));
    return x;
}
DEVICE uint32_t most_bf16(uint32_t x, uint32_t y)
{
    asm("max.NaN.bf16x2 %0, %0, %1;" : "+r"(x) : "r"(y));
    return x;
}
#else
#define MOST_OF(type)                                                                                                    \
    DEVICE uint32_t most_##type(uint32_t x, uint32_t y)                                                                  \
    {                                                                                                                    \
        type a, b, c, d;                                                                                                 \
        a.bits = (uint16_t)x, b.bits = (uint16_t)y, c.bits = (uint16_t)(x >> 16), d.bits = (uint16_t)(y >> 16);          \
        const float low = max_f32(widen_##type(b), widen_##type(a)), high = max_f32(widen_##type(d), widen_##type(c));   \
        return two_##type(low, high);                                                                                    \
    }
MOST_OF(f16)
MOST_OF(bf16)
#endif

DEVICE total nothing_yet(void)
{
    const total y = {{JOIN(lowest_, X), JOIN(lowest_, X), JOIN(lowest_, X), JOIN(lowest_, X)}};
    return y;
}

DEVICE void add_window(total *y, const window *w, const reach *v, const reach *h)
{
    UNROLL for (int32_t i = 0; i < W1 * W2; i++)
        UNROLL for (int q = 0; q < 4; q++)
            y->at[q] = JOIN(most_, X)(y->at[q], is_inside(i, v, h) ? w->at[i].at[q] : JOIN(lowest_, X));
}
#endif
#endif

DEVICE void give(Y *to, const wide *y, float divisor)
{
    pack p;
    UNROLL for (int e = 0; e < 8; e++) p.at[e] = NARROW(Y, AVERAGE ? y->at[e] / divisor : y->at[e]);
    *(pack *)to = p;
}

KERNEL(run, pool, 256)
{
    const uint64_t chunks = a.channels / 8, each = (uint64_t)(a.out[0] * a.out[1] * a.out[2]), count = a.planes / 8 * each;
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < count; i += (uint64_t)BLOCKS_X * 256) {
        const uint64_t pixel = quotient(i, chunks), chunk = i - pixel * chunks, image = quotient(pixel, each), at = pixel - image * each;
        const uint64_t row = quotient(at, (uint64_t)a.out[2]), slice = quotient(row, (uint64_t)a.out[1]);
        const reach z = find_reach(&a, 0, slice, W0), v = find_reach(&a, 1, row - slice * (uint64_t)a.out[1], W1);
        const reach h = find_reach(&a, 2, at - row * (uint64_t)a.out[2], W2);
        const X *x = a.x + image * (uint64_t)(a.in[0] * a.in[1] * a.in[2]) * a.channels + chunk * 8;
        Y *const to = a.y + pixel * a.channels + chunk * 8;
#if W1 * W2 <= 16
        total y = nothing_yet();
        for (int32_t tz = z.from; tz < z.to; tz++) {
            const int64_t from = ((z.start + tz * a.dilation[0]) * a.in[1] + v.start) * a.in[2] + h.start;
            const window w = load_window(&a, x + from * (int64_t)a.channels, &v, &h);
            add_window(&y, &w, &v, &h);
        }
#if AVERAGE
        give(to, &y, (float)z.counted * (float)v.counted * (float)h.counted);
#else
        store_quarters(to, y);
#endif
#else
        wide y = nothing();
        for (int32_t tz = z.from; tz < z.to; tz++)
            for (int32_t tv = v.from; tv < v.to; tv++) {
                const int64_t from = ((z.start + tz * a.dilation[0]) * a.in[1] + v.start + tv * a.dilation[1]) * a.in[2] + h.start;
                UNROLL_4 for (int32_t th = 0; th < W2; th++)
                    if (th >= h.from && th < h.to) take(&y, x + (from + th * a.dilation[2]) * (int64_t)a.channels);
            }
        give(to, &y, (float)z.counted * (float)v.counted * (float)h.counted);
#endif
    }
}

// The window is the whole plane: the threads of a block share the pixels of 64 channels.
KERNEL(whole_plane, pool, 256)
{
    SHARED wide room[32][8];
    const uint64_t count = (uint64_t)(a.in[0] * a.in[1] * a.in[2]), groups = (a.channels + 63) / 64;
    const uint64_t images = a.planes / a.channels;
    for (uint64_t unit = BLOCK_X; unit < images * groups; unit += BLOCKS_X) {
        const uint64_t image = quotient(unit, groups), channel = (unit - image * groups) * 64 + THREAD % 8 * 8;
        const X *x = a.x + image * count * a.channels + channel;
        wide y = nothing();
        for (uint64_t i = THREAD / 8; channel < a.channels && i < count; i += 32) take(&y, x + i * a.channels);
        room[THREAD / 8][THREAD % 8] = y;
        BARRIER();
        if (THREAD < 8 && channel < a.channels) {
            for (uint32_t i = 1; i < 32; i++)
                UNROLL for (int e = 0; e < 8; e++) {
                    const float v = room[i][THREAD].at[e];
                    y.at[e] = AVERAGE ? y.at[e] + v : max_f32(v, y.at[e]);
                }
            give(a.y + image * a.channels + channel, &y, (float)count);
        }
        BARRIER();
    }
}
#else
// W0, W1, W2: the window; loops over a small one are unrolled.
KERNEL(run, pool, 256)
{
    const uint64_t each = (uint64_t)(a.out[0] * a.out[1] * a.out[2]), count = a.planes * each;
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < count; i += (uint64_t)BLOCKS_X * 256) {
        const uint64_t plane = quotient(i, each), at = i - plane * each;
        const uint64_t row = quotient(at, (uint64_t)a.out[2]), slice = quotient(row, (uint64_t)a.out[1]);
        const reach z = find_reach(&a, 0, slice, W0), v = find_reach(&a, 1, row - slice * (uint64_t)a.out[1], W1);
        const reach h = find_reach(&a, 2, at - row * (uint64_t)a.out[2], W2);
        const X *x = a.x + plane * (uint64_t)(a.in[0] * a.in[1] * a.in[2]);
        float y = AVERAGE ? 0 : -INFINITY;
        for (int32_t tz = z.from; tz < z.to; tz++) {
            UNROLL_4 for (int32_t tv = 0; tv < W1; tv++) {
                if (tv < v.from || tv >= v.to) continue;
                const int64_t from = ((z.start + tz * a.dilation[0]) * a.in[1] + v.start + tv * a.dilation[1]) * a.in[2] + h.start;
                UNROLL_4 for (int32_t th = 0; th < W2; th++) {
                    if (th < h.from || th >= h.to) continue;
                    const float e = WIDEN(X, x[from + th * a.dilation[2]]);
                    y = AVERAGE ? y + e : max_f32(e, y);
                }
            }
        }
        if (AVERAGE) y /= (float)z.counted * (float)v.counted * (float)h.counted;
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
#endif
