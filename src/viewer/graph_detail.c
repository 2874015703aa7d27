/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the blocks detail-I-K of the page: what the sidebar says about a node in full. */
#include <string.h>

#include "base/pytext.h"
#include "viewer/graph_command.h"
#include "viewer/graph_text.h"
#include "viewer/graph_value.h"

enum { CHUNK = 1024, ELEMENT_LIMIT = 64, LIST_LIMIT = 4096 };

size_t view_detail_count(const view_graph *g)
{
    return (g->node_count + CHUNK - 1) / CHUNK;
}

static void put_text(json_writer *w, str *text)
{
    if (text->failed) json_fail(w, PGY_E_MEMORY, "out of memory while writing details of a graph");
    json_text(w, str_text(text));
    str_deinit(text);
}

/* Text of a model, which may be no UTF-8. */
static void put_valid(json_writer *w, const char *text)
{
    str s = {0};
    graph_append_valid(&s, text, strlen(text));
    put_text(w, &s);
}

/* ---- Attributes ----------------------------------------------------------------------------- */

static void append_tensor(str *s, const view_graph *g, const pgy_onnx_tensor *t)
{
    const pgy_dtype dtype = pgy_dtype_from_onnx(t->data_type);
    str_append(s, dtype == PGY_DTYPE_NONE ? "unknown type" : pgy_dtype_name(dtype));
    for (size_t i = 0; i < t->dim_count; i++)
        str_printf(s, "%c%lld", i ? 'x' : ' ', (long long)t->dims[i]);
    const size_t before = s->size;
    str_append(s, ": ");
    if (!graph_append_values(s, g->model, t, ELEMENT_LIMIT)) s->failed = true;
    if (s->size == before + 2 && !s->failed) {
        s->size = before;
        s->data[before] = 0;
    }
    if (t->data_location) str_append(s, ", outside the file");
}

static void append_graph(str *s, const pgy_onnx_graph *graph)
{
    str_append(s, "graph ");
    graph_append_valid(s, graph->name, strlen(graph->name));
    str_printf(s, "%s%zu nodes", *graph->name ? ", " : "", graph->node_count);
}

static void append_sparse(str *s, const pgy_onnx_sparse_tensor *t)
{
    str_append(s, "sparse ");
    str_append(s, t->values ? pgy_dtype_name(pgy_dtype_from_onnx(t->values->data_type)) : "");
    for (size_t i = 0; i < t->dim_count; i++)
        str_printf(s, "%c%lld", i ? 'x' : ' ', (long long)t->dims[i]);
}

/* Element i of an attribute that is a list. */
static void append_element(str *s, const view_graph *g, const pgy_onnx_attribute *a,
                           pgy_onnx_attribute_type kind, size_t i)
{
    char real[32];
    switch (kind) {
    case PGY_ATTR_FLOATS:
        py_float_repr(real, a->floats[i]);
        str_append(s, real);
        break;
    case PGY_ATTR_INTS: str_printf(s, "%lld", (long long)a->ints[i]); break;
    case PGY_ATTR_STRINGS: graph_append_valid(s, a->strings[i].data, a->strings[i].size); break;
    case PGY_ATTR_TENSORS: append_tensor(s, g, a->tensors[i]); break;
    case PGY_ATTR_GRAPHS: append_graph(s, a->graphs[i]); break;
    case PGY_ATTR_SPARSE_TENSORS: append_sparse(s, a->sparse_tensors[i]); break;
    default: str_append(s, "type"); break;
    }
}

static void append_list(str *s, const view_graph *g, const pgy_onnx_attribute *a,
                        pgy_onnx_attribute_type kind)
{
    const size_t count = pgy_onnx_attribute_count(a);
    str_append_char(s, '[');
    for (size_t i = 0; i < count && i < LIST_LIMIT; i++) {
        if (i) str_append(s, ", ");
        append_element(s, g, a, kind, i);
    }
    if (count > LIST_LIMIT) str_printf(s, ", and %zu more", count - LIST_LIMIT);
    str_append_char(s, ']');
}

static void append_attribute(str *s, const view_graph *g, const pgy_onnx_attribute *a)
{
    char real[32];
    const pgy_onnx_attribute_type kind = pgy_onnx_attribute_kind(a);
    if (*a->ref_attr_name) {
        str_append(s, "attribute of the function: ");
        graph_append_valid(s, a->ref_attr_name, strlen(a->ref_attr_name));
        return;
    }
    switch (kind) {
    case PGY_ATTR_FLOAT:
        py_float_repr(real, a->f);
        str_append(s, real);
        break;
    case PGY_ATTR_INT: str_printf(s, "%lld", (long long)a->i); break;
    case PGY_ATTR_STRING: graph_append_valid(s, a->s.data, a->s.size); break;
    case PGY_ATTR_TENSOR:
        if (a->t) append_tensor(s, g, a->t);
        break;
    case PGY_ATTR_GRAPH:
        if (a->g) append_graph(s, a->g);
        break;
    case PGY_ATTR_SPARSE_TENSOR:
        if (a->sparse_tensor) append_sparse(s, a->sparse_tensor);
        break;
    case PGY_ATTR_UNDEFINED:
    case PGY_ATTR_TYPE_PROTO: break;
    default: append_list(s, g, a, kind);
    }
}

static const char *attribute_type(pgy_onnx_attribute_type kind)
{
    static const char *const NAMES[] = {
        "",     "float",   "int",     "string", "tensor",        "graph",          "floats",
        "ints", "strings", "tensors", "graphs", "sparse tensor", "sparse tensors", "type",
        "types"};
    return (unsigned)kind < sizeof NAMES / sizeof *NAMES ? NAMES[kind] : "";
}

static void write_attributes(json_writer *w, const view_graph *g, const pgy_onnx_node *n)
{
    for (size_t i = 0; i < n->attribute_count; i++) {
        const pgy_onnx_attribute *a = n->attributes[i];
        str text = {0};
        json_begin_array(w);
        put_valid(w, a->name);
        json_text(w, attribute_type(pgy_onnx_attribute_kind(a)));
        append_attribute(&text, g, a);
        put_text(w, &text);
        json_end_array(w);
    }
}

/* ---- Layers of plans ------------------------------------------------------------------------ */

static void write_fact(json_writer *w, const char *name, str *text)
{
    json_begin_array(w);
    json_text(w, name);
    json_text(w, "");
    put_text(w, text);
    json_end_array(w);
}

static void write_format(json_writer *w, const char *what, const pgy_plan_tensor *t)
{
    str name = {0}, text = {0};
    str_printf(&name, "%s ", what);
    graph_append_valid(&name, t->name, strlen(t->name));
    str_printf(&text, "%s ", pgy_dtype_name(t->dtype));
    str_append_py_tuple(&text, t->shape, (size_t)t->rank);
    if (t->block == 1)
        str_append(&text, ", row-major");
    else if (!t->block)
        str_append(&text, ", channels last");
    else
        str_printf(&text, ", channels in blocks of %zu", t->block);
    if (name.failed) text.failed = true;
    write_fact(w, str_text(&name), &text);
    str_deinit(&name);
}

static void write_layer(json_writer *w, const pgy_plan_layer *l)
{
    str text = {0};
    str_append(&text, l->tactic ? l->tactic : "reference");
    write_fact(w, "kernel", &text);
    if (l->device) {
        str_append(&text, l->device);
        write_fact(w, "device", &text);
    }
    if (l->packed_bytes) {
        str_append_bytes(&text, l->packed_bytes);
        write_fact(w, "packed weights", &text);
    }
    for (size_t i = 0; i < l->input_count; i++) write_format(w, "input", &l->inputs[i]);
    for (size_t i = 0; i < l->constant_count; i++) write_format(w, "constant", &l->constants[i]);
    for (size_t i = 0; i < l->output_count; i++) write_format(w, "output", &l->outputs[i]);
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

static void write_metadata(json_writer *w, const pgy_onnx_node *n)
{
    for (size_t i = 0; n && i < n->metadata_prop_count; i++) {
        json_begin_array(w);
        put_valid(w, n->metadata_props[i]->key);
        put_valid(w, n->metadata_props[i]->value);
        json_end_array(w);
    }
}

static void write_node(json_writer *w, const view_graph *g, const view_node *n)
{
    json_begin_object(w);
    json_key(w, "attributes");
    json_begin_array(w);
    if (n->source) write_attributes(w, g, n->source);
    if (n->layer) write_layer(w, n->layer);
    json_end_array(w);
    if (n->source && *n->source->doc_string) {
        json_key(w, "doc");
        put_valid(w, n->source->doc_string);
    }
    if (n->source && n->source->metadata_prop_count) {
        json_key(w, "metadata");
        json_begin_array(w);
        write_metadata(w, n->source);
        json_end_array(w);
    }
    graph_write_commands(w, g, n);
    json_end_object(w);
}

void view_detail_write(json_writer *w, const view_graph *g, size_t k)
{
    json_begin_array(w);
    for (size_t i = k * CHUNK; i < g->node_count && i < (k + 1) * CHUNK; i++) {
        if (g->nodes[i].source || g->nodes[i].layer)
            write_node(w, g, &g->nodes[i]);
        else
            json_null(w);
    }
    json_end_array(w);
}
