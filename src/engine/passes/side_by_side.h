/* SPDX-License-Identifier: Apache-2.0 */
/* Query, key and value that lie side by side in one tensor. */
#ifndef ENGINE_PASSES_SIDE_BY_SIDE_H
#define ENGINE_PASSES_SIDE_BY_SIDE_H

#include "transform/pattern.h"

enum { SIDE_BY_SIDE = 3 };

/* The tensor [batch, rows, columns] whose columns are those of the three parts, one part behind the
 * other: each is a Slice of it, or a piece of its Split. NULL if they are not. */
pgy_value *find_side_by_side(pattern *p, pgy_value *const *parts);

#endif
