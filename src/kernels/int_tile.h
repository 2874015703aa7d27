/* SPDX-License-Identifier: Apache-2.0 */
/* Micro-kernels for sums of products of bytes, exact in int32, one set for each instruction set.
 *
 * Bytes go in groups of four along the sum. One operand is unsigned, the other signed. A tile is
 * `rows` rows of A, each group of which is spread over a vector, times vectors of B, which hold a
 * group for each column. Both are read in steps: `groups` of them behind one another at each tap.
 */
#ifndef KERNELS_INT_TILE_H
#define KERNELS_INT_TILE_H

#include <math.h>
#include <stdbool.h>

#include "base/system.h"

enum { INT_GROUP = 4, INT_MAX_ROWS = 8, INT_MAX_COLUMNS = 48 };

/* From sums to bytes: round((sum + offset) * scale) + zero, halves to even, within [low, high]; as
 * if it were computed in float64. */
typedef struct int_finish {
    int32_t zero, low, high;
} int_finish;

/* Are these of a type of 8 bits? Those of a plan may be anything. */
static inline bool int_finish_is_valid(const int_finish *f)
{
    return f->zero >= -128 && f->zero <= 255 && f->low >= -128 && f->low <= 255 &&
           f->high >= -128 && f->high <= 255;
}

/* Strides in bytes. C has INT_MAX_COLUMNS elements in a row. */
typedef struct int_job {
    const uint8_t *a, *b;
    const uint64_t *a_taps, *b_taps; /* where each tap begins; NULL: behind the one before */
    size_t tap_count, groups;
    size_t a_row, a_step, b_step;
    int32_t *c;
    /* Not NULL: a full tile of a set that `fuses` ends at once, as by finish_rows. */
    const int_finish *finish;
    uint8_t *y;
    size_t y_stride;
    const int32_t *offsets;
    const double *scales;
    bool small; /* all that the sums can be, scaled, is less than 2^14 */
} int_job;

typedef void (*int_tile_function)(const int_job *j);

/* From sums to floats, of a row: (sum + offset) * scale + shift, plus `more` where it is not NULL.
 */
typedef struct int_floats {
    int32_t offset;
    double scale;
    float shift;
    const float *more;
    bool relu;
} int_floats;

typedef struct int_tile {
    size_t rows, vectors, lanes;
    bool fuses;
    /* [A is signed, B unsigned][rows 1, 2, 4, 8][vectors - 1]; NULL beyond what the set has */
    int_tile_function run[2][4][3];
    /* Rows of `n` sums at most, INT_MAX_COLUMNS apart, to rows `stride` bytes apart; an offset and
     * a scale for each row. */
    void (*finish_rows)(uint8_t *y, size_t stride, const int32_t *sums, size_t rows, size_t n,
                        const int_finish *f, const int32_t *offsets, const double *scales);
    /* One row; an offset and a scale for each column, which is there in float32 too. */
    void (*finish_columns)(uint8_t *y, const int32_t *sums, size_t n, const int_finish *f,
                           const int32_t *offsets, const double *scales, const float *factors);
    void (*row_floats)(float *y, const int32_t *sums, size_t n, const int_floats *f);
    /* (sum + offset) * scale + bias of each column, rounded once; bias may be NULL. */
    void (*column_floats)(float *y, const int32_t *sums, size_t n, const int32_t *offsets,
                          const double *scales, const float *bias);
} int_tile;

extern const int_tile int_tile_portable, int_tile_avx2, int_tile_avx512, int_tile_vnni;

/* The set for a level; with the processor's instructions for such sums, where it has them. */
const int_tile *int_tile_of(cpu_level level);
/* The largest number of rows that is at most `rows` and has micro-kernels; its index in *kind. */
size_t int_tile_rows(const int_tile *t, size_t rows, size_t *kind);

/* One sum, offset included, by the definition. */
static inline int32_t int_finish_exact(int32_t sum, double scale, const int_finish *f)
{
    const double x = nearbyint((double)sum * scale) + (double)f->zero;
    if (!(x > (double)f->low)) return f->low;
    return x < (double)f->high ? (int32_t)x : f->high;
}

#endif
