/* SPDX-License-Identifier: Apache-2.0 */
/* A block of text for a bug report: what fails first, by how much, and how to repeat it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/printable.h"
#include "base/pytext.h"
#include "viewer/attachment.h"
#include "viewer/export.h"

enum { MOST_FAILURES = 10, MOST_SUMMARY = 40 };

typedef struct reporter {
    str *out;
    const pgy_page *page;
    const view_graph *g;
    const view_results *r;
} reporter;

static void append_name(str *out, const char *name)
{
    str_append_printable(out, name, strlen(name), "");
}

static void append_part(str *out, const char *before, const char *text)
{
    str_append(out, before);
    if (text) append_name(out, text);
}

static bool is_failure(view_mark_kind kind)
{
    return kind == VIEW_MARK_FAIL || kind == VIEW_MARK_NAN || kind == VIEW_MARK_INF;
}

static uint32_t node_of_mark(const view_graph *g, const view_mark *m)
{
    if (m->of == VIEW_OF_NODE) return m->at < g->node_count ? m->at : VIEW_NONE;
    return m->at < g->tensor_count ? g->tensors[m->at].producer : VIEW_NONE;
}

/* The node that a source found to be first, else the earliest one that fails. */
static uint32_t first_failing(const reporter *p)
{
    uint32_t earliest = VIEW_NONE;
    for (size_t i = 0; i < p->r->mark_count; i++) {
        const view_mark *m = &p->r->marks[i];
        const uint32_t node = m->graph ? VIEW_NONE : node_of_mark(p->g, m);
        if (node == VIEW_NONE) continue;
        if (m->kind == VIEW_MARK_FIRST) return node;
        if (is_failure(m->kind) && node < earliest) earliest = node;
    }
    return earliest;
}

/* ---- One node ------------------------------------------------------------------------------- */

static void append_value(str *out, const view_quantity *q, double v)
{
    char number[32];
    append_name(out, q->label);
    str_append_char(out, ' ');
    if (q->scale == VIEW_CATEGORY) {
        append_name(out, v >= 0 && v < q->name_count ? q->names[(size_t)v] : "?");
        return;
    }
    py_double_repr(number, v);
    str_append(out, number);
    if (*q->unit) str_append_char(out, ' ');
    append_name(out, q->unit);
}

static void append_values(const reporter *p, view_of of, uint32_t at, const char *indent)
{
    for (size_t i = 0; i < p->r->quantity_count; i++) {
        const view_quantity *q = &p->r->quantities[i];
        const bool tells = !strcmp(q->group, "accuracy") || !strcmp(q->group, "introduced") ||
                           !strcmp(q->group, "health");
        if (q->graph || q->of != of || !tells || at >= q->count || !q->is_measured[at]) continue;
        str_append(p->out, indent);
        append_value(p->out, q, q->values[at]);
        str_append_char(p->out, '\n');
    }
}

static void append_tensor(const reporter *p, const char *what, uint32_t tensor)
{
    if (tensor == VIEW_NONE) return;
    const view_tensor *t = &p->g->tensors[tensor];
    str_printf(p->out, "    %s ", what);
    append_name(p->out, t->name);
    str_printf(p->out, " (%s", *t->dtype ? t->dtype : "type unknown");
    append_part(p->out, t->shape ? " " : ", shape unknown",
                t->shape && !*t->shape ? "scalar" : t->shape);
    if (t->declared) append_part(p->out, "; the file declares ", t->declared);
    if (t->seen) append_part(p->out, "; the run saw ", t->seen);
    str_append(p->out, ")\n");
}

static void append_marks(const reporter *p, uint32_t node)
{
    for (size_t i = 0; i < p->r->mark_count; i++) {
        const view_mark *m = &p->r->marks[i];
        if (m->graph || node_of_mark(p->g, m) != node) continue;
        str_printf(p->out, "    %s", ATTACHMENT_MARKS[m->kind]);
        if (m->text && *m->text) {
            str_append(p->out, ": ");
            append_name(p->out, m->text);
        }
        str_append_char(p->out, '\n');
    }
}

static void append_first(const reporter *p, uint32_t node)
{
    if (node == VIEW_NONE) {
        str_append(p->out, "First failing layer: none is known\n");
        return;
    }
    const view_node *n = &p->g->nodes[node];
    str_append(p->out, "First failing layer: ");
    append_name(p->out, p->g->ops[n->op].name);
    str_append_char(p->out, ' ');
    append_name(p->out, *n->name ? n->name : "(no name)");
    str_printf(p->out, ", node %u of %u\n", (unsigned)node, (unsigned)p->g->node_count);
    append_marks(p, node);
    append_values(p, VIEW_OF_NODE, node, "    ");
    for (uint32_t i = 0; i < n->input_count; i++) append_tensor(p, "input", n->inputs[i]);
    for (uint32_t i = 0; i < n->output_count; i++) {
        append_tensor(p, "output", n->outputs[i]);
        if (n->outputs[i] != VIEW_NONE) append_values(p, VIEW_OF_TENSOR, n->outputs[i], "        ");
    }
}

/* ---- All failures --------------------------------------------------------------------------- */

typedef struct failure {
    const view_mark *mark;
    double error;
    uint32_t at; /* as they were found */
} failure;

/* The largest error first; NaN before any number; without errors as in the model. */
static int compare_failures(const void *a, const void *b)
{
    const failure *x = a, *y = b;
    if (isnan(x->error) != isnan(y->error)) return isnan(x->error) ? -1 : 1;
    if (x->error != y->error && !isnan(x->error)) return x->error > y->error ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static double error_of(const reporter *p, const view_mark *m)
{
    const view_quantity *q = view_quantity_find(p->r, "maxabs", 0);
    const bool has = q && m->of == q->of && m->at < q->count && q->is_measured[m->at];
    return has ? q->values[m->at] : -1;
}

static void append_failure(const reporter *p, const failure *f)
{
    const view_mark *m = f->mark;
    const bool is_tensor = m->of == VIEW_OF_TENSOR;
    str_append(p->out, "    ");
    append_name(p->out, is_tensor ? p->g->tensors[m->at].name : p->g->nodes[m->at].name);
    str_printf(p->out, ": %s", ATTACHMENT_MARKS[m->kind]);
    if (f->error >= 0 || isnan(f->error)) {
        char number[32];
        py_double_repr(number, f->error);
        str_printf(p->out, ", largest absolute error %s", number);
    }
    if (m->text && *m->text) {
        str_append(p->out, ", ");
        append_name(p->out, m->text);
    }
    str_append_char(p->out, '\n');
}

static pgy_status append_failures(const reporter *p, pgy_error *err)
{
    size_t count = 0;
    failure *list = mem_calloc(p->r->mark_count + 1, sizeof *list);
    if (!list) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a report");
    for (size_t i = 0; i < p->r->mark_count; i++) {
        const view_mark *m = &p->r->marks[i];
        const uint32_t all = m->of == VIEW_OF_NODE ? p->g->node_count : p->g->tensor_count;
        if (!m->graph && is_failure(m->kind) && m->at < all)
            list[count++] = (failure){m, error_of(p, m), (uint32_t)i};
    }
    qsort(list, count, sizeof *list, compare_failures);
    if (count) str_printf(p->out, "Failures: %zu, the worst first\n", count);
    for (size_t i = 0; i < count && i < MOST_FAILURES; i++) append_failure(p, &list[i]);
    if (count > MOST_FAILURES) str_printf(p->out, "    and %zu more\n", count - MOST_FAILURES);
    mem_free(list);
    return PGY_OK;
}

/* ---- The rest ------------------------------------------------------------------------------- */

static void append_summary(const reporter *p)
{
    const char *section = NULL;
    for (size_t i = 0; i < p->r->summary_count && i < MOST_SUMMARY; i++) {
        if (!section || strcmp(section, p->r->summary[i].section) != 0) {
            section = p->r->summary[i].section;
            append_name(p->out, section);
            str_append(p->out, ":\n");
        }
        str_append(p->out, "    ");
        append_name(p->out, p->r->summary[i].name);
        str_append(p->out, ": ");
        append_name(p->out, p->r->summary[i].text);
        str_append_char(p->out, '\n');
    }
}

pgy_status view_export_report(str *out, pgy_page *page, pgy_error *err)
{
    pgy_status st = page_complete(page, err);
    if (st) return st;
    const reporter p = {out, page, page->graphs[0], &page->results};
    if (p.r->is_judged) {
        str_append(out, p.r->passed ? "Verdict: passed" : "Verdict: failed");
        if (p.r->verdict && *p.r->verdict) {
            str_append(out, ": ");
            append_name(out, p.r->verdict);
        }
        str_append_char(out, '\n');
    }
    append_first(&p, first_failing(&p));
    st = append_failures(&p, err);
    append_summary(&p);
    for (size_t i = 0; i < page->warnings.count; i++) {
        str_append(out, "Warning: ");
        append_name(out, page->warnings.items[i]);
        str_append_char(out, '\n');
    }
    if (!st && out->failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for a report");
    return cancel_check_after(st, err);
}
