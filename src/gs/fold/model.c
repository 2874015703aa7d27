/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a pgy_graph for the executor of operator definitions from nodes of an editable graph: a
 * model with these nodes, their subgraphs and the functions that they call. Constants become graph
 * inputs. In functions they become Constant nodes, because an ONNX function has no initializers. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/edit.h"
#include "gs/fold/fold.h"
#include "gs/fold/model.h"
#include "gs/graph/type.h"

enum { LEAST_IR_VERSION = 10, MAX_NAME = 24 };

typedef struct builder {
    fold_model *to;
    gs_folder *f;
    pgy_model *model;
    uint32_t date;
    size_t input_count; /* number of inputs of the model; they are the first of its values */
    pgy_onnx_function *
        *functions; /* indexed like document.functions; NULL: no node built so far calls it */
    size_t *pending,
        pending_count;     /* indices of called functions, in the order in which bodies are built */
    size_t function_count; /* number of called functions */
    pgy_gs_tensor **constants; /* constants that the current function's body reads */
    size_t constant_count, constant_capacity;
    bool in_function;
} builder;

static const char *tensor_name(builder *b, const pgy_gs_tensor *t)
{
    char text[MAX_NAME];
    if (pgy_gs_is_omitted(t)) return "";
    snprintf(text, sizeof text, "t%llu", (unsigned long long)tensor_box(t)->serial);
    return pgy_model_strdup(b->model, text);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static pgy_status add_value(builder *b, pgy_gs_tensor *t, pgy_error *err)
{
    fold_model *m = b->to;
    void *values = m->values;
    fold_state *s = gs_fold_state(b->f, tensor_box(t)->serial);
    if (!s || !mem_grow(&values, &m->value_capacity, m->value_count + 1, sizeof *m->values))
        return gs_no_memory(err);
    m->values = values;
    s->listed = b->date;
    s->slot = m->value_count;
    fold_value *v = &m->values[m->value_count++];
    pgy_tensor *known = gs_fold_known(b->f, t);
    *v = (fold_value){.tensor = t, .name = tensor_name(b, t)};
    if (known) v->value = pgy_tensor_retain(known);
    return v->name ? PGY_OK : gs_no_memory(err);
}

static pgy_status note_function_constant(builder *b, pgy_gs_tensor *t, pgy_error *err)
{
    void *items = b->constants;
    if (!mem_grow(&items, &b->constant_capacity, b->constant_count + 1, sizeof *b->constants))
        return gs_no_memory(err);
    b->constants = items;
    b->constants[b->constant_count++] = t;
    return PGY_OK;
}

/* Makes a constant an input of the model or, in a function, one of b->constants. */
static pgy_status note_constant(builder *b, pgy_gs_tensor *t, pgy_error *err)
{
    const bool known = !b->in_function && gs_fold_known(b->f, t);
    if ((t->kind != PGY_GS_CONSTANT && !known) || pgy_gs_is_omitted(t)) return PGY_OK;
    fold_state *s = gs_fold_state(b->f, tensor_box(t)->serial);
    if (!s) return gs_no_memory(err);
    if (s->listed == b->date) return PGY_OK;
    s->listed = b->date;
    return b->in_function ? note_function_constant(b, t, err) : add_value(b, t, err);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static pgy_status build_graph(builder *b, pgy_onnx_graph **out, const pgy_gs_graph *g,
                              pgy_error *err);

static pgy_status build_names(builder *b, const char *const **out, pgy_gs_tensor *const *tensors,
                              size_t count, pgy_error *err)
{
    const char **names = pgy_model_alloc(b->model, count + 1, sizeof *names);
    if (!names) return gs_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const pgy_status st = note_constant(b, tensors[i], err);
        if (st) return st;
        if (!(names[i] = tensor_name(b, tensors[i]))) return gs_no_memory(err);
    }
    *out = names;
    return PGY_OK;
}

static pgy_status build_graph_attribute(builder *b, pgy_onnx_attribute **out,
                                        const pgy_gs_attribute *a, pgy_error *err)
{
    const bool list = a->value && pgy_onnx_attribute_kind(a->value) == PGY_ATTR_GRAPHS;
    const pgy_onnx_attribute type = {.type = list ? PGY_ATTR_GRAPHS : PGY_ATTR_GRAPH};
    pgy_onnx_attribute *made = attribute_create(b->model, a->name, &type);
    pgy_onnx_graph **graphs = pgy_model_alloc(b->model, a->graph_count, sizeof *graphs);
    pgy_status st = made && graphs ? PGY_OK : gs_no_memory(err);
    for (size_t i = 0; !st && i < a->graph_count; i++)
        st = build_graph(b, &graphs[i], a->graphs[i], err);
    if (st) return st;
    if (list) {
        made->graphs = graphs;
        made->graph_count = a->graph_count;
    } else {
        made->g = graphs[0];
    }
    *out = made;
    return PGY_OK;
}

static pgy_status build_attributes(builder *b, pgy_onnx_node *to, const pgy_gs_node *n,
                                   pgy_error *err)
{
    pgy_onnx_attribute **made = pgy_model_alloc(b->model, n->attribute_count + 1, sizeof *made);
    pgy_status st = made ? PGY_OK : gs_no_memory(err);
    for (size_t i = 0; !st && i < n->attribute_count; i++) {
        const pgy_gs_attribute *a = &n->attributes[i];
        if (a->graph_count)
            st = build_graph_attribute(b, &made[to->attribute_count], a, err);
        else
            made[to->attribute_count] = (pgy_onnx_attribute *)a->value;
        if (made[to->attribute_count]) to->attribute_count++;
    }
    to->attributes = made;
    return st;
}

static pgy_status note_call(builder *b, const pgy_gs_node *n, pgy_error *err)
{
    const size_t place = gs_function_index_find(&b->f->functions, n);
    if (place == SIZE_MAX || b->functions[place]) return PGY_OK;
    if (!(b->functions[place] = pgy_model_alloc(b->model, 1, sizeof *b->functions[place])))
        return gs_no_memory(err);
    b->pending[b->pending_count++] = place;
    b->function_count++;
    return PGY_OK;
}

/* Names an unnamed node after its first output, for error messages. */
static const char *node_name(const pgy_gs_node *n)
{
    for (size_t i = 0; !*n->name && i < n->output_count; i++)
        if (*n->outputs[i]->name) return n->outputs[i]->name;
    return n->name;
}

static pgy_status build_node(builder *b, pgy_onnx_node **out, const pgy_gs_node *n, pgy_error *err)
{
    pgy_onnx_node *to = pgy_model_alloc(b->model, 1, sizeof *to);
    if (!to) return gs_no_memory(err);
    *to = (pgy_onnx_node){.name = node_name(n),
                          .op_type = n->op,
                          .domain = n->domain,
                          .overload = n->overload,
                          .doc_string = "",
                          .input_count = n->input_count,
                          .output_count = n->output_count};
    pgy_status st = build_names(b, &to->inputs, n->inputs, n->input_count, err);
    if (!st) st = build_names(b, &to->outputs, n->outputs, n->output_count, err);
    if (!st) st = build_attributes(b, to, n, err);
    if (!st) st = note_call(b, n, err);
    *out = to;
    return st;
}

static pgy_status build_nodes(builder *b, pgy_onnx_node **to, pgy_gs_node *const *nodes,
                              size_t count, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++) st = build_node(b, &to[i], nodes[i], err);
    return st;
}

/* ---- Graphs ---------------------------------------------------------------------------------- */

static pgy_status build_infos(builder *b, pgy_onnx_value_info *const **out,
                              pgy_gs_tensor *const *tensors, size_t count, bool typed,
                              pgy_error *err)
{
    pgy_onnx_value_info **made = pgy_model_alloc(b->model, count + 1, sizeof *made);
    if (!made) return gs_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        pgy_onnx_value_info *info = made[i] = pgy_model_alloc(b->model, 1, sizeof *info);
        const char *name = tensor_name(b, tensors[i]);
        if (!info || !name) return gs_no_memory(err);
        info->name = name;
        info->doc_string = "";
        if (typed && !(info->type = gs_type_make(b->model, tensors[i], NULL)))
            return gs_no_memory(err);
    }
    *out = made;
    return PGY_OK;
}

static pgy_status build_graph(builder *b, pgy_onnx_graph **out, const pgy_gs_graph *g,
                              pgy_error *err)
{
    pgy_onnx_graph *to = pgy_model_alloc(b->model, 1, sizeof *to);
    pgy_onnx_node **nodes = pgy_model_alloc(b->model, g->node_count + 1, sizeof *nodes);
    if (!to || !nodes) return gs_no_memory(err);
    *to = (pgy_onnx_graph){.name = g->name,
                           .doc_string = "",
                           .nodes = nodes,
                           .node_count = g->node_count,
                           .input_count = g->input_count,
                           .output_count = g->output_count};
    pgy_status st = build_infos(b, &to->inputs, g->inputs, g->input_count, false, err);
    if (!st) st = build_infos(b, &to->outputs, g->outputs, g->output_count, false, err);
    for (size_t i = 0; !st && i < g->output_count; i++) st = note_constant(b, g->outputs[i], err);
    if (!st) st = build_nodes(b, nodes, g->nodes, g->node_count, err);
    *out = to;
    return st;
}

static pgy_status build_imports(builder *b, pgy_onnx_opset *const **out, size_t *count,
                                const pgy_gs_graph *g, pgy_error *err)
{
    pgy_onnx_opset **made = pgy_model_alloc(b->model, g->import_count + 1, sizeof *made);
    if (!made) return gs_no_memory(err);
    for (size_t i = 0; i < g->import_count; i++) {
        if (!(made[i] = pgy_model_alloc(b->model, 1, sizeof **made))) return gs_no_memory(err);
        made[i]->domain = g->imports[i].domain;
        made[i]->version = g->imports[i].version;
    }
    *out = made;
    *count = g->import_count;
    return PGY_OK;
}

/* ---- Functions ------------------------------------------------------------------------------- */

static pgy_status build_constant(builder *b, pgy_onnx_node **out, pgy_gs_tensor *t, pgy_error *err)
{
    pgy_onnx_node *n = pgy_model_alloc(b->model, 1, sizeof *n);
    const char **names = pgy_model_alloc(b->model, 1, sizeof *names);
    pgy_onnx_attribute **list = pgy_model_alloc(b->model, 1, sizeof *list);
    const pgy_onnx_attribute value = {.type = PGY_ATTR_TENSOR, .t = (pgy_onnx_tensor *)t->stored};
    pgy_onnx_attribute *a = attribute_create(b->model, "value", &value);
    pgy_tensor *dense = NULL;
    if (!n || !names || !list || !a || !(names[0] = tensor_name(b, t))) return gs_no_memory(err);
    if (!a->t) {
        pgy_status st = pgy_gs_values(&dense, t, err);
        if (!st) st = pgy_model_tensor(&a->t, b->model, t->name, dense, err);
        pgy_tensor_release(dense);
        if (st) return st;
    }
    list[0] = a;
    *n = (pgy_onnx_node){.name = t->name,
                         .op_type = "Constant",
                         .domain = "",
                         .overload = "",
                         .doc_string = "",
                         .outputs = names,
                         .output_count = 1,
                         .attributes = list,
                         .attribute_count = 1};
    *out = n;
    return PGY_OK;
}

static pgy_status build_parameters(builder *b, pgy_onnx_function *to, const pgy_gs_graph *g,
                                   pgy_error *err)
{
    const char **names = pgy_model_alloc(b->model, g->parameter_count + 1, sizeof *names);
    pgy_onnx_attribute **with = pgy_model_alloc(b->model, g->parameter_count + 1, sizeof *with);
    if (!names || !with) return gs_no_memory(err);
    to->attributes = names;
    to->attribute_protos = with;
    for (size_t i = 0; i < g->parameter_count; i++) {
        const pgy_gs_attribute *p = &g->parameters[i];
        if (p->value)
            with[to->attribute_proto_count++] = (pgy_onnx_attribute *)p->value;
        else
            names[to->attribute_count++] = p->name;
    }
    return PGY_OK;
}

static pgy_status build_body(builder *b, pgy_onnx_function *to, const pgy_gs_graph *g,
                             pgy_error *err)
{
    pgy_onnx_node **body = pgy_model_alloc(b->model, g->node_count + 1, sizeof *body);
    if (!body) return gs_no_memory(err);
    b->constant_count = 0;
    pgy_status st = build_names(b, &to->inputs, g->inputs, g->input_count, err);
    if (!st) st = build_names(b, &to->outputs, g->outputs, g->output_count, err);
    if (!st) st = build_nodes(b, body, g->nodes, g->node_count, err);
    if (st) return st;
    const size_t count = b->constant_count + g->node_count;
    pgy_onnx_node **nodes = pgy_model_alloc(b->model, count + 1, sizeof *nodes);
    if (!nodes) return gs_no_memory(err);
    for (size_t i = 0; !st && i < b->constant_count; i++)
        st = build_constant(b, &nodes[i], b->constants[i], err);
    memcpy(nodes + b->constant_count, body, g->node_count * sizeof *nodes);
    to->nodes = nodes;
    to->node_count = count;
    return st;
}

static pgy_status build_function(builder *b, size_t place, pgy_error *err)
{
    const pgy_gs_graph *g = b->f->document->functions[place];
    pgy_onnx_function *to = b->functions[place];
    *to = (pgy_onnx_function){.name = g->name,
                              .domain = g->domain,
                              .overload = g->overload,
                              .doc_string = "",
                              .input_count = g->input_count,
                              .output_count = g->output_count};
    b->date =
        ++b->f->date; /* b->constants is of this function only, so older marks must not count */
    pgy_status st = build_parameters(b, to, g, err);
    if (!st) st = build_body(b, to, g, err);
    if (!st) st = build_imports(b, &to->opset_imports, &to->opset_import_count, g, err);
    return st;
}

static pgy_status build_functions(builder *b, pgy_onnx_model *to, pgy_error *err)
{
    pgy_status st = PGY_OK;
    b->in_function = true;
    for (size_t i = 0; !st && i < b->pending_count; i++) st = build_function(b, b->pending[i], err);
    b->in_function = false;
    pgy_onnx_function **called = pgy_model_alloc(b->model, b->function_count + 1, sizeof *called);
    if (!st && !called) st = gs_no_memory(err);
    for (size_t i = 0; !st && i < b->pending_count; i++) called[i] = b->functions[b->pending[i]];
    to->functions = called;
    to->function_count = b->function_count;
    return st;
}

/* ---- The model ------------------------------------------------------------------------------- */

static pgy_status build_top(builder *b, pgy_onnx_graph *to, pgy_gs_node *const *nodes, size_t count,
                            pgy_error *err)
{
    fold_model *m = b->to;
    pgy_onnx_node **made = pgy_model_alloc(b->model, count + 1, sizeof *made);
    if (!made) return gs_no_memory(err);
    pgy_status st = build_nodes(b, made, nodes, count, err);
    if (st) return st;
    b->input_count = m->value_count;
    pgy_gs_tensor **inputs = mem_calloc(m->value_count, sizeof(*inputs));
    if (!inputs) return gs_no_memory(err);
    for (size_t i = 0; i < m->value_count; i++) inputs[i] = m->values[i].tensor;
    *to = (pgy_onnx_graph){.name = "folding",
                           .doc_string = "",
                           .nodes = made,
                           .node_count = count,
                           .input_count = m->value_count};
    st = build_infos(b, &to->inputs, inputs, m->value_count, true, err);
    mem_free(inputs);
    for (size_t i = 0; !st && i < count; i++)
        for (size_t k = 0; !st && k < nodes[i]->output_count; k++)
            if (!pgy_gs_is_omitted(nodes[i]->outputs[k]))
                st = add_value(b, nodes[i]->outputs[k], err);
    return st;
}

static pgy_status build_model(builder *b, pgy_gs_graph *g, pgy_gs_node *const *nodes, size_t count,
                              pgy_error *err)
{
    pgy_onnx_model *to = pgy_model_alloc(b->model, 1, sizeof *to);
    pgy_onnx_graph *graph = pgy_model_alloc(b->model, 1, sizeof *graph);
    if (!to || !graph) return gs_no_memory(err);
    *to = (pgy_onnx_model){.ir_version = LEAST_IR_VERSION,
                           .producer_name = "",
                           .producer_version = "",
                           .domain = "",
                           .doc_string = "",
                           .graph = graph};
    pgy_status st = build_imports(b, &to->opset_imports, &to->opset_import_count, g, err);
    if (!st) st = build_top(b, graph, nodes, count, err);
    if (!st) st = build_functions(b, to, err);
    if (!st) pgy_model_set_proto(b->model, to);
    return st;
}

pgy_status gs_fold_model_init(fold_model *m, struct gs_folder *f, pgy_gs_graph *g,
                              pgy_gs_node **nodes, size_t count, pgy_error *err)
{
    const size_t functions = f->document->function_count;
    builder b = {.to = m, .f = f, .date = ++f->date};
    *m = (fold_model){.nodes = nodes, .node_count = count};
    b.functions = mem_calloc(functions, sizeof(*b.functions));
    b.pending = mem_calloc(functions, sizeof(*b.pending));
    pgy_status st = b.functions && b.pending ? PGY_OK : gs_no_memory(err);
    if (!st) st = pgy_model_create(&b.model, err);
    if (!st) st = build_model(&b, g, nodes, count, err);
    if (!st) st = pgy_graph_import(&m->graph, b.model, err);
    mem_free(b.functions);
    mem_free(b.pending);
    mem_free(b.constants);
    pgy_model_destroy(b.model);
    if (st) gs_fold_model_deinit(m);
    return st;
}

void gs_fold_model_deinit(fold_model *m)
{
    for (size_t i = 0; i < m->value_count; i++) gs_fold_release(&m->values[i]);
    mem_free(m->values);
    pgy_graph_destroy(m->graph);
    *m = (fold_model){0};
}
