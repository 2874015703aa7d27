/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the corners of a box with those of 32 others. */
#include <stdint.h>

#include "kernels/finder_boxes.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/target_avx512.h"

TARGET_AVX512 static uint32_t touch_avx512(const boxes_block *b, const float *c)
{
    uint32_t mask = 0;
    const __m512 y0 = _mm512_set1_ps(c[0]), x0 = _mm512_set1_ps(c[1]), y1 = _mm512_set1_ps(c[2]),
                 x1 = _mm512_set1_ps(c[3]);
    for (int i = 0; i < BOXES_BLOCK; i += 16) {
        __mmask16 m = _mm512_cmp_ps_mask(_mm512_loadu_ps(b->y0 + i), y1, _CMP_LE_OQ);
        m = _mm512_mask_cmp_ps_mask(m, _mm512_loadu_ps(b->y1 + i), y0, _CMP_GE_OQ);
        m = _mm512_mask_cmp_ps_mask(m, _mm512_loadu_ps(b->x0 + i), x1, _CMP_LE_OQ);
        m = _mm512_mask_cmp_ps_mask(m, _mm512_loadu_ps(b->x1 + i), x0, _CMP_GE_OQ);
        mask |= (uint32_t)m << i;
    }
    return mask;
}

__attribute__((target("avx2"))) static uint32_t touch_avx2(const boxes_block *b, const float *c)
{
    uint32_t mask = 0;
    const __m256 y0 = _mm256_set1_ps(c[0]), x0 = _mm256_set1_ps(c[1]), y1 = _mm256_set1_ps(c[2]),
                 x1 = _mm256_set1_ps(c[3]);
    for (int i = 0; i < BOXES_BLOCK; i += 8) {
        const __m256 y = _mm256_and_ps(_mm256_cmp_ps(_mm256_loadu_ps(b->y0 + i), y1, _CMP_LE_OQ),
                                       _mm256_cmp_ps(_mm256_loadu_ps(b->y1 + i), y0, _CMP_GE_OQ));
        const __m256 x = _mm256_and_ps(_mm256_cmp_ps(_mm256_loadu_ps(b->x0 + i), x1, _CMP_LE_OQ),
                                       _mm256_cmp_ps(_mm256_loadu_ps(b->x1 + i), x0, _CMP_GE_OQ));
        mask |= (uint32_t)_mm256_movemask_ps(_mm256_and_ps(y, x)) << i;
    }
    return mask;
}
#endif

static uint32_t touch_portable(const boxes_block *b, const float *c)
{
    uint32_t mask = 0;
    for (int i = 0; i < BOXES_BLOCK; i++) {
        const uint32_t bit =
            (b->y0[i] <= c[2]) & (b->y1[i] >= c[0]) & (b->x0[i] <= c[3]) & (b->x1[i] >= c[1]);
        mask |= bit << i;
    }
    return mask;
}

boxes_touch *boxes_touch_of(cpu_level level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return touch_avx512;
    if (level >= CPU_AVX2) return touch_avx2;
#endif
    (void)level;
    return touch_portable;
}
