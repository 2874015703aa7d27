/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the library can run: the operators it knows, the nodes of a model that it does not, and the
 * parts of a model on either side.
 */
#ifndef POLYGRAPHY_CAPABILITY_H
#define POLYGRAPHY_CAPABILITY_H

#include <polygraphy/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A version of an operator. Texts are constant. */
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
    size_t index;      /**< place of the top-level node that it belongs to */
    const char *trace; /**< calls and subgraphs around it, "call (Function) -> inner (G)"; "" at the
                          top level */
    const char *node, *op_type;
    const char *reason; /**< one line */
} pgy_unsupported;

/** Every node that the reference cannot run: operators it does not know, definitions that a node
 * breaks, types and shapes that cannot be. *out is owned by the graph; nodes come in stored order.
 */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_capability(const pgy_unsupported **out, size_t *count,
                                                       pgy_graph *g, pgy_error *err);

/** A model of the top-level nodes [first, end): what they take from other nodes becomes inputs,
 * what others or the outputs take from them becomes outputs, and only the weights they use are
 * kept. The graph must be in an order that can be run. @return PGY_E_ARGUMENT for an empty or
 * foreign range */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_extract(pgy_model **out, pgy_graph *g, size_t first,
                                                    size_t end, pgy_error *err);

/** Neighbouring top-level nodes [first, end) that can all be run, or that all cannot. */
typedef struct pgy_capability_part {
    size_t first, end;
    bool supported;
    const char *op_type; /**< of the first node */
    const char *reason;  /**< of parts that cannot be run: all reasons, joined by " | "; else "" */
} pgy_capability_part;

/** The whole graph as such parts, in order; each can become a model by pgy_graph_extract. *out is
 * owned by the graph. @param rows what pgy_graph_capability gave for this graph */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_partition(const pgy_capability_part **out,
                                                      size_t *count, pgy_graph *g,
                                                      const pgy_unsupported *rows, size_t row_count,
                                                      pgy_error *err);

/* ---- Reports; texts are freed with pgy_text_free -------------------------------------------- */

/** A table with one row for each node that cannot be run, grouped by trace. */
PGY_API PGY_MUST_CHECK pgy_status pgy_unsupported_text(char **out, const pgy_unsupported *rows,
                                                       size_t count, pgy_error *err);
/** A table with one row for each operator and reason, with the ranges of nodes. */
PGY_API PGY_MUST_CHECK pgy_status pgy_capability_parts_text(char **out,
                                                            const pgy_capability_part *parts,
                                                            size_t count, pgy_error *err);
/** {"unsupported": [...], "parts": [...]} with the members of the structs above. */
PGY_API PGY_MUST_CHECK pgy_status pgy_capability_json(char **out, const pgy_unsupported *rows,
                                                      size_t row_count,
                                                      const pgy_capability_part *parts,
                                                      size_t part_count, pgy_error *err);
/** All operators as a table in Markdown. */
PGY_API PGY_MUST_CHECK pgy_status pgy_operators_text(char **out, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
