/* SPDX-License-Identifier: Apache-2.0 */
/* What cleanup and other passes that remove nodes share. */
#ifndef GS_EDIT_CLEANUP_H
#define GS_EDIT_CLEANUP_H

#include "gs/graph/gs.h"

/* Leaves output j of a node out: the last one goes, others become omitted and keep their place. */
pgy_status gs_drop_output(pgy_gs_node *n, size_t j, pgy_error *err) PGY_MUST_CHECK;
/* Takes all nodes of n's subgraphs off their tensors: n is to go, and what they read outside is not
 * read any more. */
pgy_status gs_detach_inside(pgy_gs_node *n, pgy_error *err) PGY_MUST_CHECK;

#endif
