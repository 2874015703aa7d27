/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the comparison functions: the checked options, the table of kinds, and one entry per kind
 * that compares two outputs. */
#ifndef COMPARE_COMPARE_H
#define COMPARE_COMPARE_H

#include <polygraphy/compare.h>

#include "base/str.h"
#include "compare/judge.h"

typedef struct compare_kind_row {
    pgy_compare_kind kind;
    const char *name, *label; /* as the user writes it, as the log does */
    double threshold;         /* the built-in default */
    bool has_metric;          /* one number, judged against one threshold */
    bool more_is_better;
    const char *unit, *bound; /* of the metric line: " dB", "min required" */
    const char
        *dictionary; /* name of the threshold option in warnings; NULL: names are not checked */
} compare_kind_row;
const compare_kind_row *compare_kind_find(pgy_compare_kind kind);

struct pgy_compare {
    pgy_compare_options options; /* with maps and texts that are owned */
    void (*free_user)(void *user);
};

/* Per-output values: by the output's name, else its partner's (may be NULL), else "", else the
 * default. */
pgy_number compare_number(const pgy_number_map *map, const char *output, const char *partner,
                          pgy_number fallback);
pgy_number compare_real(double v);
pgy_error_stat compare_stat(const pgy_compare *c, const char *output, const char *partner);
/* WARNING for every dictionary with names that neither side has. */
void compare_warn_extra_names(const pgy_compare *c, const pgy_iteration *a, const pgy_iteration *b);

/* One output of each side. */
typedef struct compare_side {
    const char *runner, *output;
    pgy_tensor *tensor; /* resident */
} compare_side;
typedef struct compare_job {
    const pgy_compare *compare;
    compare_side a, b;
    bool compat;
} compare_job;

/* The other name under which values of this output may be given. The original knows the first only.
 */
const char *job_partner(const compare_job *job);

/* Each fills everything of *v but `output` and `kind`. */
pgy_status simple_compare(pgy_verdict *v, const compare_job *job, pgy_error *err) PGY_MUST_CHECK;
pgy_status indices_compare(pgy_verdict *v, const compare_job *job, pgy_error *err) PGY_MUST_CHECK;
pgy_status metric_compare(pgy_verdict *v, const compare_job *job, pgy_error *err) PGY_MUST_CHECK;

/* Per output of a: the position of its partner among the outputs of b, or NO_PARTNER. With `compat`
 * as the original pairs, where several outputs of a may have the same partner. Free with mem_free.
 */
#define NO_PARTNER SIZE_MAX
pgy_status compare_find_partners(size_t **partners, const pgy_iteration *a, const pgy_iteration *b,
                                 bool compat, pgy_error *err) PGY_MUST_CHECK;
/* The output of b that the original finds for output i of a and refuses, because a has an output of
 * that very name; or NULL. */
const char *compare_refused_partner(const pgy_iteration *a, const pgy_iteration *b, size_t i);
/* A function of the caller's on all outputs; every output needs a verdict, and nothing else. */
pgy_status callback_compare(pgy_verdicts *out, compare_gaps *gaps, const pgy_compare *c,
                            const pgy_iteration *a, const pgy_iteration *b, bool compat,
                            pgy_error *err) PGY_MUST_CHECK;
/* Counts and names an output of `side` that was compared with nothing, and logs why. */
void gaps_note_unmatched(compare_gaps *gaps, const pgy_iteration *side, const char *output,
                         bool compat, const char *why);

/* Makes the shapes of both sides equal if they may be made so. *same: false
 * after an ERROR line. The tensors of *a and *b are owned by the caller afterwards. */
pgy_status pairing_match_shapes(bool *same, pgy_tensor **a, pgy_tensor **b, const compare_job *job,
                                pgy_error *err) PGY_MUST_CHECK;
/* "L2 Norm: 5 (tolerance: 1e-05) | FAILED", logged by its verdict; the text alone is appended to
 * `out`. */
void metric_line(str *out, const pgy_verdict *v);

/* "(dtype=float32, shape=(2, 3))" */
void compare_describe(str *out, const pgy_tensor *t);
/* As the user gave it: "1e-05", "3". */
void compare_number_text(str *out, pgy_number n);
/* An array as NumPy prints it, every line behind `indent` blanks. */
pgy_status compare_array_text(str *out, size_t indent, pgy_view v, pgy_error *err) PGY_MUST_CHECK;

#endif
