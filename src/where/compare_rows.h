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
    where_row **sliced; /* tensors that are compared alone, since all together do not fit */
    size_t sliced_count;
    bool shared; /* one session runs both sides */
    where_source alone;
    where_part alone_part;
} where_segment;

pgy_status where_compare_rows(where_search *s, where_segment *g, const pgy_tensor_map *va,
                              const pgy_tensor_map *vb, size_t sample,
                              pgy_error *err) PGY_MUST_CHECK;
/* Compares two tensors, or slices of them. *why: they cannot be compared; else NULL */
pgy_status where_judge_row(where_verdict *out, const char **why, const where_search *s,
                           const where_row *r, bool own, pgy_tensor *a, pgy_tensor *b,
                           pgy_error *err) PGY_MUST_CHECK;
/* Puts the verdict on one sample into the row. */
pgy_status where_take_verdict(where_search *s, where_row *r, const where_verdict *v, size_t sample,
                              pgy_error *err) PGY_MUST_CHECK;
pgy_status where_set_shape(where_search *s, pgy_where_tensor *t, size_t rank, const int64_t *shape,
                           pgy_dtype dtype, pgy_error *err) PGY_MUST_CHECK;
/* Puts the verdict on what the node itself did into the row. */
void where_take_own(where_row *r, const where_verdict *v);
/* Notes for nodes `begin` to `end` - 1 whether they give a tensor that differs by a bit. */
void where_note_nodes(where_search *s, size_t begin, size_t end, size_t sample);
/* Does the node read a tensor that differs by a bit? */
bool where_reads_differing(const where_search *s, const where_row *r, size_t sample);
/* May the node make only what rounding in a few nodes makes? */
bool where_is_own(const where_search *s, const where_row *r);
/* Fills the errors that nodes make on the reference's values `va`. */
pgy_status where_own_errors(where_search *s, where_segment *g, const pgy_tensor_map *va,
                            const pgy_tensor_map *vb, size_t sample, pgy_error *err) PGY_MUST_CHECK;

#endif
