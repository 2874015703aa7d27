/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A part of a model as a model of its own, with the values at its borders, so that it can be run
 * alone.
 *
 *     const char *names[] = {"/encoder/layer.3/Add"};
 *     const pgy_cut_selection what = {.size = sizeof what, .nodes = names, .node_count = 1};
 *     pgy_cut *cut = NULL;
 *     if (pgy_cut_create(&cut, model, &what, &err)) ...
 *     if (pgy_cut_record(&inputs, &outputs, cut, feed, &err)) ...
 *     if (pgy_cut_model(&part, cut, inputs, outputs, &err)) ...
 *     pgy_cut_destroy(cut);
 *
 * What the nodes read and no node of theirs makes becomes an input: also what comes from an
 * enclosing graph, for parts of the body of an If, Loop or Scan. Weights go along, and so do nodes
 * that depend on nothing but weights, and functions that are called. What is inside a function is
 * named by the path of a call: the body takes the call's place, so that the part has the weights
 * and attributes of that call.
 */
#ifndef POLYGRAPHY_CUT_H
#define POLYGRAPHY_CUT_H

#include <polygraphy/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Which nodes, all of one graph: those named, those of modules, and those between tensors, taken
 * together. */
typedef struct pgy_cut_selection {
    size_t size;          /**< sizeof(pgy_cut_selection) */
    const char *subgraph; /**< path of the graph that the names are of, "If_3/then_branch", or of a
                             call, whose function they are of, "layer_1/attention"; NULL: the top
                             graph, or the one that the first node's path leads to. Alone: all of
                             its nodes */
    const char *const *nodes; /**< names (of nodes without one: of their first output), wildcards,
                                 or paths "If_3/then_branch/Add_2", "layer_1/attention/MatMul_0".
                                 Paths of calls are needed where more than one can be meant */
    size_t node_count;
    const char *const *modules; /**< "encoder/layer.0": nodes whose name begins so, or whose scopes
                                   (pkg.torch.onnx.name_scopes) have it; / and . are the same */
    size_t module_count;
    const char *const *from, *const *to; /**< tensors: nodes that depend on one of `from` and that
                                            one of `to` depends on; either may be left out */
    size_t from_count, to_count;
    const int64_t *iterations; /**< which time round is recorded, of each loop around the part, the
                                  outermost first, from 0; of loops without: the first that comes
                                  to the part */
    size_t iteration_count;
} pgy_cut_selection;

typedef struct pgy_cut pgy_cut;
/** Keeps the model. PGY_E_NOT_FOUND suggests names that come near. */
PGY_API PGY_MUST_CHECK pgy_status pgy_cut_create(pgy_cut **out, pgy_model *model,
                                                 const pgy_cut_selection *selection,
                                                 pgy_error *err);
PGY_API void pgy_cut_destroy(pgy_cut *c);

PGY_API size_t pgy_cut_node_count(const pgy_cut *c);
/** Names of the tensors at the borders, in the order of their first use. */
PGY_API const char *const *pgy_cut_inputs(const pgy_cut *c, size_t *count);
PGY_API const char *const *pgy_cut_outputs(const pgy_cut *c, size_t *count);
/** The model that the names at the borders are of: the whole one, with bodies in place of the calls
 * on the way to the part. It lives as long as the cut. */
PGY_API pgy_model *pgy_cut_source(const pgy_cut *c);
/** Are the nodes those of the top graph? */
PGY_API bool pgy_cut_is_top(const pgy_cut *c);

/** Runs the whole model by the reference and keeps what the tensors at the borders hold, the first
 * time that the part runs, or in the iterations that are selected. PGY_E_NOT_FOUND: the
 * part never runs with this feed (a branch is not taken, a loop ends before that iteration).
 * Elements of a sequence `s` are `s[0]`, `s[1]`...; of an optional without value there is none. */
PGY_API PGY_MUST_CHECK pgy_status pgy_cut_record(pgy_tensor_map **inputs, pgy_tensor_map **outputs,
                                                 pgy_cut *c, const pgy_tensor_map *feed,
                                                 pgy_error *err);
/** The part as a model. Types and shapes of inputs and outputs are those of the tensors in the maps
 * (each may be NULL), else what is inferred. */
PGY_API PGY_MUST_CHECK pgy_status pgy_cut_model(pgy_model **out, pgy_cut *c,
                                                const pgy_tensor_map *inputs,
                                                const pgy_tensor_map *outputs, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
