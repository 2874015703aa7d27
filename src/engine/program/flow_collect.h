/* SPDX-License-Identifier: Apache-2.0 */
/* Results that loops collect over iterations, written where they belong: one behind the other along
 * a new first axis. */
#ifndef ENGINE_PROGRAM_FLOW_COLLECT_H
#define ENGINE_PROGRAM_FLOW_COLLECT_H

#include "engine/program/flow_parts.h"

typedef struct flow_collected {
    pgy_dtype dtype;
    size_t rank; /* of an item */
    int64_t shape[PGY_MAX_RANK];
    size_t item_bytes, count, room;
    uint64_t most; /* items that may come; UINT64_MAX: unknown */
    char *data;
    bool given;           /* `data` is the caller's */
    bool backwards;       /* the first item comes last; `most` is exact */
    flow_place place;     /* where the caller wants the result */
    struct flow_old *old; /* outgrown memory, which carried values may still show */
} flow_collected;

/* Where the next item should be written. */
flow_place flow_collect_place(const flow_collected *c);
/* Adds an item, which may be at that place already. */
pgy_status flow_collect(flow_collected *c, const op_node *n, const op_tensor *item,
                        pgy_error *err) PGY_MUST_CHECK;
/* What a result without items is made from. */
typedef struct flow_nothing {
    pgy_dtype dtype;
    pgy_value *item; /* the output of the body */
    const describe *sizes;
} flow_nothing;
/* Hands the result over; `axis` is that of the items. Without items it is empty, with the type and
 * the sizes of `about`. */
pgy_status flow_collect_join(op_tensor *out, flow_collected *c, const op_node *n,
                             const flow_nothing *about, size_t output, int64_t axis,
                             pgy_error *err) PGY_MUST_CHECK;
void flow_collect_deinit(flow_collected *c);
/* Copies a value whose memory ends with the loop. */
pgy_status flow_collect_own(op_tensor *t, pgy_error *err) PGY_MUST_CHECK;

#endif
