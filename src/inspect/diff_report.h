/* SPDX-License-Identifier: Apache-2.0 */
/* What the two forms of a report of differences share. */
#ifndef INSPECT_DIFF_REPORT_H
#define INSPECT_DIFF_REPORT_H

#include <polygraphy/diff.h>

/* The caller's options, which may be those of an older version or NULL, with all texts set. */
pgy_diff_report_options diff_report_options(const pgy_diff_report_options *given);

#endif
