/* SPDX-License-Identifier: Apache-2.0 */
/* One batch of tensors: what fits the memory limit is read from both sides, compared and dropped.
 */
#ifndef WHERE_BATCH_H
#define WHERE_BATCH_H

#include "where/where.h"

typedef struct where_search {
    pgy_where_options options;
    const where_judge *judge;
    where_source a, b;
    pgy_model *model;   /* whose nodes run alone; NULL: side B is a plan */
    pgy_graph *graph_a; /* NULL: names are equal on both sides */
    pgy_graph *graph_b;
    pgy_tensor_map **feeds;
    size_t feed_count;
    uint64_t budget;
    size_t done;       /* rows that were in a batch */
    bool alone_failed; /* the nodes could not run alone; the reason was logged */
    pgy_where_report *report;
} where_search;

/* Runs the next batch. *any false: no tensor is left. */
pgy_status where_batch_run(bool *any, where_search *s, pgy_error *err) PGY_MUST_CHECK;

#endif
