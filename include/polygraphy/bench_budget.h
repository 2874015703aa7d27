/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Demands on measurements: budgets of figures, and a list of what held and what did not.
 *
 *     pgy_bench_budget *budget = NULL;
 *     pgy_bench_demands *d = NULL;
 *     if (pgy_bench_budget_parse(&budget, "p99<12ms,peak<300M,err<1e-3", &err)) ...
 *     if (pgy_bench_demands_create(&d, &err)) ...
 *     if (pgy_bench_budget_check(d, budget, sweep, &err)) ...
 *     for (size_t i = 0; i < pgy_bench_demands_count(d); i++) ...
 *
 * A figure that was not measured breaks its limit: it never passes.
 */
#ifndef POLYGRAPHY_BENCH_BUDGET_H
#define POLYGRAPHY_BENCH_BUDGET_H

#include <polygraphy/bench_sweep.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a demand is about. The values are the exit statuses of `bench` (docs/bench.md); if several
 * demands fail, the first of these counts. */
typedef enum pgy_bench_subject {
    PGY_BENCH_REGRESSION = 1, /**< against an older file */
    PGY_BENCH_ACCURACY = 3,
    PGY_BENCH_LATENCY = 4,
    PGY_BENCH_MEMORY = 5,
    PGY_BENCH_THROUGHPUT = 6,
    PGY_BENCH_ENERGY = 7,
    PGY_BENCH_UNMEASURED = 8 /**< a figure that is demanded could not be measured */
} pgy_bench_subject;
/** "accuracy", "latency", ... */
PGY_API const char *pgy_bench_subject_name(pgy_bench_subject subject);

/* ---- Demands --------------------------------------------------------------------------------- */

typedef struct pgy_bench_demand {
    pgy_bench_subject subject;
    const char *where; /**< "'model.onnx'" or "'model.onnx' at batch=8" */
    const char *what;  /**< "p99 < 12 ms" */
    const char *found; /**< "10.52 ms", or why there is no figure */
    bool passed;
} pgy_bench_demand;

typedef struct pgy_bench_demands pgy_bench_demands;
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_demands_create(pgy_bench_demands **out, pgy_error *err);
PGY_API void pgy_bench_demands_destroy(pgy_bench_demands *d); /**< NULL is fine */
/** Copies the demand. */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_demands_add(pgy_bench_demands *d,
                                                        const pgy_bench_demand *demand,
                                                        pgy_error *err);
PGY_API size_t pgy_bench_demands_count(const pgy_bench_demands *d);
PGY_API const pgy_bench_demand *pgy_bench_demands_at(const pgy_bench_demands *d, size_t i);
/** 0 if all passed, else the least subject of those that failed. */
PGY_API int pgy_bench_demands_status(const pgy_bench_demands *d);
/** Writes JUnit's XML: a suite for each subject, a case for each demand. One case more says that
 * the sides were measured, so a file always has a case. */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_demands_save_junit(const char *path,
                                                               const pgy_bench_demands *d,
                                                               const pgy_bench_sweep *s,
                                                               pgy_error *err);

/* ---- Budgets --------------------------------------------------------------------------------- */

typedef struct pgy_bench_budget pgy_bench_budget;
/** Reads conditions with commas between them, such as "p99<12ms,peak<300M,err<1e-3"; docs/bench.md
 * has the figures and units. */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_budget_parse(pgy_bench_budget **out, const char *text,
                                                         pgy_error *err);
PGY_API void pgy_bench_budget_destroy(pgy_bench_budget *b); /**< NULL is fine */
/** Writes the conditions so that they read the same again. Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_budget_text(char **out, const pgy_bench_budget *b,
                                                        pgy_error *err);
/** Is there a condition on the subject? */
PGY_API bool pgy_bench_budget_has(const pgy_bench_budget *b, pgy_bench_subject subject);
/** Adds a demand for each condition, side and point. */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_budget_check(pgy_bench_demands *d,
                                                         const pgy_bench_budget *b,
                                                         const pgy_bench_sweep *s, pgy_error *err);
/** Adds a demand for each side and point: its outputs are within the tolerances of the reference.
 * Does nothing without a reference. */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_accuracy_check(pgy_bench_demands *d,
                                                           const pgy_bench_sweep *s,
                                                           pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
