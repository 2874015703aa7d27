/* SPDX-License-Identifier: Apache-2.0 */
/* Constant folding from the inside. One gs_folder serves a call of pgy_gs_fold_constants, which
 * goes over levels; what is known of a level's tensors and nodes is kept by serial number and
 * dated, so that nothing is cleared in between. */
#ifndef GS_FOLD_FOLD_H
#define GS_FOLD_FOLD_H

#include "base/str.h"
#include "gs/graph/function_index.h"
#include "gs/graph/gs.h"

/* Of a tensor or node. */
typedef struct fold_state {
    uint32_t foldable; /* date of the level in which its value does not depend on inputs */
    uint32_t listed;   /* date of the computation in which it has a slot, or has been seen */
    size_t slot;
    bool is_input, is_output; /* of some graph of the document */
    pgy_tensor *known;        /* elements of a shape that is too large to become a constant */
} fold_state;

typedef struct gs_folder {
    gs_document *document;
    pgy_gs_fold_options options;
    fold_state *states; /* by serial */
    size_t state_capacity;
    uint32_t date;
    size_t depth; /* of levels */
    gs_function_index functions;
    uint8_t *function_allowed; /* by place: may calls be folded? FOLD_* of allow.c */
    str large;                 /* of results that deserve a warning */
    size_t large_count;
} gs_folder;

/* ---- fold.c ---------------------------------------------------------------------------------- */

/* NULL: out of memory. Valid until the next call with a higher serial. */
fold_state *gs_fold_state(gs_folder *f, uint64_t serial);
static inline bool gs_fold_is_foldable(const gs_folder *f, uint64_t serial)
{
    return serial < f->state_capacity && f->states[serial].foldable == f->date;
}
/* Of some graph of the document. */
static inline bool gs_fold_is_input(const gs_folder *f, const pgy_gs_tensor *t)
{
    const uint64_t serial = tensor_box(t)->serial;
    return serial < f->state_capacity && f->states[serial].is_input;
}
static inline bool gs_fold_is_output(const gs_folder *f, const pgy_gs_tensor *t)
{
    const uint64_t serial = tensor_box(t)->serial;
    return serial < f->state_capacity && f->states[serial].is_output;
}
/* Elements of t that only this run knows, or NULL. */
static inline pgy_tensor *gs_fold_known(const gs_folder *f, const pgy_gs_tensor *t)
{
    const uint64_t serial = tensor_box(t)->serial;
    return serial < f->state_capacity ? f->states[serial].known : NULL;
}
/* An operator of the default domain. */
bool gs_fold_is(const pgy_gs_node *n, const char *op);
/* The user wants n to stay. */
bool gs_fold_is_excluded(const gs_folder *f, const pgy_gs_node *n);
/* t may become a constant in n's place: n alone makes it, and it is no input of a graph. */
bool gs_fold_makes(const gs_folder *f, const pgy_gs_node *n, const pgy_gs_tensor *t);
/* Elements of a constant can be had. */
bool gs_fold_is_constant(const pgy_gs_tensor *t);
/* t, which n makes, becomes a constant if that is not too large; *done: it has. Its slot stays
 * until gs_fold_drop_outputs. `values` that show what a model holds are copied. */
pgy_status gs_fold_set(gs_folder *f, pgy_gs_tensor *t, pgy_tensor *values, bool *done,
                       pgy_error *err) PGY_MUST_CHECK;
/* Outputs that are constants go; if others stay, something unused takes their place. */
pgy_status gs_fold_drop_outputs(pgy_gs_node *n, pgy_error *err) PGY_MUST_CHECK;
/* Elements of an integer constant (mem_free); false: t is none, or they cannot be had. */
bool gs_fold_ints(pgy_gs_tensor *t, int64_t **out, size_t *count, size_t *rank, int64_t *shape);
/* "node 'n' (Add): text", where the text may begin with such a name already. */
const char *gs_fold_describe(str *out, const pgy_gs_node *n, const char *text);

/* Appends a number if a tensor of this name in g would be taken for another. */
void gs_fold_free_name(str *name, const pgy_gs_graph *g);

/* ---- allow.c --------------------------------------------------------------------------------- */

/* Marks the nodes of a level whose value can be had, and what they make; `order` is a running
 * order. */
pgy_status gs_fold_propagate(gs_folder *f, pgy_gs_graph *g, pgy_gs_node *const *order,
                             pgy_error *err) PGY_MUST_CHECK;

/* ---- The passes ------------------------------------------------------------------------------ */

pgy_status gs_fold_lower(gs_folder *f, pgy_gs_graph *g, pgy_error *err) PGY_MUST_CHECK;
pgy_status gs_fold_casts(gs_folder *f, pgy_gs_graph *g, pgy_error *err) PGY_MUST_CHECK;
pgy_status gs_fold_shapes(gs_folder *f, pgy_gs_graph *g, pgy_error *err) PGY_MUST_CHECK;
pgy_status gs_fold_values(gs_folder *f, pgy_gs_graph *g, pgy_error *err) PGY_MUST_CHECK;
pgy_status gs_fold_ifs(gs_folder *f, pgy_gs_graph *g, pgy_error *err) PGY_MUST_CHECK;

#endif
