/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what trtexec printed. It is text of another program, so nothing in it is trusted. */
#ifndef BACKENDS_TRTEXEC_ANSWER_H
#define BACKENDS_TRTEXEC_ANSWER_H

#include "base/command.h"

/* Fails unless the program ended with success. The error has the exit code and the last error
 * lines. */
pgy_status answer_check(const command_result *r, pgy_error *err) PGY_MUST_CHECK;
/* Reads the median of the line "Latency: min = ...", in milliseconds. */
pgy_status answer_latency(double *median_ms, const command_result *r,
                          pgy_error *err) PGY_MUST_CHECK;
/* Does this project's program say that it ran on the host? */
bool answer_is_host(const command_result *r);

#endif
