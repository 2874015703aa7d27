/* SPDX-License-Identifier: Apache-2.0 */
/* The graphs of a page: A, and B that is compared with it. */
#include "viewer/page_graph.h"

pgy_status page_check_open(const pgy_page *p, pgy_error *err)
{
    if (!p->is_complete) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "the page was written already; add files to a new page");
}

static pgy_status check_count(const pgy_page *p, pgy_error *err)
{
    if (p->graph_count < VIEW_COMPARED) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "a page compares two models, '%s' and '%s'; make another page for a third",
                         p->graphs[0]->name, p->graphs[1]->name);
}

pgy_status page_add_graph(pgy_page *p, view_graph *g, pgy_error *err)
{
    pgy_status st = check_count(p, err);
    if (st) {
        view_graph_destroy(g);
        return st;
    }
    g->role = p->graph_count ? "b" : "a";
    p->graphs[p->graph_count++] = g;
    return PGY_OK;
}

pgy_status page_add_model(pgy_page *p, pgy_model *model, const char *name, pgy_error *err)
{
    view_graph *g = NULL;
    pgy_status st = check_count(p, err);
    if (!st) st = view_graph_from_model(&g, model, name, &p->warnings, err);
    return st ? st : page_add_graph(p, g, err);
}

pgy_status page_add_plan(pgy_page *p, const pgy_plan *plan, const char *name, pgy_error *err)
{
    view_graph *g = NULL;
    pgy_status st = check_count(p, err);
    if (!st) st = view_graph_from_plan(&g, plan, p->options.profile, name, &p->warnings, err);
    if (st) return st;
    g->profile = p->options.profile;
    p->plan_of[p->graph_count] = plan;
    return page_add_graph(p, g, err);
}
