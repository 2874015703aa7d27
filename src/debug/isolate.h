/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a model in a process of its own. */
#ifndef DEBUG_ISOLATE_H
#define DEBUG_ISOLATE_H

#include "debug/judge.h"

/* A process that a signal ends, fails or does not end in time is a finding; *out receives the
 * results of one that ran. */
pgy_status isolated_run(pgy_results **out, pgy_debug_finding *f, const pgy_debug_judge_options *o,
                        const char *runner, pgy_model *model, const judge_samples *samples,
                        pgy_error *err) PGY_MUST_CHECK;

#endif
