/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Changes to whole graphs: constant folding, other opset versions, other input shapes.
 *
 *     pgy_fold_options o = pgy_fold_options_default();
 *     pgy_fold_report report;
 *     if (pgy_graph_fold_constants(graph, &o, &report, &err)) ...
 *
 * Both work in place on an imported graph, subgraphs and functions included, and tell what they
 * could not do. Texts and arrays of the reports are owned by the graph.
 */
#ifndef POLYGRAPHY_TRANSFORM_H
#define POLYGRAPHY_TRANSFORM_H

#include <polygraphy/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A node that was left as it is, and why. */
typedef struct pgy_transform_note {
    const char *node; /**< name, or that of its first output */
    const char *op_type;
    const char *reason; /**< one line */
} pgy_transform_note;

typedef struct pgy_fold_options {
    size_t size;              /**< sizeof(pgy_fold_options) */
    uint64_t max_node_growth; /**< bytes that the results of one node may be larger than the weights
                                 they replace; UINT64_MAX: no limit */
    uint64_t max_total_growth; /**< the same for the whole model */
    uint64_t max_result_bytes; /**< larger results stay unfolded (--fold-size-threshold) */
    bool keep_shapes;          /**< do not replace shape arithmetic by constants */
    bool keep_shape_inference; /**< use the shapes the graph has; infer none */
    int64_t passes;            /**< at most; 0: until nothing changes */
    /** Called before (then nodes_after is SIZE_MAX) and after each pass with the number of nodes
     * (subgraphs included); NULL: not. */
    void (*progress)(size_t pass, size_t nodes_before, size_t nodes_after, void *user);
    void *user;
    bool keep_separate; /**< leave operators that could become a part of the Conv, ConvTranspose,
                           Gemm or MatMul beside them: Mul, Div, Add, Sub and BatchNormalization
                           behind it (into its weights), Pad before it; products of one value
                           (into one), Reshapes around elementwise operators */
    uint64_t max_copy_bytes; /**< a Transpose of a larger weight stays if the weight is needed as it
                                is, too, and would be stored twice; UINT64_MAX: no limit */
} pgy_fold_options;

PGY_API pgy_fold_options pgy_fold_options_default(void);

typedef struct pgy_fold_report {
    size_t passes;
    size_t nodes_before, nodes_after; /**< subgraph nodes counted */
    uint64_t weight_bytes_before, weight_bytes_after;
    const pgy_transform_note *refused; /**< constant, but beyond a limit or not computable */
    size_t refused_count;
} pgy_fold_report;

/** Replaces everything that depends on constants alone by its value, computed by the reference in
 * the model's own precision; removes what is not needed any more. If with a constant condition and
 * Loop with constant inputs are included. Random operators stay. Results do not depend on the
 * number of threads. `report` may be NULL. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_fold_constants(pgy_graph *g,
                                                           const pgy_fold_options *options,
                                                           pgy_fold_report *report, pgy_error *err);

/** Removes nodes that no output needs, and weights without users; subgraphs and functions too. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_remove_unused(pgy_graph *g, pgy_error *err);

/** Gives values other shapes (and types, where `shapes` has them). Names of inputs change these;
 * another tensor becomes an input, its producer loses it. What is declared of the shapes in between
 * is forgotten, so that inference finds them anew. PGY_E_NOT_FOUND names what the graph has not. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_override_shapes(pgy_graph *g,
                                                            const pgy_metadata *shapes,
                                                            pgy_error *err);

/** Takes what `shapes` says of tensors (from a run, say) as their declared shapes and types; names
 * the graph has not are left out. Inference then agrees with it. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_declare_shapes(pgy_graph *g, const pgy_metadata *shapes,
                                                           pgy_error *err);

/** Upper limit for the values of a tensor; name "": for all that need one and are not named. */
typedef struct pgy_upper_bound {
    const char *name;
    int64_t bound;
} pgy_upper_bound;
/** Puts a Min behind tensors that set a size without a limit (of Range, Pad, Tile, Expand, Resize).
 * The shapes must have been inferred. *set lists what was bounded (owned by the graph).
 * PGY_E_NOT_FOUND names a tensor that the graph has not. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_set_upper_bounds(pgy_graph *g,
                                                             const pgy_upper_bound *bounds,
                                                             size_t count,
                                                             const pgy_upper_bound **set,
                                                             size_t *set_count, pgy_error *err);
/** Tensors that nodes make and that set a size without a limit: what an upper bound "" would bound,
 * but for graph inputs, whose values are given. Sorts the graph; its shapes should have been
 * inferred. *out is owned by the graph. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_list_unbounded(const pgy_value *const **out,
                                                           size_t *count, pgy_graph *g,
                                                           pgy_error *err);

typedef struct pgy_opset_report {
    int64_t from, to;
    size_t changed_count;                 /**< nodes that were rewritten */
    const pgy_transform_note *impossible; /**< nodes the wanted version cannot express */
    size_t impossible_count;
} pgy_opset_report;

/** Rewrites the nodes of the default domain for another opset version (7 to 28), upward or
 * downward. If some node cannot be expressed the graph is left as it was and PGY_E_UNSUPPORTED
 * names the first; the report lists all. `report` may be NULL. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_convert_opset(pgy_graph *g, int64_t version,
                                                          pgy_opset_report *report, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
