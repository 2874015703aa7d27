/* SPDX-License-Identifier: Apache-2.0 */
/** Patterns of nodes in a graph (gs.h, which includes this): found, checked and replaced. */
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
/** Meets only constants. name NULL: "unnamed_constant_tensor_<id>". */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_pattern_constant(pgy_gs_slot *out, pgy_gs_pattern *p,
                                                          const char *name, pgy_error *err);
typedef struct pgy_gs_pattern_node {
    const char *name;              /**< by which a match gives the node */
    const char *op;                /**< or NULL with `pattern` */
    const pgy_gs_pattern *pattern; /**< a nested pattern, which must outlive this one */
    pgy_gs_check check;            /**< NULL: any node of that operator */
    void *user;
    const pgy_gs_slot *inputs;
    size_t input_count;
} pgy_gs_pattern_node;
/** outputs: `output_count` slots that are written. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_pattern_add(pgy_gs_slot *outputs, size_t output_count,
                                                     pgy_gs_pattern *p,
                                                     const pgy_gs_pattern_node *node,
                                                     pgy_error *err);
/** Tensors that may be read by anyone; all others that the pattern makes only by its own nodes, and
 * they are no graph outputs. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_pattern_outputs(pgy_gs_pattern *p,
                                                         const pgy_gs_slot *slots, size_t count,
                                                         pgy_error *err);

struct pgy_gs_match {
    pgy_gs_tensor **inputs; /**< what the pattern's variables met, in their order */
    size_t input_count;
    pgy_gs_tensor **outputs; /**< of the declared outputs */
    size_t output_count;
    pgy_gs_tensor **constants; /**< in the order the pattern declares them */
    size_t constant_count;
    void *internal;
};
/** For every node that can be the pattern's first one, in list order, the first way in which the
 * whole pattern fits there; several may share nodes. Free with pgy_gs_matches_free. A check must
 * not edit. Variables of the pattern meet anything, omitted slots and constants too. A pattern
 * whose nodes do not hang together is PGY_E_ARGUMENT; a graph in which it fits in too many ways
 * to be searched is PGY_E_UNSUPPORTED. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_match_all(pgy_gs_match **out, size_t *count,
                                                   const pgy_gs_pattern *p, const pgy_gs_graph *g,
                                                   pgy_error *err);
PGY_API void pgy_gs_matches_free(pgy_gs_match *matches, size_t count);
/** The node (of a nested pattern: the nested match) for a name of the pattern; NULL: none. */
PGY_API pgy_gs_node *pgy_gs_match_node(const pgy_gs_match *m, const char *name);
PGY_API const pgy_gs_match *pgy_gs_match_nested(const pgy_gs_match *m, const char *name);
PGY_API pgy_gs_tensor *pgy_gs_match_constant(const pgy_gs_match *m, const char *name);
/** Puts one node in place of a stretch: it is added at the end, the makers of its outputs are cut
 * off, and nodes that were there for these alone are removed. Call toposort afterwards. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_replace_region(pgy_gs_node **out, pgy_gs_graph *g,
                                                        const pgy_gs_node_spec *spec,
                                                        pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
