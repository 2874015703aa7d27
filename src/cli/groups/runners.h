/* SPDX-License-Identifier: Apache-2.0 */
/* The runner flags (one for each backend; their order on the line counts) and the backends' own
 * options, made from the registry. */
#ifndef CLI_GROUPS_RUNNERS_H
#define CLI_GROUPS_RUNNERS_H

#include <polygraphy/runner.h>

#include "cli/command.h"

typedef struct runner_args {
    pgy_text_list names; /* names of backends, in the order given */
} runner_args;

/* The group with the flags, and one group for each backend that has options; filled on first use.
 */
const option_group *group_runners(void);
size_t group_backend_count(void);
const option_group *group_backend_at(size_t i);
/* The group of a backend's options; NULL if it has none. */
const option_group *group_backend_options(const char *backend);
/* Does the backend of this name have the trait? */
bool runner_has(const char *backend, pgy_backend_trait trait);
/* The number of the line's runners that have the trait. */
size_t runners_with(const args *line, pgy_backend_trait trait);
/* The member that an option of a backend sets; NULL: there is no such option. */
const void *runner_option(const args *line, const char *backend, const char *option);
/* Calls `visit` for each use of an option of the backend that differs from its default. The name
 * has its dashes, a flag has the word "true". */
typedef pgy_status (*runner_option_visitor)(const char *name, const char *const *words,
                                            size_t count, void *user, pgy_error *err);
pgy_status runners_visit_options(const args *line, const pgy_backend *b,
                                 runner_option_visitor visit, void *user,
                                 pgy_error *err) PGY_MUST_CHECK;
/* Collects the backend's options that the line sets. */
pgy_status runners_options(pgy_backend_options **out, const args *line, const pgy_backend *b,
                           pgy_error *err) PGY_MUST_CHECK;
/* How a command provides each runner's model and settings. */
typedef struct runner_maker {
    pgy_status (*source)(pgy_model_source *out, const char *backend, void *user, pgy_error *err);
    /* Sets options that have no name. NULL: none. */
    pgy_status (*configure)(pgy_backend_options *o, const char *backend, void *user,
                            pgy_error *err);
    void *user;
} runner_maker;
/* Creates runners in the order of the line. Free them with runners_destroy. */
pgy_status runners_create(pgy_runner ***out, size_t *count, const args *line,
                          const runner_maker *maker, pgy_error *err) PGY_MUST_CHECK;
void runners_destroy(pgy_runner **runners, size_t count);

#endif
