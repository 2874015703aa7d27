/* SPDX-License-Identifier: Apache-2.0 */
/* Fills an array from NumPy's legacy generator, with the same draws in the same order and the same
 * rounding. */
#ifndef DATA_RANDOM_FILL_H
#define DATA_RANDOM_FILL_H

#include <polygraphy/data.h>

#include "base/rand.h"

/* Floats: uniform in [low, high); integers and bool: both ends included; strings: decimal text of
 * doubles. */
pgy_status random_fill(pgy_tensor *t, mt19937 *g, const pgy_value_range *range, bool torch_floats,
                       pgy_error *err) PGY_MUST_CHECK;

#endif
