// SPDX-License-Identifier: Apache-2.0
// Products by groups of four warps, on Hopper alone; text in front of the sources that use them. TENSOR: 1 f16, 2 bf16, 3 bytes, whose
// X_KIND and W_KIND are "s8" or "u8" and whose sums are int32, 4 float8, "e4m3" or "e5m2". A group multiplies 64 rows of A by rows of B. Rows have 128 bytes in shared memory,
// whose 16-byte parts are permuted within eight rows, or SLIM 64 bytes; an instruction takes 32 bytes of each.
#if !defined(EMULATED) && __CUDA_ARCH__ == 900 // other architectures lack these instructions
#define HAS_GROUPS 1
#else
#define HAS_GROUPS 0
#endif

#ifndef SLIM
#define SLIM 0
#endif

#if TENSOR == 3
typedef int32_t sum_type;
#else
typedef float sum_type;
#endif

#if HAS_GROUPS
#if TENSOR == 1
#define GROUP_FORM "k16.f32.f16.f16"
#elif TENSOR == 2
#define GROUP_FORM "k16.f32.bf16.bf16"
#elif TENSOR == 4
#define GROUP_FORM "k32.f32." X_KIND "." W_KIND
#else
#define GROUP_FORM "k32.s32." X_KIND "." W_KIND
#endif
#if TENSOR == 3
#define SUM(x) "+r"(x)
#define GROUP_SIGNS
#else
#define SUM(x) "+f"(x)
#if TENSOR == 4
#define GROUP_SIGNS ", 1, 1"
#else
#define GROUP_SIGNS ", 1, 1, 0, 0"
#endif
#endif
#define SUMS_1(d, i) SUM(d[i][0]), SUM(d[i][1]), SUM(d[i][2]), SUM(d[i][3])
#define SUMS_2(d, i) SUMS_1(d, i), SUMS_1(d, i + 1)
#define SUMS_4(d, i) SUMS_2(d, i), SUMS_2(d, i + 2)
#define SUMS_8(d, i) SUMS_4(d, i), SUMS_4(d, i + 4)
#define SUMS_16(d, i) SUMS_8(d, i), SUMS_8(d, i + 8)
#define SUMS_32(d, i) SUMS_16(d, i), SUMS_16(d, i + 16)

// What a thread wrote to shared memory becomes visible to the tensor cores.
#define SHOW_TILES() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
// Products between BEGIN and END are a batch; WAIT until at most `left` batches are under way.
#define PRODUCTS_BEGIN() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define PRODUCTS_END() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define PRODUCTS_WAIT(left) asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(left) : "memory")

DEVICE uint32_t shared_at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

// A tile at this address of shared memory; 32 bytes further along its rows are 2 more.
DEVICE uint64_t describe(uint32_t at)
{
    return (uint64_t)(at >> 4 & 0x3fff) | (uint64_t)1 << 16 | (uint64_t)(SLIM ? 32 : 64) << 32 | (uint64_t)(SLIM ? 2 : 1) << 62;
}

// d = a b for 64 rows and `n` columns, plus d if `more`.
#define DEFINE_MULTIPLY(n, names, sums, a_name, b_name, more_name)                                                              \
    DEVICE void multiply_##n(sum_type (*d)[4], uint64_t a, uint64_t b, uint32_t more)                                           \
    {                                                                                                                           \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" more_name ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n GROUP_FORM      \
                     " {" names "}, %" a_name ", %" b_name ", p" GROUP_SIGNS ";\n}\n"                                           \
                     : sums : "l"(a), "l"(b), "r"(more));                                                                       \
    }
#define NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define NAMES_16 NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define NAMES_32 NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_64 NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51" \
                   ", %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_128 NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83" \
                   ", %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103" \
                   ", %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123" \
                   ", %124, %125, %126, %127"
DEFINE_MULTIPLY(16, NAMES_8, SUMS_2(d, 0), "8", "9", "10")
DEFINE_MULTIPLY(32, NAMES_16, SUMS_4(d, 0), "16", "17", "18")
DEFINE_MULTIPLY(64, NAMES_32, SUMS_8(d, 0), "32", "33", "34")
DEFINE_MULTIPLY(128, NAMES_64, SUMS_16(d, 0), "64", "65", "66")
DEFINE_MULTIPLY(256, NAMES_128, SUMS_32(d, 0), "128", "129", "130")
#else
#define SHOW_TILES() ((void)0)
#endif
