/* SPDX-License-Identifier: Apache-2.0 */
/* Options of checks that run inside the program: the runner that is judged, and its reference. */
#ifndef CLI_GROUPS_DEBUG_JUDGE_H
#define CLI_GROUPS_DEBUG_JUDGE_H

#include <polygraphy/debug_minimise.h>

#include "cli/groups/compare.h"

typedef struct judge_args {
    const char *with, *runner, *on, *repro;
    bool capsule, given; /* given: a check inside the program is asked for */
    pgy_debug_outcome outcome;
} judge_args;
extern const option_group GROUP_DEBUG_JUDGE;
extern const option_group GROUP_DEBUG_JUDGE_PLAN;   /* --check-with for plans */
extern const option_group GROUP_DEBUG_JUDGE_REPEAT; /* --check-with and --runner */
/* Finds out what --check-with names: a runner, or a file of results, which the caller destroys. */
pgy_status cli_judge_reference(const char **reference, pgy_results **golden, const judge_args *s,
                               pgy_error *err) PGY_MUST_CHECK;

/* A judge and what it borrows. Free it with cli_judge_deinit. */
typedef struct cli_judge {
    pgy_debug_judge *judge;
    const char *runner;
    compare_list functions;
    pgy_judge_options rules;
    pgy_backend_options *options;
    pgy_results *golden;
    const char **words; /* options of the line that `run` needs to do the same */
    size_t word_count;
    size_t compare_word_count; /* the first words: how outputs are compared */
} cli_judge;
pgy_status cli_judge_init(cli_judge *j, args *line, pgy_error *err) PGY_MUST_CHECK;
/* debug_words.c: fills in `words`, for processes of their own and for the script of --repro. Not
 * `compared`: there is no reference, so those of comparisons are left out. An option with which
 * `run` would judge differently is an error. */
pgy_status cli_judge_words(cli_judge *j, bool compared, args *line, pgy_error *err) PGY_MUST_CHECK;
/* debug_words.c: refuses options of comparisons, for lines that compare nothing. */
pgy_status cli_judge_unused(const args *line, pgy_error *err) PGY_MUST_CHECK;
void cli_judge_deinit(cli_judge *j, args *line);

#endif
