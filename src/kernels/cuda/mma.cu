// SPDX-License-Identifier: Apache-2.0
// Tensor cores and copies to shared memory that run beside arithmetic; text in front of the sources that
// use them. TENSOR: 0 none, 1 and 2: in f16 and bf16, 3: in bytes, of which X_KIND and W_KIND are "s8" or "u8", 4: in float8, "e4m3" or "e5m2". Without them, as in tests, they are imitated by
// exchanges within a warp.
#if !defined(EMULATED) && __CUDA_ARCH__ >= 800
#define HAS_MMA 1
#else
#define HAS_MMA 0
#endif

// Copies 16 bytes if `valid`, else zeros; both addresses are multiples of 16.
DEVICE void copy_16(void *shared, const void *global, int valid)
{
#if HAS_MMA
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((uint32_t)__cvta_generic_to_shared(shared)),
                 "l"(global), "r"(valid ? 16 : 0) : "memory");
#else
    typedef struct ALIGNED(16) words { uint32_t at[4]; } words;
    const words zero = {{0, 0, 0, 0}};
    *(words *)shared = valid ? *(const words *)global : zero;
#endif
}

// The same for 8 bytes.
DEVICE void copy_8(void *shared, const void *global, int valid)
{
#if HAS_MMA
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"((uint32_t)__cvta_generic_to_shared(shared)),
                 "l"(global), "r"(valid ? 8 : 0) : "memory");
#else
    *(uint64_t *)shared = valid ? *(const uint64_t *)global : 0;
#endif
}

// Ends a group of copies; copies_wait(n) waits until at most n groups are under way.
#if HAS_MMA
#define COPIES_END() asm volatile("cp.async.commit_group;" ::: "memory")
#define COPIES_WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#else
#define COPIES_END() ((void)0)
#define COPIES_WAIT(n) ((void)0)
#endif

#if TENSOR
DEVICE uint32_t pair(const uint16_t *low, const uint16_t *high) { return *low | (uint32_t)*high << 16; }

// Loads four matrices of 8 x 8: lane 8 i + j gives the address of row j of matrix i. A lane gets two
// neighbours of row lane / 4; `turned`: two neighbours of column lane / 4.
DEVICE void load_matrices(uint32_t *r, const uint16_t *at)
{
#if !defined(EMULATED) && __CUDA_ARCH__ >= 750
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"((uint32_t)__cvta_generic_to_shared(at)));
#else
    const uint32_t lane = THREAD % 32;
    for (uint32_t i = 0; i < 4; i++) {
        const uint16_t *row = SHUFFLE(at, i * 8 + lane / 4) + lane % 4 * 2;
        r[i] = pair(row, row + 1);
    }
#endif
}

DEVICE void load_turned(uint32_t *r, const uint16_t *at)
{
#if !defined(EMULATED) && __CUDA_ARCH__ >= 750
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"((uint32_t)__cvta_generic_to_shared(at)));
#else
    const uint32_t lane = THREAD % 32;
    for (uint32_t i = 0; i < 4; i++) {
        const uint16_t *low = SHUFFLE(at, i * 8 + lane % 4 * 2), *high = SHUFFLE(at, i * 8 + lane % 4 * 2 + 1);
        r[i] = pair(low + lane / 4, high + lane / 4);
    }
#endif
}

#if TENSOR == 3
#if HAS_MMA
// d += a * b for 16 x 8 bytes with k = 32.
DEVICE void multiply(int32_t *d, const uint32_t *a, const uint32_t *b)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." X_KIND "." W_KIND ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif
#elif TENSOR == 4
#if HAS_MMA && __CUDA_ARCH__ >= 890
// The same for float8, with sums of few bits.
DEVICE void multiply(float *d, const uint32_t *a, const uint32_t *b)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32." X_KIND "." W_KIND ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif
#else
#if TENSOR == 1
typedef f16 half_type;
#else
typedef bf16 half_type;
#endif
DEVICE uint32_t narrow_pair(float low, float high) { return JOIN(two_, X)(low, high); }

#if !HAS_MMA
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
#if HAS_MMA
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
#endif
#endif
