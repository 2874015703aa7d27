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
 * A graph is one arena: removing a node only unlinks it; destroying the graph frees everything. It
 * keeps the model it came from. Nodes and values are plain structs: read them directly, change them
 * through the functions below.
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

/** A dimension: value >= 0 is fixed; -1 is dynamic, then `text` is its name ("N"), its expression
 * ("2*N + 1"), or NULL. Inference names unknown sizes of node outputs "unk__0",
 * "unk__1"...: equal names mean equal sizes. */
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
    const pgy_onnx_value_info *info;      /**< the value's declaration in the file, or NULL */
    pgy_node *producer;                   /**< NULL for inputs and initializers */
    size_t output_index;                  /**< index in the producer's outputs */
    pgy_node **consumers; /**< each consuming node once per use, subgraph uses included */
    size_t consumer_count;
    bool is_input, is_output;
    const char *unknown_why; /**< after inference: why type or shape is unknown, with the name of
                                the first node that caused it; or NULL */
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
    const pgy_onnx_node *proto; /**< the node in the file; NULL for new nodes */
    const pgy_onnx_attribute *const *attributes;
    size_t attribute_count;
    pgy_graph **subgraphs; /**< graphs in attributes, in attribute order */
    /** Indexed like subgraphs: name of the attribute that holds each. */
    const char *const *subgraph_names;
    size_t subgraph_count;
    pgy_graph *graph;
    size_t index; /**< place in graph->nodes */
    void *internal;
};

struct pgy_graph {
    const char *name;
    pgy_node **nodes; /**< nodes in stored order, which is topological after pgy_graph_sort */
    size_t node_count;
    pgy_value **inputs, **outputs; /**< initializers that are also inputs are not in `inputs` unless
                                      IR < 4 declares them */
    size_t input_count, output_count;
    pgy_value **initializers;
    size_t initializer_count;
    pgy_graph *parent; /**< enclosing graph, NULL at the top */
    const pgy_onnx_graph *proto;
    pgy_model *model; /**< the model it was imported from (retained) */
    void *internal;
};

/** Builds the graph of a model, subgraphs included. Checks structure: duplicate value names,
 * undefined inputs, bad types are PGY_E_FORMAT with the node's name; a cycle is found by
 * pgy_graph_sort. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_import(pgy_graph **out, pgy_model *model,
                                                   pgy_error *err);
PGY_API void pgy_graph_destroy(pgy_graph *g); /**< only the top graph; NULL is fine */
/** Makes a new model. Its weights are views of the old model, which it keeps alive; unchanged nodes
 * keep their bytes. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_export(pgy_model **out, pgy_graph *g, pgy_error *err);

/** Finds a value by name in g, not in its subgraphs; NULL: not found. */
PGY_API pgy_value *pgy_graph_find_value(const pgy_graph *g, const char *name);
PGY_API pgy_node *pgy_graph_find_node(const pgy_graph *g, const char *name);
PGY_API int64_t pgy_graph_opset(const pgy_graph *g, const char *domain);
/** Elements of an initializer or Constant; PGY_E_NOT_FOUND if the value has none. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_value_data(pgy_tensor **out, pgy_value *v,
                                                       pgy_error *err);

/** Sorts nodes topologically, subgraphs included; the sort is stable. @return PGY_E_FORMAT naming a
 * node of a cycle */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_sort(pgy_graph *g, pgy_error *err);

/** Sets nb_rank of every DistCollective node, subgraphs included, whose group is all ranks, so that
 * the model is for this number of ranks. *count: of DistCollective nodes. @return PGY_E_ARGUMENT if
 * a node states another number */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_set_ranks(pgy_graph *g, int64_t ranks, size_t *count,
                                                      pgy_error *err);
/** The outputs that differ between the ranks of a divided model, because they are parts of a tensor
 * or only the root has them. @param graphs  one for each rank, or one for all ranks. @param out
 * their names, in the memory of graphs[0] */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_find_parts(const char *const **out, size_t *out_count,
                                                       pgy_graph *const *graphs, size_t count,
                                                       pgy_error *err);

typedef struct pgy_infer_options {
    size_t size; /**< sizeof(pgy_infer_options) */
    const pgy_metadata
        *inputs; /**< shapes (and types) that replace those of graph inputs; may be NULL */
    bool strict; /**< a contradiction with declared shapes is an error; else a warning and the
                    computed one wins */
    /** Known values of graph inputs, e.g. of inputs whose elements are shapes; NULL: none. The
     * shape of a value counts, too, unless `inputs` names its input. */
    const pgy_tensor_map *values;
} pgy_infer_options;
/** Infers dtype, rank and dims of every value, and sets unknown_why where that is impossible.
 * Declared and inferred information are merged. @return PGY_E_SHAPE or PGY_E_TYPE naming the node
 * whose inputs are invalid */
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
    const char *const *exclude; /**< outputs to leave out; may be wildcards */
    size_t exclude_count;
} pgy_output_selection;
/** Replaces the graph's outputs by the union of `names` and `op_types`. Known types and shapes of
 * the new outputs are declared.
 * @return PGY_E_NOT_FOUND listing missing and available names; "No outputs were selected." */
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
/** Converts float32 to 16 bits: initializers, Constant values, Cast targets and internal types.
 * Graph inputs and outputs keep their types through added Casts. A node stays float32, with Casts
 * around it, if `keep` names it, if its operator lacks the type in this opset, or if it needs the
 * precision (Resize, Range, TopK...). Calls of local functions are inlined; a call stays, in
 * float32, if it is named or if its function imports other opset versions. Values beyond the range
 * are clamped to the largest finite value, with one warning per tensor. Masks (tensors that are
 * only added, selected or scaled on their way to a Softmax) are clamped to a quarter of it, so that
 * sums with them stay finite; a Clip keeps computed masks from becoming infinite in a Cast. options
 * NULL: the defaults. @return PGY_E_NOT_FOUND for a name in `keep` that nothing has;
 * PGY_E_UNSUPPORTED for bfloat16 before opset 13 */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_convert_half(pgy_graph *g,
                                                         const pgy_half_options *options,
                                                         pgy_error *err);

/** Parameters and floating-point operations of the nodes of one operator. */
typedef struct pgy_op_summary {
    const char *op_type, *domain;
    size_t node_count;
    /** An initializer counts for the first node that uses it only. */
    uint64_t parameter_count, parameter_bytes;
    double flops; /**< a multiply-add counts as two; < 0: a shape is unknown */
} pgy_op_summary;
/** Summarizes each operator, in order of first appearance, subgraph nodes included. Shapes are
 * inferred from `inputs` (may be NULL) where it names an input, else from the model's; nodes with
 * dynamic shapes count as unknown. *out is owned by the graph. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_summarize(const pgy_op_summary **out, size_t *count,
                                                      pgy_graph *g, const pgy_metadata *inputs,
                                                      pgy_error *err);

/** One finding of a check. Text is owned by the graph. */
typedef struct pgy_finding {
    pgy_severity severity; /**< ERROR, WARNING or INFO */
    const char *node;      /**< name, or "" for the whole model */
    const char *op_type;   /**< "" for the whole model */
    const char *message;
    const char *path; /**< path of the node from the main graph: "If_3/then_branch/Add_2",
                         "MyFunction:body/Relu_0"; for a value it ends in the value's name; "" = the
                         whole model */
    const char *code; /**< stable name of the rule, e.g. "duplicate-node-name" */
} pgy_finding;
/** Runs the structural checks, which need no runtime (docs/checker.md lists them): names, order,
 * operators, attributes, types per opset, shapes, weights, versions, nodes that do not affect any
 * output. *out is owned by the graph. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_check(const pgy_finding **out, size_t *count,
                                                  pgy_graph *g, pgy_error *err);

/** Finds all reasons, not only the first, why a model cannot be imported or sorted: values defined
 * twice or not at all, types that do not exist, cycles; in subgraphs and functions, too. A model
 * that imports and sorts has no findings. *out is owned by the model. */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_check(const pgy_finding **out, size_t *count,
                                                  pgy_model *model, pgy_error *err);

/** A rule of the checks. */
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
