/* SPDX-License-Identifier: Apache-2.0 */
/* What a search for rewrites found. */
#ifndef WHERE_PASSES_REPORT_H
#define WHERE_PASSES_REPORT_H

#include "base/arena.h"
#include "where/passes_trial.h"

enum { MAX_CULPRITS = 128 };

struct pgy_rewrite_report {
    arena memory;
    bool is_engine;
    pgy_rewrite_cause cause;
    const char *level, *remedy, *reference, *model;
    pgy_rewrite_culprit culprits[MAX_CULPRITS];
    size_t count, trials;
    trial_verdict *verdicts; /* of the trials, in `memory` */
    size_t verdict_count;
};

/* A report of PGY_REWRITE_AGREES. */
pgy_status report_create(pgy_rewrite_report **out, const trials *t, bool is_engine,
                         pgy_error *err) PGY_MUST_CHECK;
/* Takes over the number of trials and their verdicts. */
pgy_status report_take_trials(pgy_rewrite_report *r, const trials *t,
                              pgy_error *err) PGY_MUST_CHECK;
/* Adds a culprit without a name. NULL: there is no room. */
pgy_rewrite_culprit *report_add(pgy_rewrite_report *r, const char *level, pgy_error *err);

#endif
