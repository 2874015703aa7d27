/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Comparing the speed of runners: slices of runs in random order, their statistics, and verdicts
 * with intervals.
 *
 *     pgy_bench_side sides[2] = {{.name = "a", .runner = a, .data = data_a}, ...};
 *     pgy_bench *b = NULL;
 *     pgy_bench_verdict v;
 *     if (pgy_bench_measure(&b, sides, 2, NULL, &err)) ...
 *     if (pgy_bench_judge(&v, b, 1, 0, &err)) ...
 *     printf("%s by %.1f %%\n", pgy_bench_outcome_name(v.outcome), v.effect * 100);
 *     pgy_bench_destroy(b);
 *
 * Each round has one slice of every side, in random order. Only slices of one round are compared,
 * so a slow drift of the machine does not count for a side. docs/bench.md has the method.
 */
#ifndef POLYGRAPHY_BENCH_H
#define POLYGRAPHY_BENCH_H

#include <polygraphy/compare.h>
#include <polygraphy/data.h>
#include <polygraphy/runner.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the outputs of every side are compared with: a runner, or saved outputs. */
typedef struct pgy_bench_reference {
    size_t size;                /**< sizeof(pgy_bench_reference) */
    const char *name;           /**< for reports */
    pgy_runner *runner;         /**< not active; it gets the inputs of each side. It runs after all
                                   measurements, so that it changes none. NULL: `results` */
    const pgy_results *results; /**< the first iteration of its first runner; not for sweeps, whose
                                   shapes differ */
    const pgy_compare_options *tolerances; /**< of the kind SIMPLE; NULL: defaults */
} pgy_bench_reference;

typedef struct pgy_bench_options {
    size_t size;         /**< sizeof(pgy_bench_options) */
    double duration_s;   /**< time of all slices of all sides together; default 10 */
    size_t slices;       /**< slices of each side, 8 to 1000; default 40 */
    uint64_t seed;       /**< of the order of slices and of the resampling, below 2^32; default 1 */
    double warm_up_ms;   /**< time each side runs before the first slice; default 200 */
    double confidence;   /**< of intervals and verdicts, over 0.5 and below 1; default 0.99 */
    double least_effect; /**< smaller differences are never claimed; default 0.01: 1 %. Where a
                            model lies in memory alone can make such differences */
    const pgy_bench_reference *reference; /**< only while measuring; NULL: outputs are not checked
                                           */
} pgy_bench_options;
PGY_API pgy_bench_options pgy_bench_options_default(void);

/** One thing to measure. */
typedef struct pgy_bench_side {
    const char *name;      /**< unique; copied */
    pgy_runner *runner;    /**< not active; it is active only inside pgy_bench_measure */
    pgy_data_loader *data; /**< its first map is the input of all runs */
} pgy_bench_side;

typedef struct pgy_bench pgy_bench;

/** Loads all sides, then measures them. It may take longer than duration_s if runs are long: at
 * least 8 slices of each side, and one run in each. */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_measure(pgy_bench **out, const pgy_bench_side *sides,
                                                    size_t count, const pgy_bench_options *options,
                                                    pgy_error *err);
/** Makes an object without slices, for times measured elsewhere. @param options NULL: defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_create(pgy_bench **out, const char *const *names,
                                                   size_t count, const pgy_bench_options *options,
                                                   pgy_error *err);
/** Adds a slice. The slices of each side are added in the order of the rounds.
 * @param times_ns   time of each run, over 0
 * @param disturbed  other processes took the processor: the round is left out if enough remain */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_add(pgy_bench *b, size_t side, const int64_t *times_ns,
                                                size_t count, bool disturbed, pgy_error *err);
PGY_API void pgy_bench_destroy(pgy_bench *b); /**< NULL is fine */

/* ---- Figures -------------------------------------------------------------------------------- */

PGY_API size_t pgy_bench_count(const pgy_bench *b); /**< number of sides */
PGY_API const char *pgy_bench_name(const pgy_bench *b, size_t side);
/** @return false if no side has the name */
PGY_API bool pgy_bench_find(size_t *side, const pgy_bench *b, const char *name);

typedef struct pgy_bench_figures {
    double median_ms, low_ms,
        high_ms;                            /**< median of the slices, and its interval. The
                                               time of a slice is the mean of the middle half of its runs */
    double p50_ms, p90_ms, p99_ms, p999_ms; /**< of the stored runs of the slices that count */
    double throughput;                      /**< runs per second of inference time */
    uint64_t runs;                          /**< measured runs in the slices that count */
    size_t slices;                          /**< slices that count */
    size_t disturbed;                       /**< slices that other processes disturbed */
    bool counts_disturbed;                  /**< too few rounds were undisturbed, so all count */
    double load_ms;      /**< activating the runner: loading, building; negative: unknown */
    double first_run_ms; /**< negative: unknown */
    int64_t peak_bytes;  /**< memory that loading and the first run added; -1: unknown */
    double cpu_joules, gpu_joules; /**< energy of a run, of all processor packages and of all GPUs
                                      of the machine; negative: unknown */
} pgy_bench_figures;
/** @return PGY_E_ARGUMENT if the side has no slices */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_summarize(pgy_bench_figures *out, const pgy_bench *b,
                                                      size_t side, pgy_error *err);

/** How far the outputs of a side are from the reference. Texts are borrowed. */
typedef struct pgy_bench_accuracy {
    const char *reference;
    bool measured;         /**< false: `reason` says why there is no error */
    bool passed;           /**< all outputs are within the tolerances */
    double error;          /**< greatest absolute difference of all elements of all outputs */
    double relative_error; /**< the greatest relative one; infinite where the reference is 0 */
    const char *reason;    /**< why it did not pass; "" if it did */
} pgy_bench_accuracy;
/** @return false if nothing was to be checked */
PGY_API bool pgy_bench_check(pgy_bench_accuracy *out, const pgy_bench *b, size_t side);

/* ---- Verdicts ------------------------------------------------------------------------------- */

typedef enum pgy_bench_outcome {
    PGY_BENCH_NO_DIFFERENCE, /**< none was shown; there may be one inside the interval */
    PGY_BENCH_FASTER,
    PGY_BENCH_SLOWER
} pgy_bench_outcome;
/** "faster", "slower" or "no difference shown" */
PGY_API const char *pgy_bench_outcome_name(pgy_bench_outcome outcome);

typedef struct pgy_bench_verdict {
    pgy_bench_outcome outcome;
    double effect;    /**< time of the side over that of the other, minus 1 */
    double low, high; /**< interval of the effect */
    size_t pairs;     /**< pairs of slices; below 8 no difference is claimed */
    double needed_s;  /**< duration_s that would show a difference of 2 %, from the width of the
                         interval; negative: unknown */
} pgy_bench_verdict;
/** Compares two sides of one measurement, round by round. */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_judge(pgy_bench_verdict *out, const pgy_bench *b,
                                                  size_t side, size_t other, pgy_error *err);
/** Compares a side with a side of another measurement. Its slices are no pairs, so what changed on
 * the machine in between is part of the difference. */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_compare(pgy_bench_verdict *out, const pgy_bench *now,
                                                    size_t side, const pgy_bench *old,
                                                    size_t old_side, pgy_error *err);

/** The processor on which it was measured; "" if unknown. */
PGY_API const char *pgy_bench_processor(const pgy_bench *b);

/* ---- Texts and files ------------------------------------------------------------------------ */

/** Writes a report: a table, what disturbed, and the verdict on each side against the first one.
 * Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_text(char **out, const pgy_bench *b, pgy_error *err);
/** Writes a sentence: "'b' is slower than 'a': +3.1 % (+2.7 % to +3.6 %)". Free with
 * pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_verdict_text(char **out, const pgy_bench_verdict *v,
                                                         const char *name, const char *other,
                                                         pgy_error *err);
/** Writes everything as JSON (docs/bench.md). */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_save(const char *path, const pgy_bench *b,
                                                 pgy_error *err);
/** Reads such a file. @return PGY_E_FORMAT with the place */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_load(pgy_bench **out, const char *path, pgy_error *err);
/** Writes one row per slice as CSV. */
PGY_API PGY_MUST_CHECK pgy_status pgy_bench_save_csv(const char *path, const pgy_bench *b,
                                                     pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
