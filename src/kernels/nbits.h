/* SPDX-License-Identifier: Apache-2.0 */
/* Products with weights of 2, 4 or 8 bits that have a scale, and may have a zero point, for each
 * block along the sum: layout of the packed weights, and micro-kernels for each instruction set.
 *
 * Packed weights are panels of as many columns as the micro-kernels of kernels/matmul_tile.h have.
 * A panel is a row of records, one for each block: the codes, then the scales of all columns, then
 * their zero points. Codes of one column are kept in words of 32 bits, low bits first; the words of
 * all columns for the same 32 / bits steps of the sum lie side by side. So a code becomes a lane of
 * a vector by a shift alone.
 *
 * A zero point is stored minus the middle code, which is the usual zero point.
 */
#ifndef KERNELS_NBITS_H
#define KERNELS_NBITS_H

#include "kernels/matmul_tile.h"
#include "kernels/unroll.h"

enum {
    NBITS_ROWS = 4,   /* rows of A that share one pass over packed weights */
    NBITS_DIGITS = 3, /* bytes that make a float of A */
    NBITS_KINDS = 3 /* 2, 4 and 8 bits */,
    NBITS_MAX_BLOCK = 256,
    NBITS_AHEAD = 8192, /* bytes of packed weights between a prefetch and its use */
    NBITS_CODES = 16    /* of a table; codes of 2 bits are repeated in it */
};

/* One panel and up to NBITS_ROWS rows of A. Strides count elements. */
typedef struct nbits_job {
    const char *b;
    size_t blocks, words; /* words: 32-bit words of one column in a block */
    bool half;            /* scales and zero points are float16, else float32 */
    bool has_zeros;
    const float *table; /* values of the codes of 2 and 4 bits */
    /* A in float32; `sums` has the sum of each block, and is read only with zero points. */
    const float *a, *sums;
    size_t a_row, block_row; /* block_row: stride of `sums`, `factors` and `offsets` */
    /* A as bytes or digits: scale and sum of each block; `offsets` are the sums, one for each
     * digit, times minus the middle code. */
    const int8_t *bytes;
    const float *factors;
    const int32_t *offsets;
    float *c;
    size_t c_row;
} nbits_job;

typedef void (*nbits_function)(const nbits_job *j);
/* Micro-kernels by kind (0, 1, 2 for 2, 4, 8 bits) and number of rows, from 1. */
typedef nbits_function nbits_rows[NBITS_KINDS][NBITS_ROWS + 1];

/* Loops for one instruction set. */
typedef struct nbits_tile {
    nbits_rows floats, bytes;
    /* Writes the weights of j->blocks blocks, beginning at j->b, as a float panel of
     * kernels/matmul_tile.h. */
    void (*unpack[NBITS_KINDS])(float *to, const nbits_job *j);
    /* Rounds a block of `count` floats to bytes and puts them into the order that `bytes` reads.
     * *sum: of the bytes. @return the scale; NaN if a float is not finite */
    float (*quantise)(int8_t *to, const float *x, size_t count, size_t bits, int32_t *sum);
    /* Micro-kernels for one row of A in digits, by kind. */
    nbits_function digits[NBITS_KINDS];
    /* Rounds a block of `count` floats to multiples of a step, about 2^-23 of the largest
     * magnitude, and writes each as NBITS_DIGITS signed digits of base 256, the highest first, in
     * the order that `digits` reads. *step: the step. sums: of each digit. False, with zeros: the
     * floats are too uneven for one step, tiny, or not finite. */
    bool (*split)(int8_t *to, const float *x, size_t count, size_t bits, float *step,
                  int32_t *sums);
} nbits_tile;

extern const nbits_tile nbits_portable, nbits_avx2, nbits_avx512;
/* The same bits as nbits_avx512 and nbits_avx2, with the instruction for sums of bytes. */
extern const nbits_rows nbits_vnni, nbits_avx_vnni;
extern const nbits_function nbits_vnni_digits[NBITS_KINDS], nbits_avx_vnni_digits[NBITS_KINDS];

const nbits_tile *nbits_tile_of(cpu_level level);
nbits_function nbits_bytes_of(cpu_level level, size_t kind, size_t rows);
nbits_function nbits_digits_of(cpu_level level, size_t kind);

static inline size_t nbits_kind(size_t bits)
{
    return bits == 2 ? 0 : bits == 4 ? 1 : 2;
}

#endif
