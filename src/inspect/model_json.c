/* SPDX-License-Identifier: Apache-2.0 */
/* Writes an ONNX model as JSON, as it is in the file: nothing is inferred, and weights appear with
 * type and shape only. A subgraph is the value of its attribute, with the same members as the main
 * graph. */
#include <polygraphy/describe.h>

#include "base/json.h"

static void write_graph(json_writer *w, const pgy_onnx_graph *g);

/* ---- Types ---------------------------------------------------------------------------------- */

static void write_shape(json_writer *w, const pgy_onnx_shape *shape)
{
    enum { VALUE = 1, PARAM = 2 };
    json_key(w, "shape");
    if (!shape) {
        json_null(w);
        return;
    }
    json_begin_array(w);
    for (size_t i = 0; i < shape->dim_count; i++) {
        const pgy_onnx_dim *d = shape->dims[i];
        if (d->message.present >> PARAM & 1 && d->dim_param[0])
            json_text(w, d->dim_param);
        else if (d->message.present >> VALUE & 1)
            json_int(w, d->dim_value);
        else
            json_null(w);
    }
    json_end_array(w);
}

static void write_dtype(json_writer *w, int onnx)
{
    json_put_text(w, "dtype", pgy_dtype_name(pgy_dtype_from_onnx(onnx)));
}

static const char *kind_of(const pgy_onnx_type *t)
{
    return t->tensor_type          ? "tensor"
           : t->sequence_type      ? "sequence"
           : t->optional_type      ? "optional"
           : t->map_type           ? "map"
           : t->sparse_tensor_type ? "sparse tensor"
           : t->opaque_type        ? "opaque"
                                   : "unknown";
}

static void write_values(json_writer *w, const char *key, pgy_onnx_value_info *const *infos,
                         size_t count)
{
    json_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) {
        const pgy_onnx_type *t = infos[i]->type;
        json_begin_object(w);
        json_put_text(w, "name", infos[i]->name);
        json_put_text(w, "kind", t ? kind_of(t) : "unknown");
        if (t && t->tensor_type) {
            write_dtype(w, t->tensor_type->elem_type);
            write_shape(w, t->tensor_type->shape);
        }
        json_end_object(w);
    }
    json_end_array(w);
}

static void write_tensor(json_writer *w, const char *name, const pgy_onnx_tensor *t)
{
    json_begin_object(w);
    if (name) json_put_text(w, "name", name);
    write_dtype(w, t->data_type);
    json_put_ints(w, "shape", t->dims, t->dim_count);
    json_end_object(w);
}

/* A sparse tensor has the name and type of its list of values, but its own shape. */
static void write_sparse(json_writer *w, const pgy_onnx_sparse_tensor *t)
{
    json_begin_object(w);
    if (t->values) {
        json_put_text(w, "name", t->values->name);
        write_dtype(w, t->values->data_type);
    }
    json_put_ints(w, "shape", t->dims, t->dim_count);
    json_put_bool(w, "sparse", true);
    json_end_object(w);
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

static void write_names(json_writer *w, const char *key, const char *const *names, size_t count)
{
    json_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) json_text(w, names[i]);
    json_end_array(w);
}

static void write_list(json_writer *w, const pgy_onnx_attribute *a, pgy_onnx_attribute_type kind)
{
    json_begin_array(w);
    for (size_t i = 0; kind == PGY_ATTR_INTS && i < a->int_count; i++) json_int(w, a->ints[i]);
    for (size_t i = 0; kind == PGY_ATTR_FLOATS && i < a->float_count; i++)
        json_real(w, (double)a->floats[i]);
    for (size_t i = 0; kind == PGY_ATTR_STRINGS && i < a->string_count; i++)
        json_text_n(w, (const char *)a->strings[i].data, a->strings[i].size);
    for (size_t i = 0; kind == PGY_ATTR_TENSORS && i < a->tensor_count; i++)
        write_tensor(w, NULL, a->tensors[i]);
    for (size_t i = 0; kind == PGY_ATTR_GRAPHS && i < a->graph_count; i++)
        write_graph(w, a->graphs[i]);
    json_end_array(w);
}

static void write_reference(json_writer *w, const pgy_onnx_attribute *a)
{
    json_begin_object(w);
    json_put_text(w, "attribute_of_function", a->ref_attr_name);
    json_end_object(w);
}

static void write_attribute(json_writer *w, const pgy_onnx_attribute *a)
{
    const pgy_onnx_attribute_type kind = pgy_onnx_attribute_kind(a);
    json_key(w, a->name);
    if (a->ref_attr_name[0]) {
        write_reference(w, a);
        return;
    }
    switch (kind) {
    case PGY_ATTR_FLOAT: json_real(w, (double)a->f); break;
    case PGY_ATTR_INT: json_int(w, a->i); break;
    case PGY_ATTR_STRING: json_text_n(w, (const char *)a->s.data, a->s.size); break;
    case PGY_ATTR_TENSOR: write_tensor(w, NULL, a->t); break;
    case PGY_ATTR_GRAPH: write_graph(w, a->g); break;
    case PGY_ATTR_INTS:
    case PGY_ATTR_FLOATS:
    case PGY_ATTR_STRINGS:
    case PGY_ATTR_TENSORS:
    case PGY_ATTR_GRAPHS: write_list(w, a, kind); break;
    default: json_null(w);
    }
}

static void write_nodes(json_writer *w, pgy_onnx_node *const *nodes, size_t count)
{
    json_key(w, "nodes");
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) {
        const pgy_onnx_node *n = nodes[i];
        json_begin_object(w);
        json_put_text(w, "name", n->name);
        json_put_text(w, "op_type", n->op_type);
        json_put_text(w, "domain", n->domain);
        write_names(w, "inputs", n->inputs, n->input_count);
        write_names(w, "outputs", n->outputs, n->output_count);
        json_key(w, "attributes");
        json_begin_object(w);
        for (size_t k = 0; k < n->attribute_count; k++) write_attribute(w, n->attributes[k]);
        json_end_object(w);
        json_end_object(w);
    }
    json_end_array(w);
}

/* ---- Graphs --------------------------------------------------------------------------------- */

static void write_graph(json_writer *w, const pgy_onnx_graph *g)
{
    json_begin_object(w);
    json_put_text(w, "name", g->name);
    write_values(w, "inputs", g->inputs, g->input_count);
    write_values(w, "outputs", g->outputs, g->output_count);
    json_key(w, "initializers");
    json_begin_array(w);
    for (size_t i = 0; i < g->initializer_count; i++)
        write_tensor(w, g->initializers[i]->name, g->initializers[i]);
    for (size_t i = 0; i < g->sparse_initializer_count; i++)
        write_sparse(w, g->sparse_initializers[i]);
    json_end_array(w);
    write_nodes(w, g->nodes, g->node_count);
    json_end_object(w);
}

static void write_opsets(json_writer *w, pgy_onnx_opset *const *opsets, size_t count)
{
    json_key(w, "opsets");
    json_begin_object(w);
    for (size_t i = 0; i < count; i++)
        json_put_int(w, opsets[i]->domain[0] ? opsets[i]->domain : "ai.onnx", opsets[i]->version);
    json_end_object(w);
}

static void write_function(json_writer *w, const pgy_onnx_function *f)
{
    json_begin_object(w);
    json_put_text(w, "name", f->name);
    json_put_text(w, "domain", f->domain);
    write_opsets(w, f->opset_imports, f->opset_import_count);
    write_names(w, "inputs", f->inputs, f->input_count);
    write_names(w, "outputs", f->outputs, f->output_count);
    write_names(w, "attributes", f->attributes, f->attribute_count);
    write_nodes(w, f->nodes, f->node_count);
    json_end_object(w);
}

static pgy_status write_model(json_writer *w, const void *user, pgy_error *err)
{
    const pgy_onnx_model *m = user;
    (void)err;
    json_begin_object(w);
    json_put_int(w, "ir_version", m->ir_version);
    json_put_text(w, "producer", m->producer_name);
    write_opsets(w, m->opset_imports, m->opset_import_count);
    json_key(w, "graph");
    write_graph(w, m->graph);
    json_key(w, "functions");
    json_begin_array(w);
    for (size_t i = 0; i < m->function_count; i++) write_function(w, m->functions[i]);
    json_end_array(w);
    json_end_object(w);
    return PGY_OK;
}

pgy_status pgy_model_json(char **out, pgy_model *model, pgy_error *err)
{
    return json_to_text(out, write_model, pgy_model_proto(model), err);
}
