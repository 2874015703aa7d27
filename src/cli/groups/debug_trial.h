/* SPDX-License-Identifier: Apache-2.0 */
/* The check of --check-with for tools whose iterations make a plan or run a whole model: a
 * pgy_debug_check.judge that compares outputs inside the program. */
#ifndef CLI_GROUPS_DEBUG_TRIAL_H
#define CLI_GROUPS_DEBUG_TRIAL_H

#include "cli/groups/debug.h"
#include "cli/groups/debug_judge.h"

/* What stays the same in all iterations. Free it with trial_judge_deinit. */
typedef struct trial_judge {
    args *line;
    const char *runner;           /* the backend that is judged */
    pgy_backend_options *options; /* its options; NULL: the file is a plan that is ready */
    const char *path;             /* the file that it runs, if iterations make none */
    pgy_model *model;             /* what the reference runs; borrowed */
    const char *reference;        /* backend; NULL: `expected` comes from a file */
    pgy_results *expected;        /* the reference's results, from the first iteration on */
    pgy_tensor_map **feeds;       /* the samples, from the first iteration on */
    size_t feed_count;
    compare_list functions;
    pgy_judge_options rules;
} trial_judge;

/* Does the line have --check-with? */
bool trial_judge_is_given(const args *line);
/* Reads the options, and sets the line's check. `runs`: iterations make no plan, so the runner gets
 * its options and `path`. */
pgy_status trial_judge_init(trial_judge *j, args *line, bool runs, pgy_error *err) PGY_MUST_CHECK;
void trial_judge_deinit(trial_judge *j);

#endif
