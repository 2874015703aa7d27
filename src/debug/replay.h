/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of trials, in the original's JSON: a map of "_N3_outputs" to an IterationContext. */
#ifndef DEBUG_REPLAY_H
#define DEBUG_REPLAY_H

#include <polygraphy/debug.h>

#include "base/str.h"

/* Zeroed: empty. */
typedef struct debug_replay {
    strmap trials; /* of pgy_debug_trial; in the order of the file */
} debug_replay;

void debug_replay_deinit(debug_replay *r);
/* Appends the key of a trial: "_N3", "_N3_outputs". */
void debug_replay_append_key(str *out, int64_t index, const char *phase);
/* NULL: the trial is not known. */
const pgy_debug_trial *debug_replay_find(const debug_replay *r, const char *key);
pgy_status debug_replay_put(debug_replay *r, const char *key, const pgy_debug_trial *trial,
                            pgy_error *err) PGY_MUST_CHECK;

/* *r must be empty. PGY_E_FORMAT names the place in the file. */
pgy_status debug_replay_parse(debug_replay *r, const char *text, size_t size_bytes,
                              pgy_error *err) PGY_MUST_CHECK;
pgy_status debug_replay_load(debug_replay *r, const char *path, pgy_error *err) PGY_MUST_CHECK;
pgy_status debug_replay_save(const debug_replay *r, const char *path,
                             pgy_error *err) PGY_MUST_CHECK;

#endif
