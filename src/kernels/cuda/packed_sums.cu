// SPDX-License-Identifier: Apache-2.0
// What packed.cu and boxed.cu share; text in front of both: arguments, products of tiles of BM x BN in steps of BK k that lie in shared
// memory, 128 bytes of each row, and results. Each 64 rows belong to four warps. Sums are float32, of bytes int32. The SPLITS blocks
// of a cluster share k, and add their parts in a fixed order through each other's shared memory.
//
// BM, BN; STAGES: steps that are in shared memory at the same time; SPLITS; TENSOR: as in groups.cu;
// VECTOR: rows of Y are whole vectors of 8; X, WEIGHT, BIAS, RESIDUAL, Y: types; BIASED, ADDED: there is a bias, a residual. FINISH:
// what results are made of, of bytes: 1 bytes, 2 int32, 3 and 4 float32 of QuantizedConv and QuantizedMatMul. PLANES: Y is linear. MAPPED: of bytes, what lies outside of
// the image counts as 0, not as its zero point.
// JOINED: products side by side, of `part` columns each, whose sums with a row have scales and zero points of their own. LOOKED_UP: bytes are looked up in a table.
// SLIM: a step has 64 bytes of each row (boxed.cu alone). LOOSE: products of any matrices of bytes. DIRECT: see byte_rows.cu. STAYS: see packed.cu.
enum { ROW_BYTES = SLIM ? 64 : 128, CHUNK = 16 / sizeof(X), BK = ROW_BYTES / sizeof(X), PACKED_THREADS = BM * 2 };
enum { A_BYTES = BM * ROW_BYTES, STAGE_BYTES = (BM + BN) * ROW_BYTES, SUMS = BN / 8, OUT_PITCH = BN + 8 };

// Of products with operands that are no whole vectors or not constant (LOOSE), and of their zero points, scales and batches.
typedef struct loose {
    const float *a_scale, *b_scale, *y_scale;
    const X *a_zero;
    const WEIGHT *b_zero;
    const int32_t *bias;
    double alpha;
    uint64_t a_row, a_k, b_column, b_k; // elements from one row, column and k to the next
    uint64_t batch_shape[6], a_batch[6], b_batch[6];
    uint32_t batch_rank, b_scales, b_zeros, unused; // scales and zero points of B: 0, 1, or one for each column
} loose;

typedef struct packed {
    const X *x;
    const WEIGHT *w;
    const BIAS *bias;
    const RESIDUAL *residual;
    Y *y;
    uint64_t m, n, k, k_pitch; // n, k: of a group; k_pitch: elements from one row of W to the next
    uint64_t x_row, y_row, image; // elements from one row of X and Y to the next, and of an image
    uint32_t groups, channels, pixels, out_width, window; // channels: of a group; window: width of the window
    int32_t in_height, in_width, stride_y, stride_x, dilation_y, dilation_x, pad_y, pad_x;
    int32_t step_y, step_x, step_c; // elements from one row, column and channel of the image to the next
    uint32_t lines, line; // with TAPS: lines of a channel that a tile covers, and elements of one in shared memory
    float alpha, first, second;
    // Of bytes, for each column: what is added to a sum, its scale, and that in float32; limits of results; 16 bytes for what lies
    // outside of the image.
    const int32_t *offsets;
    const double *scales;
    const float *factors;
    const X *outside;
    int32_t zero, low, high;
    // With MAPPED, offsets depend on which taps lie inside the image: the kinds of rows and columns of Y, and offsets of each kind
    const int32_t *mapped;
    const u8 *row_kinds, *column_kinds;
    uint32_t kinds, kind_pitch; // kinds of columns; elements from one kind's offsets to the next
    // With DIRECT: scales of columns that are too small and too large, and rows of W of a group
    const float *least, *most;
    uint64_t w_rows;
    loose loose;
    const u8 *table;
    uint64_t part;
#if FINISH == 1 && ADDED
    byte_binary sum[JOINED]; // of a byte and the residual
#endif
} packed;

#if FINISH == 1 && ADDED
DEVICE const byte_binary *sum_at(const packed *a, uint64_t column) { return &a->sum[JOINED > 1 ? (uint32_t)column / (uint32_t)a->part : 0]; }
#endif

// The zero point of a result of this column.
DEVICE int32_t zero_at(const packed *a, uint64_t column)
{
#if FINISH == 1 && ADDED && JOINED > 1
    const byte_binary *const q = sum_at(a, column);
    return q->a_zero - (int32_t)q->a_flip;
#else
    (void)column;
    return a->zero;
#endif
}

// ---- Products --------------------------------------------------------------------------------------

// Tensor cores keep about 14 bits of sums of float8: those of a step of 128 k are added to the others in float32.
#if TENSOR == 4
typedef struct sums { sum_type at[SUMS][4], step[SUMS][4]; } sums;
#define STEP_SUMS(s) (s)->step
#else
typedef struct sums { sum_type at[SUMS][4]; } sums;
#define STEP_SUMS(s) (s)->at
#endif
#if HAS_MMA && (TENSOR != 4 || __CUDA_ARCH__ >= 890)
#define HAS_PRODUCTS 1
#else
#define HAS_PRODUCTS 0
#endif

DEVICE void add_step(sums *s)
{
#if TENSOR == 4
    UNROLL for (int j = 0; j < SUMS; j++) UNROLL for (int e = 0; e < 4; e++) s->at[j][e] += s->step[j][e];
#endif
    (void)s;
}

// The 16 bytes of row `row` that hold the elements k = CHUNK * chunk and on: rows of 128 bytes, whose chunks are permuted
// so that eight neighbouring rows use all banks.
DEVICE uint32_t chunk_at(uint32_t row, uint32_t chunk) { return row * ROW_BYTES + (chunk ^ (row & 7)) * 16; }

#if HAS_GROUPS
// Starts the products of a stage; they run beside what follows.
DEVICE void start_products(sums *s, const char *tile)
{
    const uint32_t base = shared_at(tile);
    const uint64_t a = describe(base + THREAD / 128 * 64 * ROW_BYTES), b = describe(base + A_BYTES);
    PRODUCTS_BEGIN();
    UNROLL for (int k = 0; k < ROW_BYTES / 32; k++) {
#if BN == 64
        multiply_64(STEP_SUMS(s), a + (uint64_t)k * 2, b + (uint64_t)k * 2, TENSOR != 4 || k > 0);
#else
        UNROLL for (int h = 0; h < BN / 128; h++)
            multiply_128(STEP_SUMS(s) + h * 16, a + (uint64_t)k * 2, b + (uint64_t)(h * 128 * ROW_BYTES / 16 + k * 2), TENSOR != 4 || k > 0);
#endif
    }
    PRODUCTS_END();
}
DEVICE void finish_products(sums *s)
{
    PRODUCTS_WAIT(0);
    add_step(s);
}
#else
DEVICE void start_products(sums *s, const char *tile)
{
    const uint32_t row = THREAD / 32 * 16, lane = THREAD % 32;
#if TENSOR == 4
    UNROLL for (int j = 0; j < SUMS; j++) UNROLL for (int e = 0; e < 4; e++) s->step[j][e] = 0;
#endif
#if HAS_PRODUCTS
    UNROLL for (uint32_t k = 0; k < ROW_BYTES / 32; k++) {
        uint32_t x[4], y[4];
        load_matrices(x, (const uint16_t *)(tile + chunk_at(row + lane % 16, k * 2 + lane / 16)));
        UNROLL for (int j = 0; j < SUMS; j += 2) {
            load_matrices(y, (const uint16_t *)(tile + A_BYTES + chunk_at((uint32_t)j * 8 + lane / 16 * 8 + lane % 8, k * 2 + lane / 8 % 2)));
            multiply(STEP_SUMS(s)[j], x, y);
            multiply(STEP_SUMS(s)[j + 1], x, y + 2);
        }
    }
#else
    for (uint32_t h = 0; h < 2; h++)
        for (uint32_t j = 0; j < SUMS; j++)
            for (uint32_t e = 0; e < 2; e++)
                for (uint32_t k = 0; k < BK; k++) {
                    const uint32_t m = row + lane / 4 + h * 8, n = j * 8 + lane % 4 * 2 + e;
                    const X a = ((const X *)(tile + chunk_at(m, k / CHUNK)))[k % CHUNK];
                    const WEIGHT b = ((const WEIGHT *)(tile + A_BYTES + chunk_at(n, k / CHUNK)))[k % CHUNK];
                    STEP_SUMS(s)[j][h * 2 + e] += WIDEN(X, a) * WIDEN(WEIGHT, b);
                }
#endif
}
DEVICE void finish_products(sums *s) { add_step(s); }
#endif

// ---- Clusters --------------------------------------------------------------------------------------

#if TENSOR == 3
#define SUM_OF_BITS(x) ((int32_t)(x))
#else
#define SUM_OF_BITS(x) bits_f32(x)
#endif
#if SPLITS > 1 && !defined(EMULATED)
#define CLUSTER_BARRIER() asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory")
#else
#define CLUSTER_BARRIER() BARRIER()
#endif

typedef struct ALIGNED(16) quad { sum_type at[4]; } quad;

// Four sums at this place of the block's memory, added over all blocks of the cluster.
DEVICE quad add_parts(const sum_type *at)
{
#if SPLITS > 1 && !defined(EMULATED)
    const uint32_t own = (uint32_t)__cvta_generic_to_shared(at);
    quad total = {{0, 0, 0, 0}};
    UNROLL for (uint32_t r = 0; r < SPLITS; r++) {
        uint32_t there, q[4];
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(r));
        asm volatile("ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(q[0]), "=r"(q[1]), "=r"(q[2]), "=r"(q[3]) : "r"(there) : "memory");
        UNROLL for (int e = 0; e < 4; e++) total.at[e] += SUM_OF_BITS(q[e]);
    }
    return total;
#elif SPLITS > 1
    quad total = {{0, 0, 0, 0}};
    for (uint32_t r = 0; r < SPLITS; r++)
        for (int e = 0; e < 4; e++) total.at[e] += at[r * BM * OUT_PITCH + (uint32_t)e];
    return total;
#else
    return *(const quad *)at;
#endif
}

// ---- Results ---------------------------------------------------------------------------------------

typedef struct ALIGNED(16) bias_pack { BIAS at[8]; } bias_pack;
typedef struct ALIGNED(16) added_pack { RESIDUAL at[8]; } added_pack;

DEVICE void keep_sums(sum_type *out, const sums *s)
{
    const uint32_t row = THREAD / 32 * 16 + THREAD % 32 / 4, column = THREAD % 4 * 2;
    UNROLL for (int j = 0; j < SUMS; j++)
        UNROLL for (int h = 0; h < 2; h++) {
            typedef struct ALIGNED(8) two { sum_type at[2]; } two;
            const two v = {{s->at[j][h * 2], s->at[j][h * 2 + 1]}};
            *(two *)(out + (row + (uint32_t)h * 8) * OUT_PITCH + (uint32_t)j * 8 + column) = v;
        }
}

// Blocks of a cluster store different rows. A thread stores UNITS times eight neighbours of a row, always of the same columns.
#if SPLITS > 1 && !defined(EMULATED)
enum { OWN_ROWS = BM / SPLITS };
#else
enum { OWN_ROWS = BM };
#endif
enum { UNITS = (OWN_ROWS * SUMS + PACKED_THREADS - 1) / PACKED_THREADS };

#if PLANES // neighbours of Y are rows
DEVICE uint32_t unit_row(uint32_t i, uint32_t rank) { return (OWN_ROWS < BM ? rank * OWN_ROWS : 0) + (i * PACKED_THREADS + THREAD) % OWN_ROWS; }
DEVICE uint32_t unit_column(uint32_t i) { return (i * PACKED_THREADS + THREAD) / OWN_ROWS * 8; }
#else
DEVICE uint32_t unit_row(uint32_t i, uint32_t rank) { return (OWN_ROWS < BM ? rank * OWN_ROWS : 0) + (i * PACKED_THREADS + THREAD) / SUMS; }
DEVICE uint32_t unit_column(uint32_t i) { return (void)i, THREAD % SUMS * 8; }
#endif

// What is added to the sums. It is loaded before the products begin, if registers suffice, because nothing hides the wait behind them.
#define HAS_ROOM (BLOCKS < 3 || (BM == 64 && BN == 64))
#define BIAS_EARLY (!FINISH && VECTOR && BIASED && HAS_ROOM)
#define ADDED_EARLY (!FINISH && VECTOR && ADDED && HAS_ROOM && (BM == 64 || BN == 64))
#define BYTES_EARLY (FINISH == 1 && BLOCKS < 3 && BM == 64 && BN == 64 && SPLITS > 1)
#define REST_EARLY (BYTES_EARLY && VECTOR && ADDED && !PLANES && !LOOSE)
#define SCALES_EARLY (FINISH == 4 || BYTES_EARLY)
#if FINISH
// What eight columns have of their own. There is room behind the last column.
typedef struct columns {
    int32_t offsets[8];
#if SCALES_EARLY
    double scales[8];
#else
    const double *scales;
#endif
#if FINISH != 4
    float factors[8];
#endif
} columns;

DEVICE void load_columns(columns *c, const int32_t *offsets, const double *scales, const float *factors, uint64_t at)
{
    UNROLL for (int e = 0; e < 8; e++) c->offsets[e] = offsets[at + (uint32_t)e];
#if SCALES_EARLY
    UNROLL for (int e = 0; e < 8; e++) c->scales[e] = scales[at + (uint32_t)e];
#else
    c->scales = scales + at;
#endif
#if FINISH == 4
    (void)factors;
#else
    UNROLL for (int e = 0; e < 8; e++) c->factors[e] = factors[at + (uint32_t)e];
#endif
}
#endif

#if LOOSE
// Of a tile: sums of the elements of rows and columns, and what columns have of their own.
typedef struct loose_room {
    double scales[BN];
    float factors[BN];
    int32_t row_sums[BM], column_sums[BN], offsets[BN], zeros[BN];
} loose_room;
#endif

typedef struct extras {
#if BIAS_EARLY
    bias_pack bias;
#endif
#if ADDED_EARLY
    added_pack added[UNITS];
#endif
#if LOOSE
    loose_room *room;
#elif FINISH
    columns columns;
#endif
#if REST_EARLY
    byte_pack rest[ADDED_ROW ? 1 : UNITS];
#endif
    uint32_t rank;
} extras;

DEVICE void load_extras(extras *x, const packed *a, uint32_t group, uint64_t m0, uint64_t n0, uint32_t rank)
{
    const uint64_t n = n0 + unit_column(0), column = group * a->n + n;
    x->rank = rank;
#if BIAS_EARLY
    if (n < a->n) x->bias = *(const bias_pack *)(a->bias + column);
#endif
#if ADDED_EARLY
    UNROLL for (uint32_t i = 0; i < UNITS; i++) {
        const uint64_t m = m0 + unit_row(i, rank);
        if (m < a->m && n < a->n) x->added[i] = *(const added_pack *)(a->residual + m * a->y_row + column);
    }
#endif
#if REST_EARLY
    UNROLL for (uint32_t i = 0; i < (ADDED_ROW ? 1 : UNITS); i++) {
        const uint64_t m = ADDED_ROW ? 0 : m0 + unit_row(i, rank);
        if (m < a->m && n < a->n) x->rest[i] = *(const byte_pack *)(a->residual + m * a->y_row + column);
    }
#endif
    (void)m0, (void)n, (void)column;
}

// What is constant is loaded while the kernel before this one runs.
DEVICE void load_constants(extras *x, const packed *a, uint32_t group, uint64_t n0)
{
#if FINISH && !LOOSE && !PLANES
    const uint64_t n = n0 + unit_column(0), column = group * a->n + n;
    if (n < a->n) load_columns(&x->columns, a->offsets, a->scales, a->factors, column);
#endif
    (void)x, (void)a, (void)group, (void)n0;
}

#if FINISH
DEVICE Y finish_one(const packed *a, const columns *c, uint32_t e, int32_t sum, float bias, float more)
{
    const int32_t whole = (int32_t)((uint32_t)sum + (uint32_t)c->offsets[e]);
    (void)a, (void)bias, (void)more;
#if FINISH <= 2
    return (Y)whole;
#else
#if FINISH == 3
    float v = MUL_F32((float)whole, c->factors[e]);
    if (BIASED) v = ADD_F32(v, bias);
#else
    float v = (float)ADD_F64(MUL_F64(exact_f64(whole), c->scales[e]), (double)bias);
#endif
    if (ADDED) v = ADD_F32(v, more);
    return activate(v, 0, 0);
#endif
}

#if FINISH == 1 && ADDED
// Adds the bytes of R. A margin to both sides decides, as in byte_rows.cu: one branch for all eight.
DEVICE void add_rest(byte_pack *p, byte_pack r, const byte_binary *q)
{
    const float end = ROUNDING_F32 + (float)q->limits.zero;
    uint32_t differ = 0;
    byte_pack y;
    UNROLL for (int e = 0; e < 8; e++) {
        const float from = FMA_F32((float)((int32_t)(r.at[e] ^ q->b_flip) - q->b_zero), q->b_factor, -q->margin);
        const float less = FMA_F32((float)((int32_t)(p->at[e] ^ q->a_flip) - q->a_zero), q->a_factor, from), more = ADD_F32(less, 2 * q->margin);
        const uint32_t lowest = f32_bits(ADD_F32(less, end));
        const int32_t v = (int32_t)(lowest - f32_bits(ROUNDING_F32));
        differ |= lowest ^ f32_bits(ADD_F32(more, end));
        y.at[e] = (u8)(v < q->limits.low ? q->limits.low : v > q->limits.high ? q->limits.high : v);
    }
    if (differ)
        UNROLL for (int e = 0; e < 8; e++) y.at[e] = byte_sum(p->at[e], r.at[e], q);
    *p = y;
}
#endif

// Eight neighbours of a row of Y, `step` elements apart, of which `count` exist.
DEVICE void finish_8(const packed *a, const extras *x, uint32_t i, const columns *c, uint64_t at, uint64_t step, uint64_t column, uint32_t count, const int32_t *sum)
{
#if FINISH == 1
    const byte_limits l = {zero_at(a, column), a->low, a->high};
    int32_t whole[8];
    UNROLL for (int e = 0; e < 8; e++) whole[e] = (int32_t)((uint32_t)sum[e] + (uint32_t)c->offsets[e]);
    byte_pack p = bytes_of_sums(whole, c->factors, c->scales, l);
    (void)column, (void)x, (void)i;
#if REST_EARLY
    add_rest(&p, x->rest[ADDED_ROW ? 0 : i], sum_at(a, column));
#elif ADDED // and VECTOR
    add_rest(&p, *(const byte_pack *)(a->residual + (ADDED_ROW ? column : at)), sum_at(a, column));
#endif
#if LOOKED_UP
    UNROLL for (int e = 0; e < 8; e++) p.at[e] = a->table[p.at[e]];
#endif
#if VECTOR
    *(byte_pack *)(a->y + at) = p;
#else
    UNROLL for (uint32_t e = 0; e < 8; e++)
        if (e < count) a->y[at + e * step] = (Y)p.at[e];
#endif
#else
    Y y[8];
    float bias[8] = {0}, more[8] = {0};
    (void)column, (void)x, (void)i;
#if VECTOR
    if (BIASED) {
        const bias_pack p = *(const bias_pack *)(a->bias + column);
        UNROLL for (int e = 0; e < 8; e++) bias[e] = WIDEN(BIAS, p.at[e]);
    }
    if (ADDED) {
        const added_pack p = *(const added_pack *)(a->residual + at);
        UNROLL for (int e = 0; e < 8; e++) more[e] = WIDEN(RESIDUAL, p.at[e]);
    }
#else
    UNROLL for (uint32_t e = 0; e < 8; e++) {
        if (BIASED && e < count) bias[e] = WIDEN(BIAS, a->bias[column + e]);
        if (ADDED && e < count) more[e] = WIDEN(RESIDUAL, a->residual[at + e * step]);
    }
#endif
    UNROLL for (uint32_t e = 0; e < 8; e++) y[e] = finish_one(a, c, e, sum[e], bias[e], more[e]);
#if VECTOR && FINISH > 2
    STORE_8(Y, a->y + at, y);
#else
    UNROLL for (uint32_t e = 0; e < 8; e++)
        if (e < count) a->y[at + e * step] = y[e];
#endif
#endif
}

DEVICE void store_8(const packed *a, const extras *x, uint32_t i, uint32_t group, uint64_t m, uint64_t n, const int32_t *from)
{
    const uint64_t column = (LOOSE ? 0 : group * a->n) + n, left = a->n - n;
    const uint32_t count = VECTOR || left > 8 ? 8 : (uint32_t)left;
    int32_t v[8];
    if (m >= a->m || n >= a->n) return; // all that is read from other blocks is used: see CLUSTER_LEAVE
    const quad low = add_parts(from), high = add_parts(from + 4);
    UNROLL for (int e = 0; e < 8; e++) v[e] = e < 4 ? low.at[e % 4] : high.at[e % 4];
    (void)x, (void)i;
#if LOOSE
    columns c;
    load_columns(&c, x->room->offsets, x->room->scales, x->room->factors, (uint32_t)(n % BN));
    UNROLL for (int e = 0; e < 8; e++) v[e] -= x->room->zeros[n % BN + (uint32_t)e] * x->room->row_sums[m % BM];
    finish_8(a, x, i, &c, (group * a->m + m) * a->y_row + n, 1, column, count, v);
#elif PLANES
    const uint64_t image = quotient(m, a->pixels);
    columns c;
    load_columns(&c, a->offsets, a->scales, a->factors, column);
    finish_8(a, x, i, &c, (image * a->y_row + column) * a->pixels + m - image * a->pixels, a->pixels, column, count, v);
#else
#if MAPPED
    columns c = x->columns;
    const uint32_t pixel = (uint32_t)(m - quotient(m, a->pixels) * a->pixels), row = pixel / a->out_width;
    const uint32_t kind = a->row_kinds[row] * a->kinds + a->column_kinds[pixel - row * a->out_width];
    typedef struct ALIGNED(16) four { int32_t at[4]; } four;
    const four *const own = (const four *)(a->mapped + (uint64_t)kind * a->kind_pitch + column);
    const four f[2] = {own[0], own[1]};
    UNROLL for (int e = 0; e < 8; e++) c.offsets[e] = f[e / 4].at[e % 4];
    finish_8(a, x, i, &c, m * a->y_row + column, 1, column, count, v);
#else
    finish_8(a, x, i, &x->columns, m * a->y_row + column, 1, column, count, v);
#endif
#endif
}
#else
#if TENSOR == 4 // of Y in float8 `second`, which no activation of these products reads, is the reciprocal of the scale
#define OUT_SCALE(x) (sizeof(Y) == 1 ? (x) * a->second : (x))
#else
#define OUT_SCALE(x) (x)
#endif
// Eight neighbours of a row of Y.
DEVICE void store_8(const packed *a, const extras *x, uint32_t i, uint32_t group, uint64_t m, uint64_t n, const float *from)
{
    const uint64_t column = group * a->n + n, at = m * a->y_row + column;
    float v[8];
    if (m >= a->m || n >= a->n) return; // all that is read from other blocks is used: see CLUSTER_LEAVE
    const quad low = add_parts(from), high = add_parts(from + 4);
    UNROLL for (int e = 0; e < 8; e++) v[e] = a->alpha * (e < 4 ? low.at[e % 4] : high.at[e % 4]);
    (void)x, (void)i;
#if VECTOR
#if BIASED
#if BIAS_EARLY
    const bias_pack b = x->bias;
#else
    const bias_pack b = *(const bias_pack *)(a->bias + column);
#endif
    UNROLL for (int e = 0; e < 8; e++) v[e] += WIDEN(BIAS, b.at[e]);
#endif
#if ADDED
#if ADDED_EARLY
    const added_pack r = x->added[i];
#else
    const added_pack r = *(const added_pack *)(a->residual + at);
#endif
    UNROLL for (int e = 0; e < 8; e++) v[e] += WIDEN(RESIDUAL, r.at[e]);
#endif
    UNROLL for (int e = 0; e < 8; e++) v[e] = OUT_SCALE(activate(v[e], a->first, a->second));
    STORE_8(Y, a->y + at, v);
#else
    UNROLL for (int e = 0; e < 8; e++) {
        if (n + (uint32_t)e >= a->n) break;
#if BIASED
        v[e] += WIDEN(BIAS, a->bias[column + (uint32_t)e]);
#endif
#if ADDED
        v[e] += WIDEN(RESIDUAL, a->residual[at + (uint32_t)e]);
#endif
        a->y[at + (uint32_t)e] = NARROW(Y, OUT_SCALE(activate(v[e], a->first, a->second)));
    }
#endif
}
#endif

DEVICE void store_sums(const packed *a, const extras *x, const sum_type *out, uint32_t group, uint64_t m0, uint64_t n0)
{
    UNROLL for (uint32_t i = 0; i < UNITS; i++) {
        const uint32_t row = unit_row(i, x->rank), column = unit_column(i);
        if (i * PACKED_THREADS + THREAD < OWN_ROWS * SUMS) store_8(a, x, i, group, m0 + row, n0 + column, out + row * OUT_PITCH + column);
    }
}
