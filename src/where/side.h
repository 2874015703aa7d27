/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the tensors of one side, or of a part of its model. */
#ifndef WHERE_SIDE_H
#define WHERE_SIDE_H

#include <polygraphy/where.h>

#include "where/part.h"

typedef struct where_source {
    const pgy_where_side *side;
    pgy_runner *runner;   /* NULL: not open, or stored results */
    pgy_results *results; /* NULL: a runner */
    bool marks;           /* tensors come from debug marks; fused-away ones are missing */
    /* For nodes that run alone: the inputs of their model, which also calibrate it. */
    const pgy_tensor_map *handed;
    pgy_calibration calibration;
    pgy_data_loader *loader; /* gives `handed`; NULL: no calibration */
    bool calibrated;
} where_source;

/* Have both sides the same runner with the same options? */
bool where_is_one_runner(const pgy_where_side *a, const pgy_where_side *b);
/* True if one run of the whole model shows all tensors: stored results, plans and engines. Other
 * runtimes run the model in parts. */
bool where_source_is_whole(const pgy_where_side *side);
/* Opens stored results, a plan, or the side's whole model. */
pgy_status where_source_open(where_source *s, pgy_error *err) PGY_MUST_CHECK;
/* `part` must live until the source is closed. */
pgy_status where_source_open_part(where_source *s, where_part *part, pgy_error *err) PGY_MUST_CHECK;
void where_source_close(where_source *s);
/* The number of samples in stored results. */
size_t where_source_stored(const where_source *s);
/* *out: borrowed from `held`, which the caller destroys, if it is set. */
pgy_status where_source_read(const pgy_tensor_map **out, pgy_tensor_map **held, where_source *s,
                             const pgy_tensor_map *feed, size_t sample,
                             pgy_error *err) PGY_MUST_CHECK;

#endif
