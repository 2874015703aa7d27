/* SPDX-License-Identifier: Apache-2.0 */
/* Constant folding, private side. One gs_folder serves one call of pgy_gs_fold_constants and visits
 * all levels. It keeps the state of tensors and nodes by serial number, with the date at which it
 * was set, so nothing needs clearing between levels. */
#ifndef GS_FOLD_FOLD_H
#define GS_FOLD_FOLD_H

#include "base/str.h"
#include "gs/graph/function_index.h"
#include "gs/graph/gs.h"

/* State of a tensor or node. */
typedef struct fold_state {
    uint32_t foldable; /* date of the level in which its value depends on constants only */
    uint32_t listed;   /* date of the computation in which it has a slot or was seen */
    size_t slot;
    bool is_input, is_output; /* the tensor is one of some graph of the document */
    pgy_tensor *known;        /* elements of a shape that is larger than the threshold */
} fold_state;

typedef struct gs_folder {
    gs_document *document;
    pgy_gs_fold_options options;
    fold_state *states; /* by serial */
    size_t state_capacity;
    uint32_t date;
    size_t depth; /* nesting of levels */
    gs_function_index functions;
    uint8_t *function_allowed; /* by place: ALLOW_* of allow.c */
    str large;                 /* results for the warning about size */
    size_t large_count;
} gs_folder;

/* ---- fold.c ---------------------------------------------------------------------------------- */

/* NULL: out of memory. Valid until the next call with a higher serial. */
fold_state *gs_fold_state(gs_folder *f, uint64_t serial);
static inline bool gs_fold_is_foldable(const gs_folder *f, uint64_t serial)
{
    return serial < f->state_capacity && f->states[serial].foldable == f->date;
}
/* Of any graph of the document. */
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
/* Elements of t that are known in this run only, or NULL. */
static inline pgy_tensor *gs_fold_known(const gs_folder *f, const pgy_gs_tensor *t)
{
    const uint64_t serial = tensor_box(t)->serial;
    return serial < f->state_capacity ? f->states[serial].known : NULL;
}
/* An operator of the default domain. */
bool gs_fold_is(const pgy_gs_node *n, const char *op);
/* True if the caller excluded n. */
bool gs_fold_is_excluded(const gs_folder *f, const pgy_gs_node *n);
/* True if n is the only producer of t and t is not an input of a graph, so that t may become a
 * constant. */
bool gs_fold_makes(const gs_folder *f, const pgy_gs_node *n, const pgy_gs_tensor *t);
/* True for a constant with readable elements. */
bool gs_fold_is_constant(const pgy_gs_tensor *t);
/* Makes t a constant with these values unless they exceed the threshold; *done: it did. The
 * producer keeps its output slot until gs_fold_drop_outputs. Borrowed values are copied. */
pgy_status gs_fold_set(gs_folder *f, pgy_gs_tensor *t, pgy_tensor *values, bool *done,
                       pgy_error *err) PGY_MUST_CHECK;
/* Removes outputs that became constants; if other outputs stay, unused tensors take their
 * places. */
pgy_status gs_fold_drop_outputs(pgy_gs_node *n, pgy_error *err) PGY_MUST_CHECK;
/* Elements of an integer constant (mem_free); false: t is not one, or cannot be read. */
bool gs_fold_ints(pgy_gs_tensor *t, int64_t **out, size_t *count, size_t *rank, int64_t *shape);
/* "node 'n' (Add): text"; a name at the start of `text` is not repeated. */
const char *gs_fold_describe(str *out, const pgy_gs_node *n, const char *text);

/* Appends a number if a tensor of g under this name would clash with another one. */
void gs_fold_free_name(str *name, const pgy_gs_graph *g);

/* ---- allow.c --------------------------------------------------------------------------------- */

/* Marks the foldable nodes of a level and their outputs; `order` is a running order. */
pgy_status gs_fold_propagate(gs_folder *f, pgy_gs_graph *g, pgy_gs_node *const *order,
                             pgy_error *err) PGY_MUST_CHECK;

/* ---- The passes ------------------------------------------------------------------------------ */

pgy_status gs_fold_lower(gs_folder *f, pgy_gs_graph *g, pgy_error *err) PGY_MUST_CHECK;
pgy_status gs_fold_casts(gs_folder *f, pgy_gs_graph *g, pgy_error *err) PGY_MUST_CHECK;
pgy_status gs_fold_shapes(gs_folder *f, pgy_gs_graph *g, pgy_error *err) PGY_MUST_CHECK;
pgy_status gs_fold_values(gs_folder *f, pgy_gs_graph *g, pgy_error *err) PGY_MUST_CHECK;
pgy_status gs_fold_ifs(gs_folder *f, pgy_gs_graph *g, pgy_error *err) PGY_MUST_CHECK;

#endif
