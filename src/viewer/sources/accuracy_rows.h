/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of outputs, collected over iterations and comparison functions: the worst value of each.
 * Files of verdicts and files of outputs both give them. */
#ifndef VIEWER_SOURCES_ACCURACY_ROWS_H
#define VIEWER_SOURCES_ACCURACY_ROWS_H

#include <polygraphy/compare.h>

#include "viewer/sources/result_file.h"

enum { ACCURACY_VALUES = Q_BEYOND + 1 }; /* Q_MAXABS to Q_BEYOND */

typedef struct accuracy_row {
    const char *name; /* borrowed from the map */
    uint32_t tensor;
    bool has[ACCURACY_VALUES], is_judged, failed, has_stats;
    double values[ACCURACY_VALUES];
    str tolerance;
} accuracy_row;

/* Zeroed: empty. */
typedef struct accuracy_rows {
    strmap by_name; /* of accuracy_row */
} accuracy_rows;

void accuracy_rows_deinit(accuracy_rows *rows);
/* Gives the row of an output, a new one if there is none, and looks its name up. */
pgy_status accuracy_row_get(accuracy_row **out, accuracy_rows *rows, result_file *f,
                            const char *name, pgy_error *err) PGY_MUST_CHECK;
void accuracy_row_add(accuracy_row *row, known_quantity which, double value);
void accuracy_row_judge(accuracy_row *row, bool passed);
/* Adds what a verdict has: metrics, thresholds, and whether it passed. */
void accuracy_row_add_verdict(accuracy_row *row, const pgy_verdict *v);
/* Writes quantities, marks, the table `accuracy` and the verdict. Verdicts of a file of verdicts
 * (`is_judge`) replace those formed from values. */
pgy_status accuracy_rows_finish(accuracy_rows *rows, result_file *f, bool is_judge,
                                pgy_error *err) PGY_MUST_CHECK;

#endif
