/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of tactic replay files, for the engine and for those who look at files. */
#ifndef ENGINE_TACTICS_REPLAY_FILE_H
#define ENGINE_TACTICS_REPLAY_FILE_H

#include <polygraphy/tactics.h>

#include "base/arena.h"

struct pgy_tactic_replay {
    arena memory;
    pgy_tactic_layer *layers;
    size_t count;
    const char *passes; /* what POLYGRAPHY_PASSES was; NULL: not recorded */
};

/* `strict`: every operand must be complete. Replays of older releases have other operands; without
 * `strict` they are read, and what cannot be read of an operand is NULL. */
pgy_status replay_file_load(pgy_tactic_replay **out, const char *path, bool strict,
                            pgy_error *err) PGY_MUST_CHECK;

#endif
