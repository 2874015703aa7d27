/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors are of GCC's generic kind, so one body (vmath.inc) is compiled for every processor level.
 * No multiply-add is fused (see -ffp-contract), and a padded vector processes the end of an array,
 * so results have the same bits at all levels and indices. */
#include "ops/vmath.h"

#include <stdint.h>
#include <string.h>

#include "base/system.h"

#ifdef __GNUC__
#pragma GCC diagnostic ignored \
    "-Wpsabi" /* vectors are passed between functions of this file only */
#endif

enum { LANES = 8 };
typedef double vec __attribute__((vector_size(LANES * sizeof(double))));
typedef int64_t ints __attribute__((vector_size(LANES * sizeof(double))));

/* These are macros because an inlined function would need the target attribute of its caller. */
#define ALL(c) ((vec){c, c, c, c, c, c, c, c})
#define BITS(v) ((ints)(v))
/* Per lane: a where true. */
#define PICK(mask, a, b) ((vec)(((mask)&BITS(a)) | (~(mask)&BITS(b))))
#define ABS(v) ((vec)(BITS(v) & 0x7fffffffffffffff))
#define WITH_SIGN(v, of) ((vec)(BITS(v) | (BITS(of) & INT64_MIN)))

/* Coefficients, highest power first, of polynomials fitted at Chebyshev nodes. */
enum { EXP_COUNT = 11, TANH_COUNT = 12, ERF_COUNT = 14, ERFC_COUNT = 17 };
/* (e^r - 1 - r) / r^2 for |r| up to ln 2 / 2. */
static const double EXP_TAIL[EXP_COUNT] = {
    0x1.1f72fca58cc92p-29, 0x1.af4ddddcf06d6p-26, 0x1.27e4db679bec4p-22, 0x1.71de02372bdd3p-19,
    0x1.a01a01a6d7883p-16, 0x1.a01a01abe63b3p-13, 0x1.6c16c16c162d6p-10, 0x1.11111111100dfp-7,
    0x1.5555555555556p-5,  0x1.5555555555557p-3,  0x1.0000000000000p-1};
/* (tanh(x) / x - 1) / z for z = x^2 up to 0.4. */
static const double TANH_TAIL[TANH_COUNT] = {
    0x1.aa6ebe737f310p-18, -0x1.0373ca8c37f02p-15, 0x1.833fe526a5888p-14, -0x1.f2016dc08c527p-13,
    0x1.3521bec3ce8bdp-11, -0x1.7d9eea8bdd598p-10, 0x1.d6d39261e7f7cp-9,  -0x1.226e344877d0ep-7,
    0x1.664f487d0930bp-6,  -0x1.ba1ba1ba0c07bp-5,  0x1.111111111108bp-3,  -0x1.5555555555555p-2};
/* erf(x) / x - 1 in x^2 - 1 / 2 for x^2 up to 1. */
static const double ERF_TAIL[ERF_COUNT] = {
    -0x1.29971a2b8c684p-38, 0x1.06141ecbe23edp-34, -0x1.aad7259deaac4p-31, 0x1.428e753455160p-27,
    -0x1.bf8e5ab20cf3dp-24, 0x1.1ad5ee0a17631p-20, -0x1.429e938bbc3bdp-17, 0x1.486638bc931f4p-14,
    -0x1.263991b81d60cp-11, 0x1.c82aa249df4a2p-9,  -0x1.2b902b7b2f224p-6,  0x1.454368017b042p-4,
    -0x1.1fd16292151fdp-2,  -0x1.1ae14dc34815ap-5};
/* e^(x^2) erfc(x) in t = (x - 2) / (x + 2) for x from 1 to 6. */
static const double ERFC_TAIL[ERFC_COUNT] = {
    -0x1.2d1fa2935057bp-20, 0x1.4fad0e20c82dbp-20,  0x1.0dba46cb9ae48p-18,  0x1.6002ff9b73e27p-20,
    -0x1.d5d433337de57p-17, -0x1.ce6bd5374f526p-16, 0x1.cdd6b90d514a3p-16,  0x1.6da881db36089p-13,
    0x1.6d5ed35cfe1cfp-15,  -0x1.016b5b4d5f326p-10, -0x1.bc25a47c250b7p-11, 0x1.ca95ed507e6fap-8,
    0x1.e9471597b15fcp-9,   -0x1.437f0b68c03a9p-4,  0x1.eeea7dc8a78a6p-3,   -0x1.b57034efd3f74p-2,
    0x1.058671b52c776p-2};

/* ln 2 in two parts, the first with zeros at its end, so that whole multiples are exact. */
static const double INVERSE_LN2 = 0x1.71547652b82fep+0;
static const double LN2_HIGH = 0x1.62e42feep-1, LN2_LOW = 0x1.a39ef35793c76p-33;
static const double TO_INTEGER = 0x1.8p52; /* adding it leaves a rounded integer in the low bits */

typedef struct functions {
    void (*exp)(double *y, const double *x, size_t n);
    void (*tanh)(double *y, const double *x, size_t n);
    void (*erf)(double *y, const double *x, size_t n);
    void (*sigmoid)(double *y, const double *x, size_t n);
} functions;

#define NAME(x) portable_##x
#define TARGET
#include "ops/vmath.inc"

#if defined(__x86_64__)
#define NAME(x) avx2_##x
#define TARGET __attribute__((target("avx2")))
#include "ops/vmath.inc"

#define NAME(x) avx512_##x
#define TARGET __attribute__((target("avx512f,avx512dq")))
#include "ops/vmath.inc"

static const functions *choose(void)
{
    const cpu_level level = cpu_features();
    return level >= CPU_AVX512 ? &avx512_functions
           : level >= CPU_AVX2 ? &avx2_functions
                               : &portable_functions;
}
#else
static const functions *choose(void)
{
    return &portable_functions;
}
#endif

void vmath_exp(double *y, const double *x, size_t n)
{
    choose()->exp(y, x, n);
}

void vmath_tanh(double *y, const double *x, size_t n)
{
    choose()->tanh(y, x, n);
}

void vmath_erf(double *y, const double *x, size_t n)
{
    choose()->erf(y, x, n);
}

void vmath_sigmoid(double *y, const double *x, size_t n)
{
    choose()->sigmoid(y, x, n);
}
