/* SPDX-License-Identifier: Apache-2.0 */
/* Products with packed weights of a few bits (kernels/nbits.h), for all kernel families that
 * contain one: the weights of an operator, packing, and the loop. */
#ifndef KERNELS_NBITS_MATMUL_H
#define KERNELS_NBITS_MATMUL_H

#include "kernels/extent.h"
#include "kernels/matmul.h"
#include "kernels/nbits.h"

/* Quantised weights as an operator has them: code (n, k) is element n * row + k of the packed
 * codes, its scale element n * scale_row + block of the scales. */
typedef struct nbits_weights {
    uint32_t bits;
    bool high_first; /* the first code of a byte is in its high bits */
    bool flat;       /* blocks go on over the ends of rows */
    uint64_t n, k, block;
    uint64_t row, scale_row; /* codes and blocks in a row */
    const uint8_t *codes;
    const float *scales;
    const uint8_t *zeros; /* packed like codes; NULL: none */
    uint64_t zero_row;    /* packed zero points in a row */
    const float *float_zeros;
    const int32_t *groups; /* the block of each k; NULL: k / block */
    float table[NBITS_CODES];
} nbits_weights;

/* A product C[m, n] = A[m, k] * weights. Without pointers, so that plans can store it. */
typedef struct nbits_matmul {
    uint32_t level, bits;
    uint32_t a_bytes;   /* A is rounded to bytes, block by block */
    uint32_t copies;    /* A is copied: it is padded or put into another order */
    uint32_t ordered;   /* the packed data end in the index of each k of A */
    uint32_t half;      /* scales and zero points are packed as float16 */
    uint32_t has_zeros; /* zero points are packed */
    uint32_t has_bias;
    uint32_t digits; /* one row of A is multiplied digit by digit */
    uint32_t unused;
    uint64_t m, n, k;
    uint64_t block, blocks; /* of the packed weights: a power of two, and number along the sum */
    uint64_t at_sums, at_factors, at_offsets; /* in the workspace, behind A */
    uint64_t at_strange; /* marks of blocks without digits, whose floats are multiplied */
    float table[NBITS_CODES];
} nbits_matmul;

/* Chooses blocks and formats for `w`, whose data need not be given except for `groups`. Sets what
 * does not depend on m. */
void nbits_matmul_start(nbits_matmul *p, const nbits_weights *w, cpu_level level, bool a_bytes);
/* Sets the rows of A and the workspace. @return bytes of workspace, a multiple of 64; for several
 * rows at most so many times those of one */
uint64_t nbits_matmul_rows(nbits_matmul *p, uint64_t m);
/* Counts the packed blocks and bytes. `narrow`: looks at the scales, and packs them as float16 if
 * that keeps them all. */
pgy_status nbits_matmul_measure(nbits_matmul *p, const nbits_weights *w, bool narrow,
                                uint64_t *bytes, pgy_error *err);
/* `to` has the bytes of nbits_matmul_measure. */
pgy_status nbits_matmul_pack(const nbits_matmul *p, char *to, const nbits_weights *w,
                             pgy_error *err);
uint64_t nbits_matmul_packed_bytes(const nbits_matmul *p);
uint64_t nbits_matmul_scratch_bytes(const nbits_matmul *p);
/* Is a first phase needed, which reads A into the workspace? */
bool nbits_matmul_reads(const nbits_matmul *p);
uint64_t nbits_matmul_units(const nbits_matmul *p);
/* Refuses what nbits_matmul_start and _rows never make. */
bool nbits_matmul_extent(kernel_extent *e, const nbits_matmul *p);

typedef struct nbits_operands {
    const float *a;
    const char *packed;
    const float *bias; /* NULL: none */
    float *c;
    char *workspace;
    float *scratch;
} nbits_operands;

void nbits_matmul_read(const nbits_matmul *p, const nbits_operands *o, size_t part, size_t parts);
void nbits_matmul_unit(const nbits_matmul *p, const nbits_operands *o, size_t unit);

#endif
