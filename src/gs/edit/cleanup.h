/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by cleanup and other passes that remove nodes. */
#ifndef GS_EDIT_CLEANUP_H
#define GS_EDIT_CLEANUP_H

#include "gs/graph/gs.h"

/* Drops output j of a node. The last output is removed; any other becomes an omitted output, so
 * that the later outputs keep their indices. */
pgy_status gs_drop_output(pgy_gs_node *n, size_t j, pgy_error *err) PGY_MUST_CHECK;
/* Detaches all nodes in n's subgraphs, before n itself is removed, so that outer tensors lose these
 * readers. */
pgy_status gs_detach_inside(pgy_gs_node *n, pgy_error *err) PGY_MUST_CHECK;

#endif
