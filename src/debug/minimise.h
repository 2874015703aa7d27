/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a minimisation, and the changes to the smallest model found so far. */
#ifndef DEBUG_MINIMISE_H
#define DEBUG_MINIMISE_H

#include "debug/part.h"

typedef struct minimisation {
    const pgy_debug_minimise_options *options;
    pgy_debug_session *session;
    part_source source;
    candidate_part best;
    pgy_debug_finding finding; /* of `best` */
    size_t evaluations;
    size_t original_nodes, nodes;
    int64_t model_key, trials, remaining;
} minimisation;

/* trial.c: judges a candidate, which the call takes over: one that fails becomes the best. */
pgy_status minimise_try(bool *fails, minimisation *m, candidate_part *candidate, const char *phase,
                        pgy_error *err) PGY_MUST_CHECK;

/* Judges a candidate, which stays the caller's. */
pgy_status minimise_judge(bool *fails, pgy_debug_finding *finding, minimisation *m,
                          const candidate_part *candidate, const char *phase,
                          pgy_error *err) PGY_MUST_CHECK;
size_t minimise_count_nodes(const pgy_model *model);

/* shrink.c: after the nodes, inputs and shapes of the best model. */
pgy_status minimise_inputs(minimisation *m, pgy_error *err) PGY_MUST_CHECK;
pgy_status minimise_shapes(minimisation *m, pgy_error *err) PGY_MUST_CHECK;
/* Makes a candidate of a changed graph with these samples, and tries it. A graph that is not valid
 * any more counts as one that does not fail. */
pgy_status minimise_try_graph(bool *fails, minimisation *m, pgy_gs_graph *g,
                              pgy_tensor_map *const *values, const char *phase,
                              pgy_error *err) PGY_MUST_CHECK;
/* simplify.c */
pgy_status minimise_attributes(minimisation *m, pgy_error *err) PGY_MUST_CHECK;
/* capsule.c */
pgy_status minimise_weights(minimisation *m, pgy_error *err) PGY_MUST_CHECK;

#endif
