/* SPDX-License-Identifier: Apache-2.0 */
/* Runs calibration data in float32 engines. */
#ifndef ENGINE_CONTEXT_CALIBRATION_RUN_H
#define ENGINE_CONTEXT_CALIBRATION_RUN_H

#include "engine/precision/calibrate.h"

extern const calibration_runner CALIBRATION_ENGINES;

#endif
