/* SPDX-License-Identifier: Apache-2.0 */
/* The layout is the original's, line for line. A graph is printed in sections; a graph
 * attribute is the same text, indented. Only names, types and shapes are read unless weights are
 * asked for, so the cost grows with the nodes, not with the bytes. */
#include <polygraphy/describe.h>

#include <string.h>

#include "base/cancel.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/pytext.h"
#include "base/sized.h"

static const char LOG_PATH[] = "inspect/model_text.c";
static const char ORIGINAL_PATH[] = "backend/onnx/util.py";

/* What the file declares or stores for each tensor name of a graph. */
typedef struct name_table {
    strmap infos;                   /* name -> pgy_onnx_value_info */
    strmap initializers;            /* name -> pgy_onnx_tensor; for sparse ones: the values */
    strmap sparse;                  /* name -> pgy_onnx_sparse_tensor */
    const struct name_table *outer; /* table of the enclosing graph, or NULL */
} name_table;

typedef struct printer {
    pgy_model *model;
    pgy_describe_options options;
    pgy_error *err;
    size_t depth; /* number of graphs that enclose the one being printed */
} printer;

static pgy_status print_graph(str *out, printer *p, const pgy_onnx_graph *g, const char *kind,
                              const name_table *outer);

static pgy_status no_memory(printer *p)
{
    return pgy_error_set(p->err, PGY_E_MEMORY, "out of memory while printing the model");
}

/* Indents all lines but the first. */
static void append_hanging(str *out, const char *text, size_t indent)
{
    for (; *text; text++) {
        str_append_char(out, *text);
        if (*text == '\n') str_append_fill(out, ' ', indent);
    }
}

static void append_indented(str *out, const char *text, size_t indent)
{
    str_append_fill(out, ' ', indent);
    append_hanging(out, text, indent);
}

/* Appends the text indented, and frees it. */
static void append_block(str *out, str *text, size_t indent)
{
    append_indented(out, str_text(text), indent);
    out->failed = out->failed || text->failed;
    str_deinit(text);
}

/* ---- Names ---------------------------------------------------------------------------------- */

static bool put_infos(strmap *m, pgy_onnx_value_info *const *infos, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strmap_put(m, infos[i]->name, infos[i])) return false;
    return true;
}

static bool fill_names(name_table *t, const pgy_onnx_graph *g)
{
    bool ok = put_infos(&t->infos, g->value_infos, g->value_info_count) &&
              put_infos(&t->infos, g->outputs, g->output_count) &&
              put_infos(&t->infos, g->inputs, g->input_count);
    for (size_t i = 0; ok && i < g->initializer_count; i++)
        ok = strmap_put(&t->initializers, g->initializers[i]->name, g->initializers[i]);
    for (size_t i = 0; ok && i < g->sparse_initializer_count; i++) {
        pgy_onnx_tensor *values = g->sparse_initializers[i]->values;
        if (values)
            ok = strmap_put(&t->initializers, values->name, values) &&
                 strmap_put(&t->sparse, values->name, g->sparse_initializers[i]);
    }
    return ok;
}

static void names_deinit(name_table *t)
{
    strmap_deinit(&t->infos);
    strmap_deinit(&t->initializers);
    strmap_deinit(&t->sparse);
}

/* The shape of a stored tensor. That of a sparse tensor differs from the shape of its list of
 * values. */
static const int64_t *dims_of(size_t *count, const name_table *names, const char *name,
                              const pgy_onnx_tensor *t)
{
    const pgy_onnx_sparse_tensor *sparse = strmap_get(&names->sparse, name);
    *count = sparse ? sparse->dim_count : t->dim_count;
    return sparse ? sparse->dims : t->dims;
}

/* ---- Tensors -------------------------------------------------------------------------------- */

static void append_dtype(str *out, int onnx, bool *first)
{
    const char *name = pgy_dtype_name(pgy_dtype_from_onnx(onnx));
    str_printf(out, "%sdtype=%s", *first ? " [" : ", ", name);
    *first = false;
}

static void append_dims(str *out, const pgy_onnx_shape *shape, bool *first)
{
    str_append(out, *first ? " [shape=(" : ", shape=(");
    *first = false;
    for (size_t i = 0; shape && i < shape->dim_count; i++) {
        const pgy_onnx_dim *d = shape->dims[i];
        if (i) str_append(out, ", ");
        if (d->message.present >> 2 & 1 && d->dim_param[0])
            str_append_py_repr(out, d->dim_param);
        else if (d->message.present >> 1 & 1)
            str_printf(out, "%lld", (long long)d->dim_value);
        else
            str_append(out, "-1");
    }
    if (shape && shape->dim_count == 1) str_append_char(out, ',');
    str_append_char(out, ')');
}

/* "x [dtype=float32, shape=('batch', 3)]". Only weights of the graph itself are marked as such. */
static void append_value(str *out, const char *name, const name_table *names)
{
    const name_table *own = names;
    const pgy_onnx_tensor *t = NULL;
    const pgy_onnx_value_info *v = NULL;
    for (const name_table *level = names; level && !t && !v; level = level->outer) {
        t = strmap_get(&level->initializers, name);
        v = strmap_get(&level->infos, name);
        names = level;
    }
    bool first = true;
    str_printf(out, "%s%s", t && names == own ? "Initializer | " : "", printable_name(name));
    if (t) {
        size_t rank;
        const int64_t *dims = dims_of(&rank, names, name, t);
        append_dtype(out, t->data_type, &first);
        str_append(out, ", shape=");
        str_append_py_tuple(out, dims, rank);
    } else if (v && v->type && v->type->tensor_type) {
        const pgy_onnx_tensor_type *type = v->type->tensor_type;
        if (type->elem_type) append_dtype(out, type->elem_type, &first);
        append_dims(out, type->shape, &first);
    } else if (v && v->type &&
               (v->type->sequence_type || v->type->optional_type || v->type->map_type ||
                v->type->sparse_tensor_type || v->type->opaque_type)) {
        str_printf(out, " [%s",
                   v->type->sequence_type   ? "sequence"
                   : v->type->optional_type ? "optional"
                   : v->type->map_type      ? "map"
                   : v->type->opaque_type   ? "opaque"
                                            : "sparse tensor");
        first = false;
    }
    if (!first) str_append_char(out, ']');
}

static void append_names(str *out, const char *const *items, size_t count, const name_table *names)
{
    str_append_char(out, '{');
    for (size_t i = 0; i < count; i++) {
        if (i) str_append(out, ",\n ");
        if (items[i][0]) append_value(out, items[i], names);
    }
    str_append_char(out, '}');
}

static void append_infos(str *out, pgy_onnx_value_info *const *infos, size_t count,
                         const name_table *names, bool skip_initializers)
{
    name_table only = {.infos = names->infos};
    bool first = true;
    str_append_char(out, '{');
    for (size_t i = 0; i < count; i++) {
        if (skip_initializers && strmap_has(&names->initializers, infos[i]->name)) continue;
        if (!first) str_append(out, ",\n ");
        first = false;
        append_value(out, infos[i]->name, &only);
    }
    str_append_char(out, '}');
}

/* "<values>" indented by four, or a note when they cannot be read. */
static pgy_status append_weights(str *out, printer *p, const pgy_onnx_tensor *t)
{
    pgy_tensor *data = NULL;
    char *text = NULL;
    pgy_error why = {0};
    pgy_status st = pgy_onnx_tensor_load(&data, p->model, t, &why);
    if (!st) st = pgy_view_text(&text, pgy_tensor_view(data), NULL, &why);
    if (status_ends_all(st)) pgy_error_set(p->err, st, "%s", why.text);
    if (st) LOG_ORIGINAL_ONCE(ERROR, "Failed to load weights: %s", why.text);
    append_indented(out, st ? "<error: failed to load weights>" : text, 4);
    pgy_text_free(text);
    pgy_tensor_release(data);
    return status_ends_all(st) ? st : PGY_OK;
}

/* ---- Attributes ----------------------------------------------------------------------------- */

static pgy_status append_tensor(str *out, printer *p, const pgy_onnx_tensor *t)
{
    str_printf(out, "Tensor: [dtype=%s, shape=", pgy_dtype_name(pgy_dtype_from_onnx(t->data_type)));
    str_append_py_ints(out, t->dims, t->dim_count);
    str_append_char(out, ']');
    if (!p->options.weights) return PGY_OK;
    str_append(out, " | Values:\n");
    return append_weights(out, p, t);
}

static pgy_status append_subgraph(str *out, printer *p, const pgy_onnx_graph *g,
                                  const name_table *names)
{
    str text = {0};
    p->depth++;
    pgy_status st = print_graph(&text, p, g, "Subgraph", names);
    str_append_char(out, '\n');
    append_block(out, &text, 8 * p->depth--);
    return st;
}

static void append_float(str *out, float v)
{
    char text[40];
    py_double_repr(text, (double)v);
    str_append(out, text);
}

static void append_bytes(str *out, pgy_bytes b, bool quoted)
{
    str text = {0};
    str_append_n(&text, b.data, b.size);
    if (quoted)
        str_append_py_repr(out, str_text(&text));
    else
        str_append(out, str_text(&text));
    str_deinit(&text);
}

static bool names_a_type(const char *name)
{
    return !strcmp(name, "to") || !strcmp(name, "dtype") || !strcmp(name, "target_type");
}

static void append_int(str *out, const pgy_onnx_attribute *a)
{
    const pgy_dtype_info *type = pgy_dtype_describe(pgy_dtype_from_onnx((int)a->i));
    if (names_a_type(a->name) && type->dtype && type->onnx == a->i)
        str_append(out, type->name);
    else
        str_printf(out, "%lld", (long long)a->i);
}

static pgy_status append_list(str *out, printer *p, const pgy_onnx_attribute *a,
                              pgy_onnx_attribute_type kind, const name_table *names)
{
    pgy_status st = PGY_OK;
    size_t count = kind == PGY_ATTR_FLOATS    ? a->float_count
                   : kind == PGY_ATTR_STRINGS ? a->string_count
                   : kind == PGY_ATTR_TENSORS ? a->tensor_count
                                              : a->graph_count;
    str_append_char(out, '[');
    for (size_t i = 0; !st && i < count; i++) {
        if (i) str_append(out, ", ");
        if (kind == PGY_ATTR_FLOATS)
            append_float(out, a->floats[i]);
        else if (kind == PGY_ATTR_STRINGS)
            append_bytes(out, a->strings[i], true);
        else if (kind == PGY_ATTR_TENSORS)
            st = append_tensor(out, p, a->tensors[i]);
        else
            st = append_subgraph(out, p, a->graphs[i], names);
    }
    str_append_char(out, ']');
    return st;
}

static pgy_status append_attribute(str *out, printer *p, const pgy_onnx_attribute *a,
                                   const name_table *names)
{
    pgy_onnx_attribute_type kind = pgy_onnx_attribute_kind(a);
    if (a->ref_attr_name[0]) {
        str_printf(out, "@%s", printable_name(a->ref_attr_name));
        return PGY_OK;
    }
    switch (kind) {
    case PGY_ATTR_FLOAT: append_float(out, a->f); return PGY_OK;
    case PGY_ATTR_INT: append_int(out, a); return PGY_OK;
    case PGY_ATTR_STRING: append_bytes(out, a->s, false); return PGY_OK;
    case PGY_ATTR_TENSOR: return append_tensor(out, p, a->t);
    case PGY_ATTR_GRAPH: return append_subgraph(out, p, a->g, names);
    case PGY_ATTR_INTS: str_append_py_ints(out, a->ints, a->int_count); return PGY_OK;
    case PGY_ATTR_FLOATS:
    case PGY_ATTR_STRINGS:
    case PGY_ATTR_TENSORS:
    case PGY_ATTR_GRAPHS: return append_list(out, p, a, kind, names);
    default:
        LOG_ONCE(WARNING, "Attribute '%s' is not shown: its kind %d is unknown", a->name,
                 (int)kind);
        str_append(out, "<not shown>");
        return PGY_OK;
    }
}

static pgy_status append_attributes(str *out, printer *p, const pgy_onnx_node *n,
                                    const name_table *names)
{
    pgy_status st = PGY_OK;
    str text = {0};
    str_append(&text, "---- Attributes ----");
    for (size_t i = 0; !st && i < n->attribute_count; i++) {
        str_printf(&text, "\n%s%s%s = ", printable_name(n->name), n->name[0] ? "." : "",
                   printable_name(n->attributes[i]->name));
        st = append_attribute(&text, p, n->attributes[i], names);
    }
    str_append_char(out, '\n');
    append_block(out, &text, 4);
    return st;
}

/* ---- Graphs --------------------------------------------------------------------------------- */

static pgy_status append_node(str *out, printer *p, const pgy_onnx_node *n, size_t index,
                              const name_table *names)
{
    str io = {0}, outputs = {0};
    if (p->options.network)
        str_printf(out, "Layer %-4zu | %s [Op: LayerType.%s]\n", index,
                   printable_name(n->name[0]        ? n->name
                                  : n->output_count ? n->outputs[0]
                                                    : ""),
                   pgy_trt_layer_of(n->op_type));
    else
        str_printf(out, "Node %-4zu | %s [Op: %s]\n", index, printable_name(n->name),
                   printable_name(n->op_type));
    append_names(&io, n->inputs, n->input_count, names);
    append_names(&outputs, n->outputs, n->output_count, names);
    str_append(&io, n->input_count && n->output_count ? "\n -> " : " -> ");
    append_hanging(&io, str_text(&outputs), 4);
    io.failed = io.failed || outputs.failed;
    append_block(out, &io, 4);
    str_deinit(&outputs);
    return p->options.attributes && n->attribute_count ? append_attributes(out, p, n, names)
                                                       : PGY_OK;
}

static pgy_status append_nodes(str *out, printer *p, const pgy_onnx_graph *g,
                               const name_table *names)
{
    pgy_status st = PGY_OK;
    str_printf(out, "---- %zu %s(s) ----\n", g->node_count, p->options.network ? "Layer" : "Node");
    for (size_t i = 0; !st && p->options.layers && i < g->node_count; i++) {
        if (i) str_append(out, "\n\n");
        st = append_node(out, p, g->nodes[i], i, names);
    }
    if (p->options.layers && g->node_count) str_append_char(out, '\n');
    return st;
}

static pgy_status append_initializers(str *out, printer *p, const pgy_onnx_graph *g,
                                      const name_table *names)
{
    pgy_status st = PGY_OK;
    size_t count = names->initializers.count;
    (void)g;
    str_printf(out, "---- %zu Initializer(s) ----\n", count);
    if (!p->options.weights && !p->options.layers) {
        str_append_char(out, '\n');
        return PGY_OK;
    }
    if (!p->options.weights || !count) str_append_char(out, '{');
    for (size_t i = 0; !st && i < count; i++) {
        const strmap_entry *e = &names->initializers.entries[i];
        const pgy_onnx_tensor *t = e->value;
        str_append(out, i && !p->options.weights ? ",\n " : "");
        str_printf(out, "%s%s [dtype=%s, shape=", p->options.weights ? "Initializer | " : "",
                   printable_name(e->key), pgy_dtype_name(pgy_dtype_from_onnx(t->data_type)));
        size_t rank;
        const int64_t *dims = dims_of(&rank, names, e->key, t);
        if (p->options.weights)
            str_append_py_ints(out, dims, rank);
        else
            str_append_py_tuple(out, dims, rank);
        str_append_char(out, ']');
        if (!p->options.weights) continue;
        const pgy_onnx_sparse_tensor *sparse = strmap_get(&names->sparse, e->key);
        str_append(out, sparse ? " | Sparse, Values:\n" : " | Values:\n");
        st = append_weights(out, p, t);
        if (!st && sparse && sparse->indices) {
            str_append(out, "\nIndices:\n");
            st = append_weights(out, p, sparse->indices);
        }
        str_append(out, i + 1 < count ? "\n\n" : "");
    }
    str_append(out, p->options.weights && count ? "\n\n" : "}\n\n");
    return st;
}

static size_t real_input_count(const pgy_onnx_graph *g, const name_table *names)
{
    size_t count = 0;
    for (size_t i = 0; i < g->input_count; i++)
        count += !strmap_has(&names->initializers, g->inputs[i]->name);
    return count;
}

static pgy_status print_graph(str *out, printer *p, const pgy_onnx_graph *g, const char *kind,
                              const name_table *outer)
{
    name_table names = {.outer = outer};
    pgy_status st = fill_names(&names, g) ? PGY_OK : no_memory(p);
    if (!st) {
        if (p->options.attributes && g->doc_string[0])
            str_printf(out, "---- Docstring ----\n%s\n\n", g->doc_string);
        str_printf(out, "---- %zu %s Input(s) ----\n", real_input_count(g, &names), kind);
        append_infos(out, g->inputs, g->input_count, &names, true);
        str_printf(out, "\n\n---- %zu %s Output(s) ----\n", g->output_count, kind);
        append_infos(out, g->outputs, g->output_count, &names, false);
        str_append(out, "\n\n");
        if (!p->options.network || p->options.weights) st = append_initializers(out, p, g, &names);
    }
    if (!st) st = append_nodes(out, p, g, &names);
    names_deinit(&names);
    return st;
}

static void append_opsets(str *out, const pgy_onnx_model *m)
{
    int64_t version = pgy_model_opset(m, "");
    bool first = true;
    if (version)
        str_printf(out, " | ONNX Opset: %lld", (long long)version);
    else
        str_append(out, " | ONNX Opset: Unknown");
    for (size_t i = 0; i < m->opset_import_count; i++) {
        const pgy_onnx_opset *o = m->opset_imports[i];
        if (!o->domain[0] || !strcmp(o->domain, "ai.onnx")) continue;
        str_append(out, first ? " | Other Opsets: {" : ", ");
        first = false;
        str_append_py_repr(out, o->domain);
        str_printf(out, ": %lld", (long long)o->version);
    }
    if (!first) str_append_char(out, '}');
}

pgy_status pgy_model_text(char **out, pgy_model *model, const pgy_describe_options *options,
                          pgy_error *err)
{
    const pgy_onnx_model *m = pgy_model_proto(model);
    printer p = {.model = model, .err = err};
    pgy_status st = SIZED_TAKE(pgy_describe_options, &p.options, options, err);
    if (st) return st;
    const bool network = p.options.network;
    str text = {0};
    str_printf(&text, "==== %s ====\nName: %s", network ? "Built-in Engine Network" : "ONNX Model",
               printable_name(m->graph->name));
    if (network)
        str_append(&text, " | Explicit Batch Strongly Typed Network");
    else
        append_opsets(&text, m);
    str_append(&text, "\n\n");
    st = print_graph(&text, &p, m->graph, network ? "Network" : "Graph", NULL);
    while (text.size && strchr(" \n", text.data[text.size - 1])) text.data[--text.size] = 0;
    if (!st && text.failed) st = no_memory(&p);
    if (!st) st = str_give(out, &text, err);
    str_deinit(&text);
    return st;
}
