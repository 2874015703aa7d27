/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of a plan's profiles: one graph for each. */
#ifndef VIEWER_PAGE_PROFILES_H
#define VIEWER_PAGE_PROFILES_H

#include "viewer/page.h"

/* Adds a graph for each other profile of the plan that is the only model of the page. Of plans that
 * are compared one profile is shown, and a warning names it. Call it before results are read that
 * belong to profiles. */
pgy_status page_add_profiles(pgy_page *p, pgy_error *err) PGY_MUST_CHECK;

#endif
