/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of a report (docs/formats/report.md). */
#ifndef COMPARE_REPORT_H
#define COMPARE_REPORT_H

#include "base/json.h"
#include "compare/judge.h"

void report_write_json(json_writer *w, const run_facts *facts);
void report_write_sarif(json_writer *w, const run_facts *facts);
void report_write_junit(str *out, const run_facts *facts);

/* Appends a text like "y: L2 Norm is beyond its tolerance". */
void report_describe(str *out, const pgy_verdict *v);
/* Calls `each` for every verdict. */
typedef void (*report_visit)(void *user, const pgy_accuracy *a, size_t pair, size_t iteration,
                             const pgy_verdict *v);
void report_each(const run_facts *facts, report_visit each, void *user);

#endif
