/* SPDX-License-Identifier: Apache-2.0 */
/* A build's configuration, kept as long as an engine lives. */
#ifndef ENGINE_BUILD_CONFIG_H
#define ENGINE_BUILD_CONFIG_H

#include <polygraphy/build_config.h>

#include "base/arena.h"
#include "base/system.h"

/* A copy with all texts and arrays, in `memory`. What calibration, monitor and timing_cache point
 * to stays the caller's. `from` NULL: defaults. */
pgy_status config_copy(pgy_build_config **out, const pgy_build_config *from, arena *memory,
                       pgy_error *err) PGY_MUST_CHECK;
/* The processors whose kernels may be used: this one's at most. PGY_E_UNSUPPORTED: this one has not
 * what is asked for. */
pgy_status config_cpu_level(cpu_level *out, const pgy_build_config *config,
                            pgy_error *err) PGY_MUST_CHECK;

#endif
