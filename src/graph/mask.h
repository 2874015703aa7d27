/* SPDX-License-Identifier: Apache-2.0 */
/* Attention masks in 16-bit floats. A mask holds numbers like -3.4e38 where attention must not
 * look; any large number does as well. One that the narrow type cannot hold would become -Inf, and
 * a row of nothing else NaN. So whatever is rounded on its way to a Softmax is held to a quarter of
 * the type's range: scores and a second mask can still be added. */
#ifndef GRAPH_MASK_H
#define GRAPH_MASK_H

#include "graph/graph.h"

typedef enum mask_use {
    MASK_NONE,  /* v goes elsewhere */
    MASK_PART,  /* to a Softmax, and elsewhere */
    MASK_WHOLE, /* only to Softmaxes, past an operator that adds, selects or scales */
} mask_use;

mask_use graph_mask_use(const pgy_value *v);
/* Does n put numbers where attention must not look? */
bool graph_is_mask_node(const pgy_node *n);
/* What finite numbers beyond +-largest become. */
float graph_mask_limit(mask_use use, float largest);
/* v, for a cast to a type that ends at +-largest: v itself, or behind a new Clip. */
pgy_status graph_mask_clip(pgy_value **out, pgy_value *v, mask_use use, float largest,
                           pgy_error *err) PGY_MUST_CHECK;

#endif
