/* SPDX-License-Identifier: Apache-2.0 */
/* Running orders of a document's functions. gs/graph/gs.h has that of nodes. */
#ifndef GS_EDIT_TOPOSORT_H
#define GS_EDIT_TOPOSORT_H

#include "graph/order.h"
#include "gs/graph/gs.h"

/* Callees come before callers. Functions that call each other in a cycle are PGY_E_FORMAT, named.
 * The caller deinits `o`, also on failure. */
pgy_status gs_function_order(order *o, const gs_document *d, pgy_error *err) PGY_MUST_CHECK;

#endif
