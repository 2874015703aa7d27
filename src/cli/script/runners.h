/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SCRIPT_RUNNERS_H
#define CLI_SCRIPT_RUNNERS_H

/* The name of a runner in comments. */
const char *script_runner_title(const char *backend);

#endif
