/* SPDX-License-Identifier: Apache-2.0 */
/* Results of graphs other than A, which were read into lists of their own, join those of A. */
#ifndef VIEWER_RESULTS_JOIN_H
#define VIEWER_RESULTS_JOIN_H

#include "viewer/page.h"

/* Appends the quantities, marks, tables and summaries of all other graphs. Statistics, timelines
 * and steps of searches are shown for A alone: a warning tells what is left out. */
pgy_status view_results_join(pgy_page *p, pgy_error *err) PGY_MUST_CHECK;

#endif
