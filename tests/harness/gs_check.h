/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of a document of graph surgery after every edit. */
#ifndef HARNESS_GS_CHECK_H
#define HARNESS_GS_CHECK_H

#include <polygraphy/gs.h>

/* Both views of every edge agree (a node has a tensor in k slots: the tensor has the node k times),
 * every node of a list says so and has its index, subgraphs know their parents. NULL: all is well;
 * else what is wrong, valid until the next call. Call it with the top graph. */
const char *gs_check(const pgy_gs_graph *top);

#endif
