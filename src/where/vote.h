/* SPDX-License-Identifier: Apache-2.0 */
/* What a vote found. */
#ifndef WHERE_VOTE_H
#define WHERE_VOTE_H

#include <polygraphy/vote.h>

#include "base/arena.h"
#include "base/str.h"

enum { VOTE_PAIRS = 3, VOTE_SIDES = 3 };

/* The comparisons that a vote counts. */
typedef struct ballot {
    pgy_where_side sides[VOTE_SIDES];
    pgy_where_options options;
    pgy_where_report *pairs[VOTE_PAIRS];     /* after a cancelled vote some are NULL */
    pgy_where_report *distances[VOTE_SIDES]; /* the referee as side A; NULL: a pair has it */
    int referee;
    pgy_tensor_map **feeds; /* every comparison gets the same */
    size_t feed_count;
} ballot;

struct pgy_vote {
    arena memory;
    pgy_vote_tensor *rows;
    size_t count;
    strvec failures;
    const char *names[3];
    int referee; /* the side that is the referee; -1: none of them */
    ballot kept; /* after a cancelled vote: releasing samples takes longer than a caller may wait
                    before it shows the report */
};

#endif
