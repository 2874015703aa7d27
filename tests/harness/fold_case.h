/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for tests of constant folding on small models. */
#ifndef HARNESS_FOLD_CASE_H
#define HARNESS_FOLD_CASE_H

#include <polygraphy/transform.h>

#include "harness/graph_case.h"

/* Folds the model, saves the result and reads it again, so that tests see what a user gets. */
pgy_graph *fold_with(model_builder *b, const pgy_fold_options *options);
/* Folds the model and checks the operators of the result, given as for expect_nodes. */
void expect_folded(model_builder *b, const char *wanted);

#endif
