/* SPDX-License-Identifier: Apache-2.0 */
/* Documents (a model's graph with its subgraphs and functions), their index of names, and small
 * queries about graphs. */
#ifndef GS_GRAPH_DOCUMENT_H
#define GS_GRAPH_DOCUMENT_H

#include "gs/graph/gs.h"

pgy_status gs_document_create(gs_document **out, pgy_error *err) PGY_MUST_CHECK;
void gs_document_destroy(gs_document *d);
/* Copies the document's list of functions to the public struct of every graph, where callers read
 * it. */
void gs_publish_functions(gs_document *d);
/* The main graph or function body that contains g; g itself if it is one. */
const pgy_gs_graph *gs_root(const pgy_gs_graph *g);
/* Sets sub->parent. If `parent` is nested in sub (a removed subgraph keeps its parent), the graph
 * below sub that leads to `parent` first moves up to sub's old parent, so that parents never form a
 * cycle. */
void gs_set_parent(pgy_gs_graph *sub, pgy_gs_graph *parent);
bool gs_is_default_domain(const char *domain); /* "" and "ai.onnx" name the same domain */
const pgy_gs_opset *gs_find_import(const pgy_gs_graph *g,
                                   const char *domain); /* NULL: g does not import it */

/* True before IR version 4, where files must list initializers among the graph inputs, too. */
bool gs_weights_are_inputs(const gs_document *d);
/* A node without operator, inputs and outputs, which is in no list. */
pgy_status gs_node_create(pgy_gs_node **out, gs_document *d, pgy_error *err) PGY_MUST_CHECK;

/* ---- names.c --------------------------------------------------------------------------------- */
uint64_t gs_hash(const char *name);
void gs_names_deinit(gs_names *names);
gs_named *gs_names_find(const gs_names *names, const char *name,
                        uint64_t hash); /* the newest item of the name; NULL: none */
bool gs_names_reserve(gs_names *names, size_t more);
/* Adds an item to its document's index, unless its name is empty. False: out of memory. */
bool gs_names_add(gs_names *names, gs_named *item);
/* Adds an item to a table other than its document's index. Names must be unique in that table,
 * because only the index may use the item's `next`. */
bool gs_names_put(gs_names *names, gs_named *item);
void gs_names_remove(gs_names *names, gs_named *item);
bool gs_names_rename(gs_names *names, gs_named *item, const char *name);

#endif
