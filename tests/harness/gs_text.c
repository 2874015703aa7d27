/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/gs_text.h"

#include <string.h>
#include <zlib.h>

#include "base/str.h"

/* Elements shown of a weight. In larger ones, equal elements are shown once, others as a checksum.
 */
enum { SHOWN = 16 };

typedef struct text {
    str s;
    pgy_model *model;
    bool failed;
} text;

static void put_number(text *t, double x)
{
    const size_t start = t->s.size;
    str_printf(&t->s, "%g", x);
    if (!strpbrk(str_text(&t->s) + start, ".en")) str_append(&t->s, ".0");
}

static void put_shape(text *t, const int64_t *dims, size_t count)
{
    str_append(&t->s, "[");
    for (size_t i = 0; i < count; i++)
        str_printf(&t->s, "%s%lld", i ? "," : "", (long long)dims[i]);
    str_append(&t->s, "]");
}

static const char *type_name(int32_t onnx)
{
    return onnx ? pgy_dtype_describe(pgy_dtype_from_onnx(onnx))->onnx_name : "UNDEFINED";
}

static void put_type(text *t, const pgy_onnx_type *type)
{
    const pgy_onnx_tensor_type *x = type ? type->tensor_type : NULL;
    if (!x) {
        str_append(&t->s, !type                 ? "(no type)"
                          : type->sequence_type ? "sequence_type"
                          : type->optional_type ? "optional_type"
                          : type->map_type      ? "map_type"
                                                : "(no type)");
        return;
    }
    str_append(&t->s, type_name(x->elem_type));
    if (!x->shape) {
        str_append(&t->s, "(none)");
        return;
    }
    str_append(&t->s, "[");
    for (size_t i = 0; i < x->shape->dim_count; i++) {
        const pgy_onnx_dim *d = x->shape->dims[i];
        if (i) str_append(&t->s, ",");
        if (d->message.present & 1u << 1)
            str_printf(&t->s, "%lld", (long long)d->dim_value);
        else if (*d->dim_param)
            str_printf(&t->s, "'%s'", d->dim_param);
        else
            str_append(&t->s, "?");
    }
    str_append(&t->s, "]");
}

/* ---- Weights -------------------------------------------------------------------------------- */

static void put_element(text *t, const pgy_tensor *x, size_t i)
{
    const pgy_dtype_info *type = pgy_dtype_describe(pgy_tensor_dtype(x));
    if (type->kind == PGY_KIND_STRING) {
        const pgy_string *s = (const pgy_string *)pgy_tensor_data(x) + i;
        str_append(&t->s, "'");
        str_append_n(&t->s, s->data, s->size);
        str_append(&t->s, "'");
        return;
    }
    pgy_tensor *wide = NULL;
    const bool real = pgy_dtype_is_float(type->dtype);
    if (pgy_tensor_cast(&wide, pgy_tensor_view(x), real ? PGY_F64 : PGY_I64, NULL)) {
        t->failed = true;
        return;
    }
    if (real)
        str_printf(&t->s, "%g", ((const double *)pgy_tensor_data(wide))[i]);
    else
        str_printf(&t->s, "%lld", (long long)((const int64_t *)pgy_tensor_data(wide))[i]);
    pgy_tensor_release(wide);
}

static bool all_equal(const pgy_tensor *x)
{
    const size_t count = pgy_tensor_count(x), item = count ? pgy_tensor_size_bytes(x) / count : 0;
    const char *data = pgy_tensor_data(x);
    if (count < 2 || pgy_tensor_dtype(x) == PGY_STRING || !item) return false;
    return memcmp(data, data + item, (count - 1) * item) == 0;
}

static void put_values(text *t, const pgy_tensor *x)
{
    const size_t count = pgy_tensor_count(x);
    if (all_equal(x)) {
        str_append(&t->s, "all ");
        put_element(t, x, 0);
    } else if (count > SHOWN && pgy_tensor_dtype(x) != PGY_STRING) {
        str_printf(&t->s, "crc32 %08lx",
                   crc32(0, pgy_tensor_data(x), (uInt)pgy_tensor_size_bytes(x)));
    } else if (pgy_tensor_rank(x) == 0) {
        put_element(t, x, 0);
    } else {
        str_append(&t->s, "[");
        for (size_t i = 0; i < count; i++) {
            if (i) str_append(&t->s, ",");
            put_element(t, x, i);
        }
        str_append(&t->s, "]");
    }
}

static void put_tensor(text *t, const pgy_onnx_tensor *stored)
{
    pgy_tensor *x = NULL;
    str_append(&t->s, type_name(stored->data_type));
    put_shape(t, stored->dims, stored->dim_count);
    str_append(&t->s, " = ");
    if (pgy_onnx_tensor_load(&x, t->model, stored, NULL))
        t->failed = true;
    else
        put_values(t, x);
    pgy_tensor_release(x);
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

static const char *const KINDS[] = {"UNDEFINED",      "FLOAT",      "INT",        "STRING",
                                    "TENSOR",         "GRAPH",      "FLOATS",     "INTS",
                                    "STRINGS",        "TENSORS",    "GRAPHS",     "SPARSE_TENSOR",
                                    "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};

static void put_bytes(text *t, pgy_bytes b)
{
    str_append(&t->s, "'");
    str_append_n(&t->s, b.data, b.size);
    str_append(&t->s, "'");
}

static void put_attribute(text *t, const pgy_onnx_attribute *a)
{
    const pgy_onnx_attribute_type kind = pgy_onnx_attribute_kind(a);
    str_printf(&t->s, "%s=", a->name);
    if (*a->ref_attr_name) {
        str_printf(&t->s, "@%s:%s", a->ref_attr_name, KINDS[kind]);
        return;
    }
    switch (kind) {
    case PGY_ATTR_FLOAT: put_number(t, a->f); break;
    case PGY_ATTR_INT: str_printf(&t->s, "%lld", (long long)a->i); break;
    case PGY_ATTR_STRING: put_bytes(t, a->s); break;
    case PGY_ATTR_TENSOR: put_tensor(t, a->t); break;
    case PGY_ATTR_INTS: put_shape(t, a->ints, a->int_count); break;
    case PGY_ATTR_FLOATS:
        str_append(&t->s, "[");
        for (size_t i = 0; i < a->float_count; i++) {
            if (i) str_append(&t->s, ",");
            put_number(t, a->floats[i]);
        }
        str_append(&t->s, "]");
        break;
    case PGY_ATTR_STRINGS:
        str_append(&t->s, "[");
        for (size_t i = 0; i < a->string_count; i++) {
            if (i) str_append(&t->s, ",");
            put_bytes(t, a->strings[i]);
        }
        str_append(&t->s, "]");
        break;
    default: str_printf(&t->s, "<%s>", KINDS[kind]); break;
    }
}

static void put_attributes(text *t, pgy_onnx_attribute *const *list, size_t count)
{
    if (!count) return;
    str_append(&t->s, " {");
    for (size_t i = 0; i < count; i++) {
        if (i) str_append(&t->s, " ");
        put_attribute(t, list[i]);
    }
    str_append(&t->s, "}");
}

static void put_names(text *t, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) str_printf(&t->s, "%s%s", i ? ", " : "", names[i]);
}

static void put_graph(text *t, const pgy_onnx_graph *g, size_t indent);

static void put_subgraph(text *t, const pgy_onnx_attribute *a, const pgy_onnx_graph *g,
                         size_t indent)
{
    str_append_fill(&t->s, ' ', indent + 2);
    str_printf(&t->s, "graph %s \"%s\"\n", a->name, g->name);
    put_graph(t, g, indent + 4);
}

static void put_node(text *t, const pgy_onnx_node *n, size_t indent)
{
    str_append_fill(&t->s, ' ', indent);
    if (*n->domain) str_printf(&t->s, "%s.", n->domain);
    str_printf(&t->s, "%s \"%s\" (", n->op_type, n->name);
    put_names(t, n->inputs, n->input_count);
    str_append(&t->s, " -> ");
    put_names(t, n->outputs, n->output_count);
    str_append(&t->s, ")");
    put_attributes(t, n->attributes, n->attribute_count);
    str_append(&t->s, "\n");
    for (size_t i = 0; i < n->attribute_count; i++) {
        const pgy_onnx_attribute *a = n->attributes[i];
        if (a->g) put_subgraph(t, a, a->g, indent);
        for (size_t k = 0; k < a->graph_count; k++) put_subgraph(t, a, a->graphs[k], indent);
    }
}

/* ---- Graphs --------------------------------------------------------------------------------- */

static void put_infos(text *t, const char *title, pgy_onnx_value_info *const *list, size_t count,
                      size_t indent)
{
    for (size_t i = 0; i < count; i++) {
        str_append_fill(&t->s, ' ', indent);
        str_printf(&t->s, "%-4s %s:", title, list[i]->name);
        put_type(t, list[i]->type);
        str_append(&t->s, "\n");
    }
}

static void put_graph(text *t, const pgy_onnx_graph *g, size_t indent)
{
    put_infos(t, "in", g->inputs, g->input_count, indent);
    for (size_t i = 0; i < g->node_count; i++) put_node(t, g->nodes[i], indent);
    put_infos(t, "out", g->outputs, g->output_count, indent);
    put_infos(t, "vi", g->value_infos, g->value_info_count, indent);
    for (size_t i = 0; i < g->initializer_count; i++) {
        str_append_fill(&t->s, ' ', indent);
        str_printf(&t->s, "init %s ", g->initializers[i]->name);
        put_tensor(t, g->initializers[i]);
        str_append(&t->s, "\n");
    }
}

static void put_opsets(text *t, pgy_onnx_opset *const *list, size_t count, const char *indent)
{
    for (size_t i = 0; i < count; i++)
        str_printf(&t->s, "%sopset \"%s\" %lld\n", indent, list[i]->domain,
                   (long long)list[i]->version);
}

static void put_function(text *t, const pgy_onnx_function *f)
{
    str_printf(&t->s, "function %s.%s (", f->domain, f->name);
    put_names(t, f->inputs, f->input_count);
    str_append(&t->s, " -> ");
    put_names(t, f->outputs, f->output_count);
    str_append(&t->s, ")");
    if (f->attribute_count) {
        str_append(&t->s, " [");
        put_names(t, f->attributes, f->attribute_count);
        str_append(&t->s, "]");
    }
    put_attributes(t, f->attribute_protos, f->attribute_proto_count);
    str_append(&t->s, "\n");
    put_opsets(t, f->opset_imports, f->opset_import_count, "  ");
    for (size_t i = 0; i < f->node_count; i++) put_node(t, f->nodes[i], 2);
}

char *gs_model_text(pgy_model *model)
{
    text t = {.model = model};
    const pgy_onnx_model *m = pgy_model_proto(model);
    put_opsets(&t, m->opset_imports, m->opset_import_count, "");
    if (m->graph) {
        str_printf(&t.s, "graph \"%s\"\n", m->graph->name);
        put_graph(&t, m->graph, 0);
    }
    for (size_t i = 0; i < m->function_count; i++) put_function(&t, m->functions[i]);
    if (t.failed) {
        str_deinit(&t.s);
        return NULL;
    }
    return str_take(&t.s);
}
