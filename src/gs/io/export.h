/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that convert an editable graph to a model. */
#ifndef GS_IO_EXPORT_H
#define GS_IO_EXPORT_H

#include "gs/graph/document.h"

typedef struct exporter {
    pgy_model *model;
    gs_document *document;
    bool no_type_check;
    int64_t ir_version; /* lowest IR version that supports everything exported so far */
    pgy_error *err;
} exporter;

static inline void *export_alloc(exporter *x, size_t count, size_t item_bytes)
{
    return pgy_model_alloc(x->model, count ? count : 1, item_bytes);
}

static inline pgy_status export_no_memory(exporter *x)
{
    return pgy_error_set(x->err, PGY_E_MEMORY, "out of memory while exporting the graph");
}

/* Makes the GraphProto of a graph; gives the imported one if the graph did not change. */
pgy_status export_level(pgy_onnx_graph **out, exporter *x, pgy_gs_graph *g) PGY_MUST_CHECK;
/* Exports the nodes of a graph after `first` empty entries, which the caller fills. */
pgy_status export_nodes(pgy_onnx_node ***out, exporter *x, pgy_gs_graph *g,
                        size_t first) PGY_MUST_CHECK;
pgy_status export_attribute(pgy_onnx_attribute **out, exporter *x,
                            const pgy_gs_attribute *a) PGY_MUST_CHECK;

/* ---- export_tensor.c ------------------------------------------------------------------------- */

/* Tensors of a graph, and those that the export writes as its initializers. */
typedef struct level_tensors {
    pgy_gs_tensor_list all;     /* all tensors of the graph (pgy_gs_tensors) */
    pgy_gs_tensor_list weights; /* tensors to write as initializers of this graph */
    bool are_inputs; /* list initializers as graph inputs, too, as files before IR version 4 do */
} level_tensors;

/* Collects the tensors of g and the weights to write there. These count as written until
 * export_tensors_leave, so that subgraphs do not write them again. */
pgy_status export_tensors_enter(level_tensors *lt, exporter *x, pgy_gs_graph *g) PGY_MUST_CHECK;
void export_tensors_leave(level_tensors *lt);
pgy_onnx_tensor *export_weight(exporter *x, const pgy_gs_tensor *t); /* NULL: out of memory */
pgy_status export_weights(pgy_onnx_graph *to, exporter *x, pgy_gs_graph *g,
                          const level_tensors *lt) PGY_MUST_CHECK;
pgy_status export_value_infos(pgy_onnx_value_info *const **out, size_t *count, exporter *x,
                              pgy_gs_graph *g, const level_tensors *lt) PGY_MUST_CHECK;
/* Exports a graph's inputs or outputs. stored: those of the imported file, or NULL. */
pgy_status export_interface(pgy_onnx_value_info *const **out, size_t *count, exporter *x,
                            pgy_gs_tensor *const *tensors, size_t tensor_count,
                            pgy_onnx_value_info *const *stored, size_t stored_count) PGY_MUST_CHECK;
/* Appends the weights to the graph inputs of `to`. */
pgy_status export_weight_inputs(pgy_onnx_graph *to, exporter *x, const pgy_gs_graph *g,
                                const level_tensors *lt) PGY_MUST_CHECK;

/* ---- export_imports.c ------------------------------------------------------------------------ */
/* Exports the opset imports of a main graph or function, with those of more domains that its nodes
 * use. */
pgy_status export_imports(pgy_onnx_opset *const **out, size_t *count, exporter *x, pgy_gs_graph *g,
                          pgy_onnx_opset *const *stored, size_t stored_count) PGY_MUST_CHECK;
/* The first IR version that supports the type or opset. */
int64_t export_ir_of_type(pgy_dtype dtype);
int64_t export_ir_of_opset(int64_t opset);

#endif
