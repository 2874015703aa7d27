/* SPDX-License-Identifier: Apache-2.0 */
/** Patterns of nodes: finds, checks and replaces them in a graph. Part of gs.h, which includes this
 * header. */
#ifndef POLYGRAPHY_GS_PATTERN_H
#define POLYGRAPHY_GS_PATTERN_H

#include <polygraphy/gs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Patterns (pattern.c) -------------------------------------------------------------------- */

typedef struct pgy_gs_pattern pgy_gs_pattern;
typedef struct pgy_gs_match pgy_gs_match;
typedef int32_t pgy_gs_slot; /**< a tensor of a pattern */
typedef bool (*pgy_gs_check)(const pgy_gs_node *n, void *user);

PGY_API PGY_MUST_CHECK pgy_status pgy_gs_pattern_create(pgy_gs_pattern **out, pgy_error *err);
PGY_API void pgy_gs_pattern_destroy(pgy_gs_pattern *p);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_pattern_variable(pgy_gs_slot *out, pgy_gs_pattern *p,
                                                          pgy_error *err);
/** Adds a tensor that matches constants only. name NULL: "unnamed_constant_tensor_<id>". */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_pattern_constant(pgy_gs_slot *out, pgy_gs_pattern *p,
                                                          const char *name, pgy_error *err);
typedef struct pgy_gs_pattern_node {
    const char *name;              /**< name for pgy_gs_match_node */
    const char *op;                /**< operator; NULL if `pattern` is set */
    const pgy_gs_pattern *pattern; /**< a nested pattern, which must outlive this one */
    pgy_gs_check check;            /**< NULL: any node of that operator */
    void *user;
    const pgy_gs_slot *inputs;
    size_t input_count;
} pgy_gs_pattern_node;
/** Adds a node and writes the slots of its outputs to `outputs`. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_pattern_add(pgy_gs_slot *outputs, size_t output_count,
                                                     pgy_gs_pattern *p,
                                                     const pgy_gs_pattern_node *node,
                                                     pgy_error *err);
/** Declares the pattern's outputs, which any node may read. Other tensors that the pattern computes
 * match only if nothing but its own nodes reads them and they are not graph outputs. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_pattern_outputs(pgy_gs_pattern *p,
                                                         const pgy_gs_slot *slots, size_t count,
                                                         pgy_error *err);

struct pgy_gs_match {
    pgy_gs_tensor **inputs; /**< the tensors that the pattern's variables matched, in their order */
    size_t input_count;
    pgy_gs_tensor **outputs; /**< tensors of the declared outputs */
    size_t output_count;
    pgy_gs_tensor **constants; /**< constants in the order in which the pattern declares them */
    size_t constant_count;
    void *internal;
};
/** Finds matches: for every node that can be the pattern's first node, in list order, the first
 * match of the whole pattern. Matches may share nodes. Checks must not edit the graph. Variables of
 * the pattern match every tensor, omitted slots and constants included. Free with
 * pgy_gs_matches_free. @return PGY_E_ARGUMENT if the pattern's nodes are not connected;
 * PGY_E_UNSUPPORTED if the graph has too many ways to match */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_match_all(pgy_gs_match **out, size_t *count,
                                                   const pgy_gs_pattern *p, const pgy_gs_graph *g,
                                                   pgy_error *err);
PGY_API void pgy_gs_matches_free(pgy_gs_match *matches, size_t count);
/** The node, nested match or constant that matched a name of the pattern; NULL: none. */
PGY_API pgy_gs_node *pgy_gs_match_node(const pgy_gs_match *m, const char *name);
PGY_API const pgy_gs_match *pgy_gs_match_nested(const pgy_gs_match *m, const char *name);
PGY_API pgy_gs_tensor *pgy_gs_match_constant(const pgy_gs_match *m, const char *name);
/** Replaces a subgraph by one node, which is added at the end of the list. The former producers of
 * its outputs lose them, and nodes that only these producers needed are removed. Call toposort
 * afterwards. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_replace_region(pgy_gs_node **out, pgy_gs_graph *g,
                                                        const pgy_gs_node_spec *spec,
                                                        pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
