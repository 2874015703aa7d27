/* SPDX-License-Identifier: Apache-2.0 */
/* What constant folding makes of small models. */
#ifndef HARNESS_FOLD_CASE_H
#define HARNESS_FOLD_CASE_H

#include <polygraphy/transform.h>

#include "harness/graph_case.h"

/* Folds, writes the result out, and reads it again: what is tested is what a user gets. */
pgy_graph *fold_with(model_builder *b, const pgy_fold_options *options);
/* The operators of what folding makes of the model, as in expect_nodes. */
void expect_folded(model_builder *b, const char *wanted);

#endif
