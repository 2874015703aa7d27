/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the engine and of models that the trtexec runner passes on, besides those of the build
 * configuration. */
#ifndef CLI_GROUPS_TRTEXEC_H
#define CLI_GROUPS_TRTEXEC_H

#include "cli/groups/runners.h"

/* Calls `visit` with --trtexec-option for each option of the line that becomes one of trtexec's. */
pgy_status trtexec_visit_options(const args *line, runner_option_visitor visit, void *user,
                                 pgy_error *err) PGY_MUST_CHECK;
/* Logs a warning for each option of the line that the trtexec runner cannot pass on. */
void trtexec_notes(const args *line);

#endif
