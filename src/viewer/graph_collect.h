/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the parts of a view's graph: arrays grow here, and are copied into the graph at the end.
 * A failed allocation sets `failed`; later calls do nothing and give index 0, so callers test once,
 * in collect_finish. */
#ifndef VIEWER_GRAPH_COLLECT_H
#define VIEWER_GRAPH_COLLECT_H

#include "viewer/graph_function.h"

typedef struct graph_parts {
    view_graph *g;
    view_op *ops;
    view_node *nodes;
    view_tensor *tensors;
    view_container *containers;
    view_item *order; /* all nodes and containers, in the order in which they become children */
    const char *(*properties)[2];
    size_t op_count, node_count, tensor_count, container_count, order_count, property_count;
    size_t op_room, node_room, tensor_room, container_room, order_room, property_room;
    strmap op_places;          /* "domain:name" -> index + 1 */
    graph_functions functions; /* of ONNX models */
    double parameters;         /* elements of weights */
    strvec *warnings;
    size_t warning_count;
    bool failed;
} graph_parts;

pgy_status collect_start(graph_parts *b, const char *kind, const char *name, strvec *warnings,
                         pgy_error *err) PGY_MUST_CHECK;
void collect_deinit(graph_parts *b); /* destroys the graph, too, unless it was taken */
/* Makes the graph of what was collected: children, sizes of cards, bytes of nodes, names. */
pgy_status collect_finish(view_graph **out, graph_parts *b, pgy_error *err) PGY_MUST_CHECK;

/* Gives a text as valid UTF-8: other bytes become U+FFFD. A valid text that is `kept` as long as
 * the graph is not copied. Never NULL. */
const char *collect_text(graph_parts *b, const char *text);
const char *collect_kept_text(graph_parts *b, const char *text);
const char *collect_take(graph_parts *b, str *text); /* copies a text and frees it */
void collect_warn(graph_parts *b, const char *format, ...) PGY_PRINTF(2, 3);
void collect_property(graph_parts *b, const char *name, const char *text);

uint32_t collect_op(graph_parts *b, const char *name, const char *domain);
/* Adds a node with room for its tensors, all of which are VIEW_NONE at first. */
uint32_t collect_node(graph_parts *b, const view_node *like);
uint32_t collect_tensor(graph_parts *b, const view_tensor *like);
uint32_t collect_container(graph_parts *b, const view_container *like);
/* A card of a graph's input or output. */
uint32_t collect_input(graph_parts *b, uint32_t tensor, uint32_t container);
uint32_t collect_output(graph_parts *b, uint32_t tensor, uint32_t container);
uint32_t *collect_list(graph_parts *b, size_t count); /* tensors, all VIEW_NONE */

#endif
