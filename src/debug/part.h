/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a model: any set of its nodes, with recorded values where the rest of the model was. */
#ifndef DEBUG_PART_H
#define DEBUG_PART_H

#include <polygraphy/gs.h>

#include "debug/judge.h"

/* A model and its samples. */
typedef struct candidate_part {
    pgy_model *model; /* NULL: the nodes have no output whose type is known */
    pgy_tensor_map **feeds;
    size_t count;
} candidate_part;
void part_free(candidate_part *p);
/* The samples of `values` that the inputs of `model` need. */
pgy_status part_set_feeds(candidate_part *p, pgy_tensor_map *const *values, size_t count,
                          pgy_error *err) PGY_MUST_CHECK;

typedef struct part_source {
    pgy_gs_graph *whole;
    pgy_tensor_map **values; /* all tensors of the whole model, one map per sample */
    size_t samples;
} part_source;

/* Runs the model once for each sample and records all tensors. */
pgy_status part_source_init(part_source *s, pgy_model *model, const judge_samples *samples,
                            const char *backend, pgy_error *err) PGY_MUST_CHECK;
void part_source_deinit(part_source *s);
/* Makes the part of the nodes i with keep[i]. */
pgy_status part_make(candidate_part *out, const part_source *s, const bool *keep,
                     pgy_error *err) PGY_MUST_CHECK;

#endif
