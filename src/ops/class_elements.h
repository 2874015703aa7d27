/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by GatherElements and ScatterElements: iteration over an index tensor whose entries
 * replace one coordinate. */
#ifndef OPS_CLASS_ELEMENTS_H
#define OPS_CLASS_ELEMENTS_H

#include "ops/move.h"
#include "ops/rule.h"

/* Checks that input 1 is an index tensor of the rank of input 0 and attribute `axis` is in
 * range. */
pgy_status elements_check(const op_infer *c, pgy_error *err) PGY_MUST_CHECK;

typedef struct elements_walk {
    size_t count, rank, axis, size; /* of the indices; size: of the data along the axis */
    const int64_t *indices;
    size_t position[PGY_MAX_RANK], dims[PGY_MAX_RANK]; /* in the index tensor */
    ptrdiff_t strides[PGY_MAX_RANK];                   /* of the data */
    size_t next, base; /* base: offset of the position without the axis */
} elements_walk;
pgy_status elements_begin(elements_walk *w, const op_eval *c, const pgy_tensor *data,
                          pgy_error *err) PGY_MUST_CHECK;
/* Offset in the data of the next index, in row-major order of the index tensor. */
pgy_status elements_next(elements_walk *w, const op_eval *c, size_t *at,
                         pgy_error *err) PGY_MUST_CHECK;

/* How an update combines with the present element. */
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
