// SPDX-License-Identifier: Apache-2.0
// Large products of rows of 16-bit floats and packed weights, for Hopper: Y[m, n] = activate(alpha * sum of X[m, k] *
// W[n, k] + bias[n]), where k lies together in both. A block stays on its multiprocessor and computes tiles of 128 x 256
// one after the other. One thread lets the copy engine bring steps of 64 k; two groups of four warps multiply 64 rows
// each. The blocks of a cluster compute tiles below each other, and each brings a part of W for all of them. A finished
// tile is rounded to Y in shared memory. Its activation is computed there beside the products of the next tile, by groups of warps of
// their own: those that multiply would take longer for it than for the products.
//
// STAGES: steps that are in shared memory at the same time; MEMBERS: blocks of a cluster, 1 or 2; TENSOR: 1 and 2 tensor
// cores in f16 and bf16; X: type of X, W and Y; BIASED: there is a bias.
enum { BM = 128, BN = 256, BK = 64, GROUP_ROWS = 64, ROW_BYTES = 128, SLAB = 64 };
enum { A_BYTES = BM * ROW_BYTES, B_BYTES = BN * ROW_BYTES, STAGE_BYTES = A_BYTES + B_BYTES, PART_BYTES = B_BYTES / MEMBERS };
enum { CONSUMERS = BM / GROUP_ROWS, SLABS = BN / SLAB, SLAB_BYTES = GROUP_ROWS * ROW_BYTES, KEPT_BYTES = SLABS * SLAB_BYTES, PIECES = KEPT_BYTES / 16 / 128 };
// The groups of warps: those that multiply, one that starts copies, and those that compute activations.
enum { PRODUCER = CONSUMERS, FINISHERS = ACTIVATION ? CONSUMERS : 0, PIPED_THREADS = (CONSUMERS + 1 + FINISHERS) * 128 };
enum { SUMS = BN / 8, WIDTH = 16 }; // WIDTH: columns of tiles that are computed row by row

typedef struct ALIGNED(64) tensor_map { uint64_t at[16]; } tensor_map; // what the driver encodes

typedef struct piped {
    tensor_map x, w, y;
    const X *bias;
    uint32_t m, n, k, unused;
    float alpha, first, second;
} piped;

typedef struct ALIGNED(16) eight { X at[8]; } eight;

// Rows of two tiles below each other and a column of tiles: what a cluster computes at a time. Clusters that run at the
// same time share rows and columns, so that both stay in the second-level cache.
typedef struct place { uint32_t m0, n0; } place;

DEVICE uint32_t count_units(const piped *a) { return (a->m + BM * MEMBERS - 1) / (BM * MEMBERS) * ((a->n + BN - 1) / BN); }

DEVICE place place_of(const piped *a, uint32_t unit)
{
    const uint32_t columns = (a->n + BN - 1) / BN, rows = (a->m + BM * MEMBERS - 1) / (BM * MEMBERS);
    const uint32_t strip = unit / (rows * WIDTH), inside = unit - strip * rows * WIDTH;
    const uint32_t width = columns - strip * WIDTH < WIDTH ? columns - strip * WIDTH : WIDTH, row = inside / width;
    const place p = {row * BM * MEMBERS, (strip * WIDTH + inside - row * width) * BN};
    return p;
}

#if HAS_GROUPS
// ---- Barriers that count bytes and arrivals --------------------------------------------------------

DEVICE void barrier_arrive(uint32_t barrier, uint32_t member)
{
    asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\nmbarrier.arrive.shared::cluster.b64 _, [there];\n}"
                 : : "r"(barrier), "r"(member) : "memory");
}
DEVICE void barrier_arrive_here(uint32_t barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(barrier) : "memory"); }
#define CLUSTER_BARRIER() asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory")
#define GROUP_BARRIER(group) asm volatile("bar.sync %0, 128;" : : "r"((group) + 1) : "memory")

// ---- The copy engine -------------------------------------------------------------------------------

DEVICE void bring(uint32_t to, const tensor_map *map, uint32_t column, uint32_t row, uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 : : "r"(to), "l"((uint64_t)map), "r"(column), "r"(row), "r"(barrier) : "memory");
}
DEVICE void bring_to_all(uint32_t to, const tensor_map *map, uint32_t column, uint32_t row, uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
                 : : "r"(to), "l"((uint64_t)map), "r"(column), "r"(row), "r"(barrier), "h"((uint16_t)((1 << MEMBERS) - 1)) : "memory");
}
DEVICE void store(const tensor_map *map, uint32_t column, uint32_t row, uint32_t from)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\n\tcp.async.bulk.commit_group;"
                 : : "l"((uint64_t)map), "r"(column), "r"(row), "r"(from) : "memory");
}

// ---- Shared memory: stages, tiles that wait for their stores, barriers ------------------------------

// Of a tile that waits: `ready` for its activation, `free` for the next one.
typedef struct rooms { uint32_t stages, kept, full, empty, ready, free; } rooms;

DEVICE void produce(const piped *a, rooms r, uint32_t member, uint32_t cluster, uint32_t clusters)
{
    const uint32_t units = count_units(a), steps = (a->k + BK - 1) / BK;
    uint32_t stage = 0, parity = 1;
    for (uint32_t unit = cluster; unit < units; unit += clusters) {
        const place p = place_of(a, unit);
        for (uint32_t i = 0; i < steps; i++) {
            const uint32_t at = r.stages + stage * STAGE_BYTES, full = r.full + stage * 8;
            barrier_wait(r.empty + stage * 8, parity);
            barrier_expect(full, STAGE_BYTES);
            bring(at, &a->x, i * BK, p.m0 + member * BM, full);
#if MEMBERS > 1
            bring_to_all(at + A_BYTES + member * PART_BYTES, &a->w, i * BK, p.n0 + member * (BN / MEMBERS), full);
#else
            bring(at + A_BYTES, &a->w, i * BK, p.n0, full);
#endif
            if (++stage == STAGES) {
                stage = 0;
                parity ^= 1;
            }
        }
    }
}

// ---- Products --------------------------------------------------------------------------------------

typedef struct sums { float at[SUMS][4]; } sums;

// d = a b, plus d if `more`. The compiler wants registers for all sums of an instruction before a group of warps has them
// (setmaxnreg), so with more groups an instruction has half of the columns.
DEVICE void multiply_all(float (*d)[4], uint64_t a, uint64_t b, uint32_t more)
{
#if !ACTIVATION
    multiply_256(d, a, b, more);
#else
    multiply_128(d, a, b, more);
    multiply_128(d + 16, a, b + 128 * ROW_BYTES / 16, more);
#endif
}

// Starts the products of a stage; they run beside what follows.
DEVICE void start_products(sums *s, uint32_t stage, uint32_t group, uint32_t more)
{
    const uint64_t a = describe(stage + group * GROUP_ROWS * ROW_BYTES), b = describe(stage + A_BYTES);
    PRODUCTS_BEGIN();
    UNROLL for (int k = 0; k < BK / 16; k++) multiply_all(s->at, a + (uint64_t)k * 2, b + (uint64_t)k * 2, k ? 1 : more);
    PRODUCTS_END();
}

// ---- Results ---------------------------------------------------------------------------------------

// A tile of 64 rows in shared memory: slabs of 64 columns, each as the tensor map of Y wants it.
typedef struct kept {
    uint32_t at;      // shared memory
    uint32_t m0, n0;  // place in Y
    uint32_t piece;   // the next piece; PIECES: nothing is left to do
} kept;

DEVICE void store_slab(const kept *t, const piped *a, uint32_t group, uint32_t slab)
{
    SHOW_TILES();
    GROUP_BARRIER(group);
    if (THREAD % 128 == 0 && t->n0 + slab * SLAB < a->n && t->m0 < a->m) store(&a->y, t->n0 + slab * SLAB, t->m0, t->at + slab * SLAB_BYTES);
}

#if ACTIVATION
DEVICE float widen_bits(uint32_t bits)
{
    X x;
    x.bits = (uint16_t)bits;
    return WIDEN(X, x);
}

// The activation of 8 numbers of each thread of the group; behind the last ones of a slab it is stored.
DEVICE void go_on(kept *t, const piped *a, uint32_t group)
{
    const uint32_t at = t->at + t->piece * 128 * 16 + THREAD % 128 * 16;
    uint32_t v[4];
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(at) : "memory");
    UNROLL for (int i = 0; i < 4; i++)
        v[i] = JOIN(two_, X)(activate(widen_bits(v[i]), a->first, a->second), activate(widen_bits(v[i] >> 16), a->first, a->second));
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" : : "r"(at), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");
    t->piece++;
    if (t->piece % (PIECES / SLABS) == 0) store_slab(t, a, group, t->piece / (PIECES / SLABS) - 1);
}
#endif

// Rounds the sums of a tile and keeps them in shared memory, from which the copy engine has read the last one.
DEVICE void keep(const kept *t, const sums *s, const piped *a, const uint32_t *bias)
{
    const uint32_t lane = THREAD % 32, row = THREAD % 128 / 32 * 16 + lane / 8 % 2 * 8 + lane % 8;
    UNROLL for (int j = 0; j < SUMS; j += 2) {
        uint32_t v[4];
        UNROLL for (int h = 0; h < 2; h++)
            UNROLL for (int e = 0; e < 2; e++) {
                const float *const d = s->at[j + h] + e * 2;
                X low, high;
                low.bits = (uint16_t)bias[j + h];
                high.bits = (uint16_t)(bias[j + h] >> 16);
                v[h * 2 + e] = JOIN(two_, X)(a->alpha * d[0] + WIDEN(X, low), a->alpha * d[1] + WIDEN(X, high));
            }
        const uint32_t chunk = (uint32_t)j % 8 + lane / 16, at = t->at + (uint32_t)j / 8 * SLAB_BYTES + row * ROW_BYTES + (chunk ^ (row & 7)) * 16;
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" : : "r"(at), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");
    }
}

DEVICE void load_bias(uint32_t *bias, const piped *a, uint32_t n0)
{
#if BIASED
    const uint32_t *const from = (const uint32_t *)(a->bias + n0 + THREAD % 4 * 2);
    if (n0 + BN <= a->n)
        UNROLL for (uint32_t j = 0; j < SUMS; j++) bias[j] = from[j * 4];
    else
        UNROLL for (uint32_t j = 0; j < SUMS; j++) bias[j] = n0 + j * 8 < a->n ? from[j * 4] : 0; // n is a multiple of 8
#else
    (void)a, (void)n0;
    UNROLL for (uint32_t j = 0; j < SUMS; j++) bias[j] = 0;
#endif
}

DEVICE void consume(const piped *a, rooms r, uint32_t group, uint32_t member, uint32_t cluster, uint32_t clusters)
{
    const uint32_t units = count_units(a), steps = (a->k + BK - 1) / BK;
    uint32_t stage = 0, parity = 0, odd = 1;
    kept t = {r.kept + group * KEPT_BYTES, 0, 0, 0};
    sums s;
    for (uint32_t unit = cluster; unit < units; unit += clusters, odd ^= 1) {
        const place p = place_of(a, unit);
        uint32_t last = 0, bias[SUMS];
        for (uint32_t i = 0; i < steps; i++) {
            barrier_wait(r.full + stage * 8, parity);
            start_products(&s, r.stages + stage * STAGE_BYTES, group, i > 0);
            if (i) {
                PRODUCTS_WAIT(1);
                if (THREAD % 128 < MEMBERS) barrier_arrive(r.empty + last * 8, THREAD % 128);
            }
            last = stage;
            if (++stage == STAGES) {
                stage = 0;
                parity ^= 1;
            }
        }
        load_bias(bias, a, p.n0);
        PRODUCTS_WAIT(0);
        if (THREAD % 128 < MEMBERS) barrier_arrive(r.empty + last * 8, THREAD % 128);
#if ACTIVATION
        barrier_wait(r.free + group * 8, odd);
        keep(&t, &s, a, bias);
        barrier_arrive_here(r.ready + group * 8);
#else
        if (THREAD % 128 == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        GROUP_BARRIER(group);
        t.m0 = p.m0 + member * BM + group * GROUP_ROWS;
        t.n0 = p.n0;
        keep(&t, &s, a, bias);
        for (uint32_t i = 0; i < SLABS; i++) store_slab(&t, a, group, i);
#endif
    }
    (void)member, (void)odd;
#if !ACTIVATION
    if (THREAD % 128 == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
}

#if ACTIVATION
// Activations of what group `of` keeps.
DEVICE void finish(const piped *a, rooms r, uint32_t group, uint32_t of, uint32_t member, uint32_t cluster, uint32_t clusters)
{
    const uint32_t units = count_units(a);
    uint32_t parity = 0;
    for (uint32_t unit = cluster; unit < units; unit += clusters, parity ^= 1) {
        const place p = place_of(a, unit);
        kept t = {r.kept + of * KEPT_BYTES, p.m0 + member * BM + of * GROUP_ROWS, p.n0, 0};
        barrier_wait(r.ready + of * 8, parity);
        while (t.piece < PIECES) go_on(&t, a, group);
        if (THREAD % 128 == 0) {
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
            barrier_arrive_here(r.free + of * 8);
        }
    }
    if (THREAD % 128 == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
#endif

KERNEL_CLUSTER(run, piped, PIPED_THREADS, 1, MEMBERS)
{
    SHARED_ROOM(room);
    const uint32_t base = ((uint32_t)__cvta_generic_to_shared(room) + 1023) & ~1023u, group = THREAD / 128;
    const uint32_t member = BLOCK_X % MEMBERS, cluster = BLOCK_X / MEMBERS, clusters = BLOCKS_X / MEMBERS;
    const uint32_t barriers = base + STAGES * STAGE_BYTES + CONSUMERS * KEPT_BYTES;
    const rooms r = {base, base + STAGES * STAGE_BYTES, barriers, barriers + STAGES * 8, barriers + STAGES * 16, barriers + STAGES * 16 + CONSUMERS * 8};
    if (THREAD == 0) {
        for (uint32_t i = 0; i < STAGES; i++) {
            barrier_init(r.full + i * 8, 1);
            barrier_init(r.empty + i * 8, CONSUMERS * MEMBERS);
        }
        for (uint32_t i = 0; i < CONSUMERS; i++) {
            barrier_init(r.ready + i * 8, 128);
            barrier_init(r.free + i * 8, 1);
        }
        barriers_publish();
    }
    CLUSTER_BARRIER();
    WAIT_FOR_LAST();
    // Registers of a thread: those of all groups together are what the launch gives them.
    if (group == PRODUCER) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (THREAD % 128 == 0) produce(&a, r, member, cluster, clusters);
        asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
#if ACTIVATION
    } else if (group > PRODUCER) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 48;");
        finish(&a, r, group, group - PRODUCER - 1, member, cluster, clusters);
        asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 176;");
        consume(&a, r, group, member, cluster, clusters);
    }
#else
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        consume(&a, r, group, member, cluster, clusters);
    }
#endif
    CLUSTER_BARRIER(); // the others may still write to this block's memory
}
#elif defined(EMULATED)

// ---- On the host: the same products, read and written by what the maps say ---------------------------

DEVICE X *element(const tensor_map *map, uint64_t row, uint64_t column)
{
    const int exists = column < map->at[1] && row < map->at[2];
    return exists ? (X *)((char *)(uintptr_t)map->at[0] + row * map->at[3]) + column : (X *)0;
}

DEVICE void compute(const piped *a, uint64_t m, uint64_t n)
{
    X *const y = element(&a->y, m, n);
    float sum = 0;
    if (!y) return;
    for (uint64_t k = 0; k < a->k; k++) sum += WIDEN(X, *element(&a->x, m, k)) * WIDEN(X, *element(&a->w, n, k));
    *y = NARROW(X, a->alpha * sum + (BIASED ? WIDEN(X, a->bias[n]) : 0));
#if ACTIVATION
    *y = NARROW(X, activate(WIDEN(X, *y), a->first, a->second));
#endif
}

// Does the engine copy so many rows and columns at a time?
DEVICE int copies(const tensor_map *map, uint64_t rows, uint64_t columns) { return map->at[4] == columns && map->at[5] == rows; }

KERNEL_CLUSTER(run, piped, PIPED_THREADS, 1, MEMBERS)
{
    const uint32_t member = BLOCK_X % MEMBERS, units = count_units(&a);
    if (!copies(&a.x, BM, BK) || !copies(&a.w, BN / MEMBERS, BK) || !copies(&a.y, GROUP_ROWS, SLAB)) abort();
    for (uint32_t unit = BLOCK_X / MEMBERS; unit < units; unit += BLOCKS_X / MEMBERS) {
        const place p = place_of(&a, unit);
        for (uint32_t i = THREAD; i < BM * BN; i += PIPED_THREADS) compute(&a, p.m0 + member * BM + i / BN, p.n0 + i % BN);
    }
}
#else
KERNEL(run, piped, PIPED_THREADS) { (void)a; } // other GPUs use packed.cu
#endif
