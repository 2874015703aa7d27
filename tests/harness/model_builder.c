/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of messages are re-allocated in the model's arena as they double. */
#include "harness/model_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void *need(void *p)
{
    if (!p) fail_msg("model_builder: out of memory");
    return p;
}

static void must(pgy_status st, const pgy_error *err)
{
    if (st) fail_msg("model_builder: %s", err->text);
}

static void *allocate(model_builder *b, size_t count, size_t item)
{
    return need(pgy_model_alloc(b->model, count, item));
}

static const char *copy_text(model_builder *b, const char *text)
{
    return need((void *)pgy_model_strdup(b->model, text));
}

/* list[count] = item, growing at powers of two */
static void *append(model_builder *b, const void *list, size_t count, void *item)
{
    void **items = (void **)list;
    if ((count & (count - 1)) == 0) {
        items = allocate(b, count ? 2 * count : 1, sizeof *items);
        if (count) memcpy(items, list, count * sizeof *items);
    }
    items[count] = item;
    return items;
}

static const char *const *split(model_builder *b, const char *text, size_t *count)
{
    const char **names = allocate(b, strlen(text) + 1, sizeof *names);
    size_t n = 0;
    for (const char *p = text; *p;) {
        const size_t size = strcspn(p, " ");
        if (size) {
            char name[256];
            snprintf(name, sizeof name, "%.*s", (int)size, p);
            names[n++] = strcmp(name, "-") == 0 ? "" : copy_text(b, name);
        }
        p += size + strspn(p + size, " ");
    }
    *count = n;
    return names;
}

/* ---- Models, graphs, functions -------------------------------------------------------------- */

static pgy_onnx_graph *new_graph(model_builder *b, const char *name)
{
    pgy_onnx_graph *g = allocate(b, 1, sizeof *g);
    g->name = copy_text(b, name);
    g->doc_string = "";
    return g;
}

model_builder builder_start(int64_t opset)
{
    pgy_error err = {0};
    model_builder b = {0};
    must(pgy_model_create(&b.model, &err), &err);
    b.proto = allocate(&b, 1, sizeof *b.proto);
    b.proto->ir_version = 8;
    b.proto->producer_name = b.proto->producer_version = b.proto->domain = b.proto->doc_string = "";
    b.graph = new_graph(&b, "test");
    b.proto->graph = b.graph;
    builder_opset(&b, "", opset);
    return b;
}

void builder_opset(model_builder *b, const char *domain, int64_t version)
{
    pgy_onnx_opset *o = allocate(b, 1, sizeof *o);
    o->domain = copy_text(b, domain);
    o->version = version;
    b->proto->opset_imports = append(b, b->proto->opset_imports, b->proto->opset_import_count++, o);
}

model_builder builder_subgraph(model_builder *b, const char *name)
{
    return (model_builder){.model = b->model, .proto = b->proto, .graph = new_graph(b, name)};
}

model_builder builder_function(model_builder *b, const char *domain, const char *name,
                               const char *inputs, const char *outputs, const char *attributes)
{
    pgy_onnx_function *f = allocate(b, 1, sizeof *f);
    f->domain = copy_text(b, domain);
    f->name = copy_text(b, name);
    f->overload = f->doc_string = "";
    f->inputs = split(b, inputs, &f->input_count);
    f->outputs = split(b, outputs, &f->output_count);
    f->attributes = split(b, attributes, &f->attribute_count);
    f->opset_imports = b->proto->opset_imports;
    f->opset_import_count = b->proto->opset_import_count;
    b->proto->functions = append(b, b->proto->functions, b->proto->function_count++, f);
    return builder_subgraph(b, name);
}

void builder_end_function(model_builder *body)
{
    pgy_onnx_function *f = body->proto->functions[body->proto->function_count - 1];
    f->nodes = body->graph->nodes;
    f->node_count = body->graph->node_count;
}

/* ---- Values --------------------------------------------------------------------------------- */

static pgy_onnx_dim *new_dim(model_builder *b, const char *text)
{
    pgy_onnx_dim *d = allocate(b, 1, sizeof *d);
    d->dim_param = d->denotation = "";
    if (*text >= '0' && *text <= '9') {
        d->dim_value = strtoll(text, NULL, 10);
        d->message.present = 1u << 1;
    } else if (strcmp(text, "?") != 0) {
        d->dim_param = copy_text(b, text);
        d->message.present = 1u << 2;
    }
    return d;
}

static pgy_onnx_shape *new_shape(model_builder *b, const char *text)
{
    pgy_onnx_shape *s = allocate(b, 1, sizeof *s);
    while (*text) {
        char word[128];
        const size_t size = strcspn(text, ",");
        snprintf(word, sizeof word, "%.*s", (int)size, text);
        s->dims = append(b, s->dims, s->dim_count++, new_dim(b, word));
        text += size;
        text += strspn(text, ", ");
    }
    return s;
}

static pgy_onnx_value_info *new_info(model_builder *b, const char *name, pgy_dtype dtype,
                                     const char *shape)
{
    pgy_onnx_value_info *v = allocate(b, 1, sizeof *v);
    v->name = copy_text(b, name);
    v->doc_string = "";
    if (dtype == PGY_DTYPE_NONE) return v;
    v->type = allocate(b, 1, sizeof *v->type);
    v->type->denotation = "";
    v->type->tensor_type = allocate(b, 1, sizeof *v->type->tensor_type);
    v->type->tensor_type->elem_type = pgy_dtype_describe(dtype)->onnx;
    if (shape) v->type->tensor_type->shape = new_shape(b, shape);
    return v;
}

void builder_input(model_builder *b, const char *name, pgy_dtype dtype, const char *shape)
{
    b->graph->inputs =
        append(b, b->graph->inputs, b->graph->input_count++, new_info(b, name, dtype, shape));
}

void builder_output(model_builder *b, const char *name, pgy_dtype dtype, const char *shape)
{
    b->graph->outputs =
        append(b, b->graph->outputs, b->graph->output_count++, new_info(b, name, dtype, shape));
}

void builder_value(model_builder *b, const char *name, pgy_dtype dtype, const char *shape)
{
    b->graph->value_infos = append(b, b->graph->value_infos, b->graph->value_info_count++,
                                   new_info(b, name, dtype, shape));
}

static pgy_onnx_tensor *tensor_proto(model_builder *b, const char *name, pgy_tensor *t)
{
    pgy_error err = {0};
    pgy_onnx_tensor *proto = NULL;
    must(pgy_model_tensor(&proto, b->model, name, t, &err), &err);
    return proto;
}

void builder_initializer(model_builder *b, const char *name, pgy_tensor *t)
{
    b->graph->initializers =
        append(b, b->graph->initializers, b->graph->initializer_count++, tensor_proto(b, name, t));
}

static pgy_tensor *new_tensor(pgy_dtype dtype, const char *shape)
{
    pgy_error err = {0};
    int64_t dims[16];
    size_t rank = 0;
    pgy_tensor *t = NULL;
    for (char *end; *shape; shape = end + strspn(end, ", "))
        dims[rank++] = strtoll(shape, &end, 10);
    must(pgy_tensor_create(&t, dtype, rank, dims, &err), &err);
    return t;
}

void builder_floats(model_builder *b, const char *name, const char *shape, const float *values)
{
    pgy_tensor *t = new_tensor(PGY_F32, shape);
    float *to = pgy_tensor_data(t);
    for (size_t i = 0; i < pgy_tensor_count(t); i++) to[i] = values ? values[i] : 1.0f;
    builder_initializer(b, name, t);
    pgy_tensor_release(t);
}

void builder_ints(model_builder *b, const char *name, const char *shape, const int64_t *values)
{
    pgy_tensor *t = new_tensor(PGY_I64, shape);
    int64_t *to = pgy_tensor_data(t);
    for (size_t i = 0; i < pgy_tensor_count(t); i++) to[i] = values ? values[i] : 1;
    builder_initializer(b, name, t);
    pgy_tensor_release(t);
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

pgy_onnx_node *builder_node(model_builder *b, const char *op_type, const char *inputs,
                            const char *outputs)
{
    pgy_onnx_node *n = allocate(b, 1, sizeof *n);
    const char *colon = strchr(op_type, ':');
    char domain[128] = "", name[64];
    if (colon) snprintf(domain, sizeof domain, "%.*s", (int)(colon - op_type), op_type);
    snprintf(name, sizeof name, "n%zu", b->graph->node_count);
    n->op_type = copy_text(b, colon ? colon + 1 : op_type);
    n->domain = copy_text(b, domain);
    n->name = copy_text(b, name);
    n->overload = n->doc_string = "";
    n->inputs = split(b, inputs, &n->input_count);
    n->outputs = split(b, outputs, &n->output_count);
    b->graph->nodes = append(b, b->graph->nodes, b->graph->node_count++, n);
    return n;
}

static pgy_onnx_attribute *new_attr(model_builder *b, pgy_onnx_node *n, const char *name,
                                    pgy_onnx_attribute_type type)
{
    pgy_onnx_attribute *a = allocate(b, 1, sizeof *a);
    a->name = copy_text(b, name);
    a->ref_attr_name = a->doc_string = "";
    a->type = (int32_t)type;
    n->attributes = append(b, n->attributes, n->attribute_count++, a);
    return a;
}

void builder_attr_int(model_builder *b, pgy_onnx_node *n, const char *name, int64_t value)
{
    new_attr(b, n, name, PGY_ATTR_INT)->i = value;
}

void builder_attr_ints(model_builder *b, pgy_onnx_node *n, const char *name, size_t count,
                       const int64_t *values)
{
    pgy_onnx_attribute *a = new_attr(b, n, name, PGY_ATTR_INTS);
    int64_t *copy = allocate(b, count ? count : 1, sizeof *copy);
    if (count) memcpy(copy, values, count * sizeof *copy);
    a->ints = copy;
    a->int_count = count;
}

void builder_attr_floats(model_builder *b, pgy_onnx_node *n, const char *name, size_t count,
                         const float *values)
{
    pgy_onnx_attribute *a = new_attr(b, n, name, PGY_ATTR_FLOATS);
    float *copy = allocate(b, count ? count : 1, sizeof *copy);
    if (count) memcpy(copy, values, count * sizeof *copy);
    a->floats = copy;
    a->float_count = count;
}

void builder_attr_float(model_builder *b, pgy_onnx_node *n, const char *name, float value)
{
    new_attr(b, n, name, PGY_ATTR_FLOAT)->f = value;
}

void builder_attr_string(model_builder *b, pgy_onnx_node *n, const char *name, const char *value)
{
    new_attr(b, n, name, PGY_ATTR_STRING)->s = (pgy_bytes){copy_text(b, value), strlen(value)};
}

void builder_attr_strings(model_builder *b, pgy_onnx_node *n, const char *name, size_t count,
                          const char *const *values)
{
    pgy_onnx_attribute *a = new_attr(b, n, name, PGY_ATTR_STRINGS);
    pgy_bytes *copy = allocate(b, count ? count : 1, sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = (pgy_bytes){copy_text(b, values[i]), strlen(values[i])};
    a->strings = copy;
    a->string_count = count;
}

void builder_attr_tensor(model_builder *b, pgy_onnx_node *n, const char *name, pgy_tensor *t)
{
    new_attr(b, n, name, PGY_ATTR_TENSOR)->t = tensor_proto(b, "", t);
}

void builder_attr_graph(model_builder *b, pgy_onnx_node *n, const char *name,
                        const model_builder *sub)
{
    new_attr(b, n, name, PGY_ATTR_GRAPH)->g = sub->graph;
}

void builder_attr_ref(model_builder *b, pgy_onnx_node *n, const char *name,
                      pgy_onnx_attribute_type type, const char *refers_to)
{
    new_attr(b, n, name, type)->ref_attr_name = copy_text(b, refers_to);
}

/* ---- The end -------------------------------------------------------------------------------- */

pgy_model *builder_finish(model_builder *b)
{
    pgy_model *model = b->model;
    pgy_model_set_proto(model, b->proto);
    *b = (model_builder){0};
    return model;
}

pgy_model *builder_finish_bytes(model_builder *b)
{
    pgy_error err = {0};
    void *bytes = NULL;
    size_t size = 0;
    pgy_model *built = builder_finish(b), *model = NULL;
    must(pgy_model_serialize(&bytes, &size, built, &err), &err);
    must(pgy_model_parse(&model, bytes, size, false, NULL, &err), &err);
    pgy_text_free(bytes);
    pgy_model_destroy(built);
    return model;
}
