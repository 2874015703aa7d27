/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Capability: the operators that the library knows, the nodes of a model that it cannot run, and
 * the division of a model into parts that it can or cannot run.
 */
#ifndef POLYGRAPHY_CAPABILITY_H
#define POLYGRAPHY_CAPABILITY_H

#include <polygraphy/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One version of an operator. Texts are static. */
typedef struct pgy_operator {
    const char *domain; /**< "" = ai.onnx */
    const char *name;
    int64_t since;      /**< first opset version with this definition */
    int64_t deprecated; /**< first version without the operator; 0: none */
    size_t min_inputs, max_inputs, min_outputs, max_outputs; /**< SIZE_MAX: any number */
    bool random;
} pgy_operator;

/** All versions of all operators, sorted by name, domain and version. */
PGY_API size_t pgy_operator_count(void);
PGY_API pgy_status pgy_operator_at(pgy_operator *out, size_t i);

/** A node that cannot be run. Texts are owned by the graph. */
typedef struct pgy_unsupported {
    size_t index; /**< index in the main graph: of this node, or of the node that contains it */
    const char *trace; /**< the calls and subgraphs around the node, outermost first: "call
                          (Function) -> inner (G)"; "" in the main graph */
    const char *node, *op_type;
    const char *reason; /**< one line */
} pgy_unsupported;

/** Lists every node that the reference cannot run, because it does not know the operator, or
 * because the node violates the operator's definition or has invalid types or shapes. *out is owned
 * by the graph; nodes are in stored order. */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_capability(const pgy_unsupported **out, size_t *count,
                                                       pgy_graph *g, pgy_error *err);

/** Makes a model of the top-level nodes [first, end). Values that they read from other nodes become
 * inputs; values that other nodes or graph outputs read from them become outputs. Only weights that
 * they read are kept. The graph must be sorted. @return PGY_E_ARGUMENT for a range that is empty or
 * out of bounds */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_extract(pgy_model **out, pgy_graph *g, size_t first,
                                                    size_t end, pgy_error *err);

/** Consecutive top-level nodes [first, end), either all supported or all not. */
typedef struct pgy_capability_part {
    size_t first, end;
    bool supported;
    const char *op_type; /**< of the first node */
    const char *reason;  /**< for an unsupported part: all reasons, joined by " | "; else "" */
} pgy_capability_part;

/** Divides the main graph into supported and unsupported parts, in order. pgy_graph_extract makes a
 * model of a part. *out is owned by the graph. @param rows the result of pgy_graph_capability for
 * this graph */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_partition(const pgy_capability_part **out,
                                                      size_t *count, pgy_graph *g,
                                                      const pgy_unsupported *rows, size_t row_count,
                                                      pgy_error *err);

/* ---- Reports; texts are freed with pgy_text_free -------------------------------------------- */

/** A table with one row for each node that cannot be run, grouped by trace. */
PGY_API PGY_MUST_CHECK pgy_status pgy_unsupported_text(char **out, const pgy_unsupported *rows,
                                                       size_t count, pgy_error *err);
/** Writes a table with one row per operator and reason, and the ranges of nodes. */
PGY_API PGY_MUST_CHECK pgy_status pgy_capability_parts_text(char **out,
                                                            const pgy_capability_part *parts,
                                                            size_t count, pgy_error *err);
/** Writes {"unsupported": [...], "parts": [...]} with the members of the structs above. */
PGY_API PGY_MUST_CHECK pgy_status pgy_capability_json(char **out, const pgy_unsupported *rows,
                                                      size_t row_count,
                                                      const pgy_capability_part *parts,
                                                      size_t part_count, pgy_error *err);
/** Writes all operators as a Markdown table. */
PGY_API PGY_MUST_CHECK pgy_status pgy_operators_text(char **out, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
