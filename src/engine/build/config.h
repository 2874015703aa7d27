/* SPDX-License-Identifier: Apache-2.0 */
/* A build's configuration, kept as long as an engine lives. */
#ifndef ENGINE_BUILD_CONFIG_H
#define ENGINE_BUILD_CONFIG_H

#include <polygraphy/build_config.h>

#include "base/arena.h"
#include "base/system.h"

/* The caller's configuration as this version knows it, enumerators checked; what it points to is
 * borrowed. `from` NULL: defaults. */
pgy_status config_take(pgy_build_config *out, const pgy_build_config *from,
                       pgy_error *err) PGY_MUST_CHECK;
/* A copy with all texts, arrays and structs, in `memory`. The timing cache, the data loader and
 * what callbacks are given stay the caller's. `from` NULL: defaults. */
pgy_status config_copy(pgy_build_config **out, const pgy_build_config *from, arena *memory,
                       pgy_error *err) PGY_MUST_CHECK;
/* The processors whose kernels may be used: this one's at most. PGY_E_UNSUPPORTED: this one has not
 * what is asked for. */
pgy_status config_cpu_level(cpu_level *out, const pgy_build_config *config,
                            pgy_error *err) PGY_MUST_CHECK;

#endif
