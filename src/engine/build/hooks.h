/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the caller's hooks, which may change model and configuration before a build. */
#ifndef ENGINE_BUILD_HOOKS_H
#define ENGINE_BUILD_HOOKS_H

#include <polygraphy/build_config.h>
#include <polygraphy/onnx.h>

/* Returns the model and configuration after all hooks; the caller destroys *model. */
pgy_status hooks_apply(pgy_model **model, pgy_build_config *config, pgy_model *from,
                       pgy_error *err) PGY_MUST_CHECK;

#endif
