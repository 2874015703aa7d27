/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The build configuration of runners that build engines: those of the backends "trt" and "trtexec".
 * Other options are set by name.
 *
 *     pgy_backend_options *o = NULL;
 *     if (pgy_backend_options_create(&o, pgy_backend_find("trt"), &err)) ...
 *     if (pgy_backend_options_set(o, "save_engine", "net.plan", &err)) ...
 *     if (pgy_engine_runner_configure(o, &config, &err)) ...
 *     if (pgy_runner_create(&runner, pgy_backend_find("trt"), &source, o, NULL, &err)) ...
 *     pgy_backend_options_destroy(o);
 */
#ifndef POLYGRAPHY_ENGINE_RUNNER_H
#define POLYGRAPHY_ENGINE_RUNNER_H

#include <polygraphy/build_config.h>
#include <polygraphy/runner.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @param options  of a backend with PGY_BACKEND_TAKES_CONFIG
 * @param config   copied, except what calibration and timing_cache point to: the runner uses that
 * when it builds. NULL: defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_engine_runner_configure(pgy_backend_options *options,
                                                              const pgy_build_config *config,
                                                              pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
