/* SPDX-License-Identifier: Apache-2.0 */
/**
 * An editable graph of values and nodes, with subgraphs and functions, made from a model and turned
 * back into one.
 *
 *     pgy_graph *graph = NULL;
 *     if (pgy_graph_import(&graph, model, &err)) ...
 *     if (pgy_graph_infer_shapes(graph, NULL, &err)) ...
 *     if (pgy_graph_export(&edited, graph, &err)) ...
 *     pgy_graph_destroy(graph);
 *
 * A graph is one arena: removing a node only unlinks it; everything is freed at once. It keeps the
 * model it came from. Nodes and values are plain structs to be read by anyone and changed through
 * the functions below.
 */
#ifndef POLYGRAPHY_GRAPH_H
#define POLYGRAPHY_GRAPH_H

#include <polygraphy/onnx.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_graph pgy_graph;
typedef struct pgy_node pgy_node;
typedef struct pgy_value pgy_value;

/** A dimension: value >= 0 is fixed; -1 is dynamic, then `text` is its name or expression ("N",
 * "2*N + 1"), or NULL. After inference, sizes of node outputs that cannot be known are called
 * "unk__0", "unk__1"...: equal texts are equal sizes. */
typedef struct pgy_dim {
    int64_t value;
    const char *text;
} pgy_dim;

typedef enum pgy_value_kind {
    PGY_VALUE_TENSOR,
    PGY_VALUE_SEQUENCE,
    PGY_VALUE_OPTIONAL,
    PGY_VALUE_MAP,
    PGY_VALUE_SPARSE
} pgy_value_kind;

/** A tensor of the graph: input, initializer, or output of one node. */
struct pgy_value {
    const char *name;
    pgy_value_kind kind;
    pgy_dtype dtype; /**< NONE = unknown */
    int32_t rank;    /**< -1 = unknown */
    const pgy_dim *dims;
    const pgy_onnx_tensor
        *initializer; /**< stored weight, or NULL; elements through pgy_graph_value_data */
    const pgy_onnx_sparse_tensor *sparse; /**< stored sparse weight, or NULL */
    const pgy_onnx_value_info *info;      /**< as declared in the file, or NULL */
    pgy_node *producer;                   /**< NULL for inputs and initializers */
    size_t output_index;                  /**< among producer's outputs */
    pgy_node **consumers; /**< each consuming node once per use, subgraph uses included */
    size_t consumer_count;
    bool is_input, is_output;
    const char *unknown_why; /**< after inference: why type or shape is not known, naming the first
                                node; or NULL */
    pgy_graph *graph;        /**< the (sub)graph it belongs to */
    void *internal;
};

struct pgy_node {
    const char *name, *op_type, *domain, *overload;
    pgy_value *
        *inputs; /**< NULL entries = omitted optional inputs; values of outer graphs possible */
    size_t input_count;
    pgy_value **outputs; /**< NULL entries = omitted */
    size_t output_count;
    const pgy_onnx_node *proto; /**< as in the file; NULL for new nodes */
    const pgy_onnx_attribute *const *attributes;
    size_t attribute_count;
    pgy_graph **subgraphs;             /**< of graph attributes, in attribute order */
    const char *const *subgraph_names; /**< the attribute of each */
    size_t subgraph_count;
    pgy_graph *graph;
    size_t index; /**< place in graph->nodes */
    void *internal;
};

struct pgy_graph {
    const char *name;
    pgy_node **nodes; /**< in stored order; topological after pgy_graph_sort */
    size_t node_count;
    pgy_value **inputs, **outputs; /**< initializers that are also inputs are not in `inputs` unless
                                      IR < 4 declares them */
    size_t input_count, output_count;
    pgy_value **initializers;
    size_t initializer_count;
    pgy_graph *parent; /**< enclosing graph, NULL at the top */
    const pgy_onnx_graph *proto;
    pgy_model *model; /**< where it came from (retained) */
    void *internal;
};

/** Builds the graph of a model, subgraphs included. Checks structure: duplicate value names,
 * undefined inputs, bad types are PGY_E_FORMAT with the node's name; a cycle is found by
 * pgy_graph_sort. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_import(pgy_graph **out, pgy_model *model,
                                                   pgy_error *err);
PGY_API void pgy_graph_destroy(pgy_graph *g); /**< only the top graph; NULL is fine */
/** A new model: weights are views of the old one (kept alive), unchanged nodes keep their bytes. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_export(pgy_model **out, pgy_graph *g, pgy_error *err);

PGY_API pgy_value *pgy_graph_find_value(const pgy_graph *g,
                                        const char *name); /**< of this graph level; NULL if none */
PGY_API pgy_node *pgy_graph_find_node(const pgy_graph *g, const char *name);
PGY_API int64_t pgy_graph_opset(const pgy_graph *g, const char *domain);
/** Elements of an initializer or Constant; PGY_E_NOT_FOUND if the value has none. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_value_data(pgy_tensor **out, pgy_value *v,
                                                       pgy_error *err);

/** Stable topological order (stored order kept where possible), subgraphs too. PGY_E_FORMAT naming
 * a node of the cycle. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_sort(pgy_graph *g, pgy_error *err);

typedef struct pgy_infer_options {
    size_t size; /**< sizeof(pgy_infer_options) */
    const pgy_metadata
        *inputs; /**< shapes (and types) that replace those of graph inputs; may be NULL */
    bool strict; /**< a contradiction with declared shapes is an error; else a warning and the
                    computed one wins */
    const pgy_tensor_map *values; /**< of graph inputs that are known, such as shapes; NULL: none.
                                     Of one not named in `inputs` the shape counts too */
} pgy_infer_options;
/** Fills dtype, rank and dims of every value that can be known, and unknown_why of the others.
 * Declared and inferred information are merged. @return PGY_E_SHAPE or PGY_E_TYPE naming the node
 * that cannot work */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_infer_shapes(pgy_graph *g,
                                                         const pgy_infer_options *options,
                                                         pgy_error *err);

typedef struct pgy_output_selection {
    size_t size;              /**< sizeof(pgy_output_selection) */
    const char *const *names; /**< new outputs in order; items with * ? [ ] are wildcards over all
                                 node outputs; NULL: keep */
    size_t name_count;
    bool mark_all;               /**< all non-empty node outputs except Constant's */
    const char *const *op_types; /**< also outputs of all nodes of these operators, any case */
    size_t op_type_count;
    const char *const *exclude; /**< then removed; wildcards too */
    size_t exclude_count;
} pgy_output_selection;
/** Replaces the graph's outputs. `names` and `op_types` are united. Types
 * and shapes of marked tensors are kept when known.
 *  @return PGY_E_NOT_FOUND listing missing and available names; "No outputs were selected." */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_select_outputs(pgy_graph *g,
                                                           const pgy_output_selection *selection,
                                                           pgy_error *err);

typedef struct pgy_half_options {
    size_t size;             /**< sizeof(pgy_half_options) */
    pgy_dtype dtype;         /**< PGY_F16 or PGY_BF16 */
    const char *const *keep; /**< nodes that stay float32: names, wildcards, or operators */
    size_t keep_count;
} pgy_half_options;
PGY_API pgy_half_options pgy_half_options_default(void); /**< float16, nothing kept */
/** float32 to 16 bits: initializers, Constant values, Cast targets and internal types; graph inputs
 * and outputs keep their types through added Casts. Nodes stay float32, with Casts around them, if
 * they are named, if their operator has no such type in this opset, and those that need the
 * precision (Resize, Range, TopK...). Calls of local functions give way to what they do; those that
 * are named, or whose function is of other opset versions, stay calls, and float32. Values beyond
 * the range are clamped to the largest finite value with one warning per tensor; those of masks
 * (what is only added, selected or scaled on its way to a Softmax) to a quarter of it, so that sums
 * with them stay finite, and a Clip keeps masks that are computed from becoming infinite in a Cast.
 * options NULL: the defaults. PGY_E_NOT_FOUND for a name that nothing has, PGY_E_UNSUPPORTED for
 * bfloat16 before opset 13. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_convert_half(pgy_graph *g,
                                                         const pgy_half_options *options,
                                                         pgy_error *err);

/** Parameters and floating-point operations of the nodes of one operator. */
typedef struct pgy_op_summary {
    const char *op_type, *domain;
    size_t node_count;
    uint64_t parameter_count, parameter_bytes; /**< of initializers first used by these nodes */
    double flops; /**< a multiply-add counts as two; < 0: some shape is not known */
} pgy_op_summary;
/** Rows by first appearance, subgraph nodes included. Shapes are inferred from those of `inputs`
 * where it has them (may be NULL), else from the model's; nodes with dynamic ones count as unknown.
 * *out is owned by the graph. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_summarize(const pgy_op_summary **out, size_t *count,
                                                      pgy_graph *g, const pgy_metadata *inputs,
                                                      pgy_error *err);

/** One finding of a check. Text is owned by the graph. */
typedef struct pgy_finding {
    pgy_severity severity; /**< ERROR, WARNING or INFO */
    const char *node;      /**< name, or "" for the whole model */
    const char *op_type;   /**< "" for the whole model */
    const char *message;
    const char *path; /**< from the top: "If_3/then_branch/Add_2", "MyFunction:body/Relu_0"; of
                         values the same with their name; "" = the whole model */
    const char *code; /**< stable name of the rule, e.g. "duplicate-node-name" */
} pgy_finding;
/** Structural checks that need no runtime (docs/checker.md lists them): names, order, operators,
 * attributes, types per opset, shapes, weights, versions, parts that do not affect any output.
 * *out is owned by the graph. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_check(const pgy_finding **out, size_t *count,
                                                  pgy_graph *g, pgy_error *err);

/** What keeps a model from being imported, all of it and not only the first: values defined twice
 * or not at all, types that do not exist, nodes in circles; in subgraphs and functions too. Nothing
 * is found in a model that imports and sorts. *out is owned by the model. */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_check(const pgy_finding **out, size_t *count,
                                                  pgy_model *model, pgy_error *err);

/** What a check can find. */
typedef struct pgy_check_rule {
    const char *code;
    pgy_severity severity;
    const char *text; /**< one sentence */
} pgy_check_rule;
/** All rules, by code. @return their number; *out is static. */
PGY_API size_t pgy_check_rule_list(const pgy_check_rule **out);

#ifdef __cplusplus
}
#endif
#endif
