/* SPDX-License-Identifier: Apache-2.0 */
/* Repeats one trial until a verdict or a number of trials is reached. */
#include <polygraphy/debug.h>

typedef struct repetition {
    pgy_debug_end end;
    int64_t count;
    pgy_status (*make)(bool *made, pgy_debug_trial *trial, void *user, pgy_error *err);
    void *user;
} repetition;

static pgy_status make(bool *made, pgy_debug_trial *trial, void *user, pgy_error *err)
{
    const repetition *r = user;
    return r->make(made, trial, r->user, err);
}

static bool next(const pgy_debug_trial *trial, void *user)
{
    const repetition *r = user;
    if (r->end == PGY_DEBUG_UNTIL_COUNT) return trial->index + 1 < r->count;
    return trial->passed != (r->end == PGY_DEBUG_UNTIL_GOOD);
}

pgy_status pgy_debug_repeat(pgy_debug_summary *out, pgy_debug_session *s, pgy_debug_end end,
                            int64_t count,
                            pgy_status (*make_candidate)(bool *made, pgy_debug_trial *trial,
                                                         void *user, pgy_error *err),
                            void *user, pgy_error *err)
{
    repetition r = {.end = end, .count = count, .make = make_candidate, .user = user};
    const pgy_debug_search search = {
        .size = sizeof search, .make = make_candidate ? make : NULL, .next = next, .user = &r};
    return pgy_debug_session_run(out, s, &search, err);
}
