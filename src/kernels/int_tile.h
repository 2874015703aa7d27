/* SPDX-License-Identifier: Apache-2.0 */
/* Micro-kernels for sums of products of bytes, exact in int32, one set for each instruction set.
 *
 * Both operands store groups of four bytes along the sum. One operand is unsigned, the other
 * signed. A tile multiplies `rows` rows of A, each group broadcast to a vector, by vectors of B,
 * which hold one group for each column. At each tap it reads `groups` consecutive steps of both.
 */
#ifndef KERNELS_INT_TILE_H
#define KERNELS_INT_TILE_H

#include <math.h>
#include <stdbool.h>

#include "base/system.h"

enum { INT_GROUP = 4, INT_MAX_ROWS = 8, INT_MAX_COLUMNS = 48 };

/* Turns sums into bytes: round((sum + offset) * scale) + zero, halves to even, clamped to [low,
 * high]. Results are as if computed in float64. */
typedef struct int_finish {
    int32_t zero, low, high;
} int_finish;

/* Do all members fit an 8-bit type? Members read from a plan file can have any value. */
static inline bool int_finish_is_valid(const int_finish *f)
{
    return f->zero >= -128 && f->zero <= 255 && f->low >= -128 && f->low <= 255 &&
           f->high >= -128 && f->high <= 255;
}

/* The operands of one tile. Strides count bytes. A row of C has INT_MAX_COLUMNS elements. */
typedef struct int_job {
    const uint8_t *a, *b;
    const uint64_t *a_taps, *b_taps; /* byte offset of each tap; NULL: taps are consecutive */
    size_t tap_count, groups;
    size_t a_row, a_step, b_step;
    int32_t *c;
    /* If not NULL, the tile applies the epilogue itself and stores bytes to y: that of finish_rows
     * if A is signed, else of finish_columns. Allowed only for full tiles of a set that `fuses`. */
    const int_finish *finish;
    uint8_t *y;
    size_t y_stride;
    const int32_t *offsets;
    const double *scales;
    const float *factors; /* of finish_columns */
    bool small;           /* every sum that can occur, times its scale, is below 2^14 */
} int_job;

typedef void (*int_tile_function)(const int_job *j);
/* One row of A, consecutive taps, and four panels of B, `apart` bytes from each other; their sums
 * are `c_apart` elements apart. */
typedef void (*int_four_function)(const int_job *j, size_t apart, size_t c_apart);

/* Turns a row of sums into floats: (sum + offset) * scale + shift, plus `more` unless it is
 * NULL. */
typedef struct int_floats {
    int32_t offset;
    double scale;
    float shift;
    const float *more;
    bool relu;
} int_floats;

/* Sums of rows of A that were quantised at run time, and what makes floats of them: y = (sum - zero
 * point of A * shift - sum of the row * zero point of B) * scale of A * scale of B + more, in
 * float32. Rows are so many elements apart; y may be `more`. */
typedef struct int_dynamic {
    const int32_t *sums;
    float *y;
    const float *more;
    size_t sums_row, y_row, more_row;
    int32_t zero; /* of A, all rows */
    float scale;
    const int32_t *shifts; /* of each column: the sum of B minus k times its zero point */
    const float *scales;   /* of B */
    const int32_t *zeros;  /* of B, as it is packed; NULL: all are 0 */
    const int32_t *row_sums;
} int_dynamic;

typedef struct int_tile {
    size_t rows, vectors, lanes;
    bool fuses;
    /* Indices: 1 if A is signed and B unsigned, else 0; 0 to 3 for 1, 2, 4, 8 rows; vectors - 1.
     * NULL where the set has no tile. */
    int_tile_function run[2][4][3];
    int_tile_function seven[3]; /* seven rows of an unsigned A; index: vectors - 1; NULL as above */
    int_four_function four[3];  /* of an unsigned A; index: vectors - 1 */
    /* Finishes rows of up to `n` sums, INT_MAX_COLUMNS apart, into rows `stride` bytes apart. Each
     * row has an offset and a scale. */
    void (*finish_rows)(uint8_t *y, size_t stride, const int32_t *sums, size_t rows, size_t n,
                        const int_finish *f, const int32_t *offsets, const double *scales);
    /* As finish_rows, but each column has its own offset and scale; `factors` are the scales in
     * float32. */
    void (*finish_columns)(uint8_t *y, size_t stride, const int32_t *sums, size_t rows, size_t n,
                           const int_finish *f, const int32_t *offsets, const double *scales,
                           const float *factors);
    void (*row_floats)(float *y, const int32_t *sums, size_t n, const int_floats *f);
    /* (sum + offset) * scale + bias of each column, rounded once; bias may be NULL. */
    void (*column_floats)(float *y, const int32_t *sums, size_t n, const int32_t *offsets,
                          const double *scales, const float *bias);
    void (*dynamic_floats)(const int_dynamic *d, size_t rows, size_t n); /* n: whole vectors */
} int_tile;

extern const int_tile int_tile_portable, int_tile_avx2, int_tile_avx_vnni, int_tile_avx512,
    int_tile_vnni;

/* The set for a level; one with VNNI if the processor has those instructions. */
const int_tile *int_tile_of(cpu_level level);
/* The largest number of rows, at most `rows`, that has micro-kernels; *kind is its index in
 * `run`. */
size_t int_tile_rows(const int_tile *t, size_t rows, size_t *kind);

/* Turns one sum, to which its offset was added, into a byte by the definition. */
static inline int32_t int_finish_exact(int32_t sum, double scale, const int_finish *f)
{
    const double x = nearbyint((double)sum * scale) + (double)f->zero;
    if (!(x > (double)f->low)) return f->low;
    return x < (double)f->high ? (int32_t)x : f->high;
}

#endif
