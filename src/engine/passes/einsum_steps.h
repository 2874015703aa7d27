/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum of any equation, in steps. */
#ifndef ENGINE_PASSES_EINSUM_STEPS_H
#define ENGINE_PASSES_EINSUM_STEPS_H

#include "transform/pattern.h"

/* Replaces an Einsum in float32 or float64 whose sizes are all known. */
bool einsum_lower_steps(pattern *p, pgy_node *n);

#endif
