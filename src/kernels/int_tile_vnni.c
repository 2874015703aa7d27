/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products of bytes, AVX-512 with the instruction for it (VNNI). */
#include "kernels/int_tile.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/target_avx512.h"

#define VEC __m512i
#define LANES 16
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define LOAD(p) _mm512_loadu_si512(p)
#define STORE(p, v) _mm512_storeu_si512(p, v)
#define SPREAD(p) _mm512_set1_epi32(*(const int_unaligned *)(p))
#define ZERO() _mm512_setzero_si512()

#include "kernels/int_finish_avx512.inc"
#define TARGET_LOOPS TARGET_AVX512
#include "kernels/int_floats.inc"

typedef int32_t int_unaligned __attribute__((aligned(1), may_alias));
#define A_PART __m512i
#define B_PART __m512i
#define SPLIT_A(x) (x)
#define SPLIT_B(x) (x)

/* Applies the epilogue to a row of a full tile in registers; the sums include the offsets. step: 1
 * if each column has its own scale, else 0. */
TARGET static inline __attribute__((always_inline)) void finish_row(const int_job *j, size_t row,
                                                                    const __m512i *acc,
                                                                    const __m512 *factor,
                                                                    const byte_limits *limits,
                                                                    __m512 more, size_t step)
{
    static const int32_t NONE[INT_MAX_COLUMNS] = {0};
    uint8_t *y = j->y + row * j->y_stride;
    __m512i v[4];
#pragma GCC unroll 3
    for (size_t i = 0; i < 3; i++)
        v[i] =
            j->small ? scale_small(acc[i], factor[i], more) : scale_sums(acc[i], factor[i], more);
    v[3] = _mm512_setzero_si512();
    store_bytes(y, 48, v, limits);
    if (__builtin_expect(is_any_close(v, 3), 0)) {
        const __m512i kept[4] = {v[0], v[1], v[2], v[3]};
        int32_t sums[48];
        for (size_t i = 0; i < 3; i++) _mm512_storeu_si512(sums + 16 * i, acc[i]);
        finish_close(y, sums, 48, kept, j->finish, NONE, j->scales + (step ? 0 : row), step);
    }
}

TARGET static inline __attribute__((always_inline)) void finish_tile_columns(const int_job *j,
                                                                             __m512i (*acc)[3],
                                                                             size_t rows)
{
    const byte_limits limits = find_limits(j->finish);
    const __m512 more = _mm512_set1_ps((float)(j->finish->zero * FIXED_ONE + FIXED_HALF));
    __m512 factor[3];
#pragma GCC unroll 3
    for (size_t i = 0; i < 3; i++)
        factor[i] = _mm512_mul_ps(_mm512_loadu_ps(j->factors + 16 * i), _mm512_set1_ps(FIXED_ONE));
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++) finish_row(j, r, acc[r], factor, &limits, more, 1);
}

TARGET static inline __attribute__((always_inline)) void finish_tile_rows(const int_job *j,
                                                                          __m512i (*acc)[3],
                                                                          size_t rows)
{
    const byte_limits limits = find_limits(j->finish);
    const __m512 more = _mm512_set1_ps((float)(j->finish->zero * FIXED_ONE + FIXED_HALF));
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++) {
        const __m512 factor = _mm512_set1_ps((float)j->scales[r] * FIXED_ONE);
        finish_row(j, r, acc[r], (__m512[]){factor, factor, factor}, &limits, more, 0);
    }
}

#define FINISH(j, acc, rows) finish_tile_columns(j, acc, rows)
#define FIRST(j, i, v) ((j)->finish ? _mm512_loadu_si512((j)->offsets + 16 * (v)) : ZERO())
#define DOT(sum, a, b) _mm512_dpbusd_epi32(sum, a, b)
#define NAME(rows, vectors) int_tile_rows_##rows##_##vectors
#include "kernels/int_tile_set.inc"
#include "kernels/int_tile_seven.inc"
#define NV 1
#define RUN int_tile_four_1
#include "kernels/int_tile_four.inc"
#define NV 2
#define RUN int_tile_four_2
#include "kernels/int_tile_four.inc"
#define NV 3
#define RUN int_tile_four_3
#include "kernels/int_tile_four.inc"
#undef DOT
#undef NAME
#undef FINISH
#undef FIRST

#define FINISH(j, acc, rows) finish_tile_rows(j, acc, rows)
#define FIRST(j, i, v) ((j)->finish ? _mm512_set1_epi32((j)->offsets[i]) : ZERO())
#define DOT(sum, a, b) _mm512_dpbusd_epi32(sum, b, a)
#define NAME(rows, vectors) int_tile_signed_##rows##_##vectors
#include "kernels/int_tile_set.inc"

const int_tile int_tile_vnni = {
    .rows = 8,
    .vectors = 3,
    .lanes = 16,
    .fuses = true,
    .run = {{{int_tile_rows_1_1, int_tile_rows_1_2, int_tile_rows_1_3},
             {int_tile_rows_2_1, int_tile_rows_2_2, int_tile_rows_2_3},
             {int_tile_rows_4_1, int_tile_rows_4_2, int_tile_rows_4_3},
             {int_tile_rows_8_1, int_tile_rows_8_2, int_tile_rows_8_3}},
            {{int_tile_signed_1_1, int_tile_signed_1_2, int_tile_signed_1_3},
             {int_tile_signed_2_1, int_tile_signed_2_2, int_tile_signed_2_3},
             {int_tile_signed_4_1, int_tile_signed_4_2, int_tile_signed_4_3},
             {int_tile_signed_8_1, int_tile_signed_8_2, int_tile_signed_8_3}}},
    .seven = {int_tile_seven_1, int_tile_seven_2, int_tile_seven_3},
    .four = {int_tile_four_1, int_tile_four_2, int_tile_four_3},
    .finish_rows = int_finish_rows,
    .finish_columns = int_finish_columns,
    .row_floats = int_row_floats,
    .column_floats = int_column_floats,
    .dynamic_floats = int_dynamic_floats,
};
#endif
