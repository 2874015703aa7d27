/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that write a document. */
#ifndef GS_IO_EXPORT_H
#define GS_IO_EXPORT_H

#include "gs/graph/document.h"

typedef struct exporter {
    pgy_model *model;
    gs_document *document;
    bool no_type_check;
    int64_t ir_version; /* the least version that can hold what was written so far */
    pgy_error *err;
} exporter;

void *export_alloc(exporter *x, size_t count, size_t item_bytes);
pgy_status export_no_memory(exporter *x);
/* The message of a level: the stored one if the level did not change. */
pgy_status export_level(pgy_onnx_graph **out, exporter *x, pgy_gs_graph *g) PGY_MUST_CHECK;
/* The nodes of a level, with room for `first` nodes in front, which the caller fills. */
pgy_status export_nodes(pgy_onnx_node ***out, exporter *x, pgy_gs_graph *g,
                        size_t first) PGY_MUST_CHECK;
pgy_status export_attribute(pgy_onnx_attribute **out, exporter *x,
                            const pgy_gs_attribute *a) PGY_MUST_CHECK;

/* ---- export_tensor.c ------------------------------------------------------------------------- */

/* Weights and declarations of a level. */
typedef struct level_tensors {
    pgy_gs_tensor_list all;     /* pgy_gs_tensors */
    pgy_gs_tensor_list weights; /* weights that this level writes */
    bool are_inputs;            /* lists weights as inputs, too, as files before IR 4 do */
} level_tensors;

/* Collects the tensors that a level writes. Its weights count as written until
 * export_tensors_leave, so that inner levels do not write them again. */
pgy_status export_tensors_enter(level_tensors *lt, exporter *x, pgy_gs_graph *g) PGY_MUST_CHECK;
void export_tensors_leave(level_tensors *lt);
pgy_onnx_tensor *export_weight(exporter *x, const pgy_gs_tensor *t); /* NULL: out of memory */
pgy_status export_weights(pgy_onnx_graph *to, exporter *x, pgy_gs_graph *g,
                          const level_tensors *lt) PGY_MUST_CHECK;
pgy_status export_value_infos(pgy_onnx_value_info *const **out, size_t *count, exporter *x,
                              pgy_gs_graph *g, const level_tensors *lt) PGY_MUST_CHECK;
/* Inputs or outputs; stored: those of the file, or NULL. */
pgy_status export_interface(pgy_onnx_value_info *const **out, size_t *count, exporter *x,
                            pgy_gs_tensor *const *tensors, size_t tensor_count,
                            pgy_onnx_value_info *const *stored, size_t stored_count) PGY_MUST_CHECK;
/* Lists the weights after the inputs that `to` has already. */
pgy_status export_weight_inputs(pgy_onnx_graph *to, exporter *x, const pgy_gs_graph *g,
                                const level_tensors *lt) PGY_MUST_CHECK;

/* ---- export_imports.c ------------------------------------------------------------------------ */
/* The opset imports of a top graph or function, and those that its nodes need in addition. */
pgy_status export_imports(pgy_onnx_opset *const **out, size_t *count, exporter *x, pgy_gs_graph *g,
                          pgy_onnx_opset *const *stored, size_t stored_count) PGY_MUST_CHECK;
/* The first IR version that has this type or opset. */
int64_t export_ir_of_type(pgy_dtype dtype);
int64_t export_ir_of_opset(int64_t opset);

#endif
