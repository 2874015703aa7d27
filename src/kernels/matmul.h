/* SPDX-License-Identifier: Apache-2.0 */
/* The float32 matrix product for all kernel families that contain one: the problem, packing and the
 * blocked loop. */
#ifndef KERNELS_MATMUL_H
#define KERNELS_MATMUL_H

#include "kernels/extent.h"
#include "kernels/matmul_tile.h"
#include "kernels/packing.h"

enum { MATMUL_MAX_BATCH_RANK = 8 };

/* The epilogue of a tile of C: alpha * sum + beta * bias + residual, then an activation. */
typedef enum matmul_bias {
    MATMUL_NO_BIAS,
    MATMUL_BIAS_SCALAR,
    MATMUL_BIAS_COLUMN, /* one number for each column of C */
    MATMUL_BIAS_ROW,    /* one number for each row of C */
    MATMUL_BIAS_FULL    /* a matrix with the shape of C */
} matmul_bias;

typedef enum matmul_activation {
    MATMUL_NO_ACTIVATION,
    MATMUL_RELU,
    MATMUL_SIGMOID,
    MATMUL_TANH,
    MATMUL_GELU,      /* with erf */
    MATMUL_FAST_GELU, /* with tanh */
    MATMUL_SILU
} matmul_activation;

/* C[batch, m, n] = A[batch, m, k] * B[batch, k, n]. Strides in elements. */
typedef struct matmul_shape {
    uint64_t m, n, k;
    uint64_t a_row, a_column, b_row, b_column; /* strides */
    uint64_t batch;                            /* number of products */
    uint32_t batch_rank;
    uint64_t batch_shape[MATMUL_MAX_BATCH_RANK];
    /* Strides along the batch axes; 0: the matrix is the same along that axis. */
    uint64_t a_batch[MATMUL_MAX_BATCH_RANK], b_batch[MATMUL_MAX_BATCH_RANK];
    float alpha, beta;
    uint32_t bias, activation;
} matmul_shape;

/* Reads a MatMul, a Gemm or one of their fusions in float32. False: these kernels do not compute
 * it. */
bool matmul_describe(matmul_shape *s, const kernel_problem *u);
/* Are all strides of the leading axes 0? */
bool matmul_is_shared(const uint64_t *strides, uint32_t batch_rank);
/* The set of micro-kernels for a processor level. */
const matmul_tile *matmul_tile_of(cpu_level level);
/* Floats that B of one product takes when packed into panels. */
size_t matmul_packed_count(const matmul_shape *s, const matmul_tile *t);
/* Packs panels [from, to) of one B. */
void matmul_pack(float *packed, const float *b, const matmul_shape *s, const matmul_tile *t,
                 size_t from, size_t to);
/* Packs the whole of a B of float32 that begins `offset` bytes into the constant input 1. That may
 * lie at any address, as in the file of a model, or elsewhere: some of its lines are copied at a
 * time, and u->passed can give back their pages. `narrow`, if it is not NULL, makes 16-bit floats
 * of the packed ones. False: out of memory, or the elements cannot be had. */
typedef void matmul_narrow(uint16_t *to, const float *from, size_t count);
bool matmul_pack_bands(void *packed, size_t offset, const matmul_shape *s, const matmul_tile *t,
                       matmul_narrow *narrow, const kernel_problem *u) PGY_MUST_CHECK;
/* Packs the constant input 1, the matrices B of the first `products` products one after the other,
 * by matmul_pack_bands. */
bool matmul_pack_products(void *to, const kernel_problem *u, const matmul_shape *s,
                          const matmul_tile *t, matmul_narrow *narrow,
                          size_t products) PGY_MUST_CHECK;
/* Form and numbers of packed B (packing.h): of one B that all products share, or of all. */
kernel_packing matmul_packed_form(const matmul_shape *s, const matmul_tile *t, bool b_shared);
size_t matmul_panel_count(const matmul_shape *s, const matmul_tile *t);
/* Index of the first element of product i in A or B, to which `strides` belong. */
size_t matmul_offset(const matmul_shape *s, const uint64_t *strides, size_t i);

/* The most parts that a product is cut into, less if each part copies rows of A, and the number that
 * a kernel offers for it. */
enum { MATMUL_PARTS = 256, MATMUL_COPIED_PARTS = 64 };
uint32_t matmul_most_parts(const matmul_shape *s, const matmul_tile *t);
/* A product is cut into units, each a run of consecutive tiles. For several parts the number of
 * units is a multiple of `parts`, if there are enough tiles, and all units are of about the same
 * size. Results do not depend on the cut. */
size_t matmul_unit_count(const matmul_shape *s, const matmul_tile *t, uint32_t parts);
/* Floats of scratch that a unit needs. */
size_t matmul_scratch_count(const matmul_shape *s, const matmul_tile *t);
/* As matmul_scratch_count, for a B of 16-bit floats or one that is unpacked. */
size_t matmul_half_scratch_count(const matmul_shape *s, const matmul_tile *t);
/* Refuses an invalid product from a plan file. Else states which bytes of A, bias, residual and C
 * the product touches; `c` is the operand index of C. */
bool matmul_extent(kernel_extent *e, const matmul_shape *s, uint32_t has_residual, uint32_t c);
/* Number of elements of an unpacked B up to the last one that the products read. */
uint64_t matmul_b_reach(const matmul_shape *s);
/* The operands of a product; bias and residual may be NULL. */
typedef struct matmul_data {
    const float *a;
    const float *packed;  /* float32 panels of all matrices B in order; NULL: use `half` */
    const uint16_t *half; /* the panels in 16-bit floats; NULL: use `unpack` */
    /* Writes rows [p, p + depth) of a panel; p is a multiple of 1024. */
    void (*unpack)(float *to, const void *user, size_t panel, size_t p, size_t depth);
    const void *user;
    void (*widen)(float *to, const uint16_t *from, size_t count);
    const matmul_half_tile *half_tile; /* micro-kernels for `half`; NULL: `widen` it first */
    bool b_shared;                     /* all products share one B */
    const float *bias;
    const float *residual; /* a matrix with the shape of C */
    float *c;
} matmul_data;
/* Completes a tile of C from its sums: multiplies by alpha (1 if the sums hold it already), adds
 * bias and residual, activates. */
void matmul_finish(const matmul_shape *s, const matmul_tile *t, const matmul_data *d, float alpha,
                   size_t row, size_t rows, size_t column, size_t columns);
/* Computes a unit of the cut for `parts`. */
void matmul_unit(const matmul_shape *s, const matmul_tile *t, uint32_t parts, size_t unit,
                 const matmul_data *d, float *scratch);

#endif
