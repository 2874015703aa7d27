/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of the engine. */
#include "base/file.h"
#include "viewer/page_graph.h"
#include "viewer/sources/source.h"

static bool accept(const char *path, span start, const json_value *json)
{
    (void)start;
    return !json && pgy_plan_is_plan(path);
}

static pgy_status add(pgy_page *p, const char *path, pgy_error *err)
{
    pgy_plan *plan = NULL;
    if (p->plan_count == VIEW_COMPARED)
        return pgy_error_set(err, PGY_E_ARGUMENT, "a page shows two plans at most");
    pgy_status st = pgy_plan_open(&plan, path, err);
    if (st) return st;
    p->plans[p->plan_count++] = plan;
    return page_add_plan(p, plan, path_basename(path), err);
}

const view_source view_source_plan = {
    .name = "plan", .label = "plans", .accept = accept, .add = add};
