/* SPDX-License-Identifier: Apache-2.0 */
/* Figures for other programs (--report, --json), and the comparison with an earlier report. */
#ifndef CLI_TRTEXEC_REPORT_H
#define CLI_TRTEXEC_REPORT_H

#include "cli/trtexec/trtexec.h"

/* Checks that the options belong together. */
pgy_status report_options(trtexec_session *s, pgy_error *err) PGY_MUST_CHECK;
/* Compares, then writes, so that one file can be both. `profile` may be NULL. Fails if the latency
 * has grown by --failOnRegression. */
pgy_status report_figures(trtexec_session *s, const pgy_perf_trace *t,
                          const pgy_perf_profile *profile, pgy_error *err) PGY_MUST_CHECK;

#endif
