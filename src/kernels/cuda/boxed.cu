// SPDX-License-Identifier: Apache-2.0
// The products of packed.cu on Hopper GPUs, whose tiles the copy engine brings, described by tensor maps. One thread of a warp of its own
// starts the copies: of W before the kernel waits for the one before it, because weights are constants. A step of BK k of X is a box of a
// matrix (PLAIN), or the channels that one tap of the window sees from each pixel of the result. SPLITS blocks of a cluster share k.
// Parts of W that blocks of a cluster bring for each other were slower: a tile waits for copies, not for the second-level cache, and a
// cluster for free multiprocessors beside each other.
enum { BOXED_THREADS = PACKED_THREADS + 32, CONSUMERS = BM / 64 };

typedef struct ALIGNED(64) tensor_map { uint64_t at[16]; } tensor_map; // what the driver encodes

typedef struct boxed {
    tensor_map x, w;
    packed own;
} boxed;

// What a block computes: a part of the steps of a tile.
typedef struct place {
    uint64_t m0, n0;
    uint32_t split, begin, steps;
} place;

DEVICE place find_place(const packed *a)
{
    const uint32_t columns = (uint32_t)((a->n + BN - 1) / BN), unit = BLOCK_X / SPLITS;
    const uint32_t all = (uint32_t)((a->k + BK - 1) / BK), each = (all + SPLITS - 1) / SPLITS;
    place p;
    p.split = BLOCK_X % SPLITS;
    p.m0 = (uint64_t)(unit / columns) * BM;
    p.n0 = (uint64_t)(unit % columns) * BN;
    p.begin = p.split * each;
    p.steps = p.begin >= all ? 0 : p.begin + each < all ? each : all - p.begin;
    return p;
}

#if HAS_GROUPS
// ---- Barriers that count bytes and arrivals --------------------------------------------------------

DEVICE void barrier_arrive(uint32_t barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(barrier) : "memory"); }

// ---- The copy engine -------------------------------------------------------------------------------

typedef struct rooms { uint32_t stages, full, empty; } rooms;

// The step of X that is brought next.
typedef struct source {
#if PLAIN
    uint32_t k, row;
#else
    uint32_t channel, column, dx, dy;
    int32_t x, y, image; // where the window of the tile's first row starts
#endif
} source;

DEVICE source find_source(const packed *a, const place *p)
{
    source s;
#if PLAIN
    s.k = p->begin * BK;
    s.row = (uint32_t)p->m0;
#else
    const uint32_t k = p->begin * BK, tap = k / a->channels, row = tap / a->window;
    const uint32_t image = (uint32_t)p->m0 / a->pixels, pixel = (uint32_t)p->m0 - image * a->pixels, line = pixel / a->out_width;
    s.channel = k - tap * a->channels;
    s.column = tap - row * a->window;
    s.dx = s.column * (uint32_t)a->dilation_x;
    s.dy = row * (uint32_t)a->dilation_y;
    s.image = (int32_t)image;
    s.y = (int32_t)line * a->stride_y - a->pad_y;
    s.x = (int32_t)(pixel - line * a->out_width) * a->stride_x - a->pad_x;
#endif
    return s;
}

DEVICE void bring_box(uint32_t to, const tensor_map *map, uint32_t column, uint32_t row, uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 : : "r"(to), "l"((uint64_t)map), "r"(column), "r"(row), "r"(barrier) : "memory");
}

DEVICE void bring_x(uint32_t to, const boxed *a, source *s, uint32_t barrier)
{
#if PLAIN
    bring_box(to, &a->x, s->k, s->row, barrier);
    s->k += BK;
#else
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};"
                 : : "r"(to), "l"((uint64_t)&a->x), "r"(s->channel), "r"(s->x), "r"(s->y), "r"(s->image), "r"(barrier),
                 "h"((uint16_t)s->dx), "h"((uint16_t)s->dy) : "memory");
    s->channel += BK;
    if (s->channel < a->own.channels) return;
    s->channel = 0;
    s->dx += (uint32_t)a->own.dilation_x;
    if (++s->column < a->own.window) return;
    s->column = s->dx = 0;
    s->dy += (uint32_t)a->own.dilation_y;
#endif
}

DEVICE void bring_w(uint32_t to, const boxed *a, const place *p, uint32_t step, uint32_t barrier)
{
    barrier_expect(barrier, STAGE_BYTES);
    bring_box(to + A_BYTES, &a->w, (p->begin + step) * BK, (uint32_t)p->n0, barrier);
}

DEVICE void produce(const boxed *a, const place *p, rooms r)
{
    const uint32_t first = p->steps < STAGES ? p->steps : STAGES;
    source s = find_source(&a->own, p);
    if (LATE) WAIT_FOR_LAST();
    for (uint32_t i = 0; i < first; i++) bring_w(r.stages + i * STAGE_BYTES, a, p, i, r.full + i * 8);
    if (!LATE) WAIT_FOR_LAST();
    for (uint32_t i = 0; i < first; i++) bring_x(r.stages + i * STAGE_BYTES, a, &s, r.full + i * 8);
    uint32_t stage = 0, parity = 0;
    for (uint32_t i = STAGES; i < p->steps; i++) {
        const uint32_t full = r.full + stage * 8, to = r.stages + stage * STAGE_BYTES;
        barrier_wait(r.empty + stage * 8, parity);
        bring_w(to, a, p, i, full);
        bring_x(to, a, &s, full);
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
}

// ---- Products --------------------------------------------------------------------------------------

DEVICE void consume(sums *s, const char *tiles, uint32_t steps, rooms r)
{
    uint32_t stage = 0, parity = 0;
#if TENSOR != 4
    uint32_t last = 0;
#endif
    for (uint32_t i = 0; i < steps; i++) {
        barrier_wait(r.full + stage * 8, parity);
        start_products(s, tiles + stage * STAGE_BYTES);
#if TENSOR == 4
        finish_products(s);
        if (THREAD % 128 == 0) barrier_arrive(r.empty + stage * 8);
#else
        if (i) {
            PRODUCTS_WAIT(1);
            if (THREAD % 128 == 0) barrier_arrive(r.empty + last * 8);
        }
        last = stage;
#endif
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
#if TENSOR != 4
    finish_products(s);
#endif
}

KERNEL_CLUSTER(run, boxed, BOXED_THREADS, BLOCKS, SPLITS)
{
    SHARED_ROOM(room);
    char *const tiles = room + (-(uint32_t)__cvta_generic_to_shared(room) & 1023);
    const uint32_t base = (uint32_t)__cvta_generic_to_shared(tiles);
    const rooms r = {base, base + STAGES * STAGE_BYTES, base + STAGES * STAGE_BYTES + STAGES * 8};
    const place p = find_place(&a.own);
    sums s;
#if DIRECT
    SHARED scale_room scales;
    rests rest;
#else
    extras more;
#endif
    if (THREAD == PACKED_THREADS) {
        asm volatile("prefetch.tensormap [%0];\n\tprefetch.tensormap [%1];" : : "l"((uint64_t)&a.w), "l"((uint64_t)&a.x) : "memory");
        for (uint32_t i = 0; i < STAGES; i++) {
            barrier_init(r.full + i * 8, 1);
            barrier_init(r.empty + i * 8, CONSUMERS);
        }
        barriers_publish();
    }
    BARRIER();
    if (THREAD >= PACKED_THREADS) {
        if (THREAD == PACKED_THREADS) produce(&a, &p, r);
        asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
    } else {
#if DIRECT
        load_scales(&scales, &a.own, 0, p.n0);
        begin_bytes(&s, &a.own, 0, p.m0, p.n0);
        WAIT_FOR_LAST();
        if (RESTS_EARLY) load_rests(&rest, &a.own, 0, p.m0, p.n0);
#else
        UNROLL for (int j = 0; j < SUMS; j++) UNROLL for (int e = 0; e < 4; e++) s.at[j][e] = 0;
        load_constants(&more, &a.own, 0, p.n0);
        WAIT_FOR_LAST();
        load_extras(&more, &a.own, 0, p.m0, p.n0, p.split);
#endif
        consume(&s, tiles, p.steps, r);
    }
    BARRIER();
#if DIRECT
    if (THREAD < PACKED_THREADS) {
        if (!RESTS_EARLY) load_rests(&rest, &a.own, 0, p.m0, p.n0);
        store_bytes(&a.own, &scales, &s, &rest, 0, p.m0, p.n0);
    }
#else
    if (THREAD < PACKED_THREADS) keep_sums((sum_type *)tiles, &s);
    CLUSTER_BARRIER();
    if (THREAD < PACKED_THREADS) store_sums(&a.own, &more, (const sum_type *)tiles, 0, p.m0, p.n0);
#if SPLITS > 1
    CLUSTER_LEAVE(); // the others may still read this block's memory
#endif
#endif
}
#elif defined(EMULATED)

// ---- On the host: the same products, read by what the maps say ----------------------------------------

// Element k of row m of X: a matrix's map has two axes; an image's map keeps address, channels, width, height, images, the corners where
// windows start (first x and y, last x and y), strides and the size of a box.
DEVICE sum_type x_element(const boxed *a, uint64_t m, uint32_t k)
{
    const uint64_t *const map = a->x.at;
#if PLAIN
    if (map[4] != BK || map[5] != BM) abort();
    return k < map[1] && m < map[2] ? WIDEN(X, ((const X *)((const char *)(uintptr_t)map[0] + m * map[3]))[k]) : 0;
#else
    if (map[11] != BK || map[12] != BM) abort();
    const int64_t steps_x = ((int64_t)map[2] - 1 + (int64_t)map[7] - (int64_t)map[5]) / (int64_t)map[9] + 1;
    const int64_t steps_y = ((int64_t)map[3] - 1 + (int64_t)map[8] - (int64_t)map[6]) / (int64_t)map[10] + 1;
    const int64_t tap = k / a->own.channels, image = (int64_t)m / (steps_x * steps_y), pixel = (int64_t)m % (steps_x * steps_y);
    const int64_t x = (int64_t)map[5] + pixel % steps_x * (int64_t)map[9] + tap % a->own.window * a->own.dilation_x;
    const int64_t y = (int64_t)map[6] + pixel / steps_x * (int64_t)map[10] + tap / a->own.window * a->own.dilation_y;
    if (x < 0 || y < 0 || x >= (int64_t)map[2] || y >= (int64_t)map[3] || image >= (int64_t)map[4]) return 0;
    return WIDEN(X, ((const X *)(uintptr_t)map[0])[((uint64_t)(image * (int64_t)map[3] + y) * map[2] + (uint64_t)x) * map[1] + k % a->own.channels]);
#endif
}

DEVICE sum_type w_element(const boxed *a, uint64_t n, uint32_t k)
{
    const uint64_t *const map = a->w.at;
    if (map[4] != BK || map[5] != BN) abort();
    return k < map[1] && n < map[2] ? WIDEN(WEIGHT, ((const WEIGHT *)((const char *)(uintptr_t)map[0] + n * map[3]))[k]) : 0;
}

KERNEL_CLUSTER(run, boxed, BOXED_THREADS, BLOCKS, SPLITS)
{
    const place p = find_place(&a.own);
    const uint32_t row = THREAD / 32 * 16 + THREAD % 32 / 4, end = (p.begin + p.steps) * BK;
    sums s;
#if DIRECT
    SHARED scale_room scales;
    load_scales(&scales, &a.own, 0, p.n0);
    if (THREAD < PACKED_THREADS) begin_bytes(&s, &a.own, 0, p.m0, p.n0);
#else
    SHARED sum_type parts[SPLITS * BM * OUT_PITCH];
    extras more;
    UNROLL for (int j = 0; j < SUMS; j++) UNROLL for (int e = 0; e < 4; e++) s.at[j][e] = 0;
    load_constants(&more, &a.own, 0, p.n0);
    load_extras(&more, &a.own, 0, p.m0, p.n0, p.split);
#endif
    for (uint32_t i = 0; i < SUMS * 4; i++) {
        sum_type *const sum = &s.at[i / 4][i % 4];
        for (uint32_t k = p.begin * BK; k < end && THREAD < PACKED_THREADS; k++)
            *sum += x_element(&a, p.m0 + row + i % 4 / 2 * 8, k) * w_element(&a, p.n0 + i / 4 * 8 + THREAD % 4 * 2 + i % 2, k);
    }
#if DIRECT
    BARRIER();
    if (THREAD < PACKED_THREADS) {
        rests rest;
        load_rests(&rest, &a.own, 0, p.m0, p.n0);
        store_bytes(&a.own, &scales, &s, &rest, 0, p.m0, p.n0);
    }
#else
    if (THREAD < PACKED_THREADS) keep_sums(parts + p.split * BM * OUT_PITCH, &s);
    BARRIER();
    if (p.split + 1 == SPLITS && THREAD < PACKED_THREADS) store_sums(&a.own, &more, parts, 0, p.m0, p.n0);
#endif
}
#else
KERNEL(run, boxed, BOXED_THREADS) { (void)a; } // other GPUs use packed.cu
#endif
