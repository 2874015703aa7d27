/* SPDX-License-Identifier: Apache-2.0 */
/* The sides of the command bench, and what their outputs are compared with. */
#ifndef CLI_BENCH_SIDES_H
#define CLI_BENCH_SIDES_H

#include "cli/bench/options.h"

typedef struct bench_sides {
    pgy_bench_side *sides;
    char **names;
    size_t count;
} bench_sides;
/* Creates the sides of the line. Call deinit also after a failure. */
pgy_status bench_sides_init(bench_sides *l, const args *line, pgy_error *err) PGY_MUST_CHECK;
void bench_sides_deinit(bench_sides *l);

/* The reference of --check-with. */
typedef struct bench_checked {
    pgy_bench_reference reference;
    pgy_runner *runner;
    pgy_results *results;
} bench_checked;
pgy_status bench_checked_init(bench_checked *c, const args *line, pgy_error *err) PGY_MUST_CHECK;
void bench_checked_deinit(bench_checked *c);

#endif
