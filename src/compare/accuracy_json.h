/* SPDX-License-Identifier: Apache-2.0 */
/* Names in the JSON of accuracy results, shared by the reader and the writer. */
#ifndef COMPARE_ACCURACY_JSON_H
#define COMPARE_ACCURACY_JSON_H

#include <polygraphy/compare.h>

typedef struct verdict_class {
    pgy_compare_kind kind;
    const char *result, *metric, *threshold;
} verdict_class;
enum { VERDICT_CLASS_COUNT = 6 };
extern const verdict_class VERDICT_CLASSES[VERDICT_CLASS_COUNT];

/* The metrics of a simple comparison, in the order of the JSON file. The last two (quantiles) may
 * be null there. */
typedef struct metric_field {
    const char *name;
    size_t offset; /* in pgy_verdict */
} metric_field;
enum { METRIC_FIELD_COUNT = 8, FIRST_QUANTILE = METRIC_FIELD_COUNT - 2 };
extern const metric_field METRIC_FIELDS[METRIC_FIELD_COUNT];

#endif
