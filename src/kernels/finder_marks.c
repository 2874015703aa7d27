/* SPDX-License-Identifier: Apache-2.0 */
/* Positions of elements that are not zero. Each position is written behind the last one, and kept
 * if its element is not zero, so no branch depends on the data. With AVX-512, vectors are compressed
 * in registers. */
#include "base/system.h"
#include "kernels/finder.h"

#define MARKS(name, type, shift)                                                   \
    static size_t name(uint32_t *to, const void *data, size_t n, uint32_t from)    \
    {                                                                              \
        const type *x = data;                                                      \
        size_t found = 0;                                                          \
        for (size_t i = 0; i < n; i++) {                                           \
            to[found] = from + (uint32_t)i;                                        \
            found += (type)(x[i] << shift) != 0; /* a shift drops the sign of 0 */ \
        }                                                                          \
        return found;                                                              \
    }
MARKS(marks_1, uint8_t, 0)
MARKS(marks_2, uint16_t, 0)
MARKS(marks_4, uint32_t, 0)
MARKS(marks_8, uint64_t, 0)
MARKS(marks_half, uint16_t, 1)
MARKS(marks_float, uint32_t, 1)
MARKS(marks_double, uint64_t, 1)

#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/target_avx512.h"

/* Of 16 elements at a time, whose mask MASK computes. All 16 positions are stored, the kept ones in
 * front; the others lie within the n positions that there is room for. */
#define MARKS_AVX512(name, type, mask, rest)                                                  \
    TARGET_AVX512 static size_t name(uint32_t *to, const void *data, size_t n, uint32_t from) \
    {                                                                                         \
        const type *x = data;                                                                 \
        size_t found = 0, i = 0;                                                              \
        const __m512i steps =                                                                 \
            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);          \
        for (; i + 16 <= n; i += 16) {                                                        \
            const __mmask16 m = mask;                                                         \
            const __m512i at =                                                                \
                _mm512_add_epi32(_mm512_set1_epi32((int)(from + (uint32_t)i)), steps);        \
            _mm512_storeu_si512(to + found, _mm512_maskz_compress_epi32(m, at));              \
            found += (size_t)__builtin_popcount(m);                                           \
        }                                                                                     \
        return found + rest(to + found, x + i, n - i, from + (uint32_t)i);                    \
    }
MARKS_AVX512(marks_1_avx512, uint8_t,
             _mm512_cmpneq_epi32_mask(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(x +
                                                                                             i))),
                                      _mm512_setzero_si512()),
             marks_1)
MARKS_AVX512(marks_4_avx512, uint32_t,
             _mm512_cmpneq_epi32_mask(_mm512_loadu_si512(x + i), _mm512_setzero_si512()), marks_4)
MARKS_AVX512(marks_float_avx512, uint32_t,
             _mm512_test_epi32_mask(_mm512_loadu_si512(x + i), _mm512_set1_epi32(0x7fffffff)),
             marks_float)
MARKS_AVX512(
    marks_8_avx512, uint64_t,
    (__mmask16)(_mm512_test_epi64_mask(_mm512_loadu_si512(x + i), _mm512_set1_epi64(-1)) |
                _mm512_test_epi64_mask(_mm512_loadu_si512(x + i + 8), _mm512_set1_epi64(-1)) << 8),
    marks_8)

static finder_marks *wide_marks_of(pgy_dtype dtype)
{
    switch (dtype) {
    case PGY_BOOL:
    case PGY_U8:
    case PGY_I8: return marks_1_avx512;
    case PGY_U32:
    case PGY_I32: return marks_4_avx512;
    case PGY_F32: return marks_float_avx512;
    case PGY_U64:
    case PGY_I64: return marks_8_avx512;
    default: return NULL;
    }
}
#else
static finder_marks *wide_marks_of(pgy_dtype dtype)
{
    (void)dtype;
    return NULL;
}
#endif

finder_marks *finder_marks_of(pgy_dtype dtype)
{
    finder_marks *wide = cpu_features() >= CPU_AVX512 ? wide_marks_of(dtype) : NULL;
    if (wide) return wide;
    switch (dtype) {
    case PGY_BOOL:
    case PGY_U8:
    case PGY_I8: return marks_1;
    case PGY_U16:
    case PGY_I16: return marks_2;
    case PGY_U32:
    case PGY_I32: return marks_4;
    case PGY_U64:
    case PGY_I64: return marks_8;
    case PGY_F16:
    case PGY_BF16: return marks_half;
    case PGY_F32: return marks_float;
    case PGY_F64: return marks_double;
    default: return NULL;
    }
}
