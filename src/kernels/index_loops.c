/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of index_moves.h, made from one body for each type and reduction. */
#include <string.h>

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

/* Turns indices into offsets, which are 0 where they are out of range; false: some are. */
#define OFFSETS(name, target, index_type)                                                   \
    target static bool name(uint32_t *restrict offsets, const index_type *restrict indices, \
                            size_t n, uint64_t size, uint32_t stride, uint32_t first,       \
                            uint32_t along)                                                 \
    {                                                                                       \
        uint64_t invalid = 0;                                                               \
        for (uint32_t i = 0; i < n; i++) {                                                  \
            const int64_t given = indices[i];                                               \
            const uint64_t index = (uint64_t)given + (given < 0 ? size : 0);                \
            const uint64_t wrong = index >= size ? UINT64_MAX : 0;                          \
            invalid |= wrong;                                                               \
            offsets[i] = (uint32_t)(index & ~wrong) * stride + (first + i) * along;         \
        }                                                                                   \
        return !invalid;                                                                    \
    }
OFFSETS(offsets_wide_portable, , int64_t)
OFFSETS(offsets_narrow_portable, , int32_t)
#if defined(__x86_64__)
OFFSETS(offsets_wide_avx512, TARGET_AVX512, int64_t)
OFFSETS(offsets_narrow_avx512, TARGET_AVX512, int32_t)
#else
#define offsets_wide_avx512 offsets_wide_portable
#define offsets_narrow_avx512 offsets_narrow_portable
#endif

enum { PIECE = 512 };

#define ROWS(type, index_type, how, level)                                                     \
    static bool row_##type##_##how##_##level(void *to, const void *data, const void *indices,  \
                                             size_t n, uint64_t size, uint64_t stride,         \
                                             uint64_t along)                                   \
    {                                                                                          \
        uint32_t offsets[PIECE];                                                               \
        const type *x = data;                                                                  \
        for (size_t i = 0; i < n; i += PIECE) {                                                \
            const size_t some = n - i < PIECE ? n - i : PIECE;                                 \
            if (!offsets_##how##_##level(offsets, (const index_type *)indices + i, some, size, \
                                         (uint32_t)stride, (uint32_t)i, (uint32_t)along))      \
                return false;                                                                  \
            for (size_t k = 0; k < some; k++) ((type *)to)[i + k] = x[offsets[k]];             \
        }                                                                                      \
        return true;                                                                           \
    }
#define ALL_ROWS(level)                    \
    ROWS(uint32_t, int64_t, wide, level)   \
    ROWS(uint32_t, int32_t, narrow, level) \
    ROWS(uint64_t, int64_t, wide, level)   \
    ROWS(uint64_t, int32_t, narrow, level)
ALL_ROWS(portable)
ALL_ROWS(avx512)

index_row_function *index_row_of(uint32_t item, bool wide, cpu_level level)
{
    static index_row_function *const FUNCTIONS[2][2][2] = {
        {{row_uint32_t_narrow_portable, row_uint32_t_wide_portable},
         {row_uint64_t_narrow_portable, row_uint64_t_wide_portable}},
        {{row_uint32_t_narrow_avx512, row_uint32_t_wide_avx512},
         {row_uint64_t_narrow_avx512, row_uint64_t_wide_avx512}}};
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
