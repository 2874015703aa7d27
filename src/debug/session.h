/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates, and single trials for searches that decide in their own loop what comes next. */
#ifndef DEBUG_SESSION_H
#define DEBUG_SESSION_H

#include <polygraphy/debug.h>

/* Saves a part of `whole` to the session's candidate file. It is fast if `whole` is the same model
 * in all calls. */
pgy_status debug_session_save(pgy_debug_session *s, pgy_model *part, pgy_model *whole,
                              pgy_error *err) PGY_MUST_CHECK;

/* Judges a trial in place of the session's check. */
typedef struct debug_trial_test {
    const char *phase;
    pgy_status (*run)(bool *passed, void *user, pgy_error *err);
    void *user;
    int64_t remaining; /* estimate of the trials left, this one included */
} debug_trial_test;

/* Runs a trial, or takes its verdict and state from the replay, which then has *known true. */
pgy_status debug_session_try(bool *known, pgy_debug_session *s, pgy_debug_trial *trial,
                             const debug_trial_test *test, pgy_error *err) PGY_MUST_CHECK;
/* Tells how to go on after `trials` trials of a search that was interrupted. */
void debug_session_log_interrupted(const pgy_debug_session *s, size_t trials);

#endif
