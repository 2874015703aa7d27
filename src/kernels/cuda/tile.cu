// SPDX-License-Identifier: Apache-2.0
// Matrix products and convolutions: C[m, n] = A[m, k] * B[k, n], where a block computes BM x BN of C in
// steps of BK. A convolution has the weights as A and the image as B, gathered by the window; each group is
// a product. Sums are float32. SPLITS parts of k are added by a second kernel, always in the same order.
//
// BM, BN, BK; X: type of A and B; TENSOR: 0 plain arithmetic, 1 and 2 tensor cores in f16 and bf16;
// CONV; A_TURNED: neighbours in memory are neighbours in m, else in k; B_TURNED: in k, else in n;
// A_VECTOR, B_VECTOR: elements of one access; BIAS, RESIDUAL, Y: types; BIASED: which element of the bias
// (0 none, 1 the only one, 2 n, 3 m, 4 of its own); ADDED: there is a residual.
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

DEVICE void store(const product *a, uint64_t batch, uint64_t m, uint64_t n, float sum)
{
    if (m >= a->m || n >= a->n) return;
#if CONV
    const uint64_t image = n / a->pixels, pixel = n - image * a->pixels;
    const uint64_t at = ((image * a->batch + batch) * a->m + m) * a->pixels + pixel;
    const uint64_t bias = batch * a->m + m;
#else
    const uint64_t at = (batch * a->m + m) * a->n + n;
    const uint64_t bias = BIASED == 2 ? n : BIASED == 3 ? m : BIASED == 4 ? at : 0;
#endif
    float v = a->alpha * sum;
    (void)bias;
#if BIASED
    v += a->beta * WIDEN(BIAS, a->bias[bias]);
#endif
#if ADDED
    v += WIDEN(RESIDUAL, a->residual[at]);
#endif
    a->c[at] = NARROW(Y, activate(v, a->first, a->second));
}

DEVICE void store_part(const product *a, uint64_t batch, uint32_t split, uint64_t m, uint64_t n, float sum)
{
    if (a->splits == 1)
        store(a, batch, m, n, sum);
    else if (m < a->m && n < a->n)
        a->partial[((batch * a->splits + split) * a->m + m) * a->n + n] = sum;
}

// Adds the parts of each element.
KERNEL(finish, product, 256)
{
    const uint64_t each = a.m * a.n, count = a.batch * each;
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < count; i += (uint64_t)BLOCKS_X * 256) {
        const uint64_t batch = i / each, at = i - batch * each;
        float sum = 0;
        for (uint32_t s = 0; s < a.splits; s++) sum += a.partial[(batch * a.splits + s) * each + at];
        store(&a, batch, at / a.n, at % a.n, sum);
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
#define A_TILE BM * (BK + 8)
#define B_TILE (B_TURNED ? BN * (BK + 8) : BK * (BN + 8))
#define STAGED(x) (x).bits
#define A_AT(m, k) ((m)*A_PITCH + (k))
#define B_AT(k, n) (B_TURNED ? (n)*B_PITCH + (k) : (k)*B_PITCH + (n))
#else
typedef float staged;
enum { A_PITCH = BM + 4, B_PITCH = BN + 4 };
#define A_TILE BK * (BM + 4)
#define B_TILE BK * (BN + 4)
#define STAGED(x) WIDEN(X, x)
#define A_AT(m, k) ((k)*A_PITCH + (m))
#define B_AT(k, n) ((k)*B_PITCH + (n))
#endif

// Elements of a tile that load number `i` of this thread brings.
#define SPOT(i, vector) ((THREAD + (i)*TILE_THREADS) * (vector))
DEVICE uint32_t a_m(int i) { return A_TURNED ? SPOT(i, A_VECTOR) % BM : SPOT(i, A_VECTOR) / BK; }
DEVICE uint32_t a_k(int i) { return A_TURNED ? SPOT(i, A_VECTOR) / BM : SPOT(i, A_VECTOR) % BK; }
DEVICE uint32_t b_n(int i) { return B_TURNED ? SPOT(i, B_VECTOR) / BK : SPOT(i, B_VECTOR) % BN; }
DEVICE uint32_t b_k(int i) { return B_TURNED ? SPOT(i, B_VECTOR) % BK : SPOT(i, B_VECTOR) / BN; }

DEVICE void load_a(a_pack *to, const product *a, const X *base, uint64_t m0, uint64_t k0, uint64_t end)
{
    UNROLL for (int i = 0; i < A_LOADS; i++) {
        const uint64_t m = m0 + a_m(i), k = k0 + a_k(i);
        a_pack zero = {0};
        to[i] = m < a->m && k < end ? *(const a_pack *)(base + m * a->a_row + k * a->a_column) : zero;
    }
}

#if CONV
// Where the window of this thread's column starts; a thread always loads the same column.
typedef struct column {
    const X *image;
    int32_t y, x;
    int inside;
} column;

DEVICE column find_column(const product *a, uint64_t group, uint64_t n)
{
    column c;
    const uint64_t image = n / a->pixels;
    const uint32_t pixel = (uint32_t)(n - image * a->pixels), width = (uint32_t)a->out_width;
    c.inside = n < a->n;
    c.image = a->b + (image * a->batch + group) * a->channels * (uint64_t)a->in_height * (uint64_t)a->in_width;
    c.y = (int32_t)(pixel / width) * a->stride_y - a->pad_y;
    c.x = (int32_t)(pixel % width) * a->stride_x - a->pad_x;
    return c;
}

DEVICE void load_b(b_pack *to, const product *a, const column *c, uint64_t k0, uint64_t end)
{
    UNROLL for (int i = 0; i < B_LOADS; i++) {
        const uint32_t k = (uint32_t)k0 + b_k(i), channel = k / (KH * KW), tap = k % (KH * KW);
        const int32_t y = c->y + (int32_t)(tap / KW) * a->dilation_y, x = c->x + (int32_t)(tap % KW) * a->dilation_x;
        b_pack zero = {0};
        const int inside = c->inside && k < end && (uint32_t)y < (uint32_t)a->in_height &&
                           (uint32_t)x < (uint32_t)a->in_width;
        const uint64_t at = ((uint64_t)channel * (uint32_t)a->in_height + (uint32_t)y) * (uint32_t)a->in_width + (uint32_t)x;
        to[i] = inside ? *(const b_pack *)(c->image + at) : zero;
    }
}
#else
DEVICE void load_b(b_pack *to, const product *a, const X *base, uint64_t n0, uint64_t k0, uint64_t end)
{
    UNROLL for (int i = 0; i < B_LOADS; i++) {
        const uint64_t n = n0 + b_n(i), k = k0 + b_k(i);
        b_pack zero = {0};
        to[i] = n < a->n && k < end ? *(const b_pack *)(base + k * a->b_row + n * a->b_column) : zero;
    }
}
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

#if TENSOR == 1
typedef f16 half_type;
#else
typedef bf16 half_type;
#endif

DEVICE uint32_t pair(const staged *low, const staged *high) { return *low | (uint32_t)*high << 16; }

// The fragments of 16 x 16 elements that start at `tile`.
DEVICE void fragment_a(uint32_t *r, const staged *tile)
{
    const uint32_t lane = THREAD % 32;
#ifndef EMULATED
    const uint32_t address = (uint32_t)__cvta_generic_to_shared(tile + lane % 16 * A_PITCH + lane / 16 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
#else
    for (uint32_t i = 0; i < 4; i++) {
        const staged *at = tile + (lane / 4 + i % 2 * 8) * A_PITCH + lane % 4 * 2 + i / 2 * 8;
        r[i] = pair(at, at + 1);
    }
#endif
}

DEVICE void fragment_b(uint32_t *r, const staged *tile)
{
    const uint32_t lane = THREAD % 32;
#ifndef EMULATED
    const uint32_t k = lane / 8 % 2 * 8 + (B_TURNED ? 0 : lane % 8), n = lane / 16 * 8 + (B_TURNED ? lane % 8 : 0);
    const uint32_t address = (uint32_t)__cvta_generic_to_shared(tile + B_AT(k, n));
#if B_TURNED
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
#endif
#else
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t n = lane / 4 + i / 2 * 8, k = lane % 4 * 2 + i % 2 * 8;
        r[i] = pair(tile + B_AT(k, n), tile + B_AT(k + 1, n));
    }
#endif
}

#if defined(EMULATED) || __CUDA_ARCH__ < 800
DEVICE float dot2(uint32_t x, uint32_t y, float sum)
{
    half_type a, b, c, d;
    a.bits = (uint16_t)x, b.bits = (uint16_t)(x >> 16), c.bits = (uint16_t)y, d.bits = (uint16_t)(y >> 16);
    return sum + WIDEN(X, a) * WIDEN(X, c) + WIDEN(X, b) * WIDEN(X, d);
}
#endif

// d += a * b for 16 x 8 elements with k = 16.
DEVICE void multiply(float *d, const uint32_t *a, const uint32_t *b)
{
#if !defined(EMULATED) && __CUDA_ARCH__ >= 800
#if TENSOR == 1
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
#else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
#endif
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    const uint32_t lane = THREAD % 32, row = lane / 4, column = lane % 4 * 2;
    for (uint32_t j = 0; j < 4; j++) {
        uint32_t x[4], y[4];
        for (int i = 0; i < 4; i++) x[i] = SHUFFLE(a[i], row * 4 + j);
        for (int i = 0; i < 4; i++) y[i] = SHUFFLE(b[i % 2], (column + (uint32_t)i / 2) * 4 + j);
        for (int i = 0; i < 4; i++)
            d[i] = dot2(x[2 + i / 2], y[i % 2 * 2 + 1], dot2(x[i / 2], y[i % 2 * 2], d[i]));
    }
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
    UNROLL for (int i = 0; i < MS; i++)
        UNROLL for (int j = 0; j < NS; j++)
            UNROLL for (int e = 0; e < 4; e++)
                store_part(a, batch, split, m + (uint32_t)(i * 16 + e / 2 * 8), n + (uint32_t)(j * 8 + e % 2), s->at[i][j][e]);
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
    UNROLL for (int i = 0; i < MS; i++)
        UNROLL for (int j = 0; j < NS; j++) store_part(a, batch, split, m + sum_m(i), n + sum_n(j), s->at[i][j]);
}
#endif

KERNEL(tile, product, TILE_THREADS)
{
    SHARED ALIGNED(16) staged a_tile[A_TILE];
    SHARED ALIGNED(16) staged b_tile[B_TILE];
    const uint64_t row_tiles = (a.m + BM - 1) / BM, column_tiles = (a.n + BN - 1) / BN;
    const uint64_t unit = BLOCK_X, part = unit / (row_tiles * column_tiles);
    const uint64_t batch = part / a.splits, m0 = unit % row_tiles * BM, n0 = unit / row_tiles % column_tiles * BN;
    const uint32_t split = (uint32_t)(part % a.splits);
    const uint64_t begin = split * a.split, end = begin + a.split < a.k ? begin + a.split : a.k;
    a_pack x[A_LOADS];
    b_pack y[B_LOADS];
    sums s = {0};
#if CONV
    const X *x_base = a.a + batch * a.m * a.k;
    const column c = find_column(&a, batch, n0 + b_n(0));
#define LOAD_B(k) load_b(y, &a, &c, k, end)
#else
    const X *x_base = a.a + batch_offset(&a, a.a_batch, batch), *y_base = a.b + batch_offset(&a, a.b_batch, batch);
#define LOAD_B(k) load_b(y, &a, y_base, n0, k, end)
#endif
    load_a(x, &a, x_base, m0, begin, end);
    LOAD_B(begin);
    for (uint64_t k = begin; k < end; k += BK) {
        keep_a(a_tile, x);
        keep_b(b_tile, y);
        BARRIER();
        if (k + BK < end) {
            load_a(x, &a, x_base, m0, k + BK, end);
            LOAD_B(k + BK);
        }
        multiply_tile(&s, a_tile, b_tile);
        BARRIER();
    }
    store_tile(&a, &s, batch, split, m0, n0);
}
