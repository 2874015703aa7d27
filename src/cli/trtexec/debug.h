/* SPDX-License-Identifier: Apache-2.0 */
/* Debug tensors (--saveDebugTensors, --saveAllDebugTensors). */
#ifndef CLI_TRTEXEC_DEBUG_H
#define CLI_TRTEXEC_DEBUG_H

#include "cli/trtexec/trtexec.h"

/* Checks the options. */
pgy_status debug_options(trtexec_session *s, pgy_error *err) PGY_MUST_CHECK;
/* Runs the engine once more and saves the debug tensors that are asked for. */
pgy_status debug_save(trtexec_session *s, const pgy_tensor_map *feed,
                      pgy_error *err) PGY_MUST_CHECK;

#endif
