/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that import a model: the level in progress, and its tensors
 * (import_tensor.c). */
#ifndef GS_IO_IMPORT_H
#define GS_IO_IMPORT_H

#include "gs/graph/document.h"

/* A level that is being imported. */
typedef struct import_scope {
    gs_document *d;
    pgy_gs_graph *g;
    struct import_scope *up;  /* the enclosing level; NULL for the top graph and functions */
    gs_names local;           /* tensors of this level by name */
    pgy_gs_tensor **declared; /* tensors of weights and value infos; nodes may use none of them */
    size_t declared_count, declared_capacity;
    pgy_gs_tensor **made; /* outputs of all nodes, in order */
    size_t next_made;
    pgy_error *err;
} import_scope;

/* The tensor of this level with the name, made if it is new. */
pgy_status import_local_tensor(pgy_gs_tensor **out, import_scope *l,
                               const char *name) PGY_MUST_CHECK;
/* A new object for an omitted slot. */
pgy_status import_omitted(pgy_gs_tensor **out, import_scope *l) PGY_MUST_CHECK;
/* The tensor that a node of this level reads under a name: its own or an outer one. */
pgy_status import_read_tensor(pgy_gs_tensor **out, import_scope *l,
                              const char *name) PGY_MUST_CHECK;
pgy_status import_weights(import_scope *l, const pgy_onnx_graph *from) PGY_MUST_CHECK;
/* Inputs or outputs. A weight that is listed as an input is not one. */
pgy_status import_interface(import_scope *l, pgy_gs_tensor ***items, size_t *count,
                            pgy_onnx_value_info *const *infos, size_t info_count,
                            bool are_inputs) PGY_MUST_CHECK;
/* If a value info adds to the declaration of an input or output, the export must write that. */
pgy_status import_value_infos(import_scope *l, pgy_onnx_value_info *const *infos,
                              size_t count) PGY_MUST_CHECK;
/* Keeps the weights and value infos that neither this level nor an inner one uses. */
pgy_status import_keep_unused(import_scope *l) PGY_MUST_CHECK;

#endif
