/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the heatmaps and error plots that the options of a comparison ask for. */
#ifndef COMPARE_PLOTS_H
#define COMPARE_PLOTS_H

#include "compare/arith.h"
#include "compare/compare.h"
#include "compare/stats.h"

/* `reference` is the second output; `stats` has an entry for each of the two streams of `s`. */
pgy_status plots_draw(const compare_job *job, const source *s, const array_stats *stats,
                      pgy_view reference, pgy_error *err) PGY_MUST_CHECK;

#endif
