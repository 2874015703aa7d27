// SPDX-License-Identifier: Apache-2.0
// What all kernels share. This file and then the other prelude_*.cu are text in front of every other source
// (code.c): here the words of CUDA, in prelude_types.cu types and conversions, in prelude_functions.cu functions
// of one number, in prelude_block.cu what a source asks for by ACTIVATION and THREADS. The code is C that NVRTC
// takes as CUDA C++; tests compile it with a C compiler and run the threads of a block in turns
// (tests/harness/cuda/emulation.h).
#ifndef EMULATED
#pragma nv_diag_suppress 177 // a function is not used
#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#else
#include <math.h>
#include <stdint.h>
#endif
// From Hopper on, the next kernel is launched while this one runs (device/cuda/code.c); each kernel waits for
// the end of the one before it, which has waited for those before.
#if __CUDA_ARCH__ >= 900
#define KERNEL_BEGIN() asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory")
#else
#define KERNEL_BEGIN() ((void)0)
#endif
#define KERNEL_OF(name, type, threads, blocks)                                                         \
    static __device__ __forceinline__ void name##_body(const type &a);                                 \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(const __grid_constant__ type a) \
    {                                                                                                  \
        KERNEL_BEGIN();                                                                                \
        name##_body(a);                                                                                \
    }                                                                                                  \
    static __device__ __forceinline__ void name##_body(const type &a)
#define KERNEL(name, type, threads) KERNEL_OF(name, type, threads, 1)
// A kernel whose blocks are clusters of `size` (1, 2, 4 or 8), and which calls WAIT_FOR_LAST before it reads what others wrote.
#if __CUDA_ARCH__ >= 900
#define CLUSTER_1
#define CLUSTER_2 __cluster_dims__(2, 1, 1)
#define CLUSTER_4 __cluster_dims__(4, 1, 1)
#define CLUSTER_8 __cluster_dims__(8, 1, 1)
#define CLUSTER(size) JOIN(CLUSTER_, size)
#define WAIT_FOR_LAST() asm volatile("griddepcontrol.wait;" ::: "memory")
// Waits for the blocks of the cluster, but for no memory: a block's shared memory stays until the others have used what they read there.
#define CLUSTER_LEAVE() asm volatile("barrier.cluster.arrive.relaxed.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory")
#define LET_NEXT_START() asm volatile("griddepcontrol.launch_dependents;" ::: "memory")
#else
#define CLUSTER(size)
#define WAIT_FOR_LAST() ((void)0)
#define CLUSTER_LEAVE() BARRIER()
#define LET_NEXT_START() ((void)0)
#endif
#define KERNEL_CLUSTER(name, type, threads, blocks, size)                                                            \
    static __device__ __forceinline__ void name##_body(const type &a);                                               \
    extern "C" __global__ void CLUSTER(size) __launch_bounds__(threads, blocks) name(const __grid_constant__ type a) \
    {                                                                                                                \
        LET_NEXT_START();                                                                                            \
        name##_body(a);                                                                                              \
    }                                                                                                                \
    static __device__ __forceinline__ void name##_body(const type &a)
#define DEVICE static __device__ __forceinline__
#define TABLE static __device__ const
#define SHARED __shared__
#define SHARED_ROOM(name) extern __shared__ __align__(16) char name[] // as large as the launch says
#define UNROLL _Pragma("unroll")
#define UNROLL_4 _Pragma("unroll 4")
#define UNROLL_1 _Pragma("unroll 1") // not at all
#define BARRIER() __syncthreads()
#define SHUFFLE_XOR(x, lanes) __shfl_xor_sync(0xffffffffu, x, lanes)
#define SHUFFLE(x, lane) __shfl_sync(0xffffffffu, x, lane)
#define BLOCK_X blockIdx.x
#define BLOCK_Y blockIdx.y
#define BLOCK_Z blockIdx.z
#define BLOCKS_X gridDim.x
#define BLOCKS_Y gridDim.y
#define BLOCKS_Z gridDim.z
#define THREAD threadIdx.x
#define ALIGNED(bytes) __align__(bytes)
DEVICE float bits_f32(uint32_t x) { return __uint_as_float(x); }
DEVICE uint32_t f32_bits(float x) { return __float_as_uint(x); }
#else
DEVICE float bits_f32(uint32_t x)
{
    union { uint32_t bits; float value; } both;
    both.bits = x;
    return both.value;
}
DEVICE uint32_t f32_bits(float x)
{
    union { uint32_t bits; float value; } both;
    both.value = x;
    return both.bits;
}
#endif
