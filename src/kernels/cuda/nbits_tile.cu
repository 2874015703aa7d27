// SPDX-License-Identifier: Apache-2.0
// Products of many rows with weights of 4 bits (nbits.cu). A block computes BM rows and 16 columns of each of its eight warps in steps of
// 64 k: X comes to shared memory, weights directly to the registers of the warp that multiplies them. On Hopper groups of four warps
// multiply their registers by X where it lies. The SPLITS blocks of a cluster share k, and add their parts in a fixed order through each
// other's shared memory.
//
// STAGES: steps of X in shared memory at the same time; BLOCKS: that a multiprocessor shall run at the same time; VECTOR: rows of Y are
// whole vectors of 8.
enum { TILE_THREADS = 256, MS = BM / 8, OUT_PITCH = BN + 4 };
enum { ROW_BYTES = GROUP * 2, PART_BYTES = BM * ROW_BYTES, STAGE_BYTES = PARTS * PART_BYTES };

// The 16 bytes of a part that hold eight k of a row: chunks are permuted so that eight neighbouring rows use all banks.
DEVICE uint32_t chunk_at(uint32_t row, uint32_t chunk) { return row * ROW_BYTES + (chunk ^ (row & 7)) * 16; }

enum { LOADS = BM * 8 / TILE_THREADS, LINES = TILE_THREADS / 8 };

// Where a thread reads X: 8 k of LOADS rows; NULL: of none.
typedef struct source {
    const IN *at[LOADS];
    uint32_t k;
} source;

DEVICE source find_x(const nbits *a, uint64_t m0, uint32_t group)
{
    source s;
    s.k = group * GROUP + THREAD % 8 * 8;
    UNROLL for (uint32_t i = 0; i < LOADS; i++) {
        const uint64_t m = m0 + THREAD / 8 + i * LINES;
        s.at[i] = m < a->m ? a->x + m * a->k + s.k : (const IN *)0;
    }
    return s;
}

// Brings a step of X, and of float32 its parts.
DEVICE void bring_x(char *stage, const nbits *a, source *s)
{
    UNROLL for (uint32_t i = 0; i < LOADS; i++) {
        const int inside = s->at[i] && s->k < a->k;
        const IN *const from = inside ? s->at[i] : a->x;
        char *const to = stage + chunk_at(THREAD / 8 + i * LINES, THREAD % 8);
#if PARTS == 1
        copy_16(to, from, inside);
#else
        uint32_t two[2][PARTS][2];
        UNROLL for (int h = 0; h < 2; h++) {
            const quarters four = load_quarters(from + h * 4, inside);
            put_four(two[h], &four);
        }
        UNROLL for (int p = 0; p < PARTS; p++) {
            const quarters q = {{two[0][p][0], two[0][p][1], two[1][p][0], two[1][p][1]}};
            *(quarters *)(to + p * PART_BYTES) = q;
        }
#endif
        if (s->at[i]) s->at[i] += GROUP;
    }
    s->k += GROUP;
}

// ---- Products --------------------------------------------------------------------------------------

#if HAS_GROUPS
// d = a b for 64 columns, 16 in the registers of each warp, and BM rows in shared memory, plus d if `more`.
#define DEFINE_PRODUCT(n, names, sums, a0, a1, a2, a3, b_name, more_name)                                                         \
    DEVICE void product_##n(float (*d)[4], const uint32_t *a, uint64_t b, uint32_t more)                                          \
    {                                                                                                                             \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" more_name ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n GROUP_FORM        \
                     " {" names "}, {%" a0 ", %" a1 ", %" a2 ", %" a3 "}, %" b_name ", p, 1, 1, 0;\n}\n"                          \
                     : sums : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(more));                                     \
    }
#if BM == 32
DEFINE_PRODUCT(32, NAMES_16, SUMS_4(d, 0), "16", "17", "18", "19", "20", "21")
#elif BM == 64
DEFINE_PRODUCT(64, NAMES_32, SUMS_8(d, 0), "32", "33", "34", "35", "36", "37")
#else
DEFINE_PRODUCT(128, NAMES_64, SUMS_16(d, 0), "64", "65", "66", "67", "68", "69")
#endif

DEVICE void add_step(float (*sum)[4], const weights *w, const char *stage)
{
    enum { RUN = SUB / 16 }; // steps of 16 k that share a scale
    const uint64_t x = describe(shared_at(stage));
    UNROLL for (uint32_t sub = 0; sub < SUBS; sub++) {
        const float low = scale_of(&w->scales[sub], 0), high = scale_of(&w->scales[sub], 1);
        const zero_pair zero_low = low_zero(w, sub), zero_high = high_zero(w, sub);
        float part[MS][4];
        uint32_t codes[RUN][4];
        UNROLL for (uint32_t s = 0; s < RUN; s++) take_codes(codes[s], w->codes.at[sub * RUN + s], zero_low, zero_high);
        PRODUCTS_BEGIN();
        UNROLL for (uint32_t s = 0; s < RUN; s++)
            UNROLL for (uint32_t p = 0; p < PARTS; p++)
                JOIN(product_, BM)(part, codes[s], x + p * (PART_BYTES / 16) + (sub * RUN + s) * 2, s + p > 0);
        PRODUCTS_END();
        PRODUCTS_WAIT(0);
#if ZEROS == 2
        const uint32_t one = TENSOR == 1 ? 0x3c003c00 : 0x3f803f80, ones[4] = {one, one, one, one};
        float all[MS][4];
        PRODUCTS_BEGIN();
        UNROLL for (uint32_t s = 0; s < RUN; s++)
            UNROLL for (uint32_t p = 0; p < PARTS; p++) JOIN(product_, BM)(all, ones, x + p * (PART_BYTES / 16) + (sub * RUN + s) * 2, s + p > 0);
        PRODUCTS_END();
        PRODUCTS_WAIT(0);
        UNROLL for (int i = 0; i < MS; i++) UNROLL for (int e = 0; e < 4; e++) part[i][e] -= bits_f32(w->zeros[sub].at[e / 2]) * all[i][e];
#endif
        UNROLL for (int i = 0; i < MS; i++) UNROLL for (int e = 0; e < 4; e++) sum[i][e] += (e < 2 ? low : high) * part[i][e];
    }
}
#else
DEVICE void add_step(float (*sum)[4], const weights *w, const char *stage)
{
    const uint32_t lane = THREAD % 32;
    UNROLL for (uint32_t h = 0; h < 2; h++)
        UNROLL for (uint32_t i = 0; i < MS; i++) {
            fragment x;
            UNROLL for (int p = 0; p < PARTS; p++)
                load_matrices(x.at[p].at, (const uint16_t *)(stage + p * PART_BYTES + chunk_at(i * 8 + lane % 8, h * 4 + lane / 8)));
            add_half(sum + i, 1, w, h, &x);
        }
}
#endif

// ---- Results ---------------------------------------------------------------------------------------

#if SPLITS > 1 && !defined(EMULATED)
#define CLUSTER_BARRIER() asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory")
enum { OWN_ROWS = BM / SPLITS };
#else
#define CLUSTER_BARRIER() BARRIER()
enum { OWN_ROWS = BM };
#endif

// Four sums at this place of the block's memory, added over all blocks of the cluster.
DEVICE quarters add_parts(const float *at)
{
    quarters total = *(const quarters *)at;
#if SPLITS > 1
    float sum[4] = {0, 0, 0, 0};
    UNROLL for (uint32_t r = 0; r < SPLITS; r++) {
        uint32_t q[4];
#ifndef EMULATED
        uint32_t there;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"((uint32_t)__cvta_generic_to_shared(at)), "r"(r));
        asm volatile("ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(q[0]), "=r"(q[1]), "=r"(q[2]), "=r"(q[3]) : "r"(there) : "memory");
#else
        for (int e = 0; e < 4; e++) q[e] = f32_bits(at[r * BM * OUT_PITCH + (uint32_t)e]);
#endif
        UNROLL for (int e = 0; e < 4; e++) sum[e] += bits_f32(q[e]);
    }
    UNROLL for (int e = 0; e < 4; e++) total.at[e] = f32_bits(sum[e]);
#endif
    return total;
}

DEVICE void store_rows(const nbits *a, const float *out, uint32_t rank, uint64_t m0, uint32_t n0)
{
    for (uint32_t i = THREAD; i < OWN_ROWS * (BN / 8); i += TILE_THREADS) {
        const uint32_t row = (OWN_ROWS < BM ? rank * OWN_ROWS : 0) + i / (BN / 8), column = i % (BN / 8) * 8, n = n0 + column;
        const uint64_t at = (m0 + row) * a->n + n;
        float v[8];
        if (m0 + row >= a->m || n >= a->n) continue;
        UNROLL for (int h = 0; h < 2; h++) {
            const quarters q = add_parts(out + row * OUT_PITCH + column + (uint32_t)h * 4);
            UNROLL for (int e = 0; e < 4; e++) v[h * 4 + e] = bits_f32(q.at[e]);
        }
#if VECTOR
        UNROLL for (uint32_t e = 0; e < 8; e++) v[e] = result(a, n + e, v[e]);
        STORE_8(Y, a->y + at, v);
#else
        UNROLL for (uint32_t e = 0; e < 8; e++)
            if (n + e < a->n) a->y[at + e] = NARROW(Y, result(a, n + e, v[e]));
#endif
    }
}

KERNEL_CLUSTER(run, nbits, TILE_THREADS, BLOCKS, SPLITS)
{
    SHARED_ROOM(room);
#if defined(EMULATED) && SPLITS > 1
    SHARED float parts[SPLITS * BM * OUT_PITCH];
#endif
    const uint32_t lane = THREAD % 32, warp = THREAD / 32, rank = BLOCK_X % SPLITS, unit = BLOCK_X / SPLITS;
    const uint32_t rows = (a.m + BM - 1) / BM, column = unit / rows, n0 = column * BN;
    const uint64_t m0 = (uint64_t)(unit - column * rows) * BM;
    const uint32_t each = (a.groups + SPLITS - 1) / SPLITS, begin = rank * each;
    const uint32_t steps = begin >= a.groups ? 0 : begin + each < a.groups ? each : a.groups - begin;
    cursor at = find(&a, n0 / TILE + warp, begin);
    weights now, next;
    float sum[MS][4];
#ifdef EMULATED
    char *const tiles = room;
#else
    char *const tiles = room + (-(uint32_t)__cvta_generic_to_shared(room) & 1023);
#endif
#define STAGE(i) (tiles + (i) % STAGES * STAGE_BYTES)
    bring(&next, &a, &at, 0);
    UNROLL for (int i = 0; i < MS; i++) UNROLL for (int e = 0; e < 4; e++) sum[i][e] = 0;
    WAIT_FOR_LAST();
    source x_at = find_x(&a, m0, begin);
    for (uint32_t i = 0; i < STAGES - 1; i++) {
        if (i < steps) bring_x(STAGE(i), &a, &x_at);
        COPIES_END();
    }
    for (uint32_t i = 0; i < steps; i++) {
        COPIES_WAIT(STAGES - 2);
        SHOW_TILES();
        BARRIER();
        now = next;
        bring(&next, &a, &at, 1); // behind the last step, too, which does no harm
        go_on(&at, 1);
        if (i + STAGES - 1 < steps) bring_x(STAGE(i + STAGES - 1), &a, &x_at);
        COPIES_END();
        add_step(sum, &now, STAGE(i));
    }
    BARRIER();
#if defined(EMULATED) && SPLITS > 1
    float *const out = parts + rank * BM * OUT_PITCH; // the blocks of a cluster run one after the other: the last one adds
#else
    float *const out = (float *)tiles;
#endif
    UNROLL for (uint32_t i = 0; i < MS; i++)
        UNROLL for (uint32_t e = 0; e < 4; e++)
            out[(i * 8 + lane % 4 * 2 + e % 2) * OUT_PITCH + warp * TILE + lane / 4 + e / 2 * 8] = sum[i][e];
#if defined(EMULATED) && SPLITS > 1
    BARRIER();
    if (rank + 1 == SPLITS) store_rows(&a, parts, rank, m0, n0);
#else
    CLUSTER_BARRIER();
    store_rows(&a, out, rank, m0, n0);
#if SPLITS > 1
    CLUSTER_LEAVE(); // the others may still read this block's memory
#endif
#endif
}
