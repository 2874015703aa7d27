/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between the conversion of a graph (opset.c) and the table of changes
 * (opset/adapters.c). */
#ifndef TRANSFORM_OPSET_CONVERT_H
#define TRANSFORM_OPSET_CONVERT_H

#include <polygraphy/transform.h>

#include "transform/opset/rewrite.h"

enum { OPSET_OLDEST = 7, OPSET_NEWEST = 28 };

typedef struct conversion {
    int64_t version; /* target opset */
    bool up;
    pgy_transform_note *notes; /* obstacles to the conversion; texts in `memory` */
    size_t count, capacity;
    strmap noted; /* operators and nodes */
    arena memory;
} conversion;

/* Did the operator change between version step - 1 and step? */
bool adapter_exists(const char *op_type, int64_t step);
/* Rewrites r->node from version step - 1 to step, or back if not `up`. */
void adapter_apply(rewrite *r, int64_t step, bool up);

#endif
