/* SPDX-License-Identifier: Apache-2.0 */
/* The pictures of measurements and sweeps. */
#ifndef PERF_BENCH_SVG_H
#define PERF_BENCH_SVG_H

#include "perf/bench_sweep.h"
#include "perf/svg.h"

pgy_status bench_svg_runs(str *out, const pgy_bench *b, pgy_error *err) PGY_MUST_CHECK;
/* bench_svg_points.c */
pgy_status bench_svg_points(str *out, const pgy_bench_sweep *s, pgy_error *err) PGY_MUST_CHECK;

#endif
