/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of figures, and the demands that are made of them. */
#ifndef PERF_BENCH_BUDGET_H
#define PERF_BENCH_BUDGET_H

#include <polygraphy/bench_budget.h>

#include "perf/bench_sweep.h"

/* What a limit can be about, in the order of the table in bench_budget.c. */
typedef struct bench_limited {
    const char *name;
    pgy_bench_subject subject;
    const char *unit; /* that of texts: "ms", "bytes", ... */
    /* The figure; NaN: unknown. */
    double (*figure)(const pgy_bench_figures *f, const pgy_bench_accuracy *a);
    size_t sizes; /* which of the tables of suffixes */
} bench_limited;

typedef enum bench_relation {
    BENCH_BELOW,
    BENCH_AT_MOST,
    BENCH_ABOVE,
    BENCH_AT_LEAST
} bench_relation;

typedef struct bench_limit {
    const bench_limited *on;
    bench_relation relation;
    double value; /* in the figure's unit */
    char *text;   /* as it was given, without blanks: "p99<12ms" */
} bench_limit;

enum { BENCH_LIMITS = 64 };
struct pgy_bench_budget {
    bench_limit items[BENCH_LIMITS];
    size_t count;
};

/* Is the limit kept? NaN never keeps one. */
bool bench_limit_holds(const bench_limit *l, double figure);

#endif
