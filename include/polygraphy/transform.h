/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Changes to whole graphs: constant folding, other opset versions, other input shapes.
 *
 *     pgy_fold_options o = pgy_fold_options_default();
 *     pgy_fold_report report;
 *     if (pgy_graph_fold_constants(graph, &o, &report, &err)) ...
 *
 * The functions change an imported graph in place, subgraphs and functions included, and report
 * nodes that they could not change. The graph owns texts and arrays of the reports.
 */
#ifndef POLYGRAPHY_TRANSFORM_H
#define POLYGRAPHY_TRANSFORM_H

#include <polygraphy/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A node that was not changed, and the reason. */
typedef struct pgy_transform_note {
    const char *node; /**< its name, or its first output's name */
    const char *op_type;
    const char *reason; /**< one line */
} pgy_transform_note;

typedef struct pgy_fold_options {
    size_t size;               /**< sizeof(pgy_fold_options) */
    uint64_t max_node_growth;  /**< limit in bytes by which the results of one node may exceed the
                                  weights they replace; UINT64_MAX: no limit */
    uint64_t max_total_growth; /**< like max_node_growth, for all results together */
    uint64_t max_result_bytes; /**< larger results stay unfolded (--fold-size-threshold) */
    bool keep_shapes;          /**< do not fold shape arithmetic */
    bool keep_shape_inference; /**< use the graph's shapes; do not infer others */
    int64_t passes;            /**< maximum number; 0: until nothing changes */
    /** Called before each pass (nodes_after is SIZE_MAX) and after it, with the number of nodes,
     * subgraphs included; NULL: not called. */
    void (*progress)(size_t pass, size_t nodes_before, size_t nodes_after, void *user);
    void *user;
    bool keep_separate; /**< do not merge operators into a neighbouring Conv, ConvTranspose, Gemm or
                           MatMul (Mul, Div, Add, Sub and BatchNormalization after it, which would
                           change its weights; Pad before it), do not join products of one value,
                           and keep Reshapes around elementwise operators */
    uint64_t max_copy_bytes; /**< do not fold the Transpose of a larger weight if other nodes read
                                the weight untransposed, because it would be stored twice;
                                UINT64_MAX: no limit */
} pgy_fold_options;

PGY_API pgy_fold_options pgy_fold_options_default(void);

typedef struct pgy_fold_report {
    size_t passes;
    size_t nodes_before, nodes_after; /**< numbers of nodes, including those of subgraphs */
    uint64_t weight_bytes_before, weight_bytes_after;
    const pgy_transform_note *refused; /**< constant, but over a limit or not computable */
    size_t refused_count;
} pgy_fold_report;

/** Constant folding: replaces values that depend on constants only by weights, which the reference
 * computes in the model's own precision; then dead-code elimination. An If with a constant
 * condition and a Loop with constant inputs are folded, too. Random operators stay. Results do not
 * depend on the number of threads. `report` may be NULL. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_fold_constants(pgy_graph *g,
                                                           const pgy_fold_options *options,
                                                           pgy_fold_report *report, pgy_error *err);

/** Dead-code elimination: removes nodes that no output needs, and weights that no node reads; in
 * subgraphs and functions, too. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_remove_unused(pgy_graph *g, pgy_error *err);

/** Gives tensors other shapes, and other types where `shapes` has them. A named tensor that is not
 * an input becomes one and loses its producer. Declared shapes of the tensors after it are dropped,
 * so that inference finds new ones. @return PGY_E_NOT_FOUND naming a tensor that the graph does not
 * have */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_override_shapes(pgy_graph *g,
                                                            const pgy_metadata *shapes,
                                                            pgy_error *err);

/** Declares shapes and types of tensors, for example those of a run, so that inference takes them
 * into account. Names that the graph does not have are ignored. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_declare_shapes(pgy_graph *g, const pgy_metadata *shapes,
                                                           pgy_error *err);

/** Upper bound for the values of a tensor. The name "" stands for all tensors that need a bound and
 * are not named. */
typedef struct pgy_upper_bound {
    const char *name;
    int64_t bound;
} pgy_upper_bound;
/** Inserts a Min after tensors that determine a size (of Range, Pad, Tile, Expand, Resize) and have
 * no upper bound. Infer shapes first. *set lists the bounded tensors; the graph owns it. @return
 * PGY_E_NOT_FOUND naming a tensor that the graph does not have */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_set_upper_bounds(pgy_graph *g,
                                                             const pgy_upper_bound *bounds,
                                                             size_t count,
                                                             const pgy_upper_bound **set,
                                                             size_t *set_count, pgy_error *err);
/** Lists the tensors that an upper bound "" would bound: those that determine a size and have no
 * upper bound. Graph inputs are left out, because the caller gives their values. Sorts the graph;
 * infer shapes first. *out is owned by the graph. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_list_unbounded(const pgy_value *const **out,
                                                           size_t *count, pgy_graph *g,
                                                           pgy_error *err);

typedef struct pgy_opset_report {
    int64_t from, to;
    size_t changed_count;                 /**< nodes that were rewritten */
    const pgy_transform_note *impossible; /**< nodes that the requested version cannot express */
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
