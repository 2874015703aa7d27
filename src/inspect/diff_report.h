/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the text and JSON reports of differences. */
#ifndef INSPECT_DIFF_REPORT_H
#define INSPECT_DIFF_REPORT_H

#include <polygraphy/diff.h>

/* The caller's options (NULL: the defaults) with all texts set. */
pgy_status diff_report_options(pgy_diff_report_options *out, const pgy_diff_report_options *given,
                               pgy_error *err) PGY_MUST_CHECK;

#endif
