/* SPDX-License-Identifier: Apache-2.0 */
/* Differences at the nodes of a merged graph. A node that reads another tensor only because a
 * neighbour was added, removed or fused is the same: the neighbour tells it. */
#include "viewer/diff_notes.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "inspect/diff_links.h"

const char *report_keep(report *r, str *text)
{
    const char *copy = text->failed ? NULL : arena_strdup(&r->m->memory, str_text(text));
    str_deinit(text);
    if (!copy) r->failed = true;
    return copy ? copy : "";
}

static void add_note(report *r, note n)
{
    void *items = r->notes;
    const bool grown = mem_grow(&items, &r->note_capacity, r->note_count + 1, sizeof n);
    r->notes = items;
    if (!grown) {
        r->failed = true;
        return;
    }
    n.order = r->note_count;
    r->notes[r->note_count++] = n;
}

const char *report_label(const view_graph *g, uint32_t node)
{
    return *g->nodes[node].name ? g->nodes[node].name : view_op_name(g, node);
}

/* ---- Types and shapes ------------------------------------------------------------------------ */

static bool is_number(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] < '0' || text[i] > '9') return false;
    return size > 0;
}

/* Do two shapes contradict each other, if a name or '?' may stand for any size? */
static bool contradict(const char *a, const char *b)
{
    if (!*a || !*b) return *a != *b;
    for (;;) {
        const size_t m = strcspn(a, "x"), n = strcspn(b, "x");
        if (is_number(a, m) && is_number(b, n) && (m != n || memcmp(a, b, m) != 0)) return true;
        if (a[m] != b[n]) return true;
        if (!a[m]) return false;
        a += m + 1;
        b += n + 1;
    }
}

static bool same_shape(const report *r, const view_tensor *t, const view_tensor *u)
{
    if (!t->shape || !u->shape) return true;
    return r->m->diff ? strcmp(t->shape, u->shape) == 0 : !contradict(t->shape, u->shape);
}

static bool same_type(const view_tensor *t, const view_tensor *u)
{
    return !*t->dtype || !*u->dtype || strcmp(t->dtype, u->dtype) == 0;
}

static void note_tensor(report *r, uint32_t node, const view_tensor *t, const view_tensor *u,
                        bool is_shape)
{
    str what = {0};
    str_printf(&what, "%s of %s", is_shape ? "shape" : "type", t->name);
    add_note(r, (note){.node = node,
                       .is_first = true,
                       .is_change = true,
                       .change = "changed",
                       .what = report_keep(r, &what),
                       .before = is_shape ? (*t->shape ? t->shape : "scalar") : t->dtype,
                       .after = is_shape ? (*u->shape ? u->shape : "scalar") : u->dtype});
}

static void note_outputs(report *r, uint32_t i, uint32_t k)
{
    const view_graph *a = report_graph(r, 0), *b = report_graph(r, 1);
    const view_node *x = &a->nodes[i], *y = &b->nodes[k];
    for (uint32_t s = 0; s < x->output_count && s < y->output_count; s++) {
        if (x->outputs[s] == VIEW_NONE || y->outputs[s] == VIEW_NONE) continue;
        const view_tensor *t = &a->tensors[x->outputs[s]], *u = &b->tensors[y->outputs[s]];
        if (!same_shape(r, t, u)) note_tensor(r, r->nodes[0][i], t, u, true);
        if (!same_type(t, u)) note_tensor(r, r->nodes[0][i], t, u, false);
    }
}

/* ---- Differences of the models --------------------------------------------------------------- */

/* The tensor at "input 3" of a node; VIEW_NONE: none. */
static uint32_t input_named(const view_graph *g, uint32_t node, const char *field)
{
    const unsigned long k =
        strncmp(field, "input ", 6) == 0 ? strtoul(field + 6, NULL, 10) : VIEW_NONE;
    return k < g->nodes[node].input_count ? g->nodes[node].inputs[k] : VIEW_NONE;
}

static bool has_counterpart(const view_side *s, uint32_t tensor)
{
    const uint32_t p = tensor == VIEW_NONE ? VIEW_NONE : s->graph->tensors[tensor].producer;
    return p == VIEW_NONE || s->pair[p] != VIEW_NONE;
}

/* Does a node read another tensor for no reason that a neighbour tells? */
static bool is_rewired(const report *r, const pgy_difference *e, uint32_t i, uint32_t k)
{
    const view_side *a = &r->m->side[0], *b = &r->m->side[1];
    const uint32_t t = input_named(a->graph, i, e->field), u = input_named(b->graph, k, e->field);
    if (t != VIEW_NONE && u != VIEW_NONE && a->tensor_pair[t] == u) return false;
    return has_counterpart(a, t) && has_counterpart(b, u);
}

/* Is a tensor's declared type told by the row of its shape or type? */
static bool is_told(const report *r, const pgy_difference *e)
{
    const view_graph *a = report_graph(r, 0), *b = report_graph(r, 1);
    const uint32_t t = view_graph_tensor(a, e->name);
    const uint32_t u = view_graph_tensor(b, e->new_name ? e->new_name : e->name);
    if (strcmp(e->field, "type") != 0 || t == VIEW_NONE || u == VIEW_NONE) return false;
    return !same_shape(r, &a->tensors[t], &b->tensors[u]) ||
           !same_type(&a->tensors[t], &b->tensors[u]);
}

/* The merged node of an input or output of the main graph. */
static uint32_t terminal_of(const report *r, const pgy_difference *e)
{
    const int side = e->change == PGY_DIFF_ADDED;
    const view_side *s = &r->m->side[side];
    const uint32_t t = view_graph_tensor(s->graph, e->name);
    if (t == VIEW_NONE || *e->path) return VIEW_NONE;
    if (e->part == PGY_DIFF_INPUT) {
        const uint32_t p = s->graph->tensors[t].producer;
        return p == VIEW_NONE ? VIEW_NONE : r->nodes[side][p];
    }
    for (uint32_t u = s->use_start[t]; u < s->use_start[t + 1]; u++)
        if (s->graph->nodes[s->uses[u]].kind == VIEW_NODE_OUTPUT) return r->nodes[side][s->uses[u]];
    return VIEW_NONE;
}

static void note_entry(report *r, const pgy_difference *e, uint32_t node, bool is_first,
                       bool is_change)
{
    str what = {0}, after = {0};
    view_diff_what(&what, e);
    view_diff_after(&after, e);
    add_note(r, (note){.node = node,
                       .is_first = is_first,
                       .is_change = is_change,
                       .name = node == VIEW_NONE && e->part >= PGY_DIFF_NODE ? e->name : NULL,
                       .op = node == VIEW_NONE ? e->op_type : NULL,
                       .change = pgy_diff_change_name(e->change),
                       .what = report_keep(r, &what),
                       .before = view_diff_before(e),
                       .after = report_keep(r, &after)});
}

/* Differences of paired nodes. Those of other nodes are told by the nodes' categories. */
static bool note_link(report *r, const diff_link *link, bool is_first)
{
    const view_side *s = &r->m->side[0];
    const pgy_difference *e = pgy_diff_at(r->m->diff, link->entry);
    bool any = false;
    if (!link->a || !link->b || e->change == PGY_DIFF_STORED) return false;
    for (uint32_t at = view_find_source(s, link->a);
         at < s->source_count && s->sources[at].source == link->a; at++) {
        const uint32_t i = s->sources[at].node, k = s->pair[i];
        if (k == VIEW_NONE || report_graph(r, 1)->nodes[k].source != link->b) continue;
        const bool rewired = e->change == PGY_DIFF_REWIRED && e->part == PGY_DIFF_NODE;
        if (rewired && !is_rewired(r, e, i, k)) continue;
        if (e->part == PGY_DIFF_TENSOR && is_told(r, e)) continue;
        note_entry(r, e, r->nodes[0][i], is_first && !any, rewired || view_is_own_change(e));
        any = true;
    }
    return any;
}

static bool is_interface(const pgy_difference *e)
{
    return e->part == PGY_DIFF_INPUT || e->part == PGY_DIFF_OUTPUT;
}

/* A difference that belongs to no node: of the model, its interface or its functions. */
static void note_unlinked(report *r, const pgy_difference *e)
{
    const bool whole = e->change == PGY_DIFF_ADDED || e->change == PGY_DIFF_REMOVED;
    if (e->part >= PGY_DIFF_NODE && e->part != PGY_DIFF_WEIGHT) return;
    if (e->part == PGY_DIFF_WEIGHT && e->change == PGY_DIFF_STORED) return;
    if (!is_interface(e)) {
        note_entry(r, e, VIEW_NONE, true, false);
        return;
    }
    const uint32_t node = terminal_of(r, e);
    if (!*e->path && e->change == PGY_DIFF_RENAMED) return; /* the pair of cards tells it */
    if (node != VIEW_NONE && (whole || e->change == PGY_DIFF_REWIRED || is_told(r, e))) return;
    note_entry(r, e, node, true, node != VIEW_NONE && e->change == PGY_DIFF_CHANGED);
}

static void note_differences(report *r)
{
    const pgy_diff *d = r->m->diff;
    size_t count = 0, at = 0;
    const diff_link *links = d ? diff_links(d, &count) : NULL;
    for (size_t i = 0; d && i < pgy_diff_count(d) && !cancel_requested(); i++) {
        const bool is_linked = at < count && links[at].entry == i;
        bool any = false;
        for (; at < count && links[at].entry == i; at++)
            any = note_link(r, &links[at], !any) || any;
        if (!is_linked) note_unlinked(r, pgy_diff_at(d, i));
    }
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static void print_node(str *out, const view_graph *g, uint32_t i)
{
    const char *name = g->nodes[i].name, *op = view_op_name(g, i);
    str_printf(out, *name ? "%s (%s)" : "%s%s", name, op);
}

/* "conv1 (Conv), bn1 (BatchNormalization)" */
static void print_parts(str *out, const view_side *s, uint32_t whole, uint32_t first,
                        uint32_t count)
{
    const uint32_t limit = 12;
    uint32_t found = 0;
    for (uint32_t i = first; i < s->graph->node_count && found < count; i++) {
        if (s->whole[i] != whole) continue;
        if (found++ >= limit) continue;
        if (found > 1) str_append(out, ", ");
        print_node(out, s->graph, i);
    }
    if (count > limit) str_printf(out, " and %u more", count - limit);
}

static void note_whole(report *r, int side, uint32_t i, uint32_t first_part)
{
    const view_side *w = &r->m->side[side], *p = &r->m->side[!side];
    const view_graph *g = w->graph;
    str parts = {0}, whole = {0};
    uint32_t at = r->nodes[side][i];
    print_parts(&parts, p, i, first_part, w->part_count[i]);
    print_node(&whole, g, i);
    const char *many = report_keep(r, &parts), *one = report_keep(r, &whole);
    if (at == VIEW_NONE) at = r->nodes[!side][first_part];
    add_note(r, (note){.node = at,
                       .is_first = true,
                       .name = report_label(g, i),
                       .op = view_op_name(g, i),
                       .change = "fused",
                       .what = side ? "several nodes became one" : "one node became several",
                       .before = side ? many : one,
                       .after = side ? one : many});
}

static pgy_status note_wholes(report *r, pgy_error *err)
{
    for (int side = 0; side < 2; side++) {
        const view_side *w = &r->m->side[side], *p = &r->m->side[!side];
        uint32_t *first = mem_alloc(((size_t)w->graph->node_count + 1) * sizeof *first);
        if (!first) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while comparing graphs");
        for (uint32_t i = p->graph->node_count; i-- > 0;)
            if (p->whole[i] != VIEW_NONE) first[p->whole[i]] = i;
        for (uint32_t i = 0; i < w->graph->node_count; i++)
            if (w->part_count[i]) note_whole(r, side, i, first[i]);
        mem_free(first);
    }
    return PGY_OK;
}

static void note_alone(report *r, int side, uint32_t i)
{
    const view_graph *g = report_graph(r, side);
    static const char *const KINDS[] = {"node", "input", "output"};
    add_note(r, (note){.node = r->nodes[side][i],
                       .is_first = true,
                       .change = side ? "added" : "removed",
                       .what = KINDS[g->nodes[i].kind]});
}

/* Names of inputs and outputs; those of nodes are among the differences of models. */
static void note_name(report *r, uint32_t i, uint32_t k)
{
    const view_node *x = &report_graph(r, 0)->nodes[i], *y = &report_graph(r, 1)->nodes[k];
    if ((r->m->diff && x->kind == VIEW_NODE) || strcmp(x->name, y->name) == 0) return;
    if (!*x->name || !*y->name) return; /* plans name what has no name */
    add_note(r, (note){.node = r->nodes[0][i],
                       .is_first = true,
                       .change = "renamed",
                       .what = "name",
                       .before = x->name,
                       .after = y->name});
}

static void note_nodes(report *r)
{
    const view_side *a = &r->m->side[0], *b = &r->m->side[1];
    for (uint32_t i = 0; i < a->graph->node_count; i++) {
        const uint32_t k = a->pair[i];
        if (view_is_alone(a, i)) note_alone(r, 0, i);
        if (k == VIEW_NONE) continue;
        note_outputs(r, i, k);
        note_name(r, i, k);
        const char *op = view_op_name(a->graph, i), *after = view_op_name(b->graph, k);
        if (!r->m->diff && strcmp(op, after) != 0)
            add_note(r, (note){.node = r->nodes[0][i],
                               .is_first = true,
                               .is_change = true,
                               .change = "changed",
                               .what = "operator",
                               .before = op,
                               .after = after});
    }
    for (uint32_t k = 0; k < b->graph->node_count; k++)
        if (view_is_alone(b, k)) note_alone(r, 1, k);
}

pgy_status report_take_notes(report *r, pgy_error *err)
{
    note_differences(r);
    note_nodes(r);
    const pgy_status st = note_wholes(r, err);
    return st ? st : cancel_check(err);
}
