/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SCRIPT_RUNNERS_H
#define CLI_SCRIPT_RUNNERS_H

#include "cli/script/script.h"

/* The name of a runner in comments. */
const char *script_runner_title(const char *backend);
/* trtexec.c: the runner of the original's extension for trtexec. */
pgy_status script_trtexec(str *out, py_script *s, pgy_error *err) PGY_MUST_CHECK;

#endif
