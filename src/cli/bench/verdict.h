/* SPDX-License-Identifier: Apache-2.0 */
/* What the command bench says about a measurement, besides its table. */
#ifndef CLI_BENCH_VERDICT_H
#define CLI_BENCH_VERDICT_H

#include "cli/bench/options.h"

/* Compares all sides at all points with an older measurement, logs the verdicts, and adds a demand
 * for each if there is a limit. */
pgy_status bench_compare_all(pgy_bench_demands *d, const bench_args *s, const pgy_bench_sweep *now,
                             const pgy_bench_sweep *old, pgy_error *err) PGY_MUST_CHECK;
/* Adds and logs the demands of budget and tolerances. */
pgy_status bench_judge_all(pgy_bench_demands *d, const bench_args *s, const pgy_bench_sweep *now,
                           pgy_error *err) PGY_MUST_CHECK;
/* Logs the worst points of a sweep, with the commands that measure them. */
pgy_status bench_log_worst(const args *line, const pgy_bench_sweep *s,
                           pgy_error *err) PGY_MUST_CHECK;

#endif
