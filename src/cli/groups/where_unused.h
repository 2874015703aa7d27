/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses options of `where` that the rest of the line leaves without effect, such as options of a
 * runner that is on neither side. */
#ifndef CLI_GROUPS_WHERE_UNUSED_H
#define CLI_GROUPS_WHERE_UNUSED_H

#include "cli/command.h"

/* `a` and `b`: runners of the sides; NULL: the line compares no runners. Call it before the groups
 * are finished, as their settings then still show which options were given. */
pgy_status where_check_unused(const args *line, const char *const *runners, size_t count,
                              pgy_error *err) PGY_MUST_CHECK;
/* The first of the group's options, from `names` (blank-separated; NULL: all), that the line gives;
 * NULL: none. */
const pgy_option *where_given(const args *line, const option_group *group, const char *names);

#endif
