/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of dft.h, made from one body for single lines and for each level. */
#include "base/cancel.h"
#include "kernels/dft.h"
#include "kernels/target_avx512.h"

#pragma GCC diagnostic ignored "-Wpsabi" /* no vector crosses a function's border */

typedef float lanes __attribute__((vector_size(64), aligned(16), may_alias));

#define V float
#define TARGET
#define LEVEL(x) x##_single
#include "kernels/dft_passes.inc"
#undef V
#define V lanes
#define TARGET
#define LEVEL(x) x##_portable
#include "kernels/dft_passes.inc"
#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define LEVEL(x) x##_avx2
#include "kernels/dft_passes.inc"
#define TARGET TARGET_AVX512
#define LEVEL(x) x##_avx512
#include "kernels/dft_passes.inc"
#endif

const dft_loops *dft_loops_of(bool wide, cpu_level level)
{
    if (!wide) return &set_single;
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &set_avx512;
    if (level >= CPU_AVX2) return &set_avx2;
#endif
    (void)level;
    return &set_portable;
}
