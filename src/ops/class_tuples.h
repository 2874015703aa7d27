/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by GatherND and ScatterND: the last axis of the indices holds coordinates into the data.
 */
#ifndef OPS_CLASS_TUPLES_H
#define OPS_CLASS_TUPLES_H

#include "ops/rule.h"

/* Gives the length of the index tuples, which must be at least `least`: ScatterND, but not
 * GatherND, defines tuples of no coordinates, which select all data. False: unknown. */
bool tuples_length(const op_infer *c, size_t batch_dims, int64_t least, int64_t *out,
                   pgy_status *st, pgy_error *err);

typedef struct tuples {
    const int64_t *indices;
    size_t count, length;  /* number of tuples, and of coordinates in each */
    size_t batches;        /* number of batches; each has count / batches tuples */
    const int64_t *dims;   /* the dimensions that the coordinates index */
    size_t block;          /* number of data elements that one tuple selects */
    size_t batch_elements; /* number of data elements in one batch */
} tuples;
pgy_status tuples_begin(tuples *t, const op_eval *c, const pgy_tensor *data, size_t batch_dims,
                        pgy_error *err) PGY_MUST_CHECK;
/* Element offset in the data of tuple i. */
pgy_status tuples_offset(const tuples *t, const op_eval *c, size_t i, size_t *at,
                         pgy_error *err) PGY_MUST_CHECK;

#endif
