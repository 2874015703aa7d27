/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of runtimes on the graph. A layer is one node, or a group of nodes that the runtime
 * computes at once: then the nodes get a fused container, and the layer's values stand at the
 * group's first node, undivided. */
#ifndef VIEWER_SOURCES_LAYER_NAMES_H
#define VIEWER_SOURCES_LAYER_NAMES_H

#include "viewer/sources/result_file.h"

/* Finds the node where the values of a layer stand, and counts the name as found or missing.
 * @param name     "conv1", or "conv1 + relu1"
 * @param members  names of its nodes, as the file lists them; empty: those in the name
 * @param node     VIEW_NONE: the graph has none of them */
pgy_status layer_find(uint32_t *node, result_file *f, const char *name, const strvec *members,
                      pgy_error *err) PGY_MUST_CHECK;

#endif
