/* SPDX-License-Identifier: Apache-2.0 */
/* The graphs of a page. */
#ifndef VIEWER_PAGE_GRAPH_H
#define VIEWER_PAGE_GRAPH_H

#include "viewer/page.h"

/* Fails if the page was written already: a graph that is laid out takes no further results. */
pgy_status page_check_open(const pgy_page *p, pgy_error *err) PGY_MUST_CHECK;
/* Takes a graph; on failure, too. The first is A, the second B. */
pgy_status page_add_graph(pgy_page *p, view_graph *g, pgy_error *err) PGY_MUST_CHECK;
pgy_status page_add_plan(pgy_page *p, const pgy_plan *plan, const char *name,
                         pgy_error *err) PGY_MUST_CHECK;
pgy_status page_add_model(pgy_page *p, pgy_model *model, const char *name,
                          pgy_error *err) PGY_MUST_CHECK;

#endif
