// SPDX-License-Identifier: Apache-2.0
// What all kernels share: types, conversions and functions of one number. It is text in front of every
// other source. The code is C that NVRTC takes as CUDA C++; tests compile it with a C compiler and run
// the threads of a block in turns (tests/harness/cuda_emulation.h).
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

// ---- Types: the name of each is also the suffix of its functions -----------------------------------

typedef float f32;
typedef double f64;
typedef struct f16 { uint16_t bits; } f16;
typedef struct bf16 { uint16_t bits; } bf16;
typedef int64_t i64;
typedef int32_t i32;
typedef int8_t i8;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef uint8_t b8; // bool
typedef struct ALIGNED(16) u128 { u64 at[2]; } u128;

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define WIDEN(type, x) JOIN(widen_, type)(x)
#define NARROW(type, x) JOIN(narrow_, type)(x)

#ifndef EMULATED
DEVICE float widen_f16(f16 x)
{
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}
DEVICE f16 narrow_f16(float x)
{
    f16 y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
}
#else
DEVICE float widen_f16(f16 x)
{
    const uint32_t sign = (uint32_t)(x.bits & 0x8000) << 16, rest = x.bits & 0x7fff;
    if (rest >= 0x7c00) return bits_f32(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest >= 0x400) return bits_f32(sign | ((rest << 13) + 0x38000000));
    const float small = (float)rest * 0x1p-24f;
    return sign ? -small : small;
}
DEVICE f16 narrow_f16(float x)
{
    const uint32_t all = f32_bits(x), sign = all >> 16 & 0x8000, rest = all & 0x7fffffff;
    f16 y;
    if (rest > 0x7f800000) {
        y.bits = (uint16_t)(sign | 0x7e00);
    } else if (rest >= 0x477ff000) {
        y.bits = (uint16_t)(sign | 0x7c00);
    } else if (rest >= 0x38800000) {
        y.bits = (uint16_t)(sign | (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13);
    } else {
        y.bits = (uint16_t)(sign | (uint32_t)rintf(bits_f32(rest) * 0x1p24f));
    }
    return y;
}
#endif
DEVICE float widen_bf16(bf16 x) { return bits_f32((uint32_t)x.bits << 16); }
DEVICE bf16 narrow_bf16(float x)
{
    const uint32_t all = f32_bits(x);
    bf16 y;
    y.bits = x != x ? (uint16_t)(all >> 16 | 0x40) : (uint16_t)((all + 0x7fff + (all >> 16 & 1)) >> 16);
    return y;
}
DEVICE float widen_f32(f32 x) { return x; }
DEVICE f32 narrow_f32(float x) { return x; }
DEVICE double widen_f64(f64 x) { return x; }
DEVICE f64 narrow_f64(double x) { return x; }
DEVICE i64 widen_i64(i64 x) { return x; }
DEVICE i64 narrow_i64(i64 x) { return x; }
DEVICE i32 widen_i32(i32 x) { return x; }
DEVICE i32 narrow_i32(i64 x) { return (i32)x; }
DEVICE i32 widen_i8(i8 x) { return x; }
DEVICE i8 narrow_i8(i64 x) { return (i8)x; }
DEVICE u8 widen_u8(u8 x) { return x; }
DEVICE u8 narrow_u8(i64 x) { return (u8)x; }
DEVICE u8 widen_b8(b8 x) { return x; }
DEVICE b8 narrow_b8(int x) { return x != 0; }
DEVICE u16 widen_u16(u16 x) { return x; }
DEVICE u16 narrow_u16(u16 x) { return x; }
DEVICE u32 widen_u32(u32 x) { return x; }
DEVICE u32 narrow_u32(u32 x) { return x; }
DEVICE u64 widen_u64(u64 x) { return x; }
DEVICE u64 narrow_u64(u64 x) { return x; }

// Two numbers side by side, the first in the low half.
#if !defined(EMULATED) && __CUDA_ARCH__ >= 800
DEVICE uint32_t two_f16(float low, float high)
{
    uint32_t two;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
    return two;
}
DEVICE uint32_t two_bf16(float low, float high)
{
    uint32_t two;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
    return two;
}
#else
DEVICE uint32_t two_f16(float low, float high) { return narrow_f16(low).bits | (uint32_t)narrow_f16(high).bits << 16; }
DEVICE uint32_t two_bf16(float low, float high) { return narrow_bf16(low).bits | (uint32_t)narrow_bf16(high).bits << 16; }
#endif

typedef struct ALIGNED(16) quarters { uint32_t at[4]; } quarters;
DEVICE void store_quarters(void *to, quarters q)
{
#ifndef EMULATED
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" : : "l"(__cvta_generic_to_global(to)), "r"(q.at[0]), "r"(q.at[1]), "r"(q.at[2]), "r"(q.at[3]) : "memory");
#else
    *(quarters *)to = q;
#endif
}

// Loads 16 bytes if `valid`, else zeros, without a branch.
DEVICE quarters load_quarters(const void *from, int valid)
{
    quarters q = {{0, 0, 0, 0}};
#ifndef EMULATED
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %5, 0;\n@p ld.global.v4.b32 {%0, %1, %2, %3}, [%4];\n}"
                 : "+r"(q.at[0]), "+r"(q.at[1]), "+r"(q.at[2]), "+r"(q.at[3]) : "l"(__cvta_generic_to_global(from)), "r"(valid));
#else
    if (valid) q = *(const quarters *)from;
#endif
    return q;
}

// Rounds eight neighbours and stores them by accesses of 16 bytes; the compiler splits assignments of structs of them.
#define STORE_8(type, to, v) JOIN(store_8_, type)(to, v)
DEVICE void store_8_f16(f16 *to, const float *v)
{
    const quarters q = {{two_f16(v[0], v[1]), two_f16(v[2], v[3]), two_f16(v[4], v[5]), two_f16(v[6], v[7])}};
    store_quarters(to, q);
}
DEVICE void store_8_bf16(bf16 *to, const float *v)
{
    const quarters q = {{two_bf16(v[0], v[1]), two_bf16(v[2], v[3]), two_bf16(v[4], v[5]), two_bf16(v[6], v[7])}};
    store_quarters(to, q);
}
DEVICE void store_8_f32(f32 *to, const float *v)
{
    UNROLL for (int i = 0; i < 2; i++) {
        const float *const u = v + i * 4;
        const quarters q = {{f32_bits(u[0]), f32_bits(u[1]), f32_bits(u[2]), f32_bits(u[3])}};
        store_quarters(to + i * 4, q);
    }
}

typedef float wide_f32, wide_f16, wide_bf16;
typedef double wide_f64;
typedef i64 wide_i64;
typedef i32 wide_i32, wide_i8;
typedef u8 wide_u8, wide_b8;
typedef u16 wide_u16;
typedef u32 wide_u32;
typedef u64 wide_u64;

// x / y; a division of 64 bits takes many times as long as one of 32.
DEVICE uint64_t quotient(uint64_t x, uint64_t y)
{
    return (x | y) >> 32 ? x / y : (uint32_t)x / (uint32_t)y;
}

// ---- Functions of floats ---------------------------------------------------------------------------

DEVICE float add_f32(float x, float y) { return x + y; }
DEVICE float mean_f32(float x, float y) { return x + y; }
DEVICE float sub_f32(float x, float y) { return x - y; }
DEVICE float mul_f32(float x, float y) { return x * y; }
DEVICE float div_f32(float x, float y) { return x / y; }
DEVICE float min_f32(float x, float y) { return x < y || x != x ? x : y; }
DEVICE float max_f32(float x, float y) { return x > y || x != x ? x : y; }
DEVICE float pow_f32(float x, float y) { return powf(x, y); }
DEVICE float fmod_f32(float x, float y) { return fmodf(x, y); }
DEVICE float prelu_f32(float x, float y) { return x < 0 ? x * y : x; }
DEVICE double add_f64(double x, double y) { return x + y; }
DEVICE double sub_f64(double x, double y) { return x - y; }
DEVICE double mul_f64(double x, double y) { return x * y; }
DEVICE double div_f64(double x, double y) { return x / y; }
DEVICE float relu_f32(float x) { return x < 0 ? 0 : x; }
DEVICE float leaky_relu_f32(float x, float slope) { return x < 0 ? slope * x : x; }
DEVICE float clip_f32(float x, float low, float high)
{
    const float y = x < low ? low : x;
    return y > high ? high : y;
}
DEVICE float unit(float x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
DEVICE float hard_sigmoid_f32(float x, float slope, float shift) { return unit(slope * x + shift); }
DEVICE float hard_swish_f32(float x) { return x * unit(x * (1 / 6.0f) + 0.5f); }
DEVICE float softsign_f32(float x) { return x / (1 + fabsf(x)); }
DEVICE float thresholded_relu_f32(float x, float least) { return x > least ? x : 0; }
DEVICE float abs_f32(float x) { return fabsf(x); }
DEVICE float neg_f32(float x) { return -x; }
DEVICE float sign_f32(float x) { return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x; }
DEVICE float floor_f32(float x) { return floorf(x); }
DEVICE float ceil_f32(float x) { return ceilf(x); }
DEVICE float round_f32(float x) { return rintf(x); }
DEVICE float sqrt_f32(float x) { return sqrtf(x); }
DEVICE float reciprocal_f32(float x) { return 1 / x; }
DEVICE float exp_f32(float x) { return expf(x); }
DEVICE float log_f32(float x) { return logf(x); }
DEVICE float sin_f32(float x) { return sinf(x); }
DEVICE float cos_f32(float x) { return cosf(x); }
DEVICE float tan_f32(float x) { return tanf(x); }
DEVICE float asin_f32(float x) { return asinf(x); }
DEVICE float acos_f32(float x) { return acosf(x); }
DEVICE float atan_f32(float x) { return atanf(x); }
DEVICE float sinh_f32(float x) { return sinhf(x); }
DEVICE float cosh_f32(float x) { return coshf(x); }
DEVICE float asinh_f32(float x) { return asinhf(x); }
DEVICE float acosh_f32(float x) { return acoshf(x); }
DEVICE float atanh_f32(float x) { return atanhf(x); }
DEVICE float shrink_f32(float x, float limit, float bias)
{
    return x < -limit ? x + bias : x > limit ? x - bias : 0;
}
DEVICE float tanh_f32(float x) { return tanhf(x); }
DEVICE float erf_f32(float x) { return erff(x); }
DEVICE float sigmoid_f32(float x)
{
    const float e = expf(-fabsf(x));
    return (x < 0 ? e : 1) / (1 + e);
}
DEVICE float swish_f32(float x, float slope) { return x * sigmoid_f32(slope * x); }
DEVICE float silu_f32(float x) { return x * sigmoid_f32(x); }
DEVICE float gelu_f32(float x) { return x == -INFINITY ? -0.0f : 0.5f * x * erfcf(x * -0.70710678f); }
// Accurate to a few units in the last place, which is enough for results in 16 bits; tiny results are 0.
#ifndef EMULATED
DEVICE float short_reciprocal(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
DEVICE float short_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
#else
DEVICE float short_reciprocal(float x) { return 1 / x; }
DEVICE float short_exp2(float x) { return exp2f(x); }
#endif
// For results in 16 bits: relu(x) minus |x| erfc(|x| / sqrt(2)) / 2, which is |x| t exp2(polynomial(t) - x^2 log2(e) / 2)
// with a relative error below 1e-5, without branches.
DEVICE float short_gelu_f32(float x)
{
    const float z = fminf(fabsf(x), 14), t = short_reciprocal(1 + 0.27f * z);
    float p = 0.395573924f;
    p = p * t - 1.35946692f;
    p = p * t + 1.34784206f;
    p = p * t - 0.390094733f;
    p = p * t + 0.804557119f;
    p = p * t + 1.4146035f;
    p = p * t - 3.21301332f;
    return relu_f32(x) - z * (t * short_exp2(p - 0.72134752f * z * z));
}
// For results in 16 bits: x sigmoid(x).
DEVICE float short_silu_f32(float x)
{
    const float y = x < -100 ? -100 : x; // an infinity times 0 is no number
    return y * short_reciprocal(1 + short_exp2(-1.44269504f * y));
}
// 1/2 (1 + tanh(u)) is sigmoid(2u).
DEVICE float fast_gelu_f32(float x)
{
    return x == -INFINITY ? -0.0f : x * sigmoid_f32(x * (0.0713548163f * x * x + 1.59576912f));
}
DEVICE float bias_gelu_f32(float x, float bias) { return gelu_f32(x + bias); }
DEVICE float bias_fast_gelu_f32(float x, float bias) { return fast_gelu_f32(x + bias); }
DEVICE float softplus_f32(float x) { return x != x ? x : (x > 0 ? x : 0) + log1pf(expf(-fabsf(x))); }
// tanh(log(1 + e)) = n / (n + 2) for n = e (e + 2).
DEVICE float mish_f32(float x)
{
    const float e = expf(x > 20 ? 20 : x), n = e * (e + 2);
    return x * (n / (n + 2));
}
DEVICE float exponential(float x, float alpha, float gamma, float scale)
{
    return x > 0 || x != x ? gamma * x : gamma * (alpha * expm1f(x * scale));
}
DEVICE float elu_f32(float x, float alpha) { return exponential(x, alpha, 1, 1); }
DEVICE float selu_f32(float x, float alpha, float gamma) { return exponential(x, alpha, gamma, 1); }
DEVICE float celu_f32(float x, float alpha) { return exponential(x, alpha, 1, 1 / alpha); }
// To one of the exponents that need no logarithm.
DEVICE float power_f32(float x, float p)
{
    if (p == 2) return x * x;
    if (p == 3) return x * x * x;
    if (p == 0.5f) return x == -INFINITY ? INFINITY : sqrtf(x);
    return p == 1 ? x : 1 / x;
}
DEVICE int is_nan_f32(float x) { return x != x; }
DEVICE int is_inf_f32(float x, float positive, float negative)
{
    return (x == INFINITY && positive != 0) || (x == -INFINITY && negative != 0);
}

// ---- Comparisons, integers, truth values -----------------------------------------------------------

#define COMPARISONS(type)                                                \
    DEVICE int JOIN(equal_, type)(type x, type y) { return x == y; }     \
    DEVICE int JOIN(less_, type)(type x, type y) { return x < y; }       \
    DEVICE int JOIN(greater_, type)(type x, type y) { return x > y; }    \
    DEVICE int JOIN(less_equal_, type)(type x, type y) { return x <= y; } \
    DEVICE int JOIN(greater_equal_, type)(type x, type y) { return x >= y; }
COMPARISONS(f32)
COMPARISONS(i64)
COMPARISONS(i32)
COMPARISONS(u8)
COMPARISONS(i8)

// Sums and products wrap; a quotient by zero is 0.
#define INTEGERS(type, bits)                                                                 \
    DEVICE type JOIN(add_, type)(type x, type y) { return (type)((bits)x + (bits)y); }       \
    DEVICE type JOIN(sub_, type)(type x, type y) { return (type)((bits)x - (bits)y); }       \
    DEVICE type JOIN(mul_, type)(type x, type y) { return (type)((bits)x * (bits)y); }       \
    DEVICE type JOIN(div_, type)(type x, type y)                                             \
    {                                                                                        \
        if (y == -1) return (type)(0 - (bits)x);                                             \
        return y ? x / y : 0;                                                                \
    }                                                                                        \
    DEVICE type JOIN(mod_, type)(type x, type y)                                             \
    {                                                                                        \
        const type r = y == 0 || y == -1 ? 0 : x % y;                                        \
        return r && (r < 0) != (y < 0) ? r + y : r;                                          \
    }                                                                                        \
    DEVICE type JOIN(min_, type)(type x, type y) { return x < y ? x : y; }                   \
    DEVICE type JOIN(max_, type)(type x, type y) { return x > y ? x : y; }                   \
    DEVICE type JOIN(neg_, type)(type x) { return (type)(0 - (bits)x); }                     \
    DEVICE type JOIN(abs_, type)(type x) { return x < 0 ? (type)(0 - (bits)x) : x; }         \
    DEVICE type JOIN(sign_, type)(type x) { return (x > 0) - (x < 0); }
INTEGERS(i64, u64)
INTEGERS(i32, u32)

// Limits are whole numbers up to 2^24, or infinite.
#define CLIP_INTEGERS(type)                                                                  \
    DEVICE type JOIN(clip_, type)(type x, float low, float high)                             \
    {                                                                                        \
        const type raised = low > -3e38f && x < (type)low ? (type)low : x;                   \
        return high < 3e38f && raised > (type)high ? (type)high : raised;                    \
    }
CLIP_INTEGERS(i64)
CLIP_INTEGERS(i32)

#define BYTES(type)                                                                         \
    DEVICE type JOIN(add_, type)(type x, type y) { return (type)(x + y); }                  \
    DEVICE type JOIN(sub_, type)(type x, type y) { return (type)(x - y); }                  \
    DEVICE type JOIN(mul_, type)(type x, type y) { return (type)(x * y); }                  \
    DEVICE type JOIN(min_, type)(type x, type y) { return x < y ? x : y; }                  \
    DEVICE type JOIN(max_, type)(type x, type y) { return x > y ? x : y; }                  \
    DEVICE type JOIN(clip_, type)(type x, float low, float high)                            \
    {                                                                                       \
        return x < low ? (type)low : x > high ? (type)high : x;                             \
    }
BYTES(u8)
BYTES(i8)
DEVICE i8 relu_i8(i8 x) { return x < 0 ? 0 : x; }

DEVICE int equal_bool(int x, int y) { return x == y; }
DEVICE int and_bool(int x, int y) { return x & y; }
DEVICE int or_bool(int x, int y) { return x | y; }
DEVICE int xor_bool(int x, int y) { return x ^ y; }
DEVICE int not_bool(int x) { return !x; }

#define BITS(n, type, whole)                                                                     \
    DEVICE type bits_and_##n(type x, type y) { return x & y; }                                   \
    DEVICE type bits_or_##n(type x, type y) { return x | y; }                                    \
    DEVICE type bits_xor_##n(type x, type y) { return x ^ y; }                                   \
    DEVICE type bits_not_##n(type x) { return (type)~x; }                                        \
    DEVICE type shift_left_##n(type x, type y) { return y < 8 * n ? (type)(x << y) : 0; }        \
    DEVICE type shift_right_##n(type x, type y) { return y < 8 * n ? (type)(x >> y) : 0; }       \
    DEVICE type shift_signed_##n(type x, type y)                                                 \
    {                                                                                            \
        return (type)((whole)x >> (y < 8 * n ? y : 8 * n - 1));                                  \
    }
BITS(1, u8, i8)
BITS(2, u16, short)
BITS(4, u32, i32)
BITS(8, u64, i64)

DEVICE u8 where_1(int c, u8 x, u8 y) { return c ? x : y; }
DEVICE u16 where_2(int c, u16 x, u16 y) { return c ? x : y; }
DEVICE u32 where_4(int c, u32 x, u32 y) { return c ? x : y; }
DEVICE u64 where_8(int c, u64 x, u64 y) { return c ? x : y; }

// Truncates; the lowest number stands for what is out of range.
DEVICE i64 whole(double x)
{
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (i64)x : (i64)((u64)1 << 63);
}

// ---- Activations behind products and convolutions: the numbers are those of conv_activation --------

#ifdef ACTIVATION
DEVICE float activate(float x, float first, float second)
{
    (void)first;
    (void)second;
#if ACTIVATION == 1
    return relu_f32(x);
#elif ACTIVATION == 2
    return leaky_relu_f32(x, first);
#elif ACTIVATION == 3
    return clip_f32(x, first, second);
#elif ACTIVATION == 4
    return hard_sigmoid_f32(x, first, second);
#elif ACTIVATION == 5
    return hard_swish_f32(x);
#elif ACTIVATION == 6
    return sigmoid_f32(x);
#elif ACTIVATION == 7
    return tanh_f32(x);
#elif ACTIVATION == 8
    return sizeof(Y) == 2 ? short_silu_f32(x) : silu_f32(x);
#elif ACTIVATION == 9
    return sizeof(Y) == 2 ? short_gelu_f32(x) : gelu_f32(x);
#elif ACTIVATION == 10
    return fast_gelu_f32(x);
#else
    return x;
#endif
}
#endif

// ---- Sums over the threads of a block --------------------------------------------------------------

#ifdef THREADS
DEVICE float pick_sum(float x, float y) { return x + y; }
DEVICE float pick_product(float x, float y) { return x * y; }

// Every thread gets the result; the order is fixed by the number of threads. `room` holds a number
// for each warp and may be used again after the call.
#define BLOCK_FOLD(name, pick)                                                \
    DEVICE float name(float x, float *room)                                   \
    {                                                                         \
        UNROLL for (int lanes = 16; lanes; lanes /= 2) x = pick(x, SHUFFLE_XOR(x, lanes)); \
        if (THREAD % 32 == 0) room[THREAD / 32] = x;                          \
        BARRIER();                                                            \
        x = room[0];                                                          \
        UNROLL for (int i = 1; i < THREADS / 32; i++) x = pick(x, room[i]);   \
        BARRIER();                                                            \
        return x;                                                             \
    }
BLOCK_FOLD(block_sum, pick_sum)
BLOCK_FOLD(block_product, pick_product)
BLOCK_FOLD(block_max, max_f32)
BLOCK_FOLD(block_min, min_f32)
#endif
