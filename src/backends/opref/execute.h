/* SPDX-License-Identifier: Apache-2.0 */
/* Running a planned graph on values. */
#ifndef BACKENDS_OPREF_EXECUTE_H
#define BACKENDS_OPREF_EXECUTE_H

#include "backends/opref/plan.h"

/* Runs the top graph. The feed has declared types; outputs are added to `out` in theirs. */
pgy_status execute_graph(pgy_graph *g, const pgy_tensor_map *feed, pgy_tensor_map *out, bool model_precision,
                         pgy_error *err) PGY_MUST_CHECK;

#endif
