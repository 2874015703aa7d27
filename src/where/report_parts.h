/* SPDX-License-Identifier: Apache-2.0 */
/* What the reports of a search and of a vote write alike. NaN is a value that is not known. */
#ifndef WHERE_REPORT_PARTS_H
#define WHERE_REPORT_PARTS_H

#include "base/json.h"
#include "base/str.h"

void report_put_number(str *out, const char *title, double v);
/* The last lines of a text; `next` may be NULL. */
void report_put_end(str *out, const strvec *failures, const char *next);
void report_put_real(json_writer *w, const char *key, double v);
void report_put_failures(json_writer *w, const strvec *failures);

#endif
