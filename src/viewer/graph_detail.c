/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the blocks detail-I-K of the page: what the sidebar says about a node in full. */
#include "viewer/graph.h"

enum { CHUNK = 1024 };

size_t view_detail_count(const view_graph *g)
{
    return (g->node_count + CHUNK - 1) / CHUNK;
}

static void write_attribute(json_writer *w, const pgy_onnx_attribute *a)
{
    str text = {0};
    json_begin_array(w);
    json_text(w, a->name);
    json_text(w, "");
    for (size_t i = 0; i < a->int_count; i++)
        str_printf(&text, "%s%lld", i ? ", " : "", (long long)a->ints[i]);
    if (pgy_onnx_attribute_kind(a) == PGY_ATTR_INT) str_printf(&text, "%lld", (long long)a->i);
    if (pgy_onnx_attribute_kind(a) == PGY_ATTR_FLOAT) str_printf(&text, "%g", (double)a->f);
    if (text.failed) json_fail(w, PGY_E_MEMORY, "out of memory while writing details");
    json_text(w, str_text(&text));
    str_deinit(&text);
    json_end_array(w);
}

static void write_node(json_writer *w, const view_graph *g, const view_node *n)
{
    json_begin_object(w);
    json_key(w, "attributes");
    json_begin_array(w);
    for (size_t i = 0; n->source && i < n->source->attribute_count; i++)
        write_attribute(w, n->source->attributes[i]);
    json_end_array(w);
    json_put_text(w, "doc", n->source ? n->source->doc_string : "");
    json_put_text(w, "domain", g->ops[n->op].domain);
    json_key(w, "metadata");
    json_begin_array(w);
    json_end_array(w);
    json_key(w, "commands");
    json_begin_array(w);
    json_end_array(w);
    json_end_object(w);
}

void view_detail_write(json_writer *w, const view_graph *g, size_t k)
{
    json_begin_array(w);
    for (size_t i = k * CHUNK; i < g->node_count && i < (k + 1) * CHUNK; i++) {
        if (g->nodes[i].source)
            write_node(w, g, &g->nodes[i]);
        else
            json_null(w);
    }
    json_end_array(w);
}
