/* SPDX-License-Identifier: Apache-2.0 */
/* Smallest, largest and mean values of the tensors in results. */
#ifndef INSPECT_TENSOR_RANGES_H
#define INSPECT_TENSOR_RANGES_H

#include <polygraphy/compare.h>

#include "base/arena.h"
#include "base/str.h"

/* Zeroed is valid and empty. */
typedef struct tensor_ranges {
    strmap texts; /* name -> ", min=0.00, max=1.00, avg=0.50" */
    arena memory;
} tensor_ranges;

/* Uses the first iteration of the first runner that has one. Logs a warning for results that are
 * left out. */
pgy_status tensor_ranges_fill(tensor_ranges *out, const pgy_results *results,
                              pgy_error *err) PGY_MUST_CHECK;
void tensor_ranges_deinit(tensor_ranges *r);
/* "" for a tensor that the results do not have. */
const char *tensor_ranges_text(const tensor_ranges *r, const char *name);

#endif
