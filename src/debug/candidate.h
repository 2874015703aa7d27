/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a model, cut at the outputs or inputs of a node. */
#ifndef DEBUG_CANDIDATE_H
#define DEBUG_CANDIDATE_H

#include <polygraphy/debug.h>
#include <polygraphy/gs.h>

/* What cutting needs besides the graph. */
typedef struct candidate_source {
    pgy_model *model; /* of the graph that is cut: values of tensors are recorded in it */
    const pgy_debug_reduce_options *options;
    bool *warned;           /* has the user been told that branches are folded? */
    pgy_tensor_map **known; /* values that were recorded, by name; NULL: none so far */
} candidate_source;

/* Logs the inputs or outputs of a part that stays as it is. */
void candidate_log_kept(const pgy_gs_graph *g, bool outputs);
/* Makes a copy of `whole` that ends at the outputs of its node i. */
pgy_status candidate_end_at(pgy_gs_graph **out, const pgy_gs_graph *whole, size_t i,
                            const candidate_source *source, pgy_error *err) PGY_MUST_CHECK;
/* Makes a copy of `whole` that begins at the tensors that node i of `of` reads; `of` may be `whole`
 * or another part of the same model. Tensors that `whole` lacks are left out; if it lacks all of
 * them, the inputs stay. Values that only other branches make become constants. */
pgy_status candidate_begin_at(pgy_gs_graph **out, const pgy_gs_graph *whole, const pgy_gs_graph *of,
                              size_t i, const candidate_source *source,
                              pgy_error *err) PGY_MUST_CHECK;

#endif
