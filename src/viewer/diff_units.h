/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured as one in two graphs: a pair of nodes, several nodes and the one that replaces
 * them, or a node that only one graph has. */
#ifndef VIEWER_DIFF_UNITS_H
#define VIEWER_DIFF_UNITS_H

#include <polygraphy/trace_summary.h>

#include "viewer/page.h"

typedef struct diff_unit {
    uint32_t node[2]; /* the first one on each side; VIEW_NONE: none */
    uint32_t merged;
    double us[2]; /* NaN: not measured */
    double *samples[2];
    size_t sample_count[2];
    bool is_started[2];
    double error[2]; /* the worst of the outputs; NaN is an error, too */
    bool has_error[2];
    double p; /* NaN: not known */
    pgy_trace_verdict verdict;
    bool is_judged;
} diff_unit;

typedef struct diff_units {
    arena memory;
    diff_unit *items;
    uint32_t count;
    uint32_t *of_merged;     /* of each merged node: its unit; VIEW_NONE: none */
    const char *error_label; /* of the errors of both sides; NULL: there are none on both */
    bool have_times;         /* of both sides */
} diff_units;

/* Collects times and errors by the pairs of a page whose results are joined. */
pgy_status diff_units_make(diff_units *u, const pgy_page *p, pgy_error *err) PGY_MUST_CHECK;
void diff_units_deinit(diff_units *u);
static inline bool diff_unit_has_both(const diff_unit *d)
{
    return d->us[0] == d->us[0] && d->us[1] == d->us[1];
}

#endif
