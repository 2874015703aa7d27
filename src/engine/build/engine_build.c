/* SPDX-License-Identifier: Apache-2.0 */
/* Builds engines and calibrates them by running the model in engines, too. */
#include "engine/build/engine.h"
#include "engine/context/calibration_run.h"

pgy_status engine_build(engine **out, pgy_model *model, const pgy_build_config *config,
                        pgy_error *err)
{
    return engine_build_with(out, model, config, &CALIBRATION_ENGINES, err);
}
