/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of a plan's profiles: graph A is the chosen one, the others follow in order. */
#include "viewer/page_profiles.h"

#include "base/cancel.h"
#include "viewer/page_graph.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while a page is made");
}

static pgy_status warn(pgy_page *p, const char *name, size_t count, const char *what,
                       pgy_error *err)
{
    str text = {0};
    str_printf(&text, "'%.200s' has %zu profiles; %s %zu, choose another with --profile", name,
               count, what, p->options.profile);
    const bool done = !text.failed && strvec_push(&p->warnings, str_text(&text));
    str_deinit(&text);
    return done ? PGY_OK : no_memory(err);
}

/* Pictures of two plans are compared, so each has one profile. */
static pgy_status warn_of_compared(pgy_page *p, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (int side = 0; side < VIEW_COMPARED && !st; side++) {
        const size_t count = p->plan_of[side] ? pgy_plan_profile_count(p->plan_of[side]) : 1;
        if (count > 1)
            st = warn(p, p->graphs[side]->name, count, "the comparison is of profile", err);
    }
    return st;
}

static pgy_status name_graph(pgy_page *p, view_graph *g, pgy_error *err)
{
    g->role = "profile";
    g->name = arena_printf(&g->memory, "%s, profile %zu", p->plan_name, g->profile);
    return g->name ? PGY_OK : no_memory(err);
}

static pgy_status add_profile(pgy_page *p, size_t profile, pgy_error *err)
{
    view_graph *g = NULL;
    pgy_status st =
        view_graph_from_plan(&g, p->plan_of[0], profile, p->plan_name, &p->warnings, err);
    if (st) return st;
    p->graphs[p->graph_count++] = g;
    g->profile = profile;
    return name_graph(p, g, err);
}

static pgy_status add_all(pgy_page *p, size_t count, pgy_error *err)
{
    p->plan_name = arena_strdup(&p->memory, p->graphs[0]->name);
    if (!p->plan_name) return no_memory(err);
    pgy_status st = name_graph(p, p->graphs[0], err);
    for (size_t i = 0; i < count && !st && p->graph_count < VIEW_GRAPH_LIMIT; i++) {
        if (i != p->options.profile) st = add_profile(p, i, err);
        if (!st) st = cancel_check(err);
    }
    if (!st && count > VIEW_GRAPH_LIMIT)
        st = warn(p, p->plan_name, count, "the page has the first 64 and begins with", err);
    return st;
}

pgy_status page_add_profiles(pgy_page *p, pgy_error *err)
{
    const bool has_plan = p->plan_of[0] || p->plan_of[1];
    if (p->plan_name || !p->graph_count) return PGY_OK;
    if (p->options.profile && !has_plan)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "profile %zu was asked for, but '%s' is a model: only plans have "
                             "profiles",
                             p->options.profile, p->graphs[0]->name);
    if (p->graph_count > 1) return warn_of_compared(p, err);
    const size_t count = has_plan ? pgy_plan_profile_count(p->plan_of[0]) : 1;
    return count > 1 ? add_all(p, count, err) : PGY_OK;
}
