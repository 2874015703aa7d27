/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that can be copied from the page and run in the model's folder. */
#ifndef VIEWER_GRAPH_COMMAND_H
#define VIEWER_GRAPH_COMMAND_H

#include "viewer/graph.h"

/* Writes the list of all commands, [title, command]; the page puts names of tensors in. */
void graph_write_command_texts(json_writer *w, const view_graph *g);
/* Writes the member `commands` of a node's details, the indices of those that can be run for it;
 * nothing for a node inside a body or function, or of a graph without a model. */
void graph_write_commands(json_writer *w, const view_graph *g, const view_node *n);

#endif
