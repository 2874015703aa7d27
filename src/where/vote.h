/* SPDX-License-Identifier: Apache-2.0 */
/* What a vote found. */
#ifndef WHERE_VOTE_H
#define WHERE_VOTE_H

#include <polygraphy/vote.h>

#include "base/arena.h"
#include "base/str.h"

struct pgy_vote {
    arena memory;
    pgy_vote_tensor *rows;
    size_t count;
    strvec failures;
    const char *names[3];
    int referee; /* the side that is the referee; -1: none of them */
};

#endif
