/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that import a model: the graph that is being imported, and its tensors
 * (import_tensor.c). */
#ifndef GS_IO_IMPORT_H
#define GS_IO_IMPORT_H

#include "gs/graph/document.h"

/* A graph or subgraph that is being imported. */
typedef struct import_scope {
    gs_document *d;
    pgy_gs_graph *g;
    struct import_scope *up;  /* scope of the enclosing graph; NULL in a main graph or function */
    gs_names local;           /* tensors of this graph, by name */
    pgy_gs_tensor **declared; /* tensors of weights and value infos, used by nodes or not */
    size_t declared_count, declared_capacity;
    pgy_gs_tensor **made; /* outputs of all nodes, in node order */
    size_t next_made;
    pgy_error *err;
} import_scope;

/* Finds or creates this graph's own tensor of the name. */
pgy_status import_local_tensor(pgy_gs_tensor **out, import_scope *l,
                               const char *name) PGY_MUST_CHECK;
/* Creates the tensor that stands for an omitted input or output. */
pgy_status import_omitted(pgy_gs_tensor **out, import_scope *l) PGY_MUST_CHECK;
/* Finds the tensor that a node reads under a name: the graph's own, else that of an enclosing
 * graph. */
pgy_status import_read_tensor(pgy_gs_tensor **out, import_scope *l,
                              const char *name) PGY_MUST_CHECK;
pgy_status import_weights(import_scope *l, const pgy_onnx_graph *from) PGY_MUST_CHECK;
/* Imports graph inputs or outputs. A weight that the file also lists as an input is not an input
 * here. */
pgy_status import_interface(import_scope *l, pgy_gs_tensor ***items, size_t *count,
                            pgy_onnx_value_info *const *infos, size_t info_count,
                            bool are_inputs) PGY_MUST_CHECK;
/* Imports value infos. If one completes the type of an input or output, the tensor is marked as
 * changed, so that an export writes the full type. */
pgy_status import_value_infos(import_scope *l, pgy_onnx_value_info *const *infos,
                              size_t count) PGY_MUST_CHECK;
/* Keeps weights and value infos that neither this graph nor its subgraphs use, for the export. */
pgy_status import_keep_unused(import_scope *l) PGY_MUST_CHECK;

#endif
