/* SPDX-License-Identifier: Apache-2.0 */
/* The topological order of local functions by their calls. gs/graph/gs.h declares that of nodes. */
#ifndef GS_EDIT_TOPOSORT_H
#define GS_EDIT_TOPOSORT_H

#include "graph/order.h"
#include "gs/graph/gs.h"

/* Sorts callees before callers. PGY_E_FORMAT if functions call each other in a cycle; the error
 * names them. The caller deinits `o`, also on failure. */
pgy_status gs_function_order(order *o, const gs_document *d, pgy_error *err) PGY_MUST_CHECK;

#endif
