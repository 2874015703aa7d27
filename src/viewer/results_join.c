/* SPDX-License-Identifier: Apache-2.0 */
/* Results of graphs other than A join those of A. Texts and values stay where they are: both lists
 * live as long as the page. */
#include "viewer/results_join.h"

#include <stdio.h>

#include "base/alloc.h"

typedef struct joiner {
    view_results *to, *from;
    uint32_t graph;
    const char *suffix, *whose; /* of ids: "b", "p1"; "B", "profile 1" */
} joiner;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while results are added to a view");
}

static pgy_status join_quantities(const joiner *j, pgy_error *err)
{
    view_results *to = j->to;
    for (size_t i = 0; i < j->from->quantity_count; i++) {
        if (!mem_grow((void **)&to->quantities, &to->quantity_capacity, to->quantity_count + 1,
                      sizeof *to->quantities))
            return no_memory(err);
        view_quantity *q = &to->quantities[to->quantity_count++];
        *q = j->from->quantities[i];
        q->graph = j->graph;
    }
    return PGY_OK;
}

static pgy_status join_marks(const joiner *j, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < j->from->mark_count && !st; i++) {
        view_mark mark = j->from->marks[i];
        mark.graph = j->graph;
        st = view_mark_add(j->to, &mark, err);
    }
    return st;
}

/* The cells of a table belong to one list, so all is there before the first one moves. */
static pgy_status join_tables(const joiner *j, pgy_error *err)
{
    view_results *to = j->to, *from = j->from;
    if (!mem_grow((void **)&to->tables, &to->table_capacity, to->table_count + from->table_count,
                  sizeof *to->tables))
        return no_memory(err);
    for (size_t i = 0; i < from->table_count; i++) {
        view_table *t = from->tables[i];
        const char *id = arena_printf(&to->memory, "%s_%s", t->id, j->suffix);
        const char *title = arena_printf(&to->memory, "%s of %s", t->title, j->whose);
        if (!id || !title) return no_memory(err);
        t->id = id;
        t->title = title;
        t->graph = j->graph;
    }
    for (size_t i = 0; i < from->table_count; i++) to->tables[to->table_count++] = from->tables[i];
    from->table_count = 0;
    return PGY_OK;
}

static pgy_status join_summary(const joiner *j, pgy_error *err)
{
    char section[256];
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < j->from->summary_count && !st; i++) {
        snprintf(section, sizeof section, "%.200s (%s)", j->from->summary[i].section, j->whose);
        st = view_summary_add(j->to, section, j->from->summary[i].name, j->from->summary[i].text,
                              err);
    }
    snprintf(section, sizeof section, "Verdict (%s)", j->whose);
    if (!st && j->from->is_judged && j->from->verdict)
        st = view_summary_add(j->to, section, j->from->passed ? "pass" : "fail", j->from->verdict,
                              err);
    return st;
}

/* What has a place for graph A only. */
static pgy_status warn_of_rest(pgy_page *p, const joiner *j, pgy_error *err)
{
    const view_results *r = j->from;
    str text = {0};
    if (r->stats_count) str_append(&text, ", statistics of values");
    if (r->timeline.source) str_append(&text, ", the timeline");
    if (r->step_count) str_append(&text, ", steps of a search");
    pgy_status st = PGY_OK;
    if (text.size) {
        char *copy = text.failed ? NULL
                                 : arena_printf(&p->memory,
                                                "results of %s: shown for graph A only, so "
                                                "left out here: %s",
                                                j->whose, str_text(&text) + 2);
        if (!copy || !strvec_push(&p->warnings, copy)) st = no_memory(err);
    }
    str_deinit(&text);
    return st;
}

static pgy_status join(pgy_page *p, const joiner *j, pgy_error *err)
{
    pgy_status st = join_quantities(j, err);
    if (!st) st = join_marks(j, err);
    if (!st) st = join_tables(j, err);
    if (!st) st = join_summary(j, err);
    return st ? st : warn_of_rest(p, j, err);
}

pgy_status view_results_join(pgy_page *p, pgy_error *err)
{
    pgy_status st = PGY_OK;
    char suffix[32] = "b", whose[32] = "B";
    for (uint32_t i = 1; i < p->graph_count && !st; i++) {
        const joiner j = {&p->results, p->own[i], i, suffix, whose};
        if (!p->own[i]) continue;
        if (p->plan_name) {
            snprintf(suffix, sizeof suffix, "p%zu", p->graphs[i]->profile);
            snprintf(whose, sizeof whose, "profile %zu", p->graphs[i]->profile);
        }
        st = join(p, &j, err);
    }
    return st;
}
