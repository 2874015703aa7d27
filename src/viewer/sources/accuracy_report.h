/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the JSON report of `run --report` (docs/formats/report.md). */
#ifndef VIEWER_SOURCES_ACCURACY_REPORT_H
#define VIEWER_SOURCES_ACCURACY_REPORT_H

#include <polygraphy/compare.h>

#include "viewer/sources/result_file.h"

pgy_status accuracy_report_read(pgy_accuracy_results **out, result_file *f,
                                pgy_error *err) PGY_MUST_CHECK;

#endif
