/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the debug tools' trials: the check command, artifacts to sort, and replays of saved
 * verdicts. */
#ifndef CLI_GROUPS_DEBUG_H
#define CLI_GROUPS_DEBUG_H

#include <polygraphy/debug.h>

#include "cli/command.h"

typedef struct debug_args {
    pgy_text_list check, fail_codes, ignored_codes, fail_patterns, artifacts;
    bool show_output, hide_output, keep_candidate;
    const char *artifact_dir, *candidate, *info, *until, *load_replay, *save_replay, *timeout_text;
    const char *golden; /* older spelling: outputs that a check without a command compares with */
    const char *candidate_end; /* suffix of the candidate file's default name; NULL: the tool makes
                                  no candidate */
    bool replays; /* can the tool save its verdicts, and load them instead of running trials? */
    pgy_debug_check criterion; /* of the options of the check */
    pgy_debug_options options; /* made from the settings above */
    pgy_debug_end end;         /* made from --until */
    int64_t count;
} debug_args;

extern const option_group GROUP_DEBUG_REPEAT;    /* no candidate; --until; replays */
extern const option_group GROUP_DEBUG_BUILD;     /* --until; no replays */
extern const option_group GROUP_DEBUG_PRECISION; /* no --until; replays */
extern const option_group GROUP_DEBUG_REDUCE;    /* no --until; replays */

#endif
