/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison with stored outputs (--loadRefOutputs). */
#ifndef CLI_TRTEXEC_ACCURACY_H
#define CLI_TRTEXEC_ACCURACY_H

#include "cli/trtexec/trtexec.h"

/* Checks that the options belong together. */
pgy_status accuracy_options(trtexec_session *s, pgy_error *err) PGY_MUST_CHECK;
/* What the options say about losses in a search for build routes. */
pgy_status accuracy_for_routes(pgy_route_options *o, const trtexec_session *s,
                               pgy_error *err) PGY_MUST_CHECK;
/* Runs the engine once for each pair of inputs and references, and fails if a loss reaches the
 * threshold. `feed` has the inputs that no file replaces. */
pgy_status accuracy_check(trtexec_session *s, const pgy_tensor_map *feed,
                          pgy_error *err) PGY_MUST_CHECK;

#endif
