// SPDX-License-Identifier: Apache-2.0
// Group normalisation: a block computes SETS groups of GROUP channels of an image, a set. A long set has a cluster of SHARES blocks: each
// computes mean and squared distances of its part, sends them to the shared memory of all, and stores its part. A thread takes packs of
// VECTOR elements: pixels of a channel, or with LAST, where the channels are last, channels of a pixel. Groups beside each other are read
// together, because memory comes in rows of 32 bytes. KEPT packs of a thread stay in registers; others are read again. SILU:
// x * sigmoid(x) follows. HALF: Y has 16 bits.
enum { SPAN = SETS * GROUP };
enum { PARTS = LAST ? SPAN / VECTOR : 1 };                         // packs of a pixel
enum { SUBS = SETS == 1 ? 1 : VECTOR < GROUP ? 1 : VECTOR / GROUP }; // groups of a pack
// Does a thread always take the same channels? USED: threads that compute.
enum { FIXED = LAST && (SETS > 1 || THREADS % PARTS == 0), USED = SETS == 1 ? THREADS : THREADS / PARTS * PARTS };

typedef struct group_norm {
    const X *x;
    const SCALE *scale;
    const BIAS *bias;
    Y *y;
    uint64_t units;                         // sets of all images
    uint32_t sets, channels, pixels, items; // sets: of an image; items: packs of a set
    float epsilon;
} group_norm;

typedef struct ALIGNED(sizeof(X) * VECTOR) x_pack { X at[VECTOR]; } x_pack;
typedef struct ALIGNED(sizeof(Y) * VECTOR) y_pack { Y at[VECTOR]; } y_pack;
typedef struct ALIGNED(8) moments { float mean, squares; } moments;

// The packs [begin, end) of a block.
typedef struct part {
    uint64_t base; // first element of the set
    uint32_t begin, end, rank;
} part;

DEVICE uint32_t begin_of(const group_norm *a, uint32_t rank)
{
    enum { WHOLE = FIXED ? PARTS : 1 }; // a part begins with a pixel
    const uint64_t begin = (uint64_t)rank * ((a->items / WHOLE + SHARES - 1) / SHARES * WHOLE);
    return begin < a->items ? (uint32_t)begin : a->items;
}

DEVICE part part_of(const group_norm *a, uint64_t unit, uint32_t rank)
{
    const uint64_t image = quotient(unit, a->sets), set = unit - image * a->sets;
    part p;
    p.base = LAST ? image * a->pixels * a->channels + set * SPAN : unit * a->pixels * GROUP;
    p.begin = begin_of(a, rank);
    p.end = begin_of(a, rank + 1);
    p.rank = rank;
    return p;
}

// Packs of a thread: the k-th one, if there is one, its place, and the first of its channels in the set.
DEVICE uint32_t item_of(const part *p, uint32_t k) { return p->begin + THREAD + k * USED; }
DEVICE int exists(const part *p, uint32_t k) { return THREAD < USED && item_of(p, k) < p->end; }
DEVICE uint32_t column_of(const part *p, uint32_t k) { return (FIXED ? THREAD : item_of(p, k)) % PARTS; }
DEVICE uint32_t place_of(const group_norm *a, const part *p, uint32_t k)
{
    const uint32_t pixel = FIXED ? p->begin / PARTS + THREAD / PARTS + k * (USED / PARTS) : item_of(p, k) / PARTS;
    return LAST ? pixel * a->channels + column_of(p, k) * VECTOR : item_of(p, k) * VECTOR;
}

// The group of the set that element `e` of a pack of this column belongs to.
DEVICE uint32_t group_of(uint32_t column, int e) { return SETS == 1 ? 0 : (column * VECTOR + (uint32_t)e) / GROUP; }

// Elements of a group in the part of a block.
DEVICE float count_of(const group_norm *a, uint32_t rank) { return (float)(begin_of(a, rank + 1) - begin_of(a, rank)) * VECTOR / SETS; }

DEVICE x_pack load(const group_norm *a, const part *p, uint32_t k) { return *(const x_pack *)(a->x + p->base + place_of(a, p, k)); }

DEVICE void bring(x_pack *kept, const group_norm *a, const part *p)
{
    UNROLL for (uint32_t k = 0; k < KEPT; k++)
        if (exists(p, k)) kept[k] = load(a, p, k);
}

typedef struct sub_sums { float at[SUBS]; } sub_sums;

DEVICE void add_pack(sub_sums *s, const x_pack *x, const sub_sums *mean, int squares)
{
    UNROLL for (int e = 0; e < VECTOR; e++) {
        const int sub = SUBS == 1 ? 0 : e / GROUP;
        const float d = WIDEN(X, x->at[e]) - mean->at[sub];
        s->at[sub] += squares ? d * d : d;
    }
}

DEVICE sub_sums add_up(const group_norm *a, const part *p, const x_pack *kept, const sub_sums *mean, int squares)
{
    sub_sums s;
    UNROLL for (int i = 0; i < SUBS; i++) s.at[i] = 0;
    UNROLL for (uint32_t k = 0; k < KEPT; k++)
        if (exists(p, k)) add_pack(&s, &kept[k], mean, squares);
    for (uint32_t k = KEPT; exists(p, k); k++) {
        const x_pack x = load(a, p, k);
        add_pack(&s, &x, mean, squares);
    }
    return s;
}

// Adds the sums of all threads by groups, always in the same order; a thread gets those of its own groups.
#if SETS == 1
enum { ROOM = THREADS / 32 };
DEVICE sub_sums share_sums(const sub_sums *s, float *room)
{
    sub_sums all;
    all.at[0] = block_sum(s->at[0], room);
    return all;
}
#else
enum { OWN = PARTS * SUBS / SETS };                                      // sums of a group that a pixel has
enum { IN_WARPS = PARTS <= 32 && (PARTS & (PARTS - 1)) == 0 };           // lanes a whole number of PARTS apart have the same channels
enum { ROWS = IN_WARPS ? THREADS / 32 : USED / PARTS, ROOM = ROWS * PARTS * SUBS };
DEVICE sub_sums share_sums(const sub_sums *s, float *room)
{
    const uint32_t column = THREAD % PARTS, row = IN_WARPS ? THREAD / 32 : THREAD / PARTS;
    sub_sums all;
    UNROLL for (int i = 0; i < SUBS; i++) {
        float sum = s->at[i];
        if (IN_WARPS) UNROLL for (int lanes = 16; lanes >= PARTS; lanes /= 2) sum += SHUFFLE_XOR(sum, lanes);
        if (IN_WARPS ? THREAD % 32 < PARTS : row < ROWS) room[(row * PARTS + column) * SUBS + (uint32_t)i] = sum;
    }
    BARRIER();
    UNROLL for (int i = 0; i < SUBS; i++) {
        const float *const first = room + (column * VECTOR + (uint32_t)i * GROUP) / GROUP * OWN;
        all.at[i] = 0;
        UNROLL_4 for (uint32_t r = 0; r < ROWS; r++)
            UNROLL for (uint32_t k = 0; k < OWN; k++) all.at[i] += first[r * (PARTS * SUBS) + k];
    }
    return all;
}
#endif

// ---- Clusters --------------------------------------------------------------------------------------

// Each block writes what it has measured to the shared memory of all blocks, where a barrier counts the bytes: nothing waits for the
// memory of the device, as barriers of clusters do. `own`: of each block, its groups; used by every other unit.
typedef struct exchange {
    moments *own;
    uint32_t barrier;
} exchange;

#if SHARES > 1 && __CUDA_ARCH__ >= 900
#define PUSHES 1
DEVICE void exchange_init(uint32_t barriers)
{
    if (THREAD == 0) {
        for (uint32_t i = 0; i < 2; i++) barrier_init(barriers + i * 8, 1);
        barriers_publish();
    }
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
DEVICE void exchange_begin(const exchange *x)
{
    if (THREAD == 0) barrier_expect(x->barrier, (uint32_t)(SHARES * SETS * sizeof(moments)));
}
DEVICE void tell(const exchange *x, uint32_t rank, uint32_t g, moments m)
{
    const uint32_t own = (uint32_t)__cvta_generic_to_shared(x->own + rank * SETS + g);
    const uint64_t bits = (uint64_t)f32_bits(m.squares) << 32 | f32_bits(m.mean);
    UNROLL for (uint32_t r = 0; r < SHARES; r++)
        asm volatile("{\n.reg .b32 place, barrier;\nmapa.shared::cluster.u32 place, %0, %3;\nmapa.shared::cluster.u32 barrier, %1, %3;\n"
                     "st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [place], %2, [barrier];\n}"
                     : : "r"(own), "r"(x->barrier), "l"(bits), "r"(r) : "memory");
}
#else
// Emulated blocks run one after the other: each measures all parts itself.
#define PUSHES 0
DEVICE void tell(const exchange *x, uint32_t rank, uint32_t g, moments m) { x->own[rank * SETS + g] = m; }
#endif

// Means and squared distances of the groups in a part. `rooms`: for the sums of all threads, twice.
DEVICE void measure(const exchange *to, const group_norm *a, const part *p, const x_pack *kept, float *rooms)
{
    const float n = count_of(a, p->rank), share = n > 0 ? 1 / n : 0;
    sub_sums mean, squares;
    UNROLL for (int i = 0; i < SUBS; i++) mean.at[i] = 0;
    squares = add_up(a, p, kept, &mean, 0);
    mean = share_sums(&squares, rooms);
    UNROLL for (int i = 0; i < SUBS; i++) mean.at[i] *= share;
    squares = add_up(a, p, kept, &mean, 1);
    squares = share_sums(&squares, rooms + ROOM);
    if (THREAD < PARTS && THREAD * VECTOR % GROUP == 0) // the first pack of a group
        UNROLL for (int i = 0; i < SUBS; i++) {
            const moments m = {mean.at[i], squares.at[i]};
            tell(to, p->rank, group_of(THREAD, i * GROUP), m);
        }
}

// Mean and squared distances of group `g`, joined from its parts in their order.
DEVICE moments join(const group_norm *a, const moments *own, uint32_t g)
{
    moments m[SHARES], all;
    float n[SHARES], count = 0;
    all.mean = all.squares = 0;
    UNROLL for (uint32_t r = 0; r < SHARES; r++) {
        m[r] = own[r * SETS + g];
        n[r] = count_of(a, r);
        count += n[r];
        all.mean += m[r].mean * n[r];
    }
    all.mean /= count;
    UNROLL for (uint32_t r = 0; r < SHARES; r++)
        all.squares += m[r].squares + n[r] * (m[r].mean - all.mean) * (m[r].mean - all.mean);
    return all;
}

// ---- Results ---------------------------------------------------------------------------------------

// What becomes of the channels of a pack: (x - mean) * factor + shift.
enum { WIDTH = LAST ? VECTOR : 1 };
typedef struct lines { float mean[WIDTH], factor[WIDTH], shift[WIDTH]; } lines;

// The same of all channels of the set, in shared memory.
typedef struct ALIGNED(16) all_lines { float mean[SPAN], factor[SPAN], shift[SPAN]; } all_lines;

DEVICE void read_lines(lines *to, const all_lines *from, uint32_t first)
{
    UNROLL for (uint32_t e = 0; e < WIDTH; e++) {
        to->mean[e] = from->mean[first + e];
        to->factor[e] = from->factor[first + e];
        to->shift[e] = from->shift[first + e];
    }
}

DEVICE uint32_t channel_of(const group_norm *a, const part *p, uint32_t k)
{
    return LAST ? column_of(p, k) * VECTOR : item_of(p, k) * VECTOR / a->pixels;
}

DEVICE void store(Y *to, const float *v)
{
#if VECTOR == 8
    STORE_8(Y, to, v);
#elif VECTOR == 4 && HALF
    *(uint64_t *)(void *)to = JOIN(two_, Y)(v[0], v[1]) | (uint64_t)JOIN(two_, Y)(v[2], v[3]) << 32;
#else
    y_pack y;
    UNROLL for (int e = 0; e < VECTOR; e++) y.at[e] = NARROW(Y, v[e]);
    *(y_pack *)to = y;
#endif
}

DEVICE void give(const group_norm *a, const part *p, uint32_t k, const x_pack *x, lines *l, const all_lines *all)
{
    float y[VECTOR];
    if (!FIXED) read_lines(l, all, channel_of(a, p, k));
    UNROLL for (int e = 0; e < VECTOR; e++) {
        const int at = LAST ? e : 0;
        const float v = (WIDEN(X, x->at[e]) - l->mean[at]) * l->factor[at] + l->shift[at];
        y[e] = !SILU ? v : HALF ? short_silu_f32(v) : silu_f32(v);
    }
    store(a->y + p->base + place_of(a, p, k), y);
}

DEVICE void give_all(const group_norm *a, const part *p, const x_pack *kept, const all_lines *all)
{
    lines l;
    if (FIXED) read_lines(&l, all, THREAD % PARTS * VECTOR);
    UNROLL for (uint32_t k = 0; k < KEPT; k++)
        if (exists(p, k)) give(a, p, k, &kept[k], &l, all);
    for (uint32_t k = KEPT; exists(p, k); k++) {
        const x_pack x = load(a, p, k);
        give(a, p, k, &x, &l, all);
    }
}

KERNEL_CLUSTER(run, group_norm, THREADS, 1, SHARES)
{
    SHARED float rooms[ROOM * 2];
    SHARED moments own[2][SHARES * SETS];
    SHARED all_lines all;
    const uint32_t rank = BLOCK_X % SHARES;
#if PUSHES
    SHARED uint64_t barriers[2];
    const uint32_t barrier = (uint32_t)__cvta_generic_to_shared(barriers);
    uint32_t turn = 0;
    exchange_init(barrier);
#endif
    WAIT_FOR_LAST();
    for (uint64_t unit = BLOCK_X / SHARES; unit < a.units; unit += BLOCKS_X / SHARES) {
        const part p = part_of(&a, unit, rank);
        const uint64_t first = (unit - quotient(unit, a.sets) * a.sets) * SPAN; // of the set's channels
        x_pack kept[KEPT];
        bring(kept, &a, &p);
#if PUSHES
        const exchange x = {own[turn % 2], barrier + turn % 2 * 8};
        exchange_begin(&x);
        measure(&x, &a, &p, kept, rooms);
        barrier_wait(x.barrier, turn++ / 2 % 2);
#else
        const exchange x = {own[0], 0};
        measure(&x, &a, &p, kept, rooms);
        for (uint32_t r = 1; r < SHARES; r++) {
            const part other = part_of(&a, unit, (rank + r) % SHARES);
            x_pack packs[KEPT];
            BARRIER();
            bring(packs, &a, &other);
            measure(&x, &a, &other, packs, rooms);
        }
        BARRIER();
#endif
        for (uint32_t c = THREAD; c < SPAN; c += THREADS) {
            const moments m = join(&a, x.own, c / GROUP);
            all.mean[c] = m.mean;
            all.factor[c] = WIDEN(SCALE, a.scale[first + c]) / sqrtf(m.squares / ((float)a.items * VECTOR / SETS) + a.epsilon);
            all.shift[c] = WIDEN(BIAS, a.bias[first + c]);
        }
        BARRIER();
        give_all(&a, &p, kept, &all);
        BARRIER(); // all have used what the next unit overwrites
    }
}
