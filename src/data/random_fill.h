/* SPDX-License-Identifier: Apache-2.0 */
/* Fills an array from NumPy's legacy generator, with the same draws in the same order and the same
 * rounding. */
#ifndef DATA_RANDOM_FILL_H
#define DATA_RANDOM_FILL_H

#include <polygraphy/data.h>

#include "base/rand.h"

/* Fills floats with uniform values in [low, high), integers and bools with both ends included, and
 * strings with doubles as decimal text. */
pgy_status random_fill(pgy_tensor *t, mt19937 *g, const pgy_value_range *range, bool torch_floats,
                       pgy_error *err) PGY_MUST_CHECK;

#endif
