/* SPDX-License-Identifier: Apache-2.0 */
/* Documents, their index by name, and small queries about levels. */
#ifndef GS_GRAPH_DOCUMENT_H
#define GS_GRAPH_DOCUMENT_H

#include "gs/graph/gs.h"

pgy_status gs_document_create(gs_document **out, pgy_error *err) PGY_MUST_CHECK;
void gs_document_destroy(gs_document *d);
/* Copies the document's list of functions to every level, whose structs are public. */
void gs_publish_functions(gs_document *d);
/* The top graph or function around a level, or the level itself. */
const pgy_gs_graph *gs_root(const pgy_gs_graph *g);
/* A level that was taken out keeps the parent that it had. Where that is now put inside it, the
 * level moves up, so that parents never form a circle. */
void gs_set_parent(pgy_gs_graph *sub, pgy_gs_graph *parent);
bool gs_is_default_domain(const char *domain); /* "" and "ai.onnx" are one */
const pgy_gs_opset *gs_find_import(const pgy_gs_graph *g, const char *domain); /* or NULL */

/* Before IR 4 a file lists its weights as inputs, too. */
bool gs_weights_are_inputs(const gs_document *d);
/* A node without operator, inputs and outputs, which is in no list. */
pgy_status gs_node_create(pgy_gs_node **out, gs_document *d, pgy_error *err) PGY_MUST_CHECK;

/* ---- names.c --------------------------------------------------------------------------------- */
uint64_t gs_hash(const char *name);
void gs_names_deinit(gs_names *names);
gs_named *gs_names_find(const gs_names *names, const char *name,
                        uint64_t hash); /* newest, or NULL */
bool gs_names_reserve(gs_names *names, size_t more);
/* Ignores the empty name. False: out of memory. */
bool gs_names_add(gs_names *names, gs_named *item);
/* Adds to a second table, in which each name is unique, so it leaves the chains of the index
 * alone. */
bool gs_names_put(gs_names *names, gs_named *item);
void gs_names_remove(gs_names *names, gs_named *item);
bool gs_names_rename(gs_names *names, gs_named *item, const char *name);

#endif
