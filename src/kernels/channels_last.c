/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of channels_last.h, made from one body for each level, and turns of images. */
#include "kernels/channels_last.h"

#include "kernels/squares.h"
#include "kernels/target_avx512.h"

#pragma GCC diagnostic ignored "-Wpsabi" /* no vector crosses a function's border */

enum { LANES = 16 };
typedef float lanes __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t lane_mask __attribute__((vector_size(64)));

#define TARGET
#define LEVEL(x) x##_portable
#include "kernels/channels_last.inc"
#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define LEVEL(x) x##_avx2
#include "kernels/channels_last.inc"
#define TARGET TARGET_AVX512
#define LEVEL(x) x##_avx512
#include "kernels/channels_last.inc"
#endif

const channels_loops *channels_loops_of(cpu_level level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &set_avx512;
    if (level >= CPU_AVX2) return &set_avx2;
#endif
    (void)level;
    return &set_portable;
}

void channels_to_last(float *y, const float *x, size_t channels, size_t pixels, size_t from,
                      size_t to)
{
    while (from < to) {
        const size_t image = from / pixels, first = from % pixels;
        const size_t n = to - from < pixels - first ? to - from : pixels - first;
        squares_transpose(y + from * channels, channels, x + image * channels * pixels + first,
                          pixels, channels, n);
        from += n;
    }
}
