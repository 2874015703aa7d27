/* SPDX-License-Identifier: Apache-2.0 */
/* Reads tactic replay files, for the engine and for tools that inspect files. */
#ifndef ENGINE_TACTICS_REPLAY_FILE_H
#define ENGINE_TACTICS_REPLAY_FILE_H

#include <polygraphy/tactics.h>

#include "base/arena.h"

struct pgy_tactic_replay {
    arena memory;
    pgy_tactic_layer *layers;
    size_t count;
    const char *passes; /* passes that were left out; NULL: not recorded */
};

/* `strict`: every operand must be complete. Older releases wrote other operands; without `strict`,
 * unreadable parts of an operand are NULL. */
pgy_status replay_file_load(pgy_tactic_replay **out, const char *path, bool strict,
                            pgy_error *err) PGY_MUST_CHECK;

#endif
