/* SPDX-License-Identifier: Apache-2.0 */
/* The internals of constant folding: a table of small passes, each working on one level of a graph
 * at a time, and the edits that they use.
 *
 * A pass never frees nodes: fold_drop_node unlinks them, which sets their `graph` to NULL, and the
 * level is swept once at the end of the pass. */
#ifndef TRANSFORM_FOLD_H
#define TRANSFORM_FOLD_H

#include <polygraphy/transform.h>

#include "evaluate/execute.h"
#include "graph/edit.h"
#include "graph/side_table.h"

SIDE_TABLE(fold_reasons, const char *)
typedef enum fold_answer { FOLD_UNKNOWN, FOLD_YES, FOLD_NO } fold_answer;
SIDE_TABLE(fold_answers, uint8_t)

/* What folding has found out about nodes and functions; kept for all rounds. */
typedef struct fold_findings {
    fold_reasons refused;  /* for each node that was not folded: the reason */
    fold_answers foldable; /* for each function: whether its nodes may be computed (fold_answer) */
} fold_findings;

typedef struct folder {
    pgy_graph *graph; /* the main graph */
    graph_state *state;
    pgy_fold_options options;
    pgy_graph **levels; /* graphs and function bodies in use; outer ones before inner ones */
    size_t level_count, level_capacity;
    fold_findings *found; /* NULL: dead-code elimination alone */
    arena memory;         /* freed after each pass */
    int64_t growth;       /* bytes by which folding has enlarged all weights together */
    uint64_t spent;  /* steps that loops and functions have taken so far, see fold_steps_left */
    size_t changes;  /* number of edits in the current round */
    bool changed;    /* some round had edits */
    bool weak_names; /* IR version < 4, which declares every weight as an input: such weights count
                        as constant */
} folder;

typedef struct fold_pass {
    const char *name;
    pgy_status (*run)(folder *f, pgy_graph *level, pgy_error *err);
    bool inner_first;
} fold_pass;

/* Steps (see execute_limits) that the next node with a body may take after `spent` steps in total:
 * half of the rest, so that a model with many endless loops also ends soon. */
static inline uint64_t fold_steps_left(uint64_t spent)
{
    const uint64_t most = 1u << 18, least = 1u << 10;
    return spent < most - 2 * least ? (most - spent) / 2 : least;
}

/* ---- fold_compute.c -------------------------------------------------------------------------- */

/* Where fold_compute gets the inputs of a node: `read` returns the elements of v in the declared
 * type, or its sequence; the caller owns them. */
typedef struct fold_source {
    pgy_status (*read)(op_tensor *out, pgy_value *v, void *user, pgy_error *err);
    void *user;
} fold_source;
/* Computes n, which must be prepared (node_prepare); out[i] is output i, in the declared type. */
pgy_status fold_compute(op_tensor *out, pgy_node *n, const fold_source *from,
                        const execute_limits *limits, pgy_error *err) PGY_MUST_CHECK;

/* ---- fold_edit.c ----------------------------------------------------------------------------- */

/* True for weights that a caller cannot replace because they are no inputs; in functions, which
 * have no weights, for outputs of Constant nodes. */
bool fold_is_constant(const folder *f, const pgy_value *v);
/* True for a Constant whose value is stored in the node, not taken from an attribute of the
 * function call. */
bool fold_is_constant_node(const folder *f, const pgy_node *n);
/* Reads the elements of a constant, in the declared type; *out is NULL without an error if v is not
 * constant. */
pgy_status fold_constant(pgy_tensor **out, const folder *f, pgy_value *v,
                         pgy_error *err) PGY_MUST_CHECK;
/* Reads the integers of a constant of rank 0 or 1, into the memory of the pass; false: v is no such
 * constant. */
bool fold_ints(folder *f, pgy_value *v, const int64_t **out, size_t *count);
/* Removes node n, whose output 0 equals its input number `input`; *done: whether that was possible.
 */
pgy_status fold_bypass(folder *f, pgy_node *n, size_t input, bool *done,
                       pgy_error *err) PGY_MUST_CHECK;
/* Unlinks n, with the nodes of its subgraphs, from all values that they read, and its outputs from
 * n. */
void fold_drop_node(folder *f, pgy_node *n);
/* Turns n into another operator of the default domain with these inputs and at most one attribute.
 */
pgy_status fold_rewrite(folder *f, pgy_node *n, const char *op_type, pgy_value *const *inputs,
                        size_t input_count, const pgy_onnx_attribute *attribute,
                        pgy_error *err) PGY_MUST_CHECK;
/* The inferred facts about v; nothing (rank -1) if v is in a function, where they may belong to
 * another call. */
const op_value *fold_known(const pgy_value *v);
/* Releases the elements of a weight and, if it is large, the pages of the file that held them. */
void fold_release(pgy_tensor *t, pgy_model *m);

/* ---- fold_allow.c ---------------------------------------------------------------------------- */

/* True for quantisers of any domain. Runtimes take the precision of the following nodes from them,
 * so they stay in the graph even if their value is known. */
bool fold_is_quantizer(const char *op_type);
/* May n be replaced by its value once its inputs are constant? */
pgy_status fold_allows(bool *out, folder *f, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
/* Like fold_allows, which is false for refused nodes, but ignores an earlier refusal. */
pgy_status fold_can_compute(bool *out, folder *f, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
/* Why n was refused, or NULL. */
static inline const char *fold_refusal(const folder *f, const pgy_node *n)
{
    return f->found ? fold_reasons_get(&f->found->refused, node_id(n)) : NULL;
}
/* Marks n as refused, with the reason: it is not tried again and is listed in the report. */
pgy_status fold_refuse(folder *f, pgy_node *n, pgy_error *err, const char *format, ...)
    PGY_PRINTF(4, 5) PGY_MUST_CHECK;

/* Refuses n because it makes a tensor of `bytes` bytes, which is too large. */
pgy_status fold_refuse_size(folder *f, pgy_node *n, uint64_t bytes, pgy_error *err) PGY_MUST_CHECK;
/* Adds `made` - `freed` to the growth of weights: n would be replaced by `made` bytes, and `freed`
 * bytes would go. *kept: whether the limit on growth allows it. */
pgy_status fold_limits_growth(bool *kept, folder *f, pgy_node *n, uint64_t made, uint64_t freed,
                              pgy_error *err) PGY_MUST_CHECK;

/* ---- fold_shapes.c --------------------------------------------------------------------------- */

/* Finds a constant shape input for a Reshape from `in` to `shape` (`count` sizes), with 0 for
 * copied sizes and at most one -1; false: not expressible. */
bool fold_constant_shape(int64_t *to, const op_value *in, const dim *shape, size_t count);

/* ---- fold_slices.c --------------------------------------------------------------------------- */

/* Merge n with the nodes before it if all of them are Concats, or Slices. */
pgy_status fold_merge_concats(folder *f, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
pgy_status fold_merge_slices(folder *f, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;

/* ---- fold_pass.c ------------------------------------------------------------------------------
 */

/* Appends g and the subgraphs inside it to f->levels. */
pgy_status fold_list_levels(folder *f, pgy_graph *g, pgy_error *err) PGY_MUST_CHECK;
/* Lists the main graph and its subgraphs, then the function bodies, in f->levels. */
pgy_status fold_list_all_levels(folder *f, pgy_error *err) PGY_MUST_CHECK;
pgy_status fold_run_pass(folder *f, const fold_pass *pass, pgy_error *err) PGY_MUST_CHECK;
/* Declares the weights of the main graph as inputs, as IR versions below 4 require. */
pgy_status fold_declare_weights(folder *f, pgy_error *err) PGY_MUST_CHECK;

/* ---- fold_unused.c --------------------------------------------------------------------------- */

/* Removes uncalled functions and unused imports. */
pgy_status fold_unused(folder *f, pgy_error *err) PGY_MUST_CHECK;

/* ---- The passes ------------------------------------------------------------------------------ */

pgy_status fold_constants(folder *f, pgy_graph *level, pgy_error *err) PGY_MUST_CHECK;
pgy_status fold_values(folder *f, pgy_graph *level, pgy_error *err) PGY_MUST_CHECK;
pgy_status fold_branches(folder *f, pgy_graph *level, pgy_error *err) PGY_MUST_CHECK;
pgy_status fold_identities(folder *f, pgy_graph *level, pgy_error *err) PGY_MUST_CHECK;
pgy_status fold_shapes(folder *f, pgy_graph *level, pgy_error *err) PGY_MUST_CHECK;
pgy_status fold_chains(folder *f, pgy_graph *level, pgy_error *err) PGY_MUST_CHECK;
pgy_status fold_channels(folder *f, pgy_graph *level, pgy_error *err) PGY_MUST_CHECK;
pgy_status fold_neighbours(folder *f, pgy_graph *level, pgy_error *err) PGY_MUST_CHECK;
pgy_status fold_weights(folder *f, pgy_graph *level, pgy_error *err) PGY_MUST_CHECK;
pgy_status fold_common(folder *f, pgy_graph *level, pgy_error *err) PGY_MUST_CHECK;
pgy_status fold_states(folder *f, pgy_graph *level, pgy_error *err) PGY_MUST_CHECK;
pgy_status fold_flat(folder *f, pgy_graph *level, pgy_error *err) PGY_MUST_CHECK;
pgy_status fold_joined(folder *f, pgy_graph *level, pgy_error *err) PGY_MUST_CHECK;
pgy_status fold_dead(folder *f, pgy_graph *level, pgy_error *err) PGY_MUST_CHECK;

/* Reshape, Squeeze, Unsqueeze or Flatten. */
bool fold_is_view(const pgy_node *n);
/* Computes a node that only reshapes or reorders its input, without a detour through the storage
 * types. *out stays NULL for other nodes; *shared: *out shares the elements of the input. */
pgy_status fold_move(pgy_tensor **out, bool *shared, pgy_node *n, pgy_tensor *input,
                     pgy_error *err) PGY_MUST_CHECK;
/* Finds the source axis of each axis of a Transpose's result; false: `perm` is no permutation. */
bool fold_permutation(size_t *perm, const pgy_node *n, size_t rank);
/* Makes the tensor record for the result of n, whose only input is the weight `source`; its
 * elements are computed when the model is written. *out is NULL where that is not supported. */
pgy_status fold_later(const pgy_onnx_tensor **out, folder *f, pgy_node *n,
                      const pgy_onnx_tensor *source, pgy_error *err) PGY_MUST_CHECK;
/* Has fold_later made `t`, or the weight that `t` is a conversion of, by transposing a matrix? */
bool fold_is_turned(pgy_model *m, const pgy_onnx_tensor *t);
/* Is `of` that matrix, converted in the same way? `t` must be such a weight. */
bool fold_is_turned_from(pgy_model *m, const pgy_onnx_tensor *t, const pgy_onnx_tensor *of);

#endif
