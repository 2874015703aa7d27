/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the inputs that a caller feeds to a runner. */
#ifndef RUNNER_FEED_H
#define RUNNER_FEED_H

#include <polygraphy/tensor.h>

/* The feed must have exactly the inputs of the runner, each with a type and shape that it accepts.
 */
pgy_status feed_check(const pgy_tensor_map *feed, const pgy_metadata *inputs,
                      pgy_error *err) PGY_MUST_CHECK;

#endif
