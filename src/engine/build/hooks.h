/* SPDX-License-Identifier: Apache-2.0 */
/* Changes by the caller's functions in front of a build. */
#ifndef ENGINE_BUILD_HOOKS_H
#define ENGINE_BUILD_HOOKS_H

#include <polygraphy/build_config.h>
#include <polygraphy/onnx.h>

/* The model and configuration as the hooks leave them; *model is to be destroyed. */
pgy_status hooks_apply(pgy_model **model, pgy_build_config *config, pgy_model *from,
                       pgy_error *err) PGY_MUST_CHECK;

#endif
