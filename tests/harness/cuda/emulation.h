/* SPDX-License-Identifier: Apache-2.0 */
/* Included before the source of a CUDA kernel, this makes a shared object whose kernels run on the
 * host: the threads of a block are fibers that switch at barriers and at exchanges within a warp.
 * So everything but tensor core instructions is tested without a GPU. Compiled as C by the stand-in
 * of the driver (libcuda.c). The functions are in emulation.c, and this file declares what kernels
 * use of the C library itself: more than a thousand kernels include it, so each header and function
 * here takes seconds of a test. */
#ifndef HARNESS_CUDA_EMULATION_H
#define HARNESS_CUDA_EMULATION_H

#define EMULATED
#ifndef __GLIBC__ /* in a kernel: emulation.c has included the library's headers */
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef __SIZE_TYPE__ size_t;
#define NULL ((void *)0)
#define INFINITY __builtin_inff()
float sinf(float), cosf(float), tanf(float), asinf(float), acosf(float), atanf(float);
float sinhf(float), coshf(float), tanhf(float), asinhf(float), acoshf(float), atanhf(float);
float expf(float), exp2f(float), expm1f(float), logf(float), log1pf(float), erff(float);
float fabsf(float), floorf(float), ceilf(float), rintf(float), sqrtf(float), erfcf(float);
float powf(float, float), fmodf(float, float), fminf(float, float), fmaxf(float, float);
float fmaf(float, float, float);
double exp2(double), log(double), log2(double), sqrt(double), erfc(double), tanh(double);
double fabs(double), fma(double, double, double);
#endif

typedef struct emulated_fiber {
    void *context; /* its saved stack pointer, or ucontext_t */
    uint32_t index, exchanges;
    struct emulated_group *waits; /* NULL: it can run */
} emulated_fiber;

/* Threads that wait for each other: a block or a warp. */
typedef struct emulated_group {
    emulated_fiber *first;
    uint32_t size, live, arrived;
} emulated_group;

extern emulated_fiber *emulated_now;
extern emulated_group emulated_block;
extern uint32_t emulated_grid[3], emulated_at[3];

/* Runs a kernel, block by block. */
void emulated_launch(void (*kernel)(void *const *), void *const *arguments, const unsigned *grid,
                     const unsigned *threads);
void emulated_wait(emulated_group *g);

/* A warp shuffle: stores this thread's value and reads that of `lane`. */
void emulated_exchange(void *out, const void *in, size_t size, uint32_t lane);

#define KERNEL(name, type, threads)                                                           \
    static void name##_body(const type a);                                                    \
    __attribute__((visibility("default"))) const size_t name##_argument_bytes = sizeof(type); \
    __attribute__((visibility("default"))) void name(void *const *args)                       \
    {                                                                                         \
        name##_body(*(const type *)args[0]);                                                  \
    }                                                                                         \
    static void name##_body(const type a)
#define KERNEL_OF(name, type, threads, blocks) KERNEL(name, type, threads)
#define KERNEL_CLUSTER(name, type, threads, blocks, size) KERNEL(name, type, threads)
#define WAIT_FOR_LAST() ((void)0)
#define CLUSTER_LEAVE() BARRIER()
#define DEVICE __attribute__((unused)) static inline
#define SHARED static
#define SHARED_ROOM(name) static char name[1 << 18] __attribute__((aligned(16)))
#define UNROLL
#define UNROLL_4
#define UNROLL_1
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define BARRIER() emulated_wait(&emulated_block)
#define THREAD (emulated_now->index)
#define BLOCK_X (emulated_at[0])
#define BLOCK_Y (emulated_at[1])
#define BLOCK_Z (emulated_at[2])
#define BLOCKS_X (emulated_grid[0])
#define BLOCKS_Y (emulated_grid[1])
#define BLOCKS_Z (emulated_grid[2])
#define SHUFFLE(x, lane_)                                            \
    ({                                                               \
        __typeof__(x) given_ = (x), taken_;                          \
        emulated_exchange(&taken_, &given_, sizeof given_, (lane_)); \
        taken_;                                                      \
    })
#define SHUFFLE_XOR(x, lanes_) SHUFFLE(x, THREAD % 32 ^ (uint32_t)(lanes_))

#endif
