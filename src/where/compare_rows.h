/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the tensors of a segment, and runs its nodes alone where that can tell something. */
#ifndef WHERE_COMPARE_ROWS_H
#define WHERE_COMPARE_ROWS_H

#include "where/walk.h"

/* The tensors of the current segment. */
typedef struct where_segment {
    size_t end; /* the node of side B behind the segment */
    where_row **rows;
    size_t count;
    bool shared; /* one session runs both sides */
    where_source alone;
    where_part alone_part;
} where_segment;

bool where_is_one_runner(const pgy_where_side *a, const pgy_where_side *b);
pgy_status where_compare_rows(where_search *s, where_segment *g, const pgy_tensor_map *va,
                              const pgy_tensor_map *vb, size_t sample,
                              pgy_error *err) PGY_MUST_CHECK;
/* Fills the errors that nodes make on the reference's values `va`. */
pgy_status where_own_errors(where_search *s, where_segment *g, const pgy_tensor_map *va,
                            const pgy_tensor_map *vb, size_t sample, pgy_error *err) PGY_MUST_CHECK;

#endif
