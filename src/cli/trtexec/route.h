/* SPDX-License-Identifier: Apache-2.0 */
/* Build routes: the search of --tuneBuildRoutes, and what its processes tell it. */
#ifndef CLI_TRTEXEC_ROUTE_H
#define CLI_TRTEXEC_ROUTE_H

#include "cli/trtexec/trtexec.h"

bool route_is_search(const trtexec_args *a);
/* Runs the search, or lists its routes. */
pgy_status route_search(trtexec_session *s, pgy_error *err) PGY_MUST_CHECK;
/* For --continue: replaces the options by those that the cache holds. */
pgy_status route_resume(trtexec_session *s, pgy_error *err) PGY_MUST_CHECK;
/* Prints all knobs, or the one with this name. */
pgy_status route_help(const char *name, pgy_error *err) PGY_MUST_CHECK;
/* Writes the file of --tuningResultFile, if it is given; returns `st` or why it could not. */
pgy_status route_answer(pgy_status st, trtexec_session *s, const pgy_perf_trace *t,
                        const pgy_tensor_map *outputs, pgy_error *err) PGY_MUST_CHECK;

#endif
