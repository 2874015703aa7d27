/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the invariants of a graph surgery document (pgy_gs_graph), which every edit must keep. */
#ifndef HARNESS_GS_CHECK_H
#define HARNESS_GS_CHECK_H

#include <polygraphy/gs.h>

/* Nodes and tensors agree about their connections (a tensor lists a node once per slot where the
 * node uses it), every node stores its graph and its index in the list, every subgraph its parent.
 * `top`: the main graph. @return what is wrong, valid until the next call; NULL: nothing */
const char *gs_check(const pgy_gs_graph *top);

#endif
