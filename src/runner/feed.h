/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of what is fed to a runner. */
#ifndef RUNNER_FEED_H
#define RUNNER_FEED_H

#include <polygraphy/tensor.h>

/* Exactly the inputs, each with the type and a shape that the runner takes. */
pgy_status feed_check(const pgy_tensor_map *feed, const pgy_metadata *inputs,
                      pgy_error *err) PGY_MUST_CHECK;

#endif
