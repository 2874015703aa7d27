// SPDX-License-Identifier: Apache-2.0
// Group normalisation: a block computes a group of GROUP channels of an image. A long group has a cluster of SHARES blocks: each computes mean
// and squared distances of its part, reads those of the others in their shared memory, and stores its part. A thread takes packs of
// VECTOR elements: pixels of a channel, or with LAST, where the channels are last, channels of a pixel. KEPT packs of a thread
// stay in registers; others are read again. SILU: x * sigmoid(x) follows. HALF: Y has 16 bits.
enum { PARTS = LAST ? GROUP / VECTOR : 1 }; // packs of a pixel

typedef struct group_norm {
    const X *x;
    const SCALE *scale;
    const BIAS *bias;
    Y *y;
    uint64_t units;                           // groups of all images
    uint32_t groups, channels, pixels, items; // groups: of an image; items: packs of a group
    float epsilon;
} group_norm;

typedef struct ALIGNED(sizeof(X) * VECTOR) x_pack { X at[VECTOR]; } x_pack;
typedef struct ALIGNED(sizeof(Y) * VECTOR) y_pack { Y at[VECTOR]; } y_pack;
typedef struct ALIGNED(8) moments { float mean, squares; } moments;

// The packs [begin, end) of a block.
typedef struct part {
    uint64_t base; // first element of the group
    uint32_t begin, end;
} part;

DEVICE part part_of(const group_norm *a, uint64_t unit, uint32_t rank)
{
    const uint32_t each = (a->items + SHARES - 1) / SHARES;
    const uint64_t begin = (uint64_t)rank * each, end = begin + each;
    const uint64_t image = quotient(unit, a->groups), group = unit - image * a->groups;
    part p;
    p.base = LAST ? image * a->pixels * a->channels + group * GROUP : unit * a->pixels * GROUP;
    p.begin = begin < a->items ? (uint32_t)begin : a->items;
    p.end = end < a->items ? (uint32_t)end : a->items;
    return p;
}

DEVICE uint64_t place_of(const group_norm *a, const part *p, uint32_t item)
{
    return p->base + (LAST ? (uint64_t)(item / PARTS) * a->channels + item % PARTS * VECTOR : (uint64_t)item * VECTOR);
}

DEVICE float count_of(const part *p) { return (float)(p->end - p->begin) * VECTOR; }

DEVICE void bring(x_pack *kept, const group_norm *a, const part *p)
{
    UNROLL for (int k = 0; k < KEPT; k++)
        if (p->begin + THREAD + (uint32_t)k * THREADS < p->end)
            kept[k] = *(const x_pack *)(a->x + place_of(a, p, p->begin + THREAD + (uint32_t)k * THREADS));
}

DEVICE float moment(const x_pack *x, float mean, int squares)
{
    float sum = 0;
    UNROLL for (int e = 0; e < VECTOR; e++) {
        const float d = WIDEN(X, x->at[e]) - mean;
        sum += squares ? d * d : d;
    }
    return sum;
}

DEVICE float add_up(const group_norm *a, const part *p, const x_pack *kept, float mean, int squares, float *room)
{
    float sum = 0;
    UNROLL for (int k = 0; k < KEPT; k++)
        if (p->begin + THREAD + (uint32_t)k * THREADS < p->end) sum += moment(&kept[k], mean, squares);
    for (uint32_t i = p->begin + THREAD + KEPT * THREADS; i < p->end; i += THREADS) {
        const x_pack x = *(const x_pack *)(a->x + place_of(a, p, i));
        sum += moment(&x, mean, squares);
    }
    return block_sum(sum, room);
}

DEVICE moments measure(const group_norm *a, const part *p, const x_pack *kept, float *room)
{
    const float n = count_of(p);
    moments m;
    m.mean = n > 0 ? add_up(a, p, kept, 0, 0, room) / n : 0;
    m.squares = add_up(a, p, kept, m.mean, 1, room);
    return m;
}

// ---- Clusters --------------------------------------------------------------------------------------

#if SHARES > 1 && __CUDA_ARCH__ >= 900
#define CLUSTER_BARRIER() asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory")
#else
#define CLUSTER_BARRIER() BARRIER()
#endif

DEVICE moments other_part(const moments *own, uint32_t rank)
{
#if SHARES > 1 && __CUDA_ARCH__ >= 900
    uint32_t there;
    moments m;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"((uint32_t)__cvta_generic_to_shared(own)), "r"(rank));
    asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];" : "=f"(m.mean), "=f"(m.squares) : "r"(there) : "memory");
    return m;
#else
    return own[rank];
#endif
}

// Mean and squared distances of a group, joined from its parts in their order.
DEVICE moments join(const group_norm *a, const moments *own, uint64_t unit)
{
    moments m[SHARES], all;
    float n[SHARES], count = 0;
    all.mean = all.squares = 0;
    UNROLL for (uint32_t r = 0; r < SHARES; r++) {
        const part p = part_of(a, unit, r);
        n[r] = count_of(&p);
        m[r] = other_part(own, r);
        count += n[r];
        all.mean += m[r].mean * n[r];
    }
    all.mean /= count;
    UNROLL for (uint32_t r = 0; r < SHARES; r++)
        all.squares += m[r].squares + n[r] * (m[r].mean - all.mean) * (m[r].mean - all.mean);
    return all;
}

// ---- Results ---------------------------------------------------------------------------------------

// What becomes of the group's channels: (x - mean) * factor + shift.
typedef struct line { float factor, shift; } line;

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

DEVICE void give(const group_norm *a, const part *p, uint32_t item, const x_pack *x, float mean, const line *lines)
{
    const line *l = lines + (LAST ? item % PARTS * VECTOR : item * VECTOR / a->pixels);
    float y[VECTOR];
    UNROLL for (int e = 0; e < VECTOR; e++) {
        const line at = l[LAST ? e : 0];
        const float v = (WIDEN(X, x->at[e]) - mean) * at.factor + at.shift;
        y[e] = !SILU ? v : HALF ? short_silu_f32(v) : silu_f32(v);
    }
    store(a->y + place_of(a, p, item), y);
}

KERNEL_CLUSTER(run, group_norm, THREADS, 1, SHARES)
{
    SHARED float room[THREADS / 32];
    SHARED moments own[SHARES];
    SHARED line lines[GROUP];
    const uint32_t rank = BLOCK_X % SHARES;
    WAIT_FOR_LAST();
    for (uint64_t unit = BLOCK_X / SHARES; unit < a.units; unit += BLOCKS_X / SHARES) {
        const part p = part_of(&a, unit, rank);
        const uint64_t first = (unit - quotient(unit, a.groups) * a.groups) * GROUP; // of the group's channels
        x_pack kept[KEPT];
        moments all;
        bring(kept, &a, &p);
#if SHARES == 1
        all = measure(&a, &p, kept, room);
#else
#if __CUDA_ARCH__ >= 900
        own[0] = measure(&a, &p, kept, room);
#else
        // The blocks of an emulated cluster run one after the other: each measures all parts.
        for (uint32_t r = 0; r < SHARES; r++) {
            const part other = part_of(&a, unit, r);
            x_pack packs[KEPT];
            bring(packs, &a, &other);
            own[r] = measure(&a, &other, packs, room);
        }
#endif
        CLUSTER_BARRIER();
        all = join(&a, own, unit);
        CLUSTER_BARRIER(); // all have read what lies in other blocks
#endif
        const float deviation = sqrtf(all.squares / ((float)a.items * VECTOR) + a.epsilon);
        for (uint32_t c = THREAD; c < GROUP; c += THREADS) {
            lines[c].factor = WIDEN(SCALE, a.scale[first + c]) / deviation;
            lines[c].shift = WIDEN(BIAS, a.bias[first + c]);
        }
        BARRIER();
        UNROLL for (int k = 0; k < KEPT; k++)
            if (p.begin + THREAD + (uint32_t)k * THREADS < p.end)
                give(&a, &p, p.begin + THREAD + (uint32_t)k * THREADS, &kept[k], all.mean, lines);
        for (uint32_t i = p.begin + THREAD + KEPT * THREADS; i < p.end; i += THREADS) {
            const x_pack x = *(const x_pack *)(a.x + place_of(&a, &p, i));
            give(&a, &p, i, &x, all.mean, lines);
        }
        BARRIER();
    }
}
