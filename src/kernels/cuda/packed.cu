// SPDX-License-Identifier: Apache-2.0
// Products of rows of 16-bit floats and packed weights: Y[m, n] = sum of X[m, k] * W[n, k], where k lies together in
// both. A row of X is a row of a matrix, or what a window of an image in channels last covers. A block computes a tile of
// packed_sums.cu, whose rows all threads copy to shared memory. The SPLITS blocks of a cluster share k.
//
// BLOCKS: that a multiprocessor shall run at the same time; PLAIN: rows of a matrix; PATCHED: windows inside a linear image, rows of
// which lie together; GATHERED: elements of X are read one by one; TAPS: not 0 if the lines of a linear image that the windows of a
// tile cover come to shared memory, where a row of a window is TAPS elements from an even one on. Of bytes, the image has its channels last.
enum { LINES = PACKED_THREADS / 8, A_ROWS = BM / LINES, B_ROWS = BN / LINES };

// ---- From memory to shared memory ------------------------------------------------------------------

// Where a thread reads X. With GATHERED it reads half a row, else one chunk of A_ROWS rows.
typedef struct source {
    const X *at[A_ROWS];
    int32_t y[A_ROWS], x[A_ROWS]; // where windows start; far outside for rows that do not exist
    uint32_t k, channel, column;  // the next k, its channel, and the column of its tap in the window
    int32_t dy, dx;               // distance of its tap from the start of the window
} source;

enum { OUTSIDE = -(1 << 29), INT16_FAR = 32767 }; // no image that is gathered is as high as INT16_FAR

DEVICE void find_row(source *s, int i, const packed *a, uint32_t group, uint64_t m)
{
    const int exists = m < a->m;
    if (!exists) m = 0;
#if PLAIN
    s->at[i] = a->x + m * a->x_row;
    s->y[i] = exists ? 0 : OUTSIDE;
    s->x[i] = 0;
    (void)group;
#else
    const uint64_t image = quotient(m, a->pixels);
    const uint32_t pixel = (uint32_t)(m - image * a->pixels), row = pixel / a->out_width;
#if PATCHED
    s->y[i] = exists ? 0 : OUTSIDE;
    s->x[i] = 0;
    s->at[i] = a->x + image * a->image + (uint64_t)row * (uint32_t)a->stride_y + (uint64_t)(pixel - row * a->out_width) * (uint32_t)a->stride_x;
    (void)group;
#else
    s->y[i] = exists ? (int32_t)row * a->stride_y - a->pad_y : OUTSIDE;
    s->x[i] = (int32_t)(pixel - row * a->out_width) * a->stride_x - a->pad_x;
    s->at[i] = a->x + image * a->image + (uint64_t)group * a->channels * (uint32_t)a->step_c;
    s->at[i] += (int64_t)s->y[i] * a->step_y + (int64_t)s->x[i] * a->step_x; // used only with taps inside the image
#endif
#endif
}

#if !GATHERED && !TAPS
DEVICE void go_to(source *s, const packed *a, uint32_t k)
{
    s->k = k;
#if PLAIN
    (void)a;
#else
    const uint32_t tap = k / a->channels, row = tap / a->window;
    s->channel = k - tap * a->channels;
    s->column = tap - row * a->window;
    s->dy = (int32_t)row * a->dilation_y;
    s->dx = (int32_t)s->column * a->dilation_x;
#endif
}

DEVICE void go_on(source *s, const packed *a, uint32_t by)
{
    s->k += by;
#if PLAIN
    (void)a;
#else
    s->channel += by;
    while (s->channel >= a->channels) {
        s->channel -= a->channels;
        s->dx += a->dilation_x;
        if (++s->column == a->window) {
            s->column = 0;
            s->dx = 0;
            s->dy += a->dilation_y;
        }
    }
#endif
}

// Is the next k of row i an element of X?
DEVICE int is_inside(const source *s, int i, const packed *a)
{
#if PLAIN
    return s->y[i] == 0 && s->k < a->k;
#else
    return (uint32_t)(s->y[i] + s->dy) < (uint32_t)a->in_height && (uint32_t)(s->x[i] + s->dx) < (uint32_t)a->in_width && s->k < a->k;
#endif
}

#endif

#if GATHERED
typedef struct ALIGNED(16) chunk { X at[CHUNK]; } chunk;

// An element of a window: its distance from the start, also as an index. A table in shared memory, behind the tiles,
// has one for each k.
typedef struct ALIGNED(8) tap {
    int32_t offset;
    int16_t dy, dx;
} tap;

DEVICE void fill_taps(tap *taps, const packed *a)
{
    for (uint32_t k = THREAD; k < (a->k + BK - 1) / BK * BK; k += PACKED_THREADS) {
        const uint32_t place = k / a->channels, row = place / a->window;
        const int32_t dy = (int32_t)row * a->dilation_y, dx = (int32_t)(place - row * a->window) * a->dilation_x;
        tap t;
        t.offset = (int32_t)((int64_t)dy * a->step_y + (int64_t)dx * a->step_x + (int64_t)(k - place * a->channels) * a->step_c);
        t.dy = k < a->k ? (int16_t)dy : INT16_FAR;
        t.dx = (int16_t)dx;
        taps[k] = t;
    }
}

DEVICE source find_source(const packed *a, uint32_t group, uint64_t m0, uint32_t begin)
{
    source s;
    find_row(&s, 0, a, group, m0 + THREAD % BM);
    s.k = begin + THREAD / BM * (4 * CHUNK);
    return s;
}

DEVICE void bring_x(char *tile, source *s, const packed *a, const tap *taps)
{
    const uint32_t row = THREAD % BM, first = THREAD / BM * 4;
    UNROLL for (uint32_t c = 0; c < 4; c++) {
        chunk v;
        UNROLL for (int e = 0; e < CHUNK; e++) {
#if FINISH
            const X zero = *a->outside;
#else
            const X zero = {0};
#endif
            const tap t = taps[s->k + c * CHUNK + (uint32_t)e];
            const int inside = (uint32_t)(s->y[0] + t.dy) < (uint32_t)a->in_height && (uint32_t)(s->x[0] + t.dx) < (uint32_t)a->in_width;
            v.at[e] = inside ? s->at[0][t.offset] : zero;
        }
        *(chunk *)(tile + chunk_at(row, first + c)) = v;
    }
    s->k += BK;
}
#elif TAPS && TENSOR == 3
// Lines of an image in channels last in shared memory, with its zero point around it. A row of a window is TAPS bytes there, from any one
// on, of which those behind the window have weights 0.
enum { MARGIN = 16, CHUNKS_OF_ROW = TAPS / 16 };

// Pixels of a tile are of the same image.
DEVICE void bring_lines(uint32_t *lines, const packed *a, uint64_t m0)
{
    const uint32_t image = (uint32_t)m0 / a->pixels, y0 = ((uint32_t)m0 - image * a->pixels) / a->out_width, chunks = a->line / 16;
    const int32_t top = (int32_t)y0 * a->stride_y - a->pad_y;
    const X *const x = a->x + image * a->image;
    for (uint32_t i = THREAD; i < a->lines * chunks; i += PACKED_THREADS) {
        const uint32_t line = i / chunks, column = (i - line * chunks) * 16 - MARGIN; // a margin's columns wrap around
        const int32_t y = top + (int32_t)line;
        const int inside = (uint32_t)y < (uint32_t)a->in_height && column < (uint32_t)a->step_y;
        copy_16(lines + i * 4, inside ? x + (int64_t)y * a->step_y + column : a->outside, 1);
    }
}

// s.at is not used; s.y: the first byte of the row's window.
DEVICE source find_source(const packed *a, uint32_t group, uint64_t m0, uint32_t begin)
{
    const uint32_t first = (uint32_t)m0 % a->pixels, pixel = first + THREAD % BM;
    const uint32_t row = pixel / a->out_width, column = pixel - row * a->out_width;
    source s;
    (void)group;
    s.y[0] = (int32_t)((row - first / a->out_width) * (uint32_t)a->stride_y * a->line) + ((int32_t)column * a->stride_x - a->pad_x) * a->step_x + MARGIN;
    s.k = begin + THREAD / BM * 64;
    return s;
}

DEVICE void bring_x(char *tile, source *s, const packed *a, const uint32_t *lines)
{
    const uint32_t row = THREAD % BM, first = THREAD / BM * 4, shift = (uint32_t)s->y[0] % 4 * 8;
    UNROLL for (uint32_t c = 0; c < 4; c++) {
        const uint32_t unit = s->k / 16 + c, line = unit / CHUNKS_OF_ROW; // the same for a warp
        const uint32_t *const from = lines + ((uint32_t)s->y[0] + line * a->line + (unit - line * CHUNKS_OF_ROW) * 16) / 4;
        quarters v = {{0, 0, 0, 0}};
        if (line < WINDOW_HEIGHT)
            UNROLL for (uint32_t w = 0; w < 4; w++) v.at[w] = word_at(from[w], from[w + 1], shift);
        *(quarters *)(tile + chunk_at(row, first + c)) = v;
    }
    s->k += BK;
}
#elif TAPS
// Lines of the image in shared memory, with zeros around it, as words of two elements.
enum { MARGIN = 8, UNITS_OF_CHUNK = 8 / TAPS };

// Which elements of a row of a window, from an even one on, have weights: others may be no numbers.
DEVICE uint32_t mask_of(uint32_t word)
{
    const int low = (int)word * 2 - LEAD, high = low + 1;
    return (low >= 0 && low < WINDOW_WIDTH ? 0xffffu : 0) | (high >= 0 && high < WINDOW_WIDTH ? 0xffff0000u : 0);
}

// Pixels of a tile are of the same image. A warp brings whole lines; a lane takes every 32nd pack of 8 elements.
DEVICE void bring_lines(uint32_t *lines, const packed *a, uint64_t m0)
{
    const uint32_t image = (uint32_t)m0 / a->pixels, y0 = ((uint32_t)m0 - image * a->pixels) / a->out_width, packs = a->line / 8;
    const int32_t top = (int32_t)y0 * a->stride_y - a->pad_y;
    const X *const x = a->x + image * a->image;
    uint32_t line = THREAD / 32; // of a channel
    for (uint32_t i = THREAD / 32, channel = 0; i < a->channels * a->lines; i += PACKED_THREADS / 32, line += PACKED_THREADS / 32) {
        while (line >= a->lines) {
            line -= a->lines;
            channel++;
        }
        const int32_t y = top + (int32_t)line, exists = (uint32_t)y < (uint32_t)a->in_height;
        const X *const from = x + ((int64_t)channel * a->step_c + (int64_t)y * a->step_y - MARGIN); // used only with columns inside
        for (uint32_t p = THREAD % 32; p < packs; p += 32) {
            const int inside = exists && p * 8 - MARGIN < (uint32_t)a->in_width; // a margin's columns wrap around
            copy_16(lines + (i * packs + p) * 4, inside ? from + p * 8 : a->x, inside);
        }
    }
}

// s.at is not used; s.y: the first word of the row's window.
DEVICE source find_source(const packed *a, uint32_t group, uint64_t m0, uint32_t begin)
{
    const uint32_t first = (uint32_t)m0 % a->pixels, pixel = first + THREAD % BM;
    const uint32_t row = pixel / a->out_width, column = pixel - row * a->out_width;
    source s;
    (void)group;
    s.y[0] = (int32_t)(((row - first / a->out_width) * (uint32_t)a->stride_y * a->line + column * (uint32_t)a->stride_x + MARGIN - (uint32_t)a->pad_x - LEAD) / 2);
    s.k = begin + THREAD / BM * 32;
    return s;
}

DEVICE void bring_x(char *tile, source *s, const packed *a, const uint32_t *lines)
{
    const uint32_t row = THREAD % BM, first = THREAD / BM * 4;
    UNROLL for (uint32_t c = 0; c < 4; c++) {
        quarters v = {{0, 0, 0, 0}};
        UNROLL for (uint32_t h = 0; h < UNITS_OF_CHUNK; h++) {
            const uint32_t unit = (s->k / 8 + c) * UNITS_OF_CHUNK + h, channel = unit / WINDOW_HEIGHT; // the same for a warp
            const uint32_t *const from = lines + s->y[0] + (channel * a->lines + unit - channel * WINDOW_HEIGHT) * (a->line / 2);
            if (channel >= a->channels) break;
            UNROLL for (uint32_t w = 0; w < TAPS / 2; w++) v.at[h * TAPS / 2 + w] = from[w] & mask_of(w);
        }
        *(quarters *)(tile + chunk_at(row, first + c)) = v;
    }
    s->k += BK;
}
#else
DEVICE source find_source(const packed *a, uint32_t group, uint64_t m0, uint32_t begin)
{
    source s;
    UNROLL for (int i = 0; i < A_ROWS; i++) find_row(&s, i, a, group, m0 + THREAD / 8 + (uint32_t)(i * LINES));
    go_to(&s, a, begin + THREAD % 8 * CHUNK);
    return s;
}

DEVICE void bring_x(char *tile, source *s, const packed *a, const void *unused)
{
    (void)unused;
    const uint32_t line = THREAD / 8, chunk = THREAD % 8;
#if PLAIN
    const int64_t at = s->k;
#else
    const int64_t at = (int64_t)s->dy * a->step_y + (int64_t)s->dx * a->step_x + s->channel;
#endif
    UNROLL for (int i = 0; i < A_ROWS; i++) {
        const int inside = is_inside(s, i, a);
#if FINISH
        copy_16(tile + chunk_at(line + (uint32_t)(i * LINES), chunk), inside ? s->at[i] + at : a->outside, s->k < a->k); // weights behind the last k are 0
#else
        copy_16(tile + chunk_at(line + (uint32_t)(i * LINES), chunk), inside ? s->at[i] + at : a->x, inside);
#endif
    }
    go_on(s, a, BK);
}
#endif

#if DIRECT
#define W_ROWS(a) (a)->w_rows
#else
#define W_ROWS(a) (a)->n
#endif
DEVICE void bring_w(char *tile, const packed *a, const WEIGHT *w, uint64_t n0, uint32_t k0)
{
    const uint32_t line = THREAD / 8, chunk = THREAD % 8, k = k0 + chunk * CHUNK;
    UNROLL for (int i = 0; i < B_ROWS; i++) {
        const uint64_t n = n0 + line + (uint32_t)(i * LINES);
        const int inside = n < W_ROWS(a) && k < a->k_pitch;
        copy_16(tile + A_BYTES + chunk_at(line + (uint32_t)(i * LINES), chunk), inside ? w + n * a->k_pitch + k : a->w, inside);
    }
}

#define STAGE(i) (tiles + (i) % STAGES * STAGE_BYTES)

#if STAYS
// All columns are of one tile, whose steps all have a stage: a block keeps the weights and computes every BLOCKS_X-th tile. The lines of the
// next one come beside the products of this one.
KERNEL_CLUSTER(run, packed, PACKED_THREADS, BLOCKS, 1)
{
    SHARED_ROOM(room);
    SHARED scale_room scales;
#ifdef EMULATED
    char *const tiles = room;
#else
    char *const tiles = room + (-(uint32_t)__cvta_generic_to_shared(room) & 1023);
#endif
    const uint32_t steps = (uint32_t)((a.k + BK - 1) / BK), all = (uint32_t)((a.m + BM - 1) / BM), words = a.lines * a.line / 4;
    uint32_t *now = (uint32_t *)(tiles + STAGES * STAGE_BYTES), *later = now + words;
    for (uint32_t i = 0; i < steps; i++) bring_w(STAGE(i), &a, a.w, 0, i * BK);
    load_scales(&scales, &a, 0, 0);
    WAIT_FOR_LAST();
    bring_lines(now, &a, (uint64_t)BLOCK_X * BM);
    COPIES_END();
    for (uint32_t unit = BLOCK_X; unit < all; unit += BLOCKS_X) {
        const uint64_t m0 = (uint64_t)unit * BM;
        sums s;
        rests rest;
        begin_bytes(&s, &a, 0, m0, 0);
        load_rests(&rest, &a, 0, m0, 0);
        COPIES_WAIT(0);
        BARRIER();
        if (unit + BLOCKS_X < all) bring_lines(later, &a, m0 + (uint64_t)BLOCKS_X * BM);
        COPIES_END();
        source x = find_source(&a, 0, m0, 0);
        for (uint32_t i = 0; i < steps; i++) bring_x(STAGE(i), &x, &a, now);
        SHOW_TILES();
        BARRIER();
        for (uint32_t i = 0; i < steps; i++) start_products(&s, STAGE(i));
        finish_products(&s);
        store_bytes(&a, &scales, &s, &rest, 0, m0, 0);
        uint32_t *const used = now;
        now = later;
        later = used;
    }
}
#else
KERNEL_CLUSTER(run, packed, PACKED_THREADS, BLOCKS, SPLITS)
{
    SHARED_ROOM(room);
#ifdef EMULATED
    SHARED sum_type parts[SPLITS * BM * OUT_PITCH];
    char *const tiles = room;
#else
    char *const tiles = room + (-(uint32_t)__cvta_generic_to_shared(room) & 1023);
#endif
    const uint32_t rank = BLOCK_X % SPLITS;
    const uint64_t columns = (a.n + BN - 1) / BN, rows = (a.m + BM - 1) / BM;
    const uint64_t unit = BLOCK_X / SPLITS, row = quotient(unit, columns), n0 = (unit - row * columns) * BN;
    const uint32_t group = TAPS ? 0 : (uint32_t)quotient(row, rows);
    const uint64_t m0 = (row - group * rows) * BM;
    const uint32_t all = (uint32_t)((a.k + BK - 1) / BK), each = (all + SPLITS - 1) / SPLITS, begin = rank * each;
    const uint32_t steps = begin >= all ? 0 : begin + each < all ? each : all - begin;
    const WEIGHT *const w = a.w + (uint64_t)group * W_ROWS(&a) * a.k_pitch;
    sums s;
    // Weights are constants: they come while the kernel before this one still runs.
    for (uint32_t i = 0; i < STAGES - 1 && i < steps; i++) bring_w(STAGE(i), &a, w, n0, (begin + i) * BK);
#if GATHERED
    tap *const taps = (tap *)(tiles + STAGES * STAGE_BYTES);
    fill_taps(taps, &a);
    BARRIER();
#elif TAPS
    uint32_t *const taps = (uint32_t *)(tiles + STAGES * STAGE_BYTES);
#else
    const void *const taps = (const void *)0;
#endif
#if DIRECT
    SHARED scale_room scales;
    load_scales(&scales, &a, group, n0);
    begin_bytes(&s, &a, group, m0, n0);
#else
    extras more;
    UNROLL for (int j = 0; j < SUMS; j++) UNROLL for (int e = 0; e < 4; e++) s.at[j][e] = 0;
    load_constants(&more, &a, group, n0);
#endif
    WAIT_FOR_LAST();
#if TAPS
    bring_lines(taps, &a, m0);
    COPIES_END();
    COPIES_WAIT(0);
    BARRIER();
#endif
#if DIRECT
    rests rest;
    if (RESTS_EARLY) load_rests(&rest, &a, group, m0, n0);
#else
    load_extras(&more, &a, group, m0, n0, rank);
#endif
    source x = find_source(&a, group, m0, begin * BK);
    for (uint32_t i = 0; i < STAGES - 1; i++) {
        if (i < steps) bring_x(STAGE(i), &x, &a, taps);
        COPIES_END();
    }
    for (uint32_t i = 0; i < steps; i++) {
        COPIES_WAIT(STAGES - 2);
        SHOW_TILES();
        BARRIER();
        start_products(&s, STAGE(i));
        if (i + STAGES - 1 < steps) {
            bring_w(STAGE(i + STAGES - 1), &a, w, n0, (begin + i + STAGES - 1) * BK);
            bring_x(STAGE(i + STAGES - 1), &x, &a, taps);
        }
        COPIES_END();
        finish_products(&s);
    }
    BARRIER();
#if DIRECT
    if (!RESTS_EARLY) load_rests(&rest, &a, group, m0, n0);
    store_bytes(&a, &scales, &s, &rest, group, m0, n0);
#elif defined(EMULATED) && SPLITS > 1
    // The blocks of a cluster run one after the other: the last one adds.
    keep_sums(parts + rank * BM * OUT_PITCH, &s);
    BARRIER();
    if (rank + 1 == SPLITS) store_sums(&a, &more, parts, group, m0, n0);
#else
    keep_sums((sum_type *)tiles, &s);
    CLUSTER_BARRIER();
    store_sums(&a, &more, (const sum_type *)tiles, group, m0, n0);
#if SPLITS > 1
    CLUSTER_LEAVE(); // the others may still read this block's memory
#endif
#endif
}
#endif
