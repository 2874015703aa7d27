/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of search_loops.h, made from one body for each level and type. */
#include "kernels/search_loops.h"

#include <math.h>
#include <string.h>

#include "kernels/target_avx512.h"

#pragma GCC diagnostic ignored "-Wpsabi" /* no vector crosses a function's border */
#pragma GCC diagnostic ignored "-Wtautological-compare" /* x != x finds NaN, and no whole number */

#define TARGET
#define LEVEL(x) x##_portable
#include "kernels/search_types.inc"
#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define LEVEL(x) x##_avx2
#include "kernels/search_types.inc"
#define TARGET TARGET_AVX512
#define LEVEL(x) x##_avx512
#include "kernels/search_types.inc"
#endif

const search_loops *search_loops_of(search_type type, cpu_level level)
{
#if defined(__x86_64__)
    static const search_loops *const AVX512[] = {&set_f32_avx512, &set_i64_avx512, &set_i32_avx512};
    static const search_loops *const AVX2[] = {&set_f32_avx2, &set_i64_avx2, &set_i32_avx2};
    if (level >= CPU_AVX512) return AVX512[type];
    if (level >= CPU_AVX2) return AVX2[type];
#endif
    static const search_loops *const PORTABLE[] = {&set_f32_portable, &set_i64_portable,
                                                   &set_i32_portable};
    (void)level;
    return PORTABLE[type];
}
