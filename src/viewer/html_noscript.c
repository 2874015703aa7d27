/* SPDX-License-Identifier: Apache-2.0 */
/* What a browser without script shows: the verdict, the warnings, and a table of the worst places,
 * or of the nodes if nothing was measured. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "viewer/html_parts.h"
#include "viewer/page_head.h"

enum { ROWS = 100, NAME_LIMIT = 200 };

void html_text(str *out, const char *text)
{
    static const char *const MARKUP = "&<>\"'";
    static const char *const NAMES[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    str plain = {0};
    str_append_printable(&plain, text, strlen(text), "");
    for (const char *p = str_text(&plain); *p; p++) {
        const char *known = strchr(MARKUP, *p);
        if (known)
            str_append(out, NAMES[known - MARKUP]);
        else
            str_append_char(out, *p);
    }
    out->failed |= plain.failed;
    str_deinit(&plain);
}

/* ---- Worst places --------------------------------------------------------------------------- */

typedef struct place {
    double value;
    uint32_t at;
} place;

static int by_value_down(const void *left, const void *right)
{
    const place *a = left, *b = right;
    if (isnan(a->value) != isnan(b->value)) return isnan(a->value) ? -1 : 1;
    if (a->value != b->value && !isnan(a->value)) return a->value > b->value ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* The quantity that tells best where something is wrong or slow; NULL: none was measured. */
static const view_quantity *worst_quantity(const view_results *r)
{
    static const char *const IDS[] = {"maxabs", "made", "time", "time_ratio", "output_bytes"};
    for (size_t i = 0; i < sizeof IDS / sizeof *IDS; i++) {
        const view_quantity *q = view_quantity_find(r, IDS[i], 0);
        if (q && q->scale != VIEW_CATEGORY) return q;
    }
    return NULL;
}

static void put_name(str *out, const char *name)
{
    str cut = {0};
    str_append_n(&cut, name, strnlen(name, NAME_LIMIT));
    str_append(out, "<bdi>");
    html_text(out, str_text(&cut));
    if (name[cut.size]) str_append(out, "...");
    str_append(out, "</bdi>");
    out->failed |= cut.failed;
    str_deinit(&cut);
}

static void put_place(str *out, const view_graph *g, const view_quantity *q, const place *at)
{
    const uint32_t node = q->of == VIEW_OF_NODE ? at->at : g->tensors[at->at].producer;
    const char *name = q->of == VIEW_OF_NODE ? g->nodes[at->at].name : g->tensors[at->at].name;
    str_append(out, "<tr><td>");
    put_name(out, name);
    str_append(out, "</td><td>");
    if (node != VIEW_NONE) put_name(out, g->ops[g->nodes[node].op].name);
    str_printf(out, "</td><td>%.6g ", at->value);
    html_text(out, q->unit ? q->unit : "");
    str_append(out, "</td></tr>\n");
}

static void put_worst(str *out, const view_graph *g, const view_quantity *q)
{
    place *places = mem_calloc(q->count ? q->count : 1, sizeof *places);
    uint32_t count = 0;
    if (!places) {
        out->failed = true;
        return;
    }
    for (uint32_t i = 0; i < q->count; i++)
        if (q->is_measured[i]) places[count++] = (place){q->values[i], i};
    qsort(places, count, sizeof *places, by_value_down);
    str_append(out, "<table><caption>Worst places: ");
    html_text(out, q->label);
    str_append(out, "</caption>\n<tr><th>Name</th><th>Operator</th><th>Value</th></tr>\n");
    for (uint32_t i = 0; i < count && i < ROWS; i++) put_place(out, g, q, &places[i]);
    str_append(out, "</table>\n");
    if (count > ROWS) str_printf(out, "<p>%u further places are not listed.</p>\n", count - ROWS);
    mem_free(places);
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

static void put_node(str *out, const view_graph *g, const view_node *n)
{
    const uint32_t t = n->output_count ? n->outputs[0] : VIEW_NONE;
    str_append(out, "<tr><td>");
    put_name(out, n->name);
    str_append(out, "</td><td>");
    put_name(out, g->ops[n->op].name);
    str_append(out, "</td><td>");
    if (t != VIEW_NONE && g->tensors[t].shape) {
        put_name(out, g->tensors[t].dtype);
        str_append_char(out, ' ');
        put_name(out, g->tensors[t].shape);
    }
    str_append(out, "</td></tr>\n");
}

static void put_nodes(str *out, const view_graph *g)
{
    str_append(out, "<table><caption>Nodes of ");
    html_text(out, g->name);
    str_append(out, "</caption>\n<tr><th>Name</th><th>Operator</th><th>Output</th></tr>\n");
    for (uint32_t i = 0; i < g->node_count && i < ROWS; i++) put_node(out, g, &g->nodes[i]);
    str_append(out, "</table>\n");
    if (g->node_count > ROWS)
        str_printf(out, "<p>%u further nodes are not listed.</p>\n", g->node_count - ROWS);
}

void html_noscript(str *out, const pgy_page *p)
{
    const view_quantity *q = worst_quantity(&p->results);
    str_append(out, "<h1>");
    html_text(out, page_title(p));
    str_append(out, "</h1>\n<p>This page draws with JavaScript, which is off here. Its tables say "
                    "the most important things.</p>\n");
    if (p->results.is_judged) {
        str_append(out, p->results.passed ? "<p>PASSED: " : "<p>FAILED: ");
        html_text(out, p->results.verdict ? p->results.verdict : "");
        str_append(out, "</p>\n");
    }
    for (size_t i = 0; i < p->warnings.count && i < ROWS; i++) {
        str_append(out, "<p>Warning: ");
        html_text(out, p->warnings.items[i]);
        str_append(out, "</p>\n");
    }
    if (q)
        put_worst(out, p->graphs[0], q);
    else
        put_nodes(out, p->graphs[0]);
}
