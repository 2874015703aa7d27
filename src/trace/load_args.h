/* SPDX-License-Identifier: Apache-2.0 */
/* What readers of traces take from JSON. */
#ifndef TRACE_LOAD_ARGS_H
#define TRACE_LOAD_ARGS_H

#include "trace/trace.h"

/* Converts microseconds to nanoseconds, exactly if the number is written with decimals. False: not
 * a finite number of at most 2e15, which are 63 years. */
bool trace_us_to_ns(int64_t *out, const json_value *v);
/* Appends the args of an event as the text of an object, without those that differ from event to
 * event. */
void trace_put_args(str *out, const json_value *args, arena *memory);

/* An error that names a member of an item, its line and its value. */
pgy_status trace_wrong(const json_value *item, const char *member, const char *expected,
                       pgy_error *err) PGY_MUST_CHECK;

#endif
