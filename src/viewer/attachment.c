/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a Netron attachment. Netron finds a node or value by the first line of its name, and keeps
 * the last of two figures that have the same name, so figures of one quantity have one name. */
#include "viewer/attachment.h"

#include <math.h>
#include <string.h>

#include "base/cancel.h"

const char *const ATTACHMENT_SCALES[] = {"log", "linear", "diverging", "category", NULL};
const char *const ATTACHMENT_FOLDS[] = {"max", "min", "sum", "same", NULL};
const char *const ATTACHMENT_BETTER[] = {"none", "low", "high", NULL};
const char *const ATTACHMENT_MARKS[] = {"fail",    "nan",       "inf",           "first",   "fused",
                                        "not_run", "precision", "contradiction", "finding", "added",
                                        "removed", "changed",   "unsupported",   NULL};

static void put_first_line(json_writer *w, const char *key, const char *text)
{
    json_key(w, key);
    json_text_n(w, text, strcspn(text, "\n"));
}

/* Begins an item about a node or tensor. False: it has no name of its own. */
static bool begin_item(json_writer *w, const view_graph *g, view_of of, uint32_t at)
{
    const char *name = of == VIEW_OF_NODE ? g->nodes[at].name : g->tensors[at].name;
    const bool is_weight = of == VIEW_OF_TENSOR && (g->tensors[at].kind == VIEW_WEIGHT ||
                                                    g->tensors[at].kind == VIEW_NODE_CONSTANT);
    const uint32_t known =
        of == VIEW_OF_NODE ? view_graph_node(g, name) : view_graph_tensor(g, name);
    const view_node *n = of == VIEW_OF_NODE ? &g->nodes[at] : NULL;
    const bool has_output = n && n->output_count && n->outputs[0] != VIEW_NONE;
    if (known != at && !has_output) return false;
    json_begin_object(w);
    json_put_text(w, "kind", n ? "node" : is_weight ? "tensor" : "value");
    if (known == at)
        put_first_line(w, "target", name);
    else
        put_first_line(w, "identifier", g->tensors[n->outputs[0]].name);
    return true;
}

static void put_name(json_writer *w, const view_quantity *q)
{
    str name = {0};
    str_append(&name, q->label);
    if (q->unit && *q->unit) str_printf(&name, " [%s]", q->unit);
    json_put_text(w, "name", name.failed ? q->label : str_text(&name));
    str_deinit(&name);
}

static void put_value(json_writer *w, const view_quantity *q, double v)
{
    const bool has_name = q->scale == VIEW_CATEGORY;
    json_key(w, "value");
    if (has_name)
        json_text(w, v >= 0 && v < q->name_count ? q->names[(size_t)v] : "");
    else if (isfinite(v))
        json_real(w, v);
    else
        json_text(w, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
    json_put_text(w, "type", has_name ? "string" : "float64");
}

static void put_values(json_writer *w, const view_graph *g, const view_quantity *q)
{
    for (uint32_t i = 0; i < q->count && !cancel_requested(); i++) {
        if (!q->is_measured[i] || !begin_item(w, g, q->of, i)) continue;
        put_name(w, q);
        put_value(w, q, q->values[i]);
        json_end_object(w);
    }
}

static void put_quantity(json_writer *w, const view_quantity *q)
{
    json_begin_object(w);
    json_put_text(w, "id", q->id);
    put_name(w, q);
    json_put_text(w, "label", q->label);
    json_put_text(w, "unit", q->unit ? q->unit : "");
    json_put_text(w, "group", q->group);
    json_put_text(w, "of", q->of == VIEW_OF_NODE ? "node" : "tensor");
    json_put_text(w, "scale", ATTACHMENT_SCALES[q->scale]);
    json_put_text(w, "fold", ATTACHMENT_FOLDS[q->fold]);
    json_put_text(w, "better", ATTACHMENT_BETTER[q->better]);
    if (q->scale == VIEW_CATEGORY) {
        json_key(w, "names");
        json_begin_array(w);
        for (uint32_t i = 0; i < q->name_count; i++) json_text(w, q->names[i]);
        json_end_array(w);
    }
    json_end_object(w);
}

static void put_metadata(json_writer *w, const view_graph *g, const view_results *r)
{
    json_key(w, "metadata");
    json_begin_array(w);
    if (r->is_judged) {
        json_begin_object(w);
        json_put_text(w, "kind", "model");
        json_put_text(w, "target", "");
        json_put_text(w, "name", "verdict");
        json_put_text(w, "value",
                      r->verdict && *r->verdict ? r->verdict
                      : r->passed               ? "pass"
                                                : "fail");
        json_put_text(w, "type", "string");
        json_end_object(w);
    }
    for (size_t i = 0; i < r->mark_count; i++) {
        const view_mark *m = &r->marks[i];
        const uint32_t count = m->of == VIEW_OF_NODE ? g->node_count : g->tensor_count;
        if (m->graph || m->at >= count || !begin_item(w, g, m->of, m->at)) continue;
        json_put_text(w, "name", ATTACHMENT_MARKS[m->kind]);
        json_put_text(w, "value", m->text ? m->text : "");
        json_put_text(w, "type", "string");
        json_end_object(w);
    }
    json_end_array(w);
}

void view_attachment_write(json_writer *w, const view_graph *g, const view_results *r)
{
    json_begin_object(w);
    json_put_text(w, "signature", ATTACHMENT_SIGNATURE);
    put_metadata(w, g, r);
    json_key(w, "metrics");
    json_begin_array(w);
    for (size_t i = 0; i < r->quantity_count; i++)
        if (!r->quantities[i].graph) put_values(w, g, &r->quantities[i]);
    json_end_array(w);
    json_key(w, "quantities");
    json_begin_array(w);
    for (size_t i = 0; i < r->quantity_count; i++)
        if (!r->quantities[i].graph) put_quantity(w, &r->quantities[i]);
    json_end_array(w);
    json_end_object(w);
}

static pgy_status write_page(json_writer *w, const void *user, pgy_error *err)
{
    const pgy_page *p = user;
    view_attachment_write(w, p->graphs[0], &p->results);
    return cancel_check(err);
}

pgy_status view_attachment_save(pgy_page *p, const char *path, pgy_error *err)
{
    pgy_status st = page_complete(p, err);
    return st ? st : json_save(path, write_page, p, err);
}
