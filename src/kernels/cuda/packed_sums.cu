// SPDX-License-Identifier: Apache-2.0
// What packed.cu and boxed.cu share; text in front of both: arguments, products of tiles of BM x BN in steps of 64 k that lie in shared
// memory, and results. Each 64 rows belong to four warps. Sums are float32. The SPLITS blocks of a cluster share k, and add their
// parts in a fixed order through each other's shared memory.
//
// BM, BN; STAGES: steps that are in shared memory at the same time; SPLITS; TENSOR: 1 and 2 tensor cores in f16 and bf16;
// VECTOR: rows of Y are whole vectors of 8; X, BIAS, RESIDUAL, Y: types; BIASED, ADDED: there is a bias, a residual.
enum { BK = 64, ROW_BYTES = 128, PACKED_THREADS = BM * 2 };
enum { A_BYTES = BM * ROW_BYTES, STAGE_BYTES = (BM + BN) * ROW_BYTES, SUMS = BN / 8, OUT_PITCH = BN + 8 };

typedef struct packed {
    const X *x, *w;
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
} packed;

// ---- Warp groups -----------------------------------------------------------------------------------

#if !defined(EMULATED) && __CUDA_ARCH__ == 900 // other architectures lack these instructions
#define HAS_GROUPS 1
#else
#define HAS_GROUPS 0
#endif

typedef struct sums { float at[SUMS][4]; } sums;

// The 16 bytes of row `row` that hold the elements k = 8 * chunk and on: rows of 128 bytes, whose chunks are permuted
// so that eight neighbouring rows use all banks.
DEVICE uint32_t chunk_at(uint32_t row, uint32_t chunk) { return row * ROW_BYTES + (chunk ^ (row & 7)) * 16; }

#if HAS_GROUPS
#if TENSOR == 1
#define HALF_PAIR "f16.f16"
#else
#define HALF_PAIR "bf16.bf16"
#endif
#define R8(d, i) "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3]), "+f"(d[i + 1][0]), "+f"(d[i + 1][1]), "+f"(d[i + 1][2]), "+f"(d[i + 1][3])

// A tile in shared memory for the tensor cores: rows of 128 bytes, eight of which are permuted together.
DEVICE uint64_t describe(uint32_t at) { return (uint64_t)(at >> 4 & 0x3fff) | (uint64_t)1 << 16 | (uint64_t)64 << 32 | (uint64_t)1 << 62; }

DEVICE void multiply_64(float (*d)[4], uint64_t a, uint64_t b)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." HALF_PAIR " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
                 "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0;\n}\n"
                 : R8(d, 0), R8(d, 2), R8(d, 4), R8(d, 6) : "l"(a), "l"(b));
}

DEVICE void multiply_128(float (*d)[4], uint64_t a, uint64_t b)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." HALF_PAIR " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
                 "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, "
                 "%39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, "
                 "%63}, %64, %65, p, 1, 1, 0, 0;\n}\n"
                 : R8(d, 0), R8(d, 2), R8(d, 4), R8(d, 6), R8(d, 8), R8(d, 10), R8(d, 12), R8(d, 14) : "l"(a), "l"(b));
}

// Starts the products of a stage; they run beside what follows.
DEVICE void start_products(sums *s, const char *tile)
{
    const uint32_t base = (uint32_t)__cvta_generic_to_shared(tile);
    const uint64_t a = describe(base + THREAD / 128 * 64 * ROW_BYTES), b = describe(base + A_BYTES);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    UNROLL for (int k = 0; k < BK / 16; k++) {
#if BN == 64
        multiply_64(s->at, a + (uint64_t)k * 2, b + (uint64_t)k * 2);
#else
        UNROLL for (int h = 0; h < BN / 128; h++)
            multiply_128(s->at + h * 16, a + (uint64_t)k * 2, b + (uint64_t)(h * 128 * ROW_BYTES / 16 + k * 2));
#endif
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
DEVICE void finish_products(sums *s)
{
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    (void)s;
}
// Makes what this thread wrote to shared memory visible to the tensor cores.
#define SHOW_TILES() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#else
DEVICE void start_products(sums *s, const char *tile)
{
    const uint32_t row = THREAD / 32 * 16, lane = THREAD % 32;
#if HAS_MMA
    UNROLL for (uint32_t k = 0; k < BK / 16; k++) {
        uint32_t x[4], y[4];
        load_matrices(x, (const uint16_t *)(tile + chunk_at(row + lane % 16, k * 2 + lane / 16)));
        UNROLL for (int j = 0; j < SUMS; j += 2) {
            load_matrices(y, (const uint16_t *)(tile + A_BYTES + chunk_at((uint32_t)j * 8 + lane / 16 * 8 + lane % 8, k * 2 + lane / 8 % 2)));
            multiply(s->at[j], x, y);
            multiply(s->at[j + 1], x, y + 2);
        }
    }
#else
    for (uint32_t h = 0; h < 2; h++)
        for (uint32_t j = 0; j < SUMS; j++)
            for (uint32_t e = 0; e < 2; e++)
                for (uint32_t k = 0; k < BK; k++) {
                    const uint32_t m = row + lane / 4 + h * 8, n = j * 8 + lane % 4 * 2 + e;
                    const X a = ((const X *)(tile + chunk_at(m, k / 8)))[k % 8];
                    const X b = ((const X *)(tile + A_BYTES + chunk_at(n, k / 8)))[k % 8];
                    s->at[j][h * 2 + e] += WIDEN(X, a) * WIDEN(X, b);
                }
#endif
}
DEVICE void finish_products(sums *s) { (void)s; }
#define SHOW_TILES() ((void)0)
#endif

// ---- Clusters --------------------------------------------------------------------------------------

#if SPLITS > 1 && !defined(EMULATED)
#define CLUSTER_BARRIER() asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory")
#else
#define CLUSTER_BARRIER() BARRIER()
#endif

typedef struct ALIGNED(16) quad { float at[4]; } quad;

// Four sums at this place of the block's memory, added over all blocks of the cluster.
DEVICE quad add_parts(const float *at)
{
#if SPLITS > 1 && !defined(EMULATED)
    const uint32_t own = (uint32_t)__cvta_generic_to_shared(at);
    quad total = {{0, 0, 0, 0}};
    UNROLL for (uint32_t r = 0; r < SPLITS; r++) {
        uint32_t there;
        quad q;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(r));
        asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(q.at[0]), "=f"(q.at[1]), "=f"(q.at[2]), "=f"(q.at[3]) : "r"(there) : "memory");
        UNROLL for (int e = 0; e < 4; e++) total.at[e] += q.at[e];
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

DEVICE void keep_sums(float *out, const sums *s)
{
    const uint32_t row = THREAD / 32 * 16 + THREAD % 32 / 4, column = THREAD % 4 * 2;
    UNROLL for (int j = 0; j < SUMS; j++)
        UNROLL for (int h = 0; h < 2; h++) {
            typedef struct ALIGNED(8) two { float at[2]; } two;
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

DEVICE uint32_t unit_row(uint32_t i, uint32_t rank) { return (OWN_ROWS < BM ? rank * OWN_ROWS : 0) + (i * PACKED_THREADS + THREAD) / SUMS; }
DEVICE uint32_t unit_column(void) { return THREAD % SUMS * 8; }

// What is added to the sums. It is loaded before the products begin, if registers suffice, because nothing hides the wait behind them.
#define HAS_ROOM (BLOCKS < 3 || (BM == 64 && BN == 64))
#define BIAS_EARLY (VECTOR && BIASED && HAS_ROOM)
#define ADDED_EARLY (VECTOR && ADDED && HAS_ROOM && (BM == 64 || BN == 64))
typedef struct extras {
#if BIAS_EARLY
    bias_pack bias;
#endif
#if ADDED_EARLY
    added_pack added[UNITS];
#endif
    uint32_t rank;
} extras;

DEVICE void load_extras(extras *x, const packed *a, uint32_t group, uint64_t m0, uint64_t n0, uint32_t rank)
{
    const uint64_t n = n0 + unit_column(), column = group * a->n + n;
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
    (void)m0, (void)n, (void)column;
}

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
    UNROLL for (int e = 0; e < 8; e++) v[e] = activate(v[e], a->first, a->second);
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
        a->y[at + (uint32_t)e] = NARROW(Y, activate(v[e], a->first, a->second));
    }
#endif
}

DEVICE void store_sums(const packed *a, const extras *x, const float *out, uint32_t group, uint64_t m0, uint64_t n0)
{
    UNROLL for (uint32_t i = 0; i < UNITS; i++) {
        const uint32_t row = unit_row(i, x->rank), column = unit_column();
        if (i * PACKED_THREADS + THREAD < OWN_ROWS * SUMS) store_8(a, x, i, group, m0 + row, n0 + column, out + row * OUT_PITCH + column);
    }
}
