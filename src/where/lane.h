/* SPDX-License-Identifier: Apache-2.0 */
/* One side during the walk. A runtime runs the model in segments: a part reads the values that
 * earlier segments left, and only those that later nodes read are kept. A source that is whole
 * shows everything in one run. */
#ifndef WHERE_LANE_H
#define WHERE_LANE_H

#include "graph/graph.h"
#include "where/side.h"

typedef struct where_lane {
    where_source source;
    bool whole;
    pgy_model *model;
    pgy_graph *graph; /* sorted; borrowed */
    size_t samples;
    bool *reached;            /* by place of a node: it ran in this or an earlier segment */
    pgy_tensor_map **kept;    /* for each sample: values that later nodes read */
    pgy_tensor_map **results; /* whole: for each sample what the run showed; NULL: run it again */
    /* the current segment */
    strvec outputs, keeps;
    strmap output_set;
    where_part part;
} where_lane;

pgy_status where_lane_init(where_lane *l, pgy_model *model, pgy_graph *graph, size_t samples,
                           pgy_error *err) PGY_MUST_CHECK;
void where_lane_deinit(where_lane *l);
/* Opens a whole source. `hold`: runs it for all samples, and closes it. */
pgy_status where_lane_start(where_lane *l, pgy_tensor_map *const *feeds, bool hold,
                            pgy_error *err) PGY_MUST_CHECK;
/* Nodes that no tensor of the walk needs never run. */
void where_lane_skip(where_lane *l, const bool *useful);
/* Chooses the segment's outputs: the wanted values, and those that later nodes read. */
pgy_status where_lane_select(where_lane *l, pgy_value *const *wanted, size_t count,
                             pgy_error *err) PGY_MUST_CHECK;
/* Will later segments read v? */
bool where_lane_reads(const where_lane *l, const pgy_value *v);
/* Makes the segment's model, unless the one at hand fits the sample. */
pgy_status where_lane_prepare(where_lane *l, const pgy_tensor_map *feed, size_t sample,
                              pgy_error *err) PGY_MUST_CHECK;
/* Reads the segment's outputs; `through`: another lane whose open session runs the same part, or
 * NULL. */
pgy_status where_lane_read(const pgy_tensor_map **out, pgy_tensor_map **held, where_lane *l,
                           where_lane *through, const pgy_tensor_map *feed, size_t sample,
                           pgy_error *err) PGY_MUST_CHECK;
/* Keeps the values named in `keeps`; drops all others. */
pgy_status where_lane_keep(where_lane *l, const pgy_tensor_map *results, size_t sample,
                           pgy_error *err) PGY_MUST_CHECK;
/* Ends the segment. */
void where_lane_finish(where_lane *l);

#endif
