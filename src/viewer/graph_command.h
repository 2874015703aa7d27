/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that can be copied from the page and run in the model's folder. */
#ifndef VIEWER_GRAPH_COMMAND_H
#define VIEWER_GRAPH_COMMAND_H

#include "viewer/graph.h"

/* Writes a list item [title, command] for each command about a node of the main graph. */
void graph_write_commands(json_writer *w, const view_graph *g, const view_node *n);

#endif
