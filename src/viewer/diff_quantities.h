/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities of two compared graphs at each other's nodes and tensors. */
#ifndef VIEWER_DIFF_QUANTITIES_H
#define VIEWER_DIFF_QUANTITIES_H

#include "viewer/page.h"

/* The merged graph gets the quantities of A, and those of B as ID_b. */
pgy_status diff_quantities_merge(pgy_page *p, pgy_error *err) PGY_MUST_CHECK;
/* Sets ID_b and ID_ratio of tensors that belong together, at A and merged: errors of both. */
pgy_status diff_quantities_of_tensors(pgy_page *p, const char *id, pgy_error *err) PGY_MUST_CHECK;
/* Gives quantity ID_ratio of a graph, a new one if there is none; `like` is that of A. */
pgy_status diff_quantity_ratio(view_quantity **out, pgy_page *p, const view_quantity *like,
                               uint32_t graph, pgy_error *err) PGY_MUST_CHECK;
/* The same for ID_b. */
pgy_status diff_quantity_b(view_quantity **out, pgy_page *p, const view_quantity *like,
                           uint32_t graph, pgy_error *err) PGY_MUST_CHECK;

#endif
