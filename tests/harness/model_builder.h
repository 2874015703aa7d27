/* SPDX-License-Identifier: Apache-2.0 */
/* Models for tests, in a few lines:
 *
 *     model_builder b = builder_start(17);
 *     builder_input(&b, "x", PGY_F32, "N, 3");
 *     builder_floats(&b, "w", "3, 4", NULL);                   // an initializer of ones
 *     builder_node(&b, "MatMul", "x w", "y");
 *     builder_attr_int(&b, builder_node(&b, "Softmax", "y", "z"), "axis", -1);
 *     builder_output(&b, "z", PGY_F32, NULL);
 *     pgy_model *model = builder_finish(&b);                   // pgy_model_destroy
 *
 * Shapes are texts: numbers, names, "?" for an unknown dimension, "" for a scalar, NULL for an
 * unknown rank. Lists of names are separated by blanks; "-" stands for an omitted one. Everything
 * lives in the model. Running out of memory aborts. */
#ifndef HARNESS_MODEL_BUILDER_H
#define HARNESS_MODEL_BUILDER_H

#include <polygraphy/onnx.h>

/* The graph, subgraph or function body that is being built. */
typedef struct model_builder {
    pgy_model *model;
    pgy_onnx_model *proto;
    pgy_onnx_graph *graph;
    size_t node_capacity;
} model_builder;

model_builder builder_start(int64_t opset);
void builder_opset(model_builder *b, const char *domain, int64_t version);
/* A graph inside the same model, for graph attributes: fill it like the outer one and pass
 * sub.graph on. */
model_builder builder_subgraph(model_builder *b, const char *name);
/* A model-local function whose body is filled like a graph (nodes only). The function's opsets are
 * the model's at this point. */
model_builder builder_function(model_builder *b, const char *domain, const char *name,
                               const char *inputs, const char *outputs, const char *attributes);
void builder_end_function(model_builder *body);

void builder_input(model_builder *b, const char *name, pgy_dtype dtype, const char *shape);
void builder_output(model_builder *b, const char *name, pgy_dtype dtype,
                    const char *shape); /* PGY_DTYPE_NONE: the output declares no type */
void builder_value(model_builder *b, const char *name, pgy_dtype dtype,
                   const char *shape); /* value_info */
/* Add initializers; `values` NULL: all elements are 1. */
void builder_floats(model_builder *b, const char *name, const char *shape, const float *values);
void builder_ints(model_builder *b, const char *name, const char *shape, const int64_t *values);
void builder_initializer(model_builder *b, const char *name, pgy_tensor *t); /* retains t */

pgy_onnx_node *builder_node(model_builder *b, const char *op_type, const char *inputs,
                            const char *outputs);
void builder_attr_int(model_builder *b, pgy_onnx_node *n, const char *name, int64_t value);
void builder_attr_ints(model_builder *b, pgy_onnx_node *n, const char *name, size_t count,
                       const int64_t *values);
void builder_attr_floats(model_builder *b, pgy_onnx_node *n, const char *name, size_t count,
                         const float *values);
void builder_attr_float(model_builder *b, pgy_onnx_node *n, const char *name, float value);
void builder_attr_string(model_builder *b, pgy_onnx_node *n, const char *name, const char *value);
void builder_attr_strings(model_builder *b, pgy_onnx_node *n, const char *name, size_t count,
                          const char *const *values);
void builder_attr_tensor(model_builder *b, pgy_onnx_node *n, const char *name,
                         pgy_tensor *t); /* keeps t */
void builder_attr_graph(model_builder *b, pgy_onnx_node *n, const char *name,
                        const model_builder *sub);
void builder_attr_ref(model_builder *b, pgy_onnx_node *n, const char *name,
                      pgy_onnx_attribute_type type, const char *refers_to);

/* The model as it was built, without serialization. */
pgy_model *builder_finish(model_builder *b);
/* The model after serializing and parsing it, like one that was read from a file. */
pgy_model *builder_finish_bytes(model_builder *b);

#endif
