/* SPDX-License-Identifier: Apache-2.0 */
/* The body (vec_math.inc) is scalar code in loops that the compiler vectorises; it is compiled once
 * for each processor level. All steps are IEEE operations, fused only by MADD, so the last elements
 * of an array, which are computed one by one, get the same bits as a vector's lanes. */
#include "kernels/vec_math.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/target_avx512.h"

/* Polynomials, fitted at Chebyshev nodes, highest power first.
 * (e^r - 1 - r) / r^2 for |r| up to ln 2 / 2. */
static const float EXP_TAIL[] = {0.000198992857f, 0.00139336509f, 0.00833329838f,
                                 0.0416664667f,   0.166666672f,   0.5f};
/* (log(1 + f) - f + f^2 / 2) / f^3 for 1 + f from sqrt(1/2) to sqrt 2. */
static const float LOG_TAIL[] = {-0.0636206567f, 0.106230699f, -0.106246375f, 0.110210091f,
                                 -0.124513879f,  0.142874941f, -0.166680068f, 0.199999914f,
                                 -0.249999896f,  0.333333343f};
/* (tanh(x) / x - 1) / z in z = x^2 up to 0.4. */
static const float TANH_TAIL[] = {0.00227271509f, -0.00832641404f, 0.0217636377f,
                                  -0.0539586246f, 0.133333012f,    -0.333333343f};
/* erf(x) / x - 1 in x^2 up to 1. */
static const float ERF_TAIL[] = {-9.67359028e-06f, 0.000112682537f, -0.000848439639f,
                                 0.00522105349f,   -0.0268654376f,  0.112837829f,
                                 -0.376126379f,    0.128379166f};
/* -log(erfc(x)) / x for x from 0.95 to 4. */
static const float ERFC_TAIL[] = {-2.76907798e-07f, 4.47085677e-06f, -1.23764785e-05f,
                                  -0.000279126485f, 0.00367990672f,  -0.0240461081f,
                                  0.106703758f,     0.634813488f,    1.12874174f};

/* (sin(r) / r - 1) / z and (cos(r) - 1 + z / 2) / z^2 in z = r^2 for |r| up to 0.79. */
static const float SIN_TAIL[] = {2.7243409e-06f, -0.000198400361f, 0.00833333191f, -0.166666672f};
static const float COS_TAIL[] = {-2.72955191e-07f, 2.48005581e-05f, -0.00138888881f, 0.0416666679f};
/* (asin(x) / x - 1) / z in z = x^2 up to 1/4. */
static const float ASIN_TAIL[] = {0.0309745409f, 0.0105744153f, 0.0236118175f, 0.0302691385f,
                                  0.0446476638f, 0.074999921f,  0.166666672f};
/* (atan(x) / x - 1) / z in z = x^2 up to 1. */
static const float ATAN_TAIL[] = {0.00148869189f, -0.00914462935f, 0.0263050012f, -0.0489605144f,
                                  0.0703191459f,  -0.089318268f,   0.110882618f,  -0.142840043f,
                                  0.199999496f,   -0.333333343f};
/* (sinh(x) / x - 1) / z in z = x^2 up to 1. */
static const float SINH_TAIL[] = {2.80628024e-06f, 0.000198381022f, 0.00833333936f, 0.166666672f};

/* pi / 2 as doubles, the first short enough for whole multiples to be exact, and as floats. */
static const double HALF_PI_HIGH = 0x1.921fb544p0, HALF_PI_LOW = 0x1.0b4611a626331p-34;
static const float QUARTER_HIGH = 0x1.921fb6p0f, QUARTER_LOW = -0x1.777a5cp-25f;
static const float CIRCLE_LIMIT = 131072;
enum { CIRCLE_PIECE = 256 };

static const float LN2 = 0.693147182f;
/* ln 2 in two parts, the first short enough for whole multiples to be exact. */
static const float LN2_HIGH = 0.693359375f, LN2_LOW = -2.12194440e-4f;
static const float TO_INTEGER = 0x1.8p23f; /* adding it rounds to an integer in the low bits */

/* Loops over rows that fit in registers. */
typedef void (*norm_rows_function)(float *y, const float *x, size_t rows, size_t n,
                                   const vec_norm *v, float *means, float *factors);
typedef void (*softmax_rows_function)(float *y, const float *x, size_t rows, size_t n);

#define NAME(x) vec_portable_##x
#define TARGET
#define MADD(a, b, c) ((a) * (b) + (c))
#define LANES 4
#include "kernels/vec_math.inc"

#if defined(__x86_64__)
#define NAME(x) vec_avx2_##x
#define TARGET __attribute__((target("avx2,fma")))
#define MADD(a, b, c) __builtin_fmaf(a, b, c)
#define LANES 8
#include "kernels/vec_math_masks_avx2.h"

#include "kernels/vec_math.inc"

#include "kernels/vec_math_avx512.inc"
#define OWN_LOOPS
#define NAME(x) vec_avx512_##x
#define TARGET TARGET_AVX512
#define MADD(a, b, c) __builtin_fmaf(a, b, c)
#define LANES 16
#include "kernels/vec_math_masks_avx512.h"

#include "kernels/vec_math.inc"
#endif

const vec_math *vec_math_of(cpu_level level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &vec_avx512_set;
    if (level >= CPU_AVX2) return &vec_avx2_set;
#endif
    (void)level;
    return &vec_portable_set;
}

void vec_exp_f32(float *y, const float *x, size_t n)
{
    vec_math_of(cpu_features())->exp(y, x, n);
}

void vec_log_f32(float *y, const float *x, size_t n)
{
    vec_math_of(cpu_features())->log(y, x, n);
}

void vec_tanh_f32(float *y, const float *x, size_t n)
{
    vec_math_of(cpu_features())->tanh(y, x, n);
}

void vec_sigmoid_f32(float *y, const float *x, size_t n)
{
    vec_math_of(cpu_features())->sigmoid(y, x, n);
}

void vec_erf_f32(float *y, const float *x, size_t n)
{
    vec_math_of(cpu_features())->erf(y, x, n);
}
