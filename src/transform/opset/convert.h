/* SPDX-License-Identifier: Apache-2.0 */
/* Lets opset.c, which converts a graph, use opset/adapters.c, the table of what changed in each
 * operator. */
#ifndef TRANSFORM_OPSET_CONVERT_H
#define TRANSFORM_OPSET_CONVERT_H

#include <polygraphy/transform.h>

#include "transform/opset/rewrite.h"

enum { OPSET_OLDEST = 7, OPSET_NEWEST = 28 };

typedef struct conversion {
    int64_t version; /* target opset */
    bool up;
    pgy_transform_note *notes; /* what the target opset cannot express; texts are in `memory` */
    size_t count, capacity;
    strmap noted; /* operators and nodes that have a note already */
    node_origins origins;
    arena memory;
} conversion;

/* Lets levels that import no default domain import this version of it. */
pgy_status opset_import_default(pgy_graph *g, int64_t version, pgy_error *err) PGY_MUST_CHECK;
/* Did the operator change between opset step - 1 and opset step? */
bool adapter_exists(const char *op_type, int64_t step);
/* Rewrites r->node from opset step - 1 to opset step if `up`, else from step to step - 1. */
void adapter_apply(rewrite *r, int64_t step, bool up);

#endif
