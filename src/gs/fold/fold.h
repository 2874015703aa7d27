/* SPDX-License-Identifier: Apache-2.0 */
/* Private interface of constant folding. One gs_folder serves one call of pgy_gs_fold_constants and
 * visits the graph, its subgraphs and functions. It keeps a state per tensor and node, indexed by
 * serial number. Marks in a state are dates (gs_folder.date): a mark with an older date is unset,
 * so nothing is cleared between graphs. */
#ifndef GS_FOLD_FOLD_H
#define GS_FOLD_FOLD_H

#include "base/str.h"
#include "gs/graph/function_index.h"
#include "gs/graph/gs.h"

/* State of a tensor or node, indexed by its serial number. */
typedef struct fold_state {
    uint32_t foldable; /* equals gs_folder.date if the value depends on constants only */
    uint32_t listed;   /* equals the current date if the running pass has seen the tensor */
    size_t slot;
    bool is_input, is_output; /* it is an input (or output) of some graph of the document */
    pgy_tensor *known; /* a folded shape that exceeds the size threshold; only this run uses it */
} fold_state;

typedef struct gs_folder {
    gs_document *document;
    pgy_gs_fold_options options;
    fold_state *states; /* indexed by serial number */
    size_t state_capacity;
    uint32_t date;
    size_t depth; /* nesting of the current subgraph */
    gs_function_index functions;
    uint8_t *function_allowed; /* indexed like document.functions: ALLOW_* of allow.c */
    str large;                 /* for a warning: names and sizes of the large folded tensors */
    size_t large_count;
} gs_folder;

/* ---- shared.c -------------------------------------------------------------------------------- */

/* The state of a tensor or node; NULL: out of memory. A call with a higher serial may move all
 * states. */
fold_state *gs_fold_state(gs_folder *f, uint64_t serial);
static inline bool gs_fold_is_foldable(const gs_folder *f, uint64_t serial)
{
    return serial < f->state_capacity && f->states[serial].foldable == f->date;
}
/* True if t is an input of any graph of the document. */
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
/* The known value of t, if it was too large to become a constant; else NULL. */
static inline pgy_tensor *gs_fold_known(const gs_folder *f, const pgy_gs_tensor *t)
{
    const uint64_t serial = tensor_box(t)->serial;
    return serial < f->state_capacity ? f->states[serial].known : NULL;
}
/* True if n is the operator `op` of ONNX's default domain. */
bool gs_fold_is(const pgy_gs_node *n, const char *op);
/* True if the caller excluded n. */
bool gs_fold_is_excluded(const gs_folder *f, const pgy_gs_node *n);
/* True if n is the only producer of t and t is not an input of a graph, so that t may become a
 * constant. */
bool gs_fold_makes(const gs_folder *f, const pgy_gs_node *n, const pgy_gs_tensor *t);
/* True if t is a constant whose elements can be read. */
bool gs_fold_is_constant(const pgy_gs_tensor *t);
/* Makes t a constant with these values unless they exceed the size threshold; *done: t is a
 * constant now. Its producer keeps the output until gs_fold_drop_outputs. Borrowed values are
 * copied. */
pgy_status gs_fold_set(gs_folder *f, pgy_gs_tensor *t, pgy_tensor *values, bool *done,
                       pgy_error *err) PGY_MUST_CHECK;
/* Removes outputs of n that became constants. If n has other outputs, unused new tensors replace
 * the removed ones. */
pgy_status gs_fold_drop_outputs(pgy_gs_node *n, pgy_error *err) PGY_MUST_CHECK;
/* Reads an integer constant; free *out with mem_free. False: t is no integer constant, or cannot be
 * read. */
bool gs_fold_ints(pgy_gs_tensor *t, int64_t **out, size_t *count, size_t *rank, int64_t *shape);
/* Makes "node 'n' (Add): text"; if `text` begins with the node's name, it is not repeated. */
const char *gs_fold_describe(str *out, const pgy_gs_node *n, const char *text);
/* True if g is `outer` or nested in it. */
bool gs_fold_is_inside(const pgy_gs_graph *g, const pgy_gs_graph *outer);
/* Appends a number to `name` if a tensor of g with this name would clash with another tensor.
 */
void gs_fold_free_name(str *name, const pgy_gs_graph *g);

/* ---- allow.c --------------------------------------------------------------------------------- */

/* Marks the foldable nodes of g and their outputs; `order`: g's nodes in topological order. */
pgy_status gs_fold_propagate(gs_folder *f, pgy_gs_graph *g, pgy_gs_node *const *order,
                             pgy_error *err) PGY_MUST_CHECK;

/* ---- Passes over one graph ------------------------------------------------------------------- */

pgy_status gs_fold_lower(gs_folder *f, pgy_gs_graph *g, pgy_error *err) PGY_MUST_CHECK;
pgy_status gs_fold_casts(gs_folder *f, pgy_gs_graph *g, pgy_error *err) PGY_MUST_CHECK;
pgy_status gs_fold_shapes(gs_folder *f, pgy_gs_graph *g, pgy_error *err) PGY_MUST_CHECK;
pgy_status gs_fold_values(gs_folder *f, pgy_gs_graph *g, pgy_error *err) PGY_MUST_CHECK;
pgy_status gs_fold_ifs(gs_folder *f, pgy_gs_graph *g, pgy_error *err) PGY_MUST_CHECK;

#endif
