/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Networks built layer by layer, with the concepts of TensorRT's INetworkDefinition; and models
 * read and edited as networks.
 *
 *     pgy_network *net = NULL;
 *     pgy_value *x = NULL;
 *     pgy_layer *relu = NULL;
 *     const int64_t dims[] = {-1, 3, 32, 32};
 *     if (pgy_network_create(&net, "example", &err)) ...
 *     if (pgy_network_add_input(&x, net, "x", PGY_F32, 4, dims, &err)) ...
 *     if (pgy_network_add_activation(&relu, net, x, PGY_ACTIVATION_RELU, 0, 0, &err)) ...
 *     if (pgy_network_mark_output(net, relu->outputs[0], &err)) ...
 *     if (pgy_network_to_model(&model, net, &err)) ...        // build, save or run it
 *     pgy_network_destroy(net);
 *
 * A tensor of a network is a pgy_value (graph.h): name, type and shape can be read at once, because
 * shapes are inferred as each layer is added. Adding an invalid layer fails with an error that
 * names the layer and its inputs, and leaves the network unchanged. Networks are strongly typed: a
 * layer computes in the type of its inputs, and only casts and quantisation change types.
 *
 * A layer becomes one or several ONNX nodes, but is listed as one layer. Weights are constants:
 * tensors like all others, made by pgy_network_add_constant. The network owns everything that its
 * functions return. A zero parameter means TensorRT's default, unless its comment says otherwise. A
 * network belongs to one thread at a time.
 */
#ifndef POLYGRAPHY_NETWORK_H
#define POLYGRAPHY_NETWORK_H

#include <polygraphy/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_network pgy_network;
typedef struct pgy_layer pgy_layer;

/* ---- Layers and tensors --------------------------------------------------------------------- */

typedef enum pgy_layer_type {
    PGY_LAYER_CONVOLUTION,
    PGY_LAYER_CAST,
    PGY_LAYER_ACTIVATION,
    PGY_LAYER_POOLING,
    PGY_LAYER_LRN,
    PGY_LAYER_SCALE,
    PGY_LAYER_SOFTMAX,
    PGY_LAYER_DECONVOLUTION,
    PGY_LAYER_CONCATENATION,
    PGY_LAYER_ELEMENTWISE,
    PGY_LAYER_UNARY,
    PGY_LAYER_PADDING,
    PGY_LAYER_SHUFFLE,
    PGY_LAYER_REDUCE,
    PGY_LAYER_TOPK,
    PGY_LAYER_GATHER,
    PGY_LAYER_MATRIX_MULTIPLY,
    PGY_LAYER_CONSTANT,
    PGY_LAYER_IDENTITY,
    PGY_LAYER_PLUGIN_V3,
    PGY_LAYER_SLICE,
    PGY_LAYER_SHAPE,
    PGY_LAYER_PARAMETRIC_RELU,
    PGY_LAYER_RESIZE,
    PGY_LAYER_TRIP_LIMIT,
    PGY_LAYER_RECURRENCE,
    PGY_LAYER_ITERATOR,
    PGY_LAYER_LOOP_OUTPUT,
    PGY_LAYER_SELECT,
    PGY_LAYER_FILL,
    PGY_LAYER_QUANTIZE,
    PGY_LAYER_DEQUANTIZE,
    PGY_LAYER_CONDITION,
    PGY_LAYER_CONDITIONAL_INPUT,
    PGY_LAYER_CONDITIONAL_OUTPUT,
    PGY_LAYER_SCATTER,
    PGY_LAYER_EINSUM,
    PGY_LAYER_ASSERTION,
    PGY_LAYER_ONE_HOT,
    PGY_LAYER_NON_ZERO,
    PGY_LAYER_GRID_SAMPLE,
    PGY_LAYER_NMS,
    PGY_LAYER_REVERSE_SEQUENCE,
    PGY_LAYER_NORMALIZATION,
    PGY_LAYER_SQUEEZE,
    PGY_LAYER_UNSQUEEZE,
    PGY_LAYER_CUMULATIVE,
    PGY_LAYER_DYNAMIC_QUANTIZE,
    PGY_LAYER_ATTENTION,
    PGY_LAYER_ROTARY_EMBEDDING,
    PGY_LAYER_KVCACHE_UPDATE,
    PGY_LAYER_RNN, /**< TensorRT no longer has these three: its parser turns them into loops */
    PGY_LAYER_LSTM,
    PGY_LAYER_GRU,
    PGY_LAYER_LOOP,        /**< in networks from models: a whole loop as one layer */
    PGY_LAYER_CONDITIONAL, /**< in networks from models: a whole If as one layer */
    PGY_LAYER_OTHER,       /**< in networks from models: an operator without a layer type */
    PGY_LAYER_TYPE_COUNT
} pgy_layer_type;
/** "CONVOLUTION"; NULL beyond the last. */
PGY_API const char *pgy_layer_type_name(pgy_layer_type type);

/** A layer. Read its members; change them by the functions below. */
struct pgy_layer {
    const char *name;
    pgy_layer_type type;
    pgy_value *const *inputs; /**< constants included; NULL: omitted */
    size_t input_count;
    pgy_value *const *outputs; /**< loops and conditionals have none until they are closed */
    size_t output_count;
    pgy_dtype precision;    /**< computing type: the type of the first numeric input */
    pgy_node *const *nodes; /**< its ONNX nodes; none: a constant */
    size_t node_count;
    pgy_network *network; /**< its network: the whole one, or the body of a loop or branch */
    void *internal;
};

/* ---- Networks ------------------------------------------------------------------------------- */

/** An empty network. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_create(pgy_network **out, const char *name,
                                                     pgy_error *err);
/** Makes a network from a model, to list, change and add layers. The model itself does not change.
 * A model of an older opset is converted, so that layers can be added; if that is impossible,
 * adding layers fails with PGY_E_UNSUPPORTED and everything else works. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_from_model(pgy_network **out, pgy_model *model,
                                                         pgy_error *err);
/** Makes a model to build, save or run. The network stays valid and may be changed further. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_to_model(pgy_model **out, pgy_network *net,
                                                       pgy_error *err);
PGY_API void pgy_network_destroy(
    pgy_network *net); /**< destroys the bodies of its loops and branches, too; NULL is fine */

PGY_API const char *pgy_network_name(const pgy_network *net);
PGY_API PGY_MUST_CHECK pgy_status pgy_network_set_name(pgy_network *net, const char *name,
                                                       pgy_error *err);
/** The network's graph, for reading only. */
PGY_API pgy_graph *pgy_network_graph(pgy_network *net);

/** @param dims  rank entries; -1 is a dynamic dimension */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_input(pgy_value **out, pgy_network *net,
                                                        const char *name, pgy_dtype dtype,
                                                        int32_t rank, const int64_t *dims,
                                                        pgy_error *err);
/** Dynamic dimensions with the same name are equal. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_set_dimension_name(pgy_network *net, pgy_value *input,
                                                                 int32_t axis, const char *name,
                                                                 pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_network_mark_output(pgy_network *net, pgy_value *v,
                                                          pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_network_unmark_output(pgy_network *net, pgy_value *v,
                                                            pgy_error *err);
/** Marks a debug tensor: a debug listener (runtime.h) can receive it while the engine runs. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_mark_debug(pgy_network *net, pgy_value *v,
                                                         pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_network_unmark_debug(pgy_network *net, pgy_value *v,
                                                           pgy_error *err);
PGY_API bool pgy_network_is_debug(const pgy_network *net, const pgy_value *v);
/** Gives the names of the debug tensors, for pgy_build_config.debug_tensors; valid until the next
 * change. */
PGY_API size_t pgy_network_debug_tensors(pgy_network *net, const char *const **names);

/* ---- Reading -------------------------------------------------------------------------------- */

PGY_API size_t pgy_network_input_count(const pgy_network *net);
PGY_API pgy_value *pgy_network_input_at(const pgy_network *net, size_t i);
PGY_API size_t pgy_network_output_count(const pgy_network *net);
PGY_API pgy_value *pgy_network_output_at(const pgy_network *net, size_t i);
/** Number of layers, in the order in which they were added. Layers of loop bodies and branches
 * belong to the networks of these. */
PGY_API size_t pgy_network_layer_count(const pgy_network *net);
PGY_API pgy_layer *pgy_network_layer_at(const pgy_network *net, size_t i);
PGY_API pgy_layer *pgy_network_find_layer(const pgy_network *net, const char *name); /**< or NULL */
/** Number of tensors: first the inputs, then the outputs of layers. */
PGY_API size_t pgy_network_tensor_count(const pgy_network *net);
PGY_API pgy_value *pgy_network_tensor_at(const pgy_network *net, size_t i);
PGY_API pgy_value *pgy_network_find_tensor(const pgy_network *net,
                                           const char *name); /**< or NULL */

/* ---- Changing ------------------------------------------------------------------------------- */

/** @return PGY_E_ARGUMENT if another layer has the name */
PGY_API PGY_MUST_CHECK pgy_status pgy_layer_set_name(pgy_layer *layer, const char *name,
                                                     pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_network_rename_tensor(pgy_network *net, pgy_value *v,
                                                            const char *name, pgy_error *err);
/** Changes the type of an input and infers the network again; on failure nothing changes. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_set_type(pgy_network *net, pgy_value *input,
                                                       pgy_dtype dtype, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_network_set_shape(pgy_network *net, pgy_value *input,
                                                        int32_t rank, const int64_t *dims,
                                                        pgy_error *err);
/** Connects input i of the layer to another tensor. */
PGY_API PGY_MUST_CHECK pgy_status pgy_layer_set_input(pgy_layer *layer, size_t i, pgy_value *v,
                                                      pgy_error *err);
/** Makes the layer compute in another numeric type: casts its numeric inputs to this type and its
 * outputs back, so that its neighbours do not change. */
PGY_API PGY_MUST_CHECK pgy_status pgy_layer_set_precision(pgy_layer *layer, pgy_dtype dtype,
                                                          pgy_error *err);
/** @return PGY_E_ARGUMENT naming a layer that reads its outputs, or the network output among them
 */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_remove_layer(pgy_network *net, pgy_layer *layer,
                                                           pgy_error *err);

#ifdef __cplusplus
}
#endif

#include <polygraphy/network_layers.h>

#endif
