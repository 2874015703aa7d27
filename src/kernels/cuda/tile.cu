// SPDX-License-Identifier: Apache-2.0
// Matrix products and convolutions: C[m, n] = A[m, k] * B[k, n], where a block computes BM x BN of C in
// steps of BK. A convolution has the weights as A and the image as B, gathered by the window; each group is
// a product. Sums are float32. SPLITS parts of k are added by a second kernel, always in the same order.
//
// BLOCKS: that a multiprocessor shall run at the same time; BM, BN, BK; X: type of A and B; TENSOR: 0 plain arithmetic, 1 and 2 tensor cores in f16 and bf16;
// STAGES: tiles in shared memory; CONV; TAPS_FIRST: k counts the channels of a tap, then the taps, else taps
// of a channel first; A_TURNED: neighbours in memory are neighbours in m, else in k; B_TURNED: in k, else in n;
// A_VECTOR, B_VECTOR: elements of one access; BIAS, RESIDUAL, Y: types; BIASED: which element of the bias
// (0 none, 1 the only one, 2 n, 3 m, 4 of its own); ADDED: there is a residual;
// PAIRED: rows of C have an even number of elements.
enum { TILE_AXES = 8, TILE_THREADS = 256 };

typedef struct product {
    const X *a, *b;
    const BIAS *bias;
    const RESIDUAL *residual;
    Y *c;
    float *partial; // sums of each split; used if there are several
    uint64_t m, n, k, batch;
    uint64_t a_row, a_column, b_row, b_column;
    uint64_t batch_shape[TILE_AXES], a_batch[TILE_AXES], b_batch[TILE_AXES];
    uint64_t split; // elements of k in a part
    uint32_t batch_rank, splits;
    float alpha, beta, first, second;
    // Of convolutions; pixels: of one output image
    uint64_t channels, pixels;
    int32_t in_height, in_width, out_width, stride_y, stride_x, dilation_y, dilation_x, pad_y, pad_x;
} product;

DEVICE uint64_t batch_offset(const product *a, const uint64_t *strides, uint64_t i)
{
    uint64_t offset = 0;
    for (int d = (int)a->batch_rank - 1; d >= 0; d--) {
        offset += i % a->batch_shape[d] * strides[d];
        i /= a->batch_shape[d];
    }
    return offset;
}

// Where C[0, n] is; rows lie PITCH apart.
DEVICE uint64_t place_of(const product *a, uint64_t batch, uint64_t n)
{
#if CONV
    const uint64_t image = quotient(n, a->pixels);
    return (image * a->batch + batch) * a->m * a->pixels + n - image * a->pixels;
#else
    return batch * a->m * a->n + n;
#endif
}
#if CONV
#define PITCH a->pixels
#else
#define PITCH a->n
#endif

// The result whose products sum up to `sum`, without what is added.
DEVICE float with_bias(const product *a, uint64_t batch, uint64_t m, uint64_t n, uint64_t at, float sum)
{
    float v = a->alpha * sum;
    (void)batch, (void)m, (void)n, (void)at;
#if CONV && BIASED
    v += a->beta * WIDEN(BIAS, a->bias[batch * a->m + m]);
#elif BIASED
    v += a->beta * WIDEN(BIAS, a->bias[BIASED == 2 ? n : BIASED == 3 ? m : BIASED == 4 ? at : 0]);
#endif
    return v;
}

DEVICE void store(const product *a, uint64_t batch, uint64_t place, uint64_t m, uint64_t n, float sum)
{
    const uint64_t at = place + m * PITCH;
    if (m >= a->m || n >= a->n) return;
    float v = with_bias(a, batch, m, n, at, sum);
#if ADDED
    v += WIDEN(RESIDUAL, a->residual[at]);
#endif
    a->c[at] = NARROW(Y, activate(v, a->first, a->second));
}

DEVICE void store_part(const product *a, uint64_t batch, uint32_t split, uint64_t place, uint64_t m, uint64_t n, float sum)
{
    if (a->splits == 1)
        store(a, batch, place, m, n, sum);
    else if (m < a->m && n < a->n)
        a->partial[((batch * a->splits + split) * a->m + m) * a->n + n] = sum;
}

#if PAIRED
typedef struct ALIGNED(sizeof(Y) * 2) y_pair { Y at[2]; } y_pair;
typedef struct ALIGNED(sizeof(RESIDUAL) * 2) added_pair { RESIDUAL at[2]; } added_pair;

// Two neighbours of a row; n is even.
DEVICE void store_pair(const product *a, uint64_t batch, uint64_t place, uint64_t m, uint64_t n, const float *sum)
{
    const uint64_t at = place + m * PITCH;
    if (m >= a->m || n >= a->n) return;
    float v[2] = {with_bias(a, batch, m, n, at, sum[0]), with_bias(a, batch, m, n + 1, at + 1, sum[1])};
#if ADDED
    const added_pair r = *(const added_pair *)(a->residual + at);
    v[0] += WIDEN(RESIDUAL, r.at[0]);
    v[1] += WIDEN(RESIDUAL, r.at[1]);
#endif
    y_pair y;
    UNROLL for (int e = 0; e < 2; e++) y.at[e] = NARROW(Y, activate(v[e], a->first, a->second));
    *(y_pair *)(a->c + at) = y;
}
#endif

// Adds the parts of each element.
KERNEL(finish, product, 256)
{
    const uint64_t each = a.m * a.n, count = a.batch * each;
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < count; i += (uint64_t)BLOCKS_X * 256) {
        const uint64_t batch = quotient(i, each), at = i - batch * each, m = quotient(at, a.n), n = at - m * a.n;
        float sum = 0;
        for (uint32_t s = 0; s < a.splits; s++) sum += a.partial[(batch * a.splits + s) * each + at];
        store(&a, batch, place_of(&a, batch, n), m, n, sum);
    }
}

// ---- From memory to registers to shared memory -----------------------------------------------------

enum {
    A_LOADS = BM * BK / (TILE_THREADS * A_VECTOR),
    B_LOADS = BN * BK / (TILE_THREADS * B_VECTOR),
};
typedef struct ALIGNED(sizeof(X) * A_VECTOR) a_pack { X at[A_VECTOR]; } a_pack;
typedef struct ALIGNED(sizeof(X) * B_VECTOR) b_pack { X at[B_VECTOR]; } b_pack;

#if TENSOR
typedef uint16_t staged;
enum { A_PITCH = BK + 8, B_PITCH = B_TURNED ? BK + 8 : BN + 8 };
#define A_TILE (BM * (BK + 8))
#define B_TILE (B_TURNED ? BN * (BK + 8) : BK * (BN + 8))
#define STAGED(x) (x).bits
#define A_AT(m, k) ((m)*A_PITCH + (k))
#define B_AT(k, n) (B_TURNED ? (n)*B_PITCH + (k) : (k)*B_PITCH + (n))
#else
typedef float staged;
enum { A_PITCH = BM + 4, B_PITCH = BN + 4 };
#define A_TILE (BK * (BM + 4))
#define B_TILE (BK * (BN + 4))
#define STAGED(x) WIDEN(X, x)
#define A_AT(m, k) ((k)*A_PITCH + (m))
#define B_AT(k, n) ((k)*B_PITCH + (n))
#endif

// Elements of a tile that load number `i` of this thread brings.
// Loads of 16 and 8 bytes of 16-bit floats go to shared memory directly, all others through registers.
#define COPY(vector) JOIN(COPY_, vector)
#define COPY_8 copy_16
#define COPY_4 copy_8
#define A_DIRECT (TENSOR && A_VECTOR >= 4 && !A_TURNED)
#define B_DIRECT (TENSOR && B_VECTOR >= 4)
#define SPOT(i, vector) ((THREAD + (i)*TILE_THREADS) * (vector))
DEVICE uint32_t a_m(int i) { return A_TURNED ? SPOT(i, A_VECTOR) % BM : SPOT(i, A_VECTOR) / BK; }
DEVICE uint32_t a_k(int i) { return A_TURNED ? SPOT(i, A_VECTOR) / BM : SPOT(i, A_VECTOR) % BK; }
DEVICE uint32_t b_n(int i) { return B_TURNED ? SPOT(i, B_VECTOR) / BK : SPOT(i, B_VECTOR) % BN; }
DEVICE uint32_t b_k(int i) { return B_TURNED ? SPOT(i, B_VECTOR) % BK : SPOT(i, B_VECTOR) / BN; }

#if A_DIRECT
DEVICE void bring_a(staged *tile, const product *a, const X *base, uint64_t m0, uint64_t k0, uint64_t end)
{
    UNROLL for (int i = 0; i < A_LOADS; i++) {
        const uint64_t m = m0 + a_m(i), k = k0 + a_k(i);
        const int inside = m < a->m && k < end;
        COPY(A_VECTOR)(tile + A_AT(a_m(i), a_k(i)), inside ? base + m * a->a_row + k * a->a_column : base, inside);
    }
}
#endif

DEVICE void load_a(a_pack *to, const product *a, const X *base, uint64_t m0, uint64_t k0, uint64_t end)
{
    UNROLL for (int i = 0; i < A_LOADS; i++) {
        const uint64_t m = m0 + a_m(i), k = k0 + a_k(i);
        a_pack zero = {0};
        to[i] = m < a->m && k < end ? *(const a_pack *)(base + m * a->a_row + k * a->a_column) : zero;
    }
}

// Where a thread finds its elements of B.
typedef struct column {
    const X *base; // of the image, or of B
    int32_t y, x;  // where the window of this thread's column starts; a thread always loads the same column
    int inside;
} column;

#if CONV
DEVICE column find_column(const product *a, uint64_t group, uint64_t n)
{
    column c;
    const uint64_t image = quotient(n, a->pixels);
    const uint32_t pixel = (uint32_t)(n - image * a->pixels), width = (uint32_t)a->out_width;
    c.inside = n < a->n;
    c.base = a->b + (image * a->batch + group) * a->channels * (uint64_t)a->in_height * (uint64_t)a->in_width;
    c.y = (int32_t)(pixel / width) * a->stride_y - a->pad_y;
    c.x = (int32_t)(pixel % width) * a->stride_x - a->pad_x;
    return c;
}

// The element of channel and tap under this column; NULL: outside the image.
DEVICE const X *find_tap(const product *a, const column *c, uint32_t channel, uint32_t tap)
{
    const int32_t y = c->y + (int32_t)(tap / KW) * a->dilation_y, x = c->x + (int32_t)(tap % KW) * a->dilation_x;
    const int inside = c->inside && (uint32_t)y < (uint32_t)a->in_height && (uint32_t)x < (uint32_t)a->in_width;
    const uint64_t at = ((uint64_t)channel * (uint32_t)a->in_height + (uint32_t)y) * (uint32_t)a->in_width + (uint32_t)x;
    return inside ? c->base + at : (const X *)0;
}

#if TAPS_FIRST
// All k of a step belong to one tap, and no step goes beyond the end. B_VECTOR is 1.
DEVICE void load_b(b_pack *to, const product *a, const column *c, uint64_t n0, uint64_t k0, uint64_t end)
{
    const uint32_t channels = (uint32_t)a->channels, tap = (uint32_t)k0 / channels;
    const uint32_t plane = (uint32_t)a->in_height * (uint32_t)a->in_width;
    const X *from = find_tap(a, c, (uint32_t)k0 - tap * channels + b_k(0), tap);
    (void)n0, (void)end;
    UNROLL for (int i = 0; i < B_LOADS; i++) {
        b_pack zero = {0};
        to[i] = from ? *(const b_pack *)(from + (uint32_t)i * (TILE_THREADS / BN * plane)) : zero;
    }
}
#else
DEVICE void load_b(b_pack *to, const product *a, const column *c, uint64_t n0, uint64_t k0, uint64_t end)
{
    (void)n0;
    UNROLL for (int i = 0; i < B_LOADS; i++) {
        const uint32_t k = (uint32_t)k0 + b_k(i);
        const X *from = k < end ? find_tap(a, c, k / (KH * KW), k % (KH * KW)) : (const X *)0;
        b_pack zero = {0};
        to[i] = from ? *(const b_pack *)from : zero;
    }
}
#endif
#if B_DIRECT
DEVICE void bring_b(staged *tile, const product *a, const column *c, uint64_t n0, uint64_t k0, uint64_t end)
{
    (void)n0;
    UNROLL for (int i = 0; i < B_LOADS; i++) {
        const uint32_t k = (uint32_t)k0 + b_k(i);
        const X *from = k < end ? find_tap(a, c, k / (KH * KW), k % (KH * KW)) : (const X *)0;
        COPY(B_VECTOR)(tile + B_AT(b_k(i), b_n(i)), from ? from : a->b, from != (const X *)0);
    }
}
#endif
#else
DEVICE void load_b(b_pack *to, const product *a, const column *c, uint64_t n0, uint64_t k0, uint64_t end)
{
    UNROLL for (int i = 0; i < B_LOADS; i++) {
        const uint64_t n = n0 + b_n(i), k = k0 + b_k(i);
        b_pack zero = {0};
        to[i] = n < a->n && k < end ? *(const b_pack *)(c->base + k * a->b_row + n * a->b_column) : zero;
    }
}
#if B_DIRECT
DEVICE void bring_b(staged *tile, const product *a, const column *c, uint64_t n0, uint64_t k0, uint64_t end)
{
    UNROLL for (int i = 0; i < B_LOADS; i++) {
        const uint64_t n = n0 + b_n(i), k = k0 + b_k(i);
        const int inside = n < a->n && k < end;
        COPY(B_VECTOR)(tile + B_AT(b_k(i), b_n(i)), inside ? c->base + k * a->b_row + n * a->b_column : c->base, inside);
    }
}
#endif
#endif

DEVICE void keep_a(staged *tile, const a_pack *from)
{
    UNROLL for (int i = 0; i < A_LOADS; i++)
        UNROLL for (int v = 0; v < A_VECTOR; v++)
            tile[A_TURNED ? A_AT(a_m(i) + v, a_k(i)) : A_AT(a_m(i), a_k(i) + v)] = STAGED(from[i].at[v]);
}

DEVICE void keep_b(staged *tile, const b_pack *from)
{
    UNROLL for (int i = 0; i < B_LOADS; i++)
        UNROLL for (int v = 0; v < B_VECTOR; v++)
            tile[B_TURNED ? B_AT(b_k(i) + v, b_n(i)) : B_AT(b_k(i), b_n(i) + v)] = STAGED(from[i].at[v]);
}

// ---- Arithmetic ------------------------------------------------------------------------------------

#if TENSOR
enum { WARPS_M = 2, WARPS_N = 4, WARP_M = BM / WARPS_M, WARP_N = BN / WARPS_N, MS = WARP_M / 16, NS = WARP_N / 8 };
typedef struct sums { float at[MS][NS][4]; } sums;

// The fragments of 16 x 16 elements that start at `tile`.
DEVICE void fragment_a(uint32_t *r, const staged *tile)
{
    const uint32_t lane = THREAD % 32;
    load_matrices(r, tile + lane % 16 * A_PITCH + lane / 16 * 8);
}

DEVICE void fragment_b(uint32_t *r, const staged *tile)
{
    const uint32_t lane = THREAD % 32;
#if B_TURNED
    load_matrices(r, tile + B_AT(lane / 8 % 2 * 8, lane / 16 * 8 + lane % 8));
#else
    load_turned(r, tile + B_AT(lane / 8 % 2 * 8 + lane % 8, lane / 16 * 8));
#endif
}

DEVICE void multiply_tile(sums *s, const staged *a, const staged *b)
{
    const uint32_t warp = THREAD / 32, m0 = warp % WARPS_M * WARP_M, n0 = warp / WARPS_M * WARP_N;
    UNROLL for (int k = 0; k < BK; k += 16) {
        uint32_t x[MS][4], y[NS / 2][4];
        UNROLL for (int i = 0; i < MS; i++) fragment_a(x[i], a + A_AT(m0 + i * 16, k));
        UNROLL for (int j = 0; j < NS / 2; j++) fragment_b(y[j], b + B_AT(k, n0 + j * 16));
        UNROLL for (int i = 0; i < MS; i++)
            UNROLL for (int j = 0; j < NS; j++) multiply(s->at[i][j], x[i], y[j / 2] + j % 2 * 2);
    }
}

DEVICE void store_tile(const product *a, const sums *s, uint64_t batch, uint32_t split, uint64_t m, uint64_t n)
{
    const uint32_t warp = THREAD / 32, lane = THREAD % 32;
    m += warp % WARPS_M * WARP_M + lane / 4;
    n += warp / WARPS_M * WARP_N + lane % 4 * 2;
    UNROLL for (int j = 0; j < NS; j++) {
        const uint64_t column = n + (uint32_t)j * 8;
        const uint64_t place = column < a->n ? place_of(a, batch, column) : 0;
#if PAIRED
        if (a->splits == 1) {
            UNROLL for (int i = 0; i < MS; i++)
                UNROLL for (int h = 0; h < 2; h++)
                    store_pair(a, batch, place, m + (uint32_t)(i * 16 + h * 8), column, s->at[i][j] + h * 2);
            continue;
        }
#endif
        const uint64_t next = column + 1 < a->n ? place_of(a, batch, column + 1) : 0;
        UNROLL for (int i = 0; i < MS; i++)
            UNROLL for (int e = 0; e < 4; e++)
                store_part(a, batch, split, e % 2 ? next : place, m + (uint32_t)(i * 16 + e / 2 * 8), column + (uint32_t)e % 2,
                           s->at[i][j][e]);
    }
}
#else
enum { MS = BM / 16, NS = BN / 16, RUN_M = MS < 4 ? MS : 4, RUN_N = NS < 4 ? NS : 4 };
typedef struct sums { float at[MS][NS]; } sums;

// The rows and columns of a thread come in runs of up to four.
DEVICE uint32_t sum_m(int i) { return (uint32_t)(i / RUN_M * RUN_M * 16 + i % RUN_M) + THREAD / 16 * RUN_M; }
DEVICE uint32_t sum_n(int i) { return (uint32_t)(i / RUN_N * RUN_N * 16 + i % RUN_N) + THREAD % 16 * RUN_N; }

DEVICE void multiply_tile(sums *s, const staged *a, const staged *b)
{
    UNROLL for (int k = 0; k < BK; k++) {
        float x[MS], y[NS];
        UNROLL for (int i = 0; i < MS; i++) x[i] = a[A_AT(sum_m(i), k)];
        UNROLL for (int j = 0; j < NS; j++) y[j] = b[B_AT(k, sum_n(j))];
        UNROLL for (int i = 0; i < MS; i++)
            UNROLL for (int j = 0; j < NS; j++) s->at[i][j] += x[i] * y[j];
    }
}

DEVICE void store_tile(const product *a, const sums *s, uint64_t batch, uint32_t split, uint64_t m, uint64_t n)
{
    UNROLL for (int j = 0; j < NS; j++) {
        const uint64_t column = n + sum_n(j), place = column < a->n ? place_of(a, batch, column) : 0;
        UNROLL for (int i = 0; i < MS; i++) store_part(a, batch, split, place, m + sum_m(i), column, s->at[i][j]);
    }
}
#endif

// Tiles of several steps are in shared memory at the same time: while one is computed, the next ones come.
KERNEL_OF(tile, product, TILE_THREADS, BLOCKS)
{
    SHARED_ROOM(room);
    staged *const tiles = (staged *)room;
    const uint64_t row_tiles = (a.m + BM - 1) / BM, column_tiles = (a.n + BN - 1) / BN;
    const uint64_t unit = BLOCK_X, part = unit / (row_tiles * column_tiles);
    const uint64_t batch = part / a.splits, m0 = unit % row_tiles * BM, n0 = unit / row_tiles % column_tiles * BN;
    const uint32_t split = (uint32_t)(part % a.splits);
    const uint64_t begin = split * a.split, end = begin + a.split < a.k ? begin + a.split : a.k;
    const uint32_t steps = (uint32_t)((end - begin + BK - 1) / BK);
    a_pack x[A_LOADS];
    b_pack y[B_LOADS];
    sums s = {0};
#if CONV
    const X *x_base = a.a + batch * a.m * a.k;
    const column c = find_column(&a, batch, n0 + b_n(0));
#else
    const X *x_base = a.a + batch_offset(&a, a.a_batch, batch);
    const column c = {a.b + batch_offset(&a, a.b_batch, batch), 0, 0, 1};
#endif
#define A_STAGE(i) (tiles + (i) % STAGES * (A_TILE + B_TILE))
#define B_STAGE(i) (A_STAGE(i) + (A_TILE))
#if A_DIRECT
#define BRING_A(i) bring_a(A_STAGE(i), &a, x_base, m0, begin + (uint64_t)(i)*BK, end)
#define LOAD_A(i) ((void)x)
#define KEEP_A(i) ((void)0)
#else
#define BRING_A(i) ((void)0)
#define LOAD_A(i) load_a(x, &a, x_base, m0, begin + (uint64_t)(i)*BK, end)
#define KEEP_A(i) keep_a(A_STAGE(i), x)
#endif
#if B_DIRECT
#define BRING_B(i) bring_b(B_STAGE(i), &a, &c, n0, begin + (uint64_t)(i)*BK, end)
#define LOAD_B(i) ((void)y)
#define KEEP_B(i) ((void)0)
#else
#define BRING_B(i) ((void)0)
#define LOAD_B(i) load_b(y, &a, &c, n0, begin + (uint64_t)(i)*BK, end)
#define KEEP_B(i) keep_b(B_STAGE(i), y)
#endif
    for (uint32_t i = 0; i < STAGES - 1; i++) {
        if (i < steps) {
            BRING_A(i);
            BRING_B(i);
        }
        COPIES_END();
    }
    LOAD_A(0);
    LOAD_B(0);
    KEEP_A(0);
    KEEP_B(0);
    for (uint32_t i = 0; i < steps; i++) {
        COPIES_WAIT(STAGES - 2);
        BARRIER();
        if (i + STAGES - 1 < steps) {
            BRING_A(i + STAGES - 1);
            BRING_B(i + STAGES - 1);
        }
        COPIES_END();
        if (i + 1 < steps) {
            LOAD_A(i + 1);
            LOAD_B(i + 1);
        }
        multiply_tile(&s, A_STAGE(i), B_STAGE(i));
        if (i + 1 < steps) {
            KEEP_A(i + 1);
            KEEP_B(i + 1);
        }
    }
    store_tile(&a, &s, batch, split, m0, n0);
}
