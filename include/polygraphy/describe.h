/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Descriptions of models and plans, as text for a screen and as JSON for programs.
 *
 *     char *text = NULL;
 *     const pgy_describe_options o = {.size = sizeof o, .layers = true};
 *     if (pgy_model_text(&text, model, &o, &err)) ...
 *     puts(text);
 *     pgy_text_free(text);
 *
 * The text of a model has the layout of the original program, line for line. The data behind it are
 * the structs of onnx.h (pgy_model_proto), engine.h (pgy_plan_describe and the like) and graph.h
 * (pgy_graph_summarize). All texts are freed with pgy_text_free.
 */
#ifndef POLYGRAPHY_DESCRIBE_H
#define POLYGRAPHY_DESCRIBE_H

#include <polygraphy/compare.h>
#include <polygraphy/engine.h>
#include <polygraphy/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_describe_options {
    size_t size;     /**< sizeof(pgy_describe_options) */
    bool layers;     /**< show the nodes of a model, or the layers of a plan */
    bool attributes; /**< show the attributes of nodes and layers */
    bool weights;    /**< models: show the values of weights */
    bool network;    /**< models: show TensorRT's types of layers instead of ONNX operators */
    const pgy_results *values; /**< plans: show the smallest, largest and mean values of the layers'
                                  tensors, from these results; NULL: none */
} pgy_describe_options;

/** Describes names, types, shapes and sizes of a model, and what the options ask for. @param
 * options NULL for the defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_text(char **out, pgy_model *model,
                                                 const pgy_describe_options *options,
                                                 pgy_error *err);
/** Writes a model as JSON without the values of its weights: versions, inputs, outputs,
 * initializers, nodes with attributes, subgraphs and functions. */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_json(char **out, pgy_model *model, pgy_error *err);
/** Writes a table of each operator's nodes, parameters, bytes and floating-point operations.
 * Dynamic dimensions of the inputs count as 1. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_summary_text(char **out, pgy_graph *g, pgy_error *err);
/** Lists the tensors of pgy_graph_list_unbounded. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_unbounded_text(char **out, pgy_graph *g,
                                                           pgy_error *err);
/** Describes inputs, outputs, memory, profiles and layers of a plan; for JSON see pgy_plan_inspect.
 */
PGY_API PGY_MUST_CHECK pgy_status pgy_plan_text(char **out, const pgy_plan *plan,
                                                const pgy_describe_options *options,
                                                pgy_error *err);

/* ---- TensorRT's types of layers ------------------------------------------------------------- */

/** A type of layer, and the ONNX operators that TensorRT turns into such layers. */
typedef struct pgy_trt_layer {
    const char *name;      /**< "CONVOLUTION" */
    const char *operators; /**< separated by blanks, with a blank at both ends: " Cast CastLike " */
} pgy_trt_layer;
PGY_API size_t pgy_trt_layer_count(void);
PGY_API const pgy_trt_layer *pgy_trt_layer_at(size_t i);
/** Name of the first type of layer that the operator becomes; "PLUGIN_V3" if no type has it. */
PGY_API const char *pgy_trt_layer_of(const char *op_type);
/** True if the operator becomes a layer of this type. */
PGY_API bool pgy_trt_layer_has(const pgy_trt_layer *type, const char *op_type);

#ifdef __cplusplus
}
#endif
#endif
