/* SPDX-License-Identifier: Apache-2.0 */
/* The list of built-in backends, which the layer above defines, and the counter for generated
 * runner names. */
#ifndef RUNNER_REGISTRY_H
#define RUNNER_REGISTRY_H

#include <polygraphy/runner.h>

/* The built-in backends in their order. backends/backends.c has the strong definition. The weak one
 * in registry.c returns no backends, so that this layer links without that one. */
size_t backends_builtin(const pgy_backend *const **out);

/* Converts a backend to this version of the struct. Members that an older backend lacks are NULL.
 */
pgy_status registry_take(pgy_backend *out, const pgy_backend *given, pgy_error *err) PGY_MUST_CHECK;

/* Number of names that this process has generated for `prefix` so far. */
pgy_status registry_count_name(size_t *out, const char *prefix, pgy_error *err) PGY_MUST_CHECK;

#endif
