/* SPDX-License-Identifier: Apache-2.0 */
/* Attention masks in 16-bit floats. A mask holds numbers like -3.4e38 at positions that attention
 * must ignore; any large number has the same effect. A number beyond the narrow type's range would
 * become -Inf, and a row of -Inf alone would give NaN. So a mask that reaches only Softmaxes is
 * limited to a quarter of the type's range, which leaves room to add scores and a second mask. */
#ifndef GRAPH_MASK_H
#define GRAPH_MASK_H

#include "graph/graph.h"

typedef enum mask_use {
    MASK_NONE,  /* v reaches no Softmax */
    MASK_PART,  /* v reaches a Softmax, but also other nodes */
    MASK_WHOLE, /* v reaches only Softmaxes, through an operator that adds, selects or scales */
} mask_use;

mask_use graph_mask_use(const pgy_value *v);
/* Does n write mask numbers at positions that attention must ignore? */
bool graph_is_mask_node(const pgy_node *n);
/* Gives the magnitude to which finite numbers beyond +-largest are clamped. */
float graph_mask_limit(mask_use use, float largest);
/* Prepares v for a cast to a type with range +-largest: *out is v itself, or the output of a new
 * Clip. */
pgy_status graph_mask_clip(pgy_value **out, pgy_value *v, mask_use use, float largest,
                           pgy_error *err) PGY_MUST_CHECK;

#endif
