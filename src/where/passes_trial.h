/* SPDX-License-Identifier: Apache-2.0 */
/* Trials of a search for rewrites: a runner with some rewrites switched off gets the same inputs,
 * and its outputs are judged against the same reference. */
#ifndef WHERE_PASSES_TRIAL_H
#define WHERE_PASSES_TRIAL_H

#include <polygraphy/bisect_rewrites.h>
#include <polygraphy/noise.h>

#include "base/str.h"

struct where_judge;

/* The rule of `where` that judges outputs. */
typedef struct trials_rule {
    const struct where_judge *judge;
    const pgy_where_options *options;
    pgy_floor *floor; /* NULL: the rule needs none, or no trial ran yet */
} trials_rule;

/* What a trial switched off, and whether the outputs agreed. */
typedef struct trial_verdict {
    char *what;
    bool agrees;
} trial_verdict;

typedef struct trials {
    pgy_model *model;
    const pgy_backend *backend; /* of the runner under test */
    pgy_rewrite_options options;
    pgy_tensor_map **feeds; /* inputs, taken from the loader in the first trial */
    size_t feed_count;
    pgy_results *made; /* outputs of the reference runner; NULL until the first trial, or if the
                          options have outputs */
    pgy_where_options where;
    trials_rule rule;
    pgy_compare *compare; /* by `rule`; NULL: the options have another */
    pgy_judge_options judge;
    trial_verdict *verdicts; /* of all trials that ran to their end */
    size_t verdict_count, verdict_capacity;
    size_t count; /* trials so far */
} trials;

pgy_status trials_init(trials *t, pgy_model *model, const char *backend,
                       const pgy_rewrite_options *options, pgy_error *err) PGY_MUST_CHECK;
void trials_deinit(trials *t);
/* Runs the model with these options of the backend and judges its outputs. `what` describes the
 * options, for the log and for errors. */
pgy_status trials_run(bool *agrees, trials *t, const pgy_backend_options *options, const char *what,
                      pgy_error *err) PGY_MUST_CHECK;

/* passes_judge.c: compares outputs by the rule of `where`. `rule` and `o` must outlive it. */
pgy_status trials_compare_create(pgy_compare **out, trials_rule *rule, const pgy_where_options *o,
                                 pgy_error *err) PGY_MUST_CHECK;

/* ---- The search ------------------------------------------------------------------------------ */

/* A list of rewrites, of which some are off. */
typedef struct rewrite_search {
    size_t count;
    /* Runs the model with the rewrites for which on[i] is set. */
    pgy_status (*run)(bool *agrees, const bool *on, void *user, pgy_error *err);
    /* Describes the culprit i, which is the first such that on[0..i] differs; NULL: not called. */
    pgy_status (*found)(size_t i, const bool *on, void *user, pgy_error *err);
    void *user;
} rewrite_search;

/* Finds culprits until the outputs agree without them, and sets off[i] for each. All rewrites
 * together must differ, and none of them agree. */
pgy_status rewrite_search_run(bool *off, const rewrite_search *s, pgy_error *err) PGY_MUST_CHECK;

#endif
