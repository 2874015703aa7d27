/* SPDX-License-Identifier: Apache-2.0 */
/* What is told about two graphs: the category of each node, marks, pairs, rows of the table, the
 * summary and the verdict. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "viewer/diff_notes.h"

/* ---- Categories, quantities, marks ----------------------------------------------------------- */

static view_change category_of(const view_side *s, uint32_t i, int side)
{
    if (s->whole[i] != VIEW_NONE || s->part_count[i]) return VIEW_FUSED_INTO;
    if (s->pair[i] == VIEW_NONE) return side ? VIEW_ADDED : VIEW_REMOVED;
    return VIEW_SAME;
}

static void set_categories(report *r)
{
    for (int side = 0; side < 2; side++) {
        view_side *s = &r->m->side[side];
        for (uint32_t i = 0; i < s->graph->node_count; i++) {
            s->change[i] = category_of(s, i, side);
            const uint32_t at = r->nodes[side][i];
            if (at != VIEW_NONE) r->changes[at] = s->change[i];
        }
    }
    for (size_t i = 0; i < r->note_count; i++) {
        const uint32_t at = r->notes[i].node;
        if (!r->notes[i].is_change || at == VIEW_NONE || r->changes[at] != VIEW_SAME) continue;
        r->changes[at] = VIEW_CHANGED;
        for (int side = 0; side < 2; side++)
            if (r->places[side][at] != VIEW_NONE)
                r->m->side[side].change[r->places[side][at]] = VIEW_CHANGED;
    }
}

static pgy_status add_quantities(report *r, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (uint32_t graph = 0; !st && graph < r->page->graph_count; graph++) {
        const view_change *change = graph < 2 ? r->m->side[graph].change : r->changes;
        view_quantity *q = NULL;
        st = view_change_quantity(&q, &r->page->results, r->page->graphs[graph], graph, err);
        for (uint32_t i = 0; !st && i < q->count; i++) view_quantity_set(q, i, change[i]);
    }
    return st;
}

static pgy_status mark(report *r, uint32_t node, view_mark_kind kind, const char *text,
                       pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (uint32_t graph = 0; !st && graph < r->page->graph_count; graph++) {
        const uint32_t at = graph < 2 ? r->places[graph][node] : node;
        const view_mark m = {
            .graph = graph, .at = at, .of = VIEW_OF_NODE, .kind = kind, .text = text};
        if (at != VIEW_NONE) st = view_mark_add(&r->page->results, &m, err);
    }
    return st;
}

static int by_node(const void *x, const void *y)
{
    const note *a = x, *b = y;
    if (a->node != b->node) /* those without a node first */
        return a->node + 1 < b->node + 1 ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* The text of a node's mark: its changes, a few of them in full. */
static const char *mark_text(report *r, size_t first, size_t end)
{
    const size_t limit = 5;
    size_t count = 0;
    str s = {0};
    for (size_t i = first; i < end; i++) {
        const note *n = &r->notes[i];
        if (!n->is_change || count++ >= limit) continue;
        if (count > 1) str_append(&s, "; ");
        view_diff_tell(&s, n->what, n->before, n->after);
    }
    if (count > limit) str_printf(&s, "; %zu more", count - limit);
    return report_keep(r, &s);
}

static const char *fused_text(report *r, uint32_t node)
{
    str s = {0};
    for (int side = 0; side < 2; side++) {
        const view_side *v = &r->m->side[side];
        const uint32_t at = r->places[side][node];
        if (at == VIEW_NONE || v->whole[at] == VIEW_NONE) continue;
        str_printf(&s, side ? "made from %s (%s)" : "became a part of %s (%s)",
                   report_label(report_graph(r, !side), v->whole[at]),
                   view_op_name(report_graph(r, !side), v->whole[at]));
        break;
    }
    if (!s.size) str_append(&s, "stands for several nodes");
    return report_keep(r, &s);
}

static pgy_status add_marks(report *r, pgy_error *err)
{
    pgy_status st = PGY_OK;
    size_t at = 0;
    while (at < r->note_count && r->notes[at].node == VIEW_NONE) at++;
    for (uint32_t i = 0; !st && i < r->merged_count; i++) {
        const size_t first = at;
        while (at < r->note_count && r->notes[at].node == i) at++;
        switch (r->changes[i]) {
        case VIEW_CHANGED: st = mark(r, i, VIEW_MARK_CHANGED, mark_text(r, first, at), err); break;
        case VIEW_ADDED: st = mark(r, i, VIEW_MARK_ADDED, "only in the second graph", err); break;
        case VIEW_REMOVED:
            st = mark(r, i, VIEW_MARK_REMOVED, "only in the first graph", err);
            break;
        case VIEW_FUSED_INTO: st = mark(r, i, VIEW_MARK_FUSED, fused_text(r, i), err); break;
        default: break;
        }
    }
    return st;
}

/* ---- Rows and pairs -------------------------------------------------------------------------- */

/* A row that tells how many names changed beyond those that have rows. */
static pgy_status add_more_names(report *r, view_table *t, size_t more, pgy_error *err)
{
    str text = {0};
    str_printf(&text, "%zu more", more);
    const view_diff_row row = {.node = VIEW_NONE,
                               .change = "renamed",
                               .what = "names of nodes, tensors and weights",
                               .after = report_keep(r, &text)};
    return view_diff_add_row(&r->page->results, t, &row, err);
}

static pgy_status add_rows(report *r, pgy_error *err)
{
    view_table *t = NULL;
    const view_graph *g = r->page->graphs[2];
    size_t renamed = 0;
    pgy_status st = view_diff_table(&t, &r->page->results, 2, err);
    for (size_t i = 0; !st && i < r->note_count; i++) {
        const note *n = &r->notes[i];
        if (!n->is_first) continue;
        if (strcmp(n->change, "renamed") == 0 && ++renamed > VIEW_RENAMED_LIMIT) continue;
        const bool has_node = n->node != VIEW_NONE;
        const char *name = n->name ? n->name : has_node ? report_label(g, n->node) : NULL;
        const char *op = n->op ? n->op : has_node ? view_op_name(g, n->node) : NULL;
        const view_diff_row row = {.node = n->node,
                                   .name = name,
                                   .op = op,
                                   .change = n->change,
                                   .what = n->what,
                                   .before = n->before,
                                   .after = n->after};
        st = view_diff_add_row(&r->page->results, t, &row, err);
    }
    if (!st && renamed > VIEW_RENAMED_LIMIT)
        st = add_more_names(r, t, renamed - VIEW_RENAMED_LIMIT, err);
    return st;
}

static void add_pair(view_results *v, uint32_t a, uint32_t b, uint32_t merged)
{
    v->pairs[0][v->pair_count] = a;
    v->pairs[1][v->pair_count] = b;
    v->pairs[2][v->pair_count++] = merged;
}

static pgy_status add_pairs(report *r, pgy_error *err)
{
    view_results *v = &r->page->results;
    const view_side *a = &r->m->side[0], *b = &r->m->side[1];
    const size_t room = (size_t)a->graph->node_count + b->graph->node_count;
    v->pair_count = 0;
    for (int i = 0; i < 3; i++)
        if (!(v->pairs[i] = arena_alloc_array(&v->memory, room + 1, sizeof(uint32_t))))
            return pgy_error_set(err, PGY_E_MEMORY, "out of memory while comparing graphs");
    for (uint32_t i = 0; i < a->graph->node_count; i++) {
        const uint32_t at = r->nodes[0][i];
        if (at != VIEW_NONE) add_pair(v, i, a->pair[i] != VIEW_NONE ? a->pair[i] : a->whole[i], at);
    }
    for (uint32_t k = 0; k < b->graph->node_count; k++)
        if (b->pair[k] == VIEW_NONE && r->nodes[1][k] != VIEW_NONE)
            add_pair(v, b->whole[k], k, r->nodes[1][k]);
    return PGY_OK;
}

/* ---- Summary --------------------------------------------------------------------------------- */

static void count_changes(const report *r, uint32_t counts[VIEW_CHANGE_COUNT])
{
    const view_graph *g = r->page->graphs[2];
    for (uint32_t i = 0; i < r->merged_count; i++)
        if (g->nodes[i].kind == VIEW_NODE) counts[r->changes[i]]++;
}

static bool have_common(const report *r)
{
    const view_side *a = &r->m->side[0];
    for (uint32_t i = 0; i < a->graph->node_count; i++)
        if (a->graph->nodes[i].kind == VIEW_NODE &&
            (a->pair[i] != VIEW_NONE || a->whole[i] != VIEW_NONE || a->part_count[i]))
            return true;
    return false;
}

static pgy_status warn_unread(report *r, pgy_error *err)
{
    const pgy_diff_summary *s = pgy_diff_summarize(r->m->diff);
    const uint64_t unread = s->counts[PGY_DIFF_WEIGHT][PGY_DIFF_UNREAD];
    const char *why = "";
    if (!unread) return PGY_OK;
    for (size_t i = 0; i < pgy_diff_count(r->m->diff) && !*why; i++) {
        const pgy_difference *e = pgy_diff_at(r->m->diff, i);
        if (e->part == PGY_DIFF_WEIGHT && e->change == PGY_DIFF_UNREAD) why = e->field;
    }
    str text = {0};
    str_printf(&text, "values of %" PRIu64 " %s were not compared; the first: %s", unread,
               unread == 1 ? "weight" : "weights", why);
    const bool ok = !text.failed && strvec_push(&r->page->warnings, str_text(&text));
    str_deinit(&text);
    return ok ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory while comparing graphs");
}

static pgy_status add_weights(report *r, pgy_error *err)
{
    const pgy_diff_summary *s = pgy_diff_summarize(r->m->diff);
    str text = {0};
    str_printf(&text, "%" PRIu64 " and %" PRIu64 ", of which %" PRIu64 " pairs with equal values",
               s->weights_a, s->weights_b, s->weights_equal);
    const pgy_status st =
        view_summary_add(&r->page->results, "Comparison", "weights", report_keep(r, &text), err);
    return st ? st : warn_unread(r, err);
}

static pgy_status add_verdict(report *r, const uint32_t counts[VIEW_CHANGE_COUNT], bool equal,
                              bool common, pgy_error *err)
{
    view_results *v = &r->page->results;
    str text = {0};
    if (!common)
        str_append(&text, "The two graphs have no node in common");
    else if (equal)
        str_append(&text, "The two graphs are equal");
    else
        str_printf(&text, "%u changed, %u added, %u removed, %u fused; %u the same",
                   counts[VIEW_CHANGED], counts[VIEW_ADDED], counts[VIEW_REMOVED],
                   counts[VIEW_FUSED_INTO], counts[VIEW_SAME]);
    const char *told = view_text(v, report_keep(r, &text));
    if (!told) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while comparing graphs");
    if (!v->is_judged && r->m->diff) { /* a plan is never equal to its model */
        v->is_judged = true;
        v->passed = equal;
        v->verdict = told;
    }
    if (!common && !strvec_push(&r->page->warnings, told))
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while comparing graphs");
    return view_summary_add(v, "Comparison", "nodes", told, err);
}

static pgy_status summarize(report *r, pgy_error *err)
{
    uint32_t counts[VIEW_CHANGE_COUNT] = {0};
    view_results *v = &r->page->results;
    count_changes(r, counts);
    const bool equal = r->m->diff ? pgy_diff_is_equal(r->m->diff, false) : r->note_count == 0;
    pgy_status st = view_summary_add(v, "Comparison", "before", report_graph(r, 0)->name, err);
    if (!st) st = view_summary_add(v, "Comparison", "after", report_graph(r, 1)->name, err);
    if (!st) st = add_verdict(r, counts, equal, have_common(r), err);
    if (!st && r->m->diff) st = add_weights(r, err);
    return st;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static bool make_places(report *r)
{
    arena *memory = &r->m->memory;
    r->changes = arena_alloc_array(memory, (size_t)r->merged_count + 1, sizeof *r->changes);
    for (int side = 0; side < 2; side++) {
        r->places[side] = arena_alloc_array(memory, (size_t)r->merged_count + 1, sizeof(uint32_t));
        if (!r->places[side]) return false;
        memset(r->places[side], 0xFF, r->merged_count * sizeof(uint32_t));
        for (uint32_t i = 0; i < report_graph(r, side)->node_count; i++)
            if (r->nodes[side][i] != VIEW_NONE) r->places[side][r->nodes[side][i]] = i;
    }
    return r->changes != NULL;
}

static pgy_status write_report(report *r, pgy_error *err)
{
    pgy_status st = report_take_notes(r, err);
    if (st) return st;
    set_categories(r);
    if (r->note_count) qsort(r->notes, r->note_count, sizeof *r->notes, by_node);
    st = add_pairs(r, err);
    if (!st) st = add_quantities(r, err);
    if (!st) st = add_marks(r, err);
    if (!st) st = add_rows(r, err);
    if (!st) st = summarize(r, err);
    if (!st && r->failed)
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while comparing graphs");
    return st;
}

pgy_status view_diff_report(pgy_page *p, view_match *m, uint32_t *const nodes[2], pgy_error *err)
{
    report r = {.page = p, .m = m, .nodes = nodes, .merged_count = p->graphs[2]->node_count};
    const pgy_status st =
        make_places(&r) ? write_report(&r, err)
                        : pgy_error_set(err, PGY_E_MEMORY, "out of memory while comparing graphs");
    mem_free(r.notes);
    return st;
}
