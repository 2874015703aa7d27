/* SPDX-License-Identifier: Apache-2.0 */
/* JSON on one line, for the args of trace labels. */
#ifndef BASE_TRACER_TEXT_H
#define BASE_TRACER_TEXT_H

#include "base/str.h"

/* A quoted JSON string. Bytes that are not UTF-8 become U+FFFD. */
void trace_text(str *out, const char *text);
/* The same for a name of more than 120 characters, of which it keeps 119 and an ellipsis. */
void trace_text_short(str *out, const char *text);
/* A number with three decimals, given in thousandths. */
void trace_milli(str *out, int64_t thousandths);
/* A member `"name":"text"` or `"name":number` of an object, behind a comma if `out` is not empty.
 */
void trace_put_text(str *out, const char *name, const char *text);
void trace_put_number(str *out, const char *name, double value);
void trace_put_key(str *out, const char *name);

#endif
