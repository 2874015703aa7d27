/* SPDX-License-Identifier: Apache-2.0 */
/* A build's configuration, kept as long as an engine lives. */
#ifndef ENGINE_BUILD_CONFIG_H
#define ENGINE_BUILD_CONFIG_H

#include <polygraphy/build_config.h>

#include "base/arena.h"
#include "base/system.h"

/* Copies the fields that this version knows and checks the enumerators. Everything that the
 * configuration points to stays borrowed. `from` NULL: defaults. */
pgy_status config_take(pgy_build_config *out, const pgy_build_config *from,
                       pgy_error *err) PGY_MUST_CHECK;
/* Makes a deep copy in `memory`: texts, arrays and structs. The timing cache, the data loader and
 * the callbacks' user data stay the caller's. `from` NULL: defaults. */
pgy_status config_copy(pgy_build_config **out, const pgy_build_config *from, arena *memory,
                       pgy_error *err) PGY_MUST_CHECK;
/* The instruction-set level that kernels may use, at most this processor's. PGY_E_UNSUPPORTED: the
 * configuration asks for a level that this processor lacks. */
pgy_status config_cpu_level(cpu_level *out, const pgy_build_config *config,
                            pgy_error *err) PGY_MUST_CHECK;

#endif
