/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of index_moves.h, made from one body for each type and reduction. */
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/index_moves.h"
#include "kernels/target_avx512.h"

typedef struct bytes16 {
    uint64_t half[2];
} bytes16;

/* ---- Without reduction ---------------------------------------------------------------------- */

#define MOVES(suffix, type)                                                                   \
    static void gather_##suffix(void *y, const void *data, const uint64_t *offsets, size_t n) \
    {                                                                                         \
        const type *x = data;                                                                 \
        for (size_t i = 0; i < n; i++) ((type *)y)[i] = x[offsets[i]];                        \
    }                                                                                         \
    static void scatter_##suffix(void *data, const void *updates, const uint64_t *offsets,    \
                                 size_t n)                                                    \
    {                                                                                         \
        const type *x = updates;                                                              \
        for (size_t i = 0; i < n; i++) ((type *)data)[offsets[i]] = x[i];                     \
    }                                                                                         \
    static void copy_##suffix(void *data, const void *updates, size_t n)                      \
    {                                                                                         \
        memcpy(data, updates, n * sizeof(type));                                              \
    }                                                                                         \
    static const index_loops MOVES_##suffix = {scatter_##suffix, copy_##suffix, gather_##suffix};
MOVES(1, uint8_t)
MOVES(2, uint16_t)
MOVES(4, uint32_t)
MOVES(8, uint64_t)
MOVES(16, bytes16)

const index_loops *index_loops_of(uint32_t item)
{
    switch (item) {
    case 1: return &MOVES_1;
    case 2: return &MOVES_2;
    case 4: return &MOVES_4;
    case 8: return &MOVES_8;
    case 16: return &MOVES_16;
    default: return NULL;
    }
}

/* ---- Rows of indices ------------------------------------------------------------------------ */

/* Index 0 is read in place of one that is out of range. */
#define ROW_PORTABLE(name, type, index_type)                                                   \
    static bool name(void *to, const void *data, const void *indices, size_t n, uint64_t size, \
                     uint64_t stride, uint64_t along)                                          \
    {                                                                                          \
        uint64_t invalid = 0;                                                                  \
        for (size_t i = 0; i < n; i++) {                                                       \
            const int64_t given = ((const index_type *)indices)[i];                            \
            const uint64_t index = (uint64_t)given + (given < 0 ? size : 0);                   \
            const uint64_t wrong = index >= size ? UINT64_MAX : 0;                             \
            invalid |= wrong;                                                                  \
            ((type *)to)[i] = ((const type *)data)[(index & ~wrong) * stride + i * along];     \
        }                                                                                      \
        return !invalid;                                                                       \
    }
ROW_PORTABLE(row_4_narrow_portable, uint32_t, int32_t)
ROW_PORTABLE(row_4_wide_portable, uint32_t, int64_t)
ROW_PORTABLE(row_8_narrow_portable, uint64_t, int32_t)
ROW_PORTABLE(row_8_wide_portable, uint64_t, int64_t)

#if defined(__x86_64__)
/* Eight at a time; an index out of range reads nothing. */
#define ROW_AVX512(name, portable, type, index_type, LOAD, GATHER, STORE)                     \
    TARGET_AVX512 static bool name(void *to, const void *data, const void *indices, size_t n, \
                                   uint64_t size, uint64_t stride, uint64_t along)            \
    {                                                                                         \
        const __m512i every = _mm512_set1_epi64((int64_t)size);                               \
        const __m512i steps = _mm512_set1_epi64((int64_t)stride);                             \
        const __m512i next = _mm512_set1_epi64((int64_t)(8 * along));                         \
        __m512i column = _mm512_mul_epu32(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7),          \
                                          _mm512_set1_epi64((int64_t)along));                 \
        __mmask8 valid = 0xff;                                                                \
        size_t i = 0;                                                                         \
        for (; i + 8 <= n; i += 8) {                                                          \
            const __m512i given = LOAD((const index_type *)indices + i);                      \
            const __m512i index =                                                             \
                _mm512_mask_add_epi64(given, _mm512_movepi64_mask(given), given, every);      \
            const __mmask8 good = _mm512_cmplt_epu64_mask(index, every);                      \
            const __m512i place = _mm512_add_epi64(_mm512_mul_epu32(index, steps), column);   \
            valid &= good;                                                                    \
            STORE((type *)to + i, GATHER(good, place, data));                                 \
            column = _mm512_add_epi64(column, next);                                          \
        }                                                                                     \
        return valid == 0xff &&                                                               \
               portable((type *)to + i, (const type *)data + i * along,                       \
                        (const index_type *)indices + i, n - i, size, stride, along);         \
    }
#define LOAD_NARROW(p) _mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)(p)))
#define LOAD_WIDE(p) _mm512_loadu_si512(p)
#define GATHER_4(mask, at, p) _mm512_mask_i64gather_epi32(_mm256_setzero_si256(), mask, at, p, 4)
#define GATHER_8(mask, at, p) _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), mask, at, p, 8)
#define STORE_4(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define STORE_8(p, v) _mm512_storeu_si512(p, v)
#define ROW_OF(bytes, how, type, index_type, LOAD)                                             \
    ROW_AVX512(row_##bytes##_##how##_avx512, row_##bytes##_##how##_portable, type, index_type, \
               LOAD, GATHER_##bytes, STORE_##bytes)
ROW_OF(4, narrow, uint32_t, int32_t, LOAD_NARROW)
ROW_OF(4, wide, uint32_t, int64_t, LOAD_WIDE)
ROW_OF(8, narrow, uint64_t, int32_t, LOAD_NARROW)
ROW_OF(8, wide, uint64_t, int64_t, LOAD_WIDE)
#else
#define row_4_narrow_avx512 row_4_narrow_portable
#define row_4_wide_avx512 row_4_wide_portable
#define row_8_narrow_avx512 row_8_narrow_portable
#define row_8_wide_avx512 row_8_wide_portable
#endif

index_row_function *index_row_of(uint32_t item, bool wide, cpu_level level)
{
    static index_row_function *const FUNCTIONS[2][2][2] = {
        {{row_4_narrow_portable, row_4_wide_portable},
         {row_8_narrow_portable, row_8_wide_portable}},
        {{row_4_narrow_avx512, row_4_wide_avx512}, {row_8_narrow_avx512, row_8_wide_avx512}}};
    return item == 4 || item == 8 ? FUNCTIONS[level >= CPU_AVX512][item == 8][wide] : NULL;
}

/* ---- Reductions ----------------------------------------------------------------------------- */

/* Integers wrap around. */
#define ADD_FLOATS(a, b) ((a) + (b))
#define MUL_FLOATS(a, b) ((a) * (b))
/* NaN wins; that comparison alone is a branch, which is predictable. */
#define MIN_FLOATS(a, b) ((b) != (b) ? (b) : (b) < (a) ? (b) : (a))
#define MAX_FLOATS(a, b) ((b) != (b) ? (b) : (b) > (a) ? (b) : (a))
#define ADD_INTS(a, b) (T)((UNSIGNED)(a) + (UNSIGNED)(b))
#define MUL_INTS(a, b) (T)((UNSIGNED)(a) * (UNSIGNED)(b))
#define MIN_INTS(a, b) ((a) < (b) ? (a) : (b))
#define MAX_INTS(a, b) ((a) > (b) ? (a) : (b))

#define T float
#define COMBINE ADD_FLOATS
#define NAME(x) add_f32_##x
#include "kernels/index_loops.inc"
#undef COMBINE
#undef NAME
#define COMBINE MUL_FLOATS
#define NAME(x) mul_f32_##x
#include "kernels/index_loops.inc"
#undef COMBINE
#undef NAME
#define COMBINE MIN_FLOATS
#define NAME(x) min_f32_##x
#include "kernels/index_loops.inc"
#undef COMBINE
#undef NAME
#define COMBINE MAX_FLOATS
#define NAME(x) max_f32_##x
#include "kernels/index_loops.inc"
#undef COMBINE
#undef NAME
#undef T

#define T int64_t
#define UNSIGNED uint64_t
#define COMBINE ADD_INTS
#define NAME(x) add_i64_##x
#include "kernels/index_loops.inc"
#undef COMBINE
#undef NAME
#define COMBINE MUL_INTS
#define NAME(x) mul_i64_##x
#include "kernels/index_loops.inc"
#undef COMBINE
#undef NAME
#define COMBINE MIN_INTS
#define NAME(x) min_i64_##x
#include "kernels/index_loops.inc"
#undef COMBINE
#undef NAME
#define COMBINE MAX_INTS
#define NAME(x) max_i64_##x
#include "kernels/index_loops.inc"
#undef COMBINE
#undef NAME
#undef T
#undef UNSIGNED

#define T int32_t
#define UNSIGNED uint32_t
#define COMBINE ADD_INTS
#define NAME(x) add_i32_##x
#include "kernels/index_loops.inc"
#undef COMBINE
#undef NAME
#define COMBINE MUL_INTS
#define NAME(x) mul_i32_##x
#include "kernels/index_loops.inc"
#undef COMBINE
#undef NAME
#define COMBINE MIN_INTS
#define NAME(x) min_i32_##x
#include "kernels/index_loops.inc"
#undef COMBINE
#undef NAME
#define COMBINE MAX_INTS
#define NAME(x) max_i32_##x
#include "kernels/index_loops.inc"

#define LOOPS(type)                                                   \
    {                                                                 \
        [INDEX_ADD] = {add_##type##_scatter, add_##type##_run, NULL}, \
        [INDEX_MUL] = {mul_##type##_scatter, mul_##type##_run, NULL}, \
        [INDEX_MIN] = {min_##type##_scatter, min_##type##_run, NULL}, \
        [INDEX_MAX] = {max_##type##_scatter, max_##type##_run, NULL}, \
    }
static const index_loops REDUCTIONS[INDEX_TYPES][INDEX_REDUCTIONS] = {
    [INDEX_F32] = LOOPS(f32), [INDEX_I64] = LOOPS(i64), [INDEX_I32] = LOOPS(i32)};

const index_loops *index_reduction_loops_of(index_type type, index_reduction reduction)
{
    return &REDUCTIONS[type][reduction];
}
