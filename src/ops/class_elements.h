/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by GatherElements and ScatterElements: iteration over an index tensor. Each entry replaces
 * one coordinate of its own position to give a position in the data. */
#ifndef OPS_CLASS_ELEMENTS_H
#define OPS_CLASS_ELEMENTS_H

#include "ops/move.h"
#include "ops/rule.h"

/* Checks that input 1 is an index tensor of the rank of input 0 and attribute `axis` is in
 * range. */
pgy_status elements_check(const op_infer *c, pgy_error *err) PGY_MUST_CHECK;

typedef struct elements_walk {
    size_t count, rank, axis,
        size; /* count and rank of the index tensor; size of the data along `axis` */
    const int64_t *indices;
    /* current position in the index tensor, and its shape */
    size_t position[PGY_MAX_RANK], dims[PGY_MAX_RANK];
    ptrdiff_t strides[PGY_MAX_RANK]; /* strides of the data, in elements */
    size_t next, base; /* next: number of the next index; base: offset in the data of the current
                          position with coordinate 0 on `axis` */
} elements_walk;
pgy_status elements_begin(elements_walk *w, const op_eval *c, const pgy_tensor *data,
                          pgy_error *err) PGY_MUST_CHECK;
/* Offset in the data of the next index, in row-major order of the index tensor. */
pgy_status elements_next(elements_walk *w, const op_eval *c, size_t *at,
                         pgy_error *err) PGY_MUST_CHECK;

/* How an update is combined with the element that it meets. */
typedef enum scatter_reduction {
    SCATTER_NONE,
    SCATTER_ADD,
    SCATTER_MUL,
    SCATTER_MIN,
    SCATTER_MAX
} scatter_reduction;
pgy_status scatter_reduction_of(scatter_reduction *out, const op_node *n,
                                pgy_error *err) PGY_MUST_CHECK;
/* to[i] = reduce(to[i], from[i]) for elements of a storage type. PGY_E_TYPE: strings and complex
 * numbers allow SCATTER_NONE only. */
pgy_status scatter_apply(const op_node *n, pgy_dtype storage, scatter_reduction reduction, void *to,
                         const void *from, size_t count, pgy_error *err) PGY_MUST_CHECK;

#endif
