/* SPDX-License-Identifier: Apache-2.0 */
/* What the layer of the backends gives to this one, and the counter behind generated runner names.
 */
#ifndef RUNNER_REGISTRY_H
#define RUNNER_REGISTRY_H

#include <polygraphy/runner.h>

/* The built-in backends in their order; a strong definition stands in backends/backends.c. The weak
 * one in registry.c gives none, so that this layer links alone. */
size_t backends_builtin(const pgy_backend *const **out);

/* A backend as this version knows it: what an older one lacks is NULL. */
pgy_status registry_take(pgy_backend *out, const pgy_backend *given, pgy_error *err) PGY_MUST_CHECK;

/* Number of names that were generated for `prefix` before in this process. */
pgy_status registry_count_name(size_t *out, const char *prefix, pgy_error *err) PGY_MUST_CHECK;

#endif
