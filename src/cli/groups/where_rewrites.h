/* SPDX-License-Identifier: Apache-2.0 */
/* The searches of `where` for the rewrite that makes the outputs of side B differ: --bisect-passes
 * and --bisect-ort. */
#ifndef CLI_GROUPS_WHERE_REWRITES_H
#define CLI_GROUPS_WHERE_REWRITES_H

#include <polygraphy/bisect_rewrites.h>

#include "cli/command.h"

typedef struct where_rewrite_args {
    bool passes, ort;
} where_rewrite_args;
extern const option_group GROUP_WHERE_REWRITES;

/* Does the line ask for one of the searches? */
bool where_rewrites_asked(const args *line);
/* Searches the rewrite that makes the outputs of side b differ from those of side a, and shows what
 * it finds; `json` gets it, too, if it is not NULL. *passed becomes false if outputs differ. */
pgy_status where_rewrites_run(const args *line, const pgy_where_side *a, const pgy_where_side *b,
                              pgy_backend_options *b_options, const pgy_where_options *o,
                              const char *json, bool *passed, pgy_error *err) PGY_MUST_CHECK;

#endif
