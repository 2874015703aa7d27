/* SPDX-License-Identifier: Apache-2.0 */
/* Constant folding from the inside: a table of small passes that all work on one level of a graph
 * at a time, and the edits they are made of.
 *
 * A pass never frees nodes: it unlinks them (fold_drop_node), which marks them by graph == NULL,
 * and the level is swept once at its end. */
#ifndef TRANSFORM_FOLD_H
#define TRANSFORM_FOLD_H

#include <polygraphy/transform.h>

#include "evaluate/execute.h"
#include "graph/edit.h"
#include "graph/side_table.h"

SIDE_TABLE(fold_reasons, const char *)
typedef enum fold_answer { FOLD_UNKNOWN, FOLD_YES, FOLD_NO } fold_answer;
SIDE_TABLE(fold_answers, uint8_t)

/* What one folding has found out, over all its rounds. */
typedef struct fold_findings {
    fold_reasons refused;  /* of nodes: why they were left as they are */
    fold_answers foldable; /* of functions: may what is in them be computed? (fold_answer) */
} fold_findings;

typedef struct folder {
    pgy_graph *graph; /* the top */
    graph_state *state;
    pgy_fold_options options;
    pgy_graph **levels; /* in use, outer before inner */
    size_t level_count, level_capacity;
    fold_findings *found; /* NULL: no folding, so nothing was refused */
    arena memory;         /* of one pass */
    int64_t growth;       /* of all weights together, in bytes */
    uint64_t spent;       /* steps of loops and functions, see fold_steps_left */
    size_t changes;       /* edits of the present round */
    bool changed;         /* some round had edits */
    bool weak_names;      /* IR < 4: weights are declared as inputs and are constant all the same */
} folder;

typedef struct fold_pass {
    const char *name;
    pgy_status (*run)(folder *f, pgy_graph *level, pgy_error *err);
    bool inner_first;
} fold_pass;

/* Steps (see execute_limits) that the next node with a body may take, when those before took
 * `spent`: half of what is left of all, so that many endless loops end soon, too. */
static inline uint64_t fold_steps_left(uint64_t spent)
{
    const uint64_t most = 1u << 18, least = 1u << 10;
    return spent < most - 2 * least ? (most - spent) / 2 : least;
}

/* ---- fold_compute.c -------------------------------------------------------------------------- */

/* Where the inputs of a node come from: read gives the caller's elements of v, in the declared
 * type, or its sequence. */
typedef struct fold_source {
    pgy_status (*read)(op_tensor *out, pgy_value *v, void *user, pgy_error *err);
    void *user;
} fold_source;
/* Computes n, whose captured values are known (node_prepare); out[i] is output i, in the declared
 * type. */
pgy_status fold_compute(op_tensor *out, pgy_node *n, const fold_source *from,
                        const execute_limits *limits, pgy_error *err) PGY_MUST_CHECK;

/* ---- fold_edit.c ----------------------------------------------------------------------------- */

/* A weight that no caller can replace; in functions, which have none, what a Constant makes. */
bool fold_is_constant(const folder *f, const pgy_value *v);
/* A Constant whose value is in the node itself, not in a call. */
bool fold_is_constant_node(const folder *f, const pgy_node *n);
/* The elements of a constant, in the declared type; NULL without an error: v is none. */
pgy_status fold_constant(pgy_tensor **out, const folder *f, pgy_value *v,
                         pgy_error *err) PGY_MUST_CHECK;
/* Integers of a constant of rank 0 or 1 (memory of the pass); false: it is none. */
bool fold_ints(folder *f, pgy_value *v, const int64_t **out, size_t *count);
/* Takes node n, whose output 0 is its input `input`, out. *done: it was possible. */
pgy_status fold_bypass(folder *f, pgy_node *n, size_t input, bool *done,
                       pgy_error *err) PGY_MUST_CHECK;
/* Unlinks n and what is inside it from what they use, and its outputs from n. */
void fold_drop_node(folder *f, pgy_node *n);
/* Turns n into another operator of the default domain with these inputs and at most one attribute.
 */
pgy_status fold_rewrite(folder *f, pgy_node *n, const char *op_type, pgy_value *const *inputs,
                        size_t input_count, const pgy_onnx_attribute *attribute,
                        pgy_error *err) PGY_MUST_CHECK;
/* What is known of v may be used: inference ran, and v is in no function. */
const op_value *fold_known(const pgy_value *v);
/* Releases what was read of a large weight; its pages of the file are not needed any more. */
void fold_release(pgy_tensor *t, pgy_model *m);

/* ---- fold_allow.c ---------------------------------------------------------------------------- */

/* A quantiser marks the precision of what comes after it, so a runtime must find it in the graph:
 * it is kept although its value is known. In every domain. */
bool fold_is_quantizer(const char *op_type);
/* May n be replaced by its value once its inputs are constant? */
pgy_status fold_allows(bool *out, folder *f, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
/* The same of a node that may have been refused. */
pgy_status fold_can_compute(bool *out, folder *f, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
/* Why n was refused, or NULL. */
static inline const char *fold_refusal(const folder *f, const pgy_node *n)
{
    return f->found ? fold_reasons_get(&f->found->refused, node_id(n)) : NULL;
}
/* Marks n as refused: it is not tried again and is listed at the end. */
pgy_status fold_refuse(folder *f, pgy_node *n, pgy_error *err, const char *format, ...)
    PGY_PRINTF(4, 5) PGY_MUST_CHECK;

/* n makes a tensor of so many bytes, which is too large. */
pgy_status fold_refuse_size(folder *f, pgy_node *n, uint64_t bytes, pgy_error *err) PGY_MUST_CHECK;
/* *kept: the model may get `made` bytes for `freed` ones in the place of n. They are counted. */
pgy_status fold_limits_growth(bool *kept, folder *f, pgy_node *n, uint64_t made, uint64_t freed,
                              pgy_error *err) PGY_MUST_CHECK;

/* ---- fold_shapes.c --------------------------------------------------------------------------- */

/* The shape input of a Reshape from `in` to `shape` (`count` sizes) as numbers, 0 for sizes that
 * are copied and at most one -1; false: not expressible. */
bool fold_constant_shape(int64_t *to, const op_value *in, const dim *shape, size_t count);

/* ---- fold_slices.c --------------------------------------------------------------------------- */

/* Of n and nodes before it, where they are Concats or Slices. */
pgy_status fold_merge_concats(folder *f, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
pgy_status fold_merge_slices(folder *f, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;

/* ---- fold.c, fold_unused.c ------------------------------------------------------------------- */

/* Appends a level and those inside it to `levels`. */
pgy_status fold_list_levels(folder *f, pgy_graph *g, pgy_error *err) PGY_MUST_CHECK;
/* Removes functions that are not called and imports that are not used. */
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
/* The value of a node that only shows its input in another shape or order, without a detour
 * through the storage types. *out stays NULL where that does not apply; *shared: the elements are
 * those of the input. */
pgy_status fold_move(pgy_tensor **out, bool *shared, pgy_node *n, pgy_tensor *input,
                     pgy_error *err) PGY_MUST_CHECK;
/* The source axis of each axis of a Transpose's result; false: that is no permutation. */
bool fold_permutation(size_t *perm, const pgy_node *n, size_t rank);
/* The result of n, whose only input is this weight, as a record that is computed when it is
 * written; NULL where that does not apply. */
pgy_status fold_later(const pgy_onnx_tensor **out, folder *f, pgy_node *n,
                      const pgy_onnx_tensor *source, pgy_error *err) PGY_MUST_CHECK;

#endif
