/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Cuts: makes a part of a model into a model of its own, and records the values at its borders, so
 * that it can run alone.
 *
 *     const char *names[] = {"/encoder/layer.3/Add"};
 *     const pgy_cut_selection what = {.size = sizeof what, .nodes = names, .node_count = 1};
 *     pgy_cut *cut = NULL;
 *     if (pgy_cut_create(&cut, model, &what, &err)) ...
 *     if (pgy_cut_record(&inputs, &outputs, cut, feed, &err)) ...
 *     if (pgy_cut_model(&part, cut, inputs, outputs, &err)) ...
 *     pgy_cut_destroy(cut);
 *
 * A value that the part's nodes read but do not compute becomes an input. This includes captured
 * values, if the part is inside the body of an If, Loop or Scan. The part also gets the weights it
 * reads, nodes that depend on weights only, and functions that it calls. Nodes inside a function
 * are named by the path of a call: the call is inlined, so that the part has the weights and
 * attributes of that call.
 */
#ifndef POLYGRAPHY_CUT_H
#define POLYGRAPHY_CUT_H

#include <polygraphy/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A selection of nodes, all from one graph: the union of named nodes, nodes of modules, and nodes
 * between tensors. */
typedef struct pgy_cut_selection {
    size_t size;          /**< sizeof(pgy_cut_selection) */
    const char *subgraph; /**< where to look up the names below: path of a subgraph,
                             "If_3/then_branch", or of a function call, "layer_1/attention"; NULL:
                             the main graph, or the graph in the first node's path. If only this is
                             set, all nodes of that graph are selected */
    /** Node names (for unnamed nodes: the name of the first output), wildcards, or paths
     * "If_3/then_branch/Add_2", "layer_1/attention/MatMul_0". A node in a function needs a call's
     * path if several calls match. */
    const char *const *nodes;
    size_t node_count;
    /** "encoder/layer.0": nodes whose name begins with this, or whose scopes
     * (pkg.torch.onnx.name_scopes) contain it; / and . are equal. */
    const char *const *modules;
    size_t module_count;
    const char *const *from, *const *to; /**< tensors: selects nodes on paths from one of `from` to
                                            one of `to`; either may be left out */
    size_t from_count, to_count;
    const int64_t *iterations; /**< the iteration to record, from 0, for each loop around the part,
                                  outermost first; for loops without an entry, the first iteration
                                  that reaches the part */
    size_t iteration_count;
} pgy_cut_selection;

typedef struct pgy_cut pgy_cut;
/** Resolves a selection and retains the model. @return PGY_E_NOT_FOUND suggesting similar names */
PGY_API PGY_MUST_CHECK pgy_status pgy_cut_create(pgy_cut **out, pgy_model *model,
                                                 const pgy_cut_selection *selection,
                                                 pgy_error *err);
PGY_API void pgy_cut_destroy(pgy_cut *c);

PGY_API size_t pgy_cut_node_count(const pgy_cut *c);
/** Names of the tensors at the borders, in the order of their first use. */
PGY_API const char *const *pgy_cut_inputs(const pgy_cut *c, size_t *count);
PGY_API const char *const *pgy_cut_outputs(const pgy_cut *c, size_t *count);
/** The model that the border names refer to: the whole model, with the calls on the path to the
 * part inlined. The cut owns it. */
PGY_API pgy_model *pgy_cut_source(const pgy_cut *c);
/** True if the part's nodes are in the main graph. */
PGY_API bool pgy_cut_is_top(const pgy_cut *c);

/** Runs the whole model with the reference and records the tensors at the borders when the part
 * first runs, or in the selected iterations. Elements of a sequence `s` become `s[0]`, `s[1]`...;
 * an empty optional is left out. @return PGY_E_NOT_FOUND if the part does not run with this feed (a
 * branch is not taken, or a loop ends before the iteration) */
PGY_API PGY_MUST_CHECK pgy_status pgy_cut_record(pgy_tensor_map **inputs, pgy_tensor_map **outputs,
                                                 pgy_cut *c, const pgy_tensor_map *feed,
                                                 pgy_error *err);
/** Makes the part a model. Types and shapes of inputs and outputs come from the tensors in the maps
 * (each may be NULL), else from inference. */
PGY_API PGY_MUST_CHECK pgy_status pgy_cut_model(pgy_model **out, pgy_cut *c,
                                                const pgy_tensor_map *inputs,
                                                const pgy_tensor_map *outputs, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
