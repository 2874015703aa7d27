/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts what a trial left behind into the folders good and bad. */
#ifndef DEBUG_ARTIFACT_H
#define DEBUG_ARTIFACT_H

#include <polygraphy/base.h>

/* Moves the file or folder to DIR/good/NAME_TIME_KEY.EXTENSION, or DIR/bad/... `time` is the
 * session's, as MM-DD-YY_HH-MM-SS; `key` the trial's, "_N3". An artifact that does not exist, or
 * whose target exists, stays, with an error in the log; a move that fails is an error. */
pgy_status debug_artifact_move(const char *path, const char *dir, const char *time, const char *key,
                               bool passed, pgy_error *err) PGY_MUST_CHECK;

#endif
