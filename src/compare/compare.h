/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the comparison functions: the checked options, the table of kinds, and one function
 * per kind that compares two outputs. */
#ifndef COMPARE_COMPARE_H
#define COMPARE_COMPARE_H

#include <polygraphy/compare.h>

#include "base/str.h"
#include "compare/judge.h"

typedef struct compare_kind_row {
    pgy_compare_kind kind;
    const char *name, *label; /* in options and in the log */
    double threshold;         /* default threshold of the metric */
    bool has_metric;          /* an output gets one number, compared with one threshold */
    bool more_is_better;
    const char *unit, *bound; /* of the metric line: " dB", "min required" */
    const char
        *dictionary; /* name of the threshold option in warnings; NULL: names are not checked */
} compare_kind_row;
const compare_kind_row *compare_kind_find(pgy_compare_kind kind);

struct pgy_compare {
    pgy_compare_options options; /* owns its maps and texts */
    void (*free_user)(void *user);
};

/* The value for an output: by the output's name, else by its partner's (may be NULL), else by "",
 * else the fallback. */
pgy_number compare_number(const pgy_number_map *map, const char *output, const char *partner,
                          pgy_number fallback);
pgy_number compare_real(double v);
pgy_error_stat compare_stat(const pgy_compare *c, const char *output, const char *partner);
/* Logs a WARNING for every dictionary with names that neither side has. */
void compare_warn_extra_names(const pgy_compare *c, const pgy_iteration *a, const pgy_iteration *b);

/* One of the two outputs to compare. */
typedef struct compare_side {
    const char *runner, *output;
    pgy_tensor *tensor; /* in memory, not swapped to disk */
} compare_side;
typedef struct compare_job {
    const pgy_compare *compare;
    compare_side a, b;
    bool compat;
} compare_job;

/* The partner's name, which may also select per-output values. NULL with `compat`: the original
 * looks up the first name only. */
const char *job_partner(const compare_job *job);

/* Each fills all of *v except `output` and `kind`. */
pgy_status simple_compare(pgy_verdict *v, const compare_job *job, pgy_error *err) PGY_MUST_CHECK;
pgy_status indices_compare(pgy_verdict *v, const compare_job *job, pgy_error *err) PGY_MUST_CHECK;
pgy_status metric_compare(pgy_verdict *v, const compare_job *job, pgy_error *err) PGY_MUST_CHECK;

/* The number of L2 norm, cosine similarity, PSNR or SNR for two arrays of equal shapes, without a
 * line in the log. Strings have none. */
pgy_status metric_of(double *out, pgy_compare_kind kind, pgy_tensor *a, pgy_tensor *b,
                     pgy_error *err) PGY_MUST_CHECK;

/* For each output of a, the position of its partner among the outputs of b, or NO_PARTNER. With
 * `compat` outputs are paired as in the original, where several outputs of a may share a partner.
 * Free with mem_free. */
#define NO_PARTNER SIZE_MAX
pgy_status compare_find_partners(size_t **partners, const pgy_iteration *a, const pgy_iteration *b,
                                 bool compat, pgy_error *err) PGY_MUST_CHECK;
/* The output of b that the original finds for output i of a but refuses, because a has an output of
 * the same name; or NULL. */
const char *compare_refused_partner(const pgy_iteration *a, const pgy_iteration *b, size_t i);
/* Calls the caller's function on all outputs. It must give one verdict per output and no others;
 * *gaps counts the deviations. */
pgy_status callback_compare(pgy_verdicts *out, compare_gaps *gaps, const pgy_compare *c,
                            const pgy_iteration *a, const pgy_iteration *b, bool compat,
                            pgy_error *err) PGY_MUST_CHECK;
/* Adds an output of `side` that was not compared to *gaps, and logs why. */
void gaps_note_unmatched(compare_gaps *gaps, const pgy_iteration *side, const char *output,
                         bool compat, const char *why);

/* Reshapes both sides to one shape where the options allow it. *same is false after an ERROR line.
 * If *same, the caller owns *a and *b. */
pgy_status compare_match_shapes(bool *same, pgy_tensor **a, pgy_tensor **b, const compare_job *job,
                                pgy_error *err) PGY_MUST_CHECK;
/* Appends "L2 Norm: 5 (tolerance: 1e-05) | FAILED" to `out`, without logging it. */
void metric_line(str *out, const pgy_verdict *v);

/* "(dtype=float32, shape=(2, 3))" */
void compare_describe(str *out, const pgy_tensor *t);
/* The number as the user gave it: "1e-05", "3". */
void compare_number_text(str *out, pgy_number n);
/* An array as NumPy prints it, each line indented by `indent` blanks. */
pgy_status compare_array_text(str *out, size_t indent, pgy_view v, pgy_error *err) PGY_MUST_CHECK;

#endif
