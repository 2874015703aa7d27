/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of bytes, exact in int32: the problem, and the layout of the workspace. */
#ifndef KERNELS_INT_MATMUL_H
#define KERNELS_INT_MATMUL_H

#include "kernels/extent.h"
#include "kernels/int_tile.h"
#include "kernels/kernel.h"

enum { INT_MATMUL_AXES = 6, INT_MATMUL_PARTS = 64 };

typedef enum int_matmul_kind {
    INT_MATMUL_TO_BYTES,
    INT_MATMUL_TO_INT32,
    INT_MATMUL_TO_FLOAT
} int_matmul_kind;

/* Indices of the operator's inputs. 0 means absent, because input 0 is always A. */
typedef struct int_matmul_places {
    uint8_t b, a_scale, a_zero, b_scale, b_zero, y_scale, y_zero, bias, sum;
} int_matmul_places;

/* Product [batch, m, n] of A [batch, m, k] and B [batch, k, n]. */
typedef struct int_matmul {
    int_matmul_places at;
    uint32_t level, kind, inputs;
    uint32_t a_signed, b_signed, a_float; /* a_float: the kernel quantises A */
    uint32_t b_constant, copies_a, sums_rows, turn_a, turn_b, relu;
    uint32_t a_zeros; /* number of zero points of A: 0, 1, or one for each row */
    uint32_t b_zeros, b_scales, bias_ints, first_phase;
    int_finish finish;
    double alpha;
    uint64_t m, n, k, groups; /* groups: number of groups of four elements along k */
    uint64_t batch, b_count;  /* number of products, and of different matrices B */
    uint32_t batch_rank;
    uint64_t batch_shape[INT_MATMUL_AXES], a_batch[INT_MATMUL_AXES], b_batch[INT_MATMUL_AXES];
    uint64_t panels, chunk, chunks; /* chunk: rows in a unit of work; chunks: units per panel */
    uint64_t b_bytes, b_stride;     /* bytes of one packed B without and with its column sums */
    /* Byte offsets into the workspace. */
    uint64_t at_b, at_a, at_rows, at_range;
} int_matmul;

bool int_matmul_describe(int_matmul *p, const kernel_problem *u);
/* Sets the members that depend on the processor level. @return bytes of workspace */
size_t int_matmul_plan(int_matmul *p, cpu_level level);
static inline uint64_t int_matmul_unit_count(const int_matmul *p)
{
    return p->batch * p->panels * p->chunks;
}
/* Packs panels [from, to) of one B, and the sums of their columns. */
void int_matmul_pack(const int_matmul *p, uint8_t *packed, const uint8_t *b, size_t from,
                     size_t to);
void int_matmul_run(const kernel_run *r);
/* Are all zero points of B known to be zero, for B as it is packed: uint8 minus 128? */
bool int_matmul_has_no_zeros(const int_matmul *p, const kernel_problem *u);
/* Refuses parameters from a plan file that contradict each other, and states which elements of the
 * tensors are touched. */
bool int_matmul_reach(kernel_extent *e, const kernel_claim *q, const int_matmul *p);

#endif
