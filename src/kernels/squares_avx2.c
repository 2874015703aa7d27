/* SPDX-License-Identifier: Apache-2.0 */
/* Transposing squares of eight by eight elements in registers, AVX2. */
#include "kernels/squares.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum { LINE = 16 }; /* elements of a cache line */

__attribute__((target("avx2"))) static inline void turn(uint32_t *to, size_t to_step,
                                                        const uint32_t *from, size_t from_step)
{
    __m256i a[SQUARE], b[SQUARE];
    /* Rows i and i + 4 side by side in the halves of two vectors. */
    for (size_t i = 0; i < 4; i++) {
        const __m128i *low = (const __m128i *)(from + i * from_step);
        const __m128i *high = (const __m128i *)(from + (i + 4) * from_step);
        a[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(low)),
                                       _mm_loadu_si128(high), 1);
        a[i + 4] = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(low + 1)),
                                           _mm_loadu_si128(high + 1), 1);
    }
    for (size_t i = 0; i < SQUARE; i += 4) {
        b[i] = _mm256_unpacklo_epi32(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_epi32(a[i], a[i + 1]);
        b[i + 2] = _mm256_unpacklo_epi32(a[i + 2], a[i + 3]);
        b[i + 3] = _mm256_unpackhi_epi32(a[i + 2], a[i + 3]);
    }
    for (size_t i = 0; i < SQUARE; i += 4) {
        __m256i *line = (__m256i *)(to + i * to_step);
        _mm256_storeu_si256(line, _mm256_unpacklo_epi64(b[i], b[i + 2]));
        line = (__m256i *)(to + (i + 1) * to_step);
        _mm256_storeu_si256(line, _mm256_unpackhi_epi64(b[i], b[i + 2]));
        line = (__m256i *)(to + (i + 2) * to_step);
        _mm256_storeu_si256(line, _mm256_unpacklo_epi64(b[i + 1], b[i + 3]));
        line = (__m256i *)(to + (i + 3) * to_step);
        _mm256_storeu_si256(line, _mm256_unpackhi_epi64(b[i + 1], b[i + 3]));
    }
}

/* Two squares that share the cache lines of the side with the larger step follow each other:
 * lines a power of 2 apart would push each other out. */
__attribute__((target("avx2"))) void squares_avx2(uint32_t *to, size_t to_step,
                                                  const uint32_t *from, size_t from_step,
                                                  size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i += LINE)
        for (size_t j = 0; j < columns; j += LINE)
            for (size_t k = 0; k < 4; k++) {
                const size_t outer = k / 2 * SQUARE, inner = k % 2 * SQUARE;
                const size_t row = i + (from_step < to_step ? inner : outer);
                const size_t column = j + (from_step < to_step ? outer : inner);
                if (row < rows && column < columns)
                    turn(to + column * to_step + row, to_step, from + row * from_step + column,
                         from_step);
            }
}
#endif
