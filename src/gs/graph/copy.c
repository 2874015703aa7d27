/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a graph into a document of its own. Graphs, nodes and tensors are new. Names, shapes,
 * weights and attribute values are shared, because they are never changed in place; the new
 * document keeps the old one's memory alive. Consumers and producers get the order of an import,
 * because nodes are attached in order. */
#include <string.h>

#include "base/alloc.h"
#include "gs/graph/document.h"
#include "gs/graph/registry.h"

typedef struct copying {
    gs_document *from, *to;
    uint64_t walk; /* a tensor whose `seen` equals this has a copy: tensors[place] */
    pgy_gs_tensor_list tensors;
    pgy_error *err;
} copying;

/* ---- Tensors --------------------------------------------------------------------------------- */

static pgy_status copy_tensor(pgy_gs_tensor **out, copying *c, const pgy_gs_tensor *from)
{
    gs_tensor *box = tensor_box(from);
    pgy_gs_tensor *t = NULL;
    if (box->seen == c->walk) {
        *out = c->tensors.items[box->place];
        return PGY_OK;
    }
    pgy_status st = gs_tensor_create(&t, c->to, from->name, c->err);
    if (!st) st = gs_list_push(&c->tensors, t, c->err);
    if (st) return st;
    box->seen = c->walk;
    box->place = c->tensors.count - 1;
    gs_tensor_take(t, from);
    t->info = from->info;
    tensor_box(t)->info_changed = box->info_changed;
    pgy_gs_graph *home = graph_box(box->home)->twin;
    tensor_box(t)->home = home ? home : c->to->top;
    *out = t;
    return PGY_OK;
}

static pgy_status copy_list(pgy_gs_tensor ***out, copying *c, pgy_gs_tensor *const *from,
                            size_t count)
{
    pgy_gs_tensor **list = gs_alloc(c->to, count, sizeof(*list));
    if (!list) return gs_no_memory(c->err);
    for (size_t i = 0; i < count; i++) {
        const pgy_status st = copy_tensor(&list[i], c, from[i]);
        if (st) return st;
    }
    *out = list;
    return PGY_OK;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static pgy_status copy_level(pgy_gs_graph **out, copying *c, const pgy_gs_graph *from,
                             pgy_gs_graph *parent);

static pgy_status copy_attribute(pgy_gs_attribute *to, copying *c, const pgy_gs_attribute *from,
                                 pgy_gs_graph *g)
{
    pgy_status st = PGY_OK;
    *to = *from;
    if (!from->graph_count) return PGY_OK;
    to->graphs = gs_alloc(c->to, from->graph_count, sizeof(*to->graphs));
    if (!to->graphs) return gs_no_memory(c->err);
    for (size_t i = 0; i < from->graph_count && !st; i++) {
        st = copy_level(&to->graphs[i], c, from->graphs[i], g);
        if (!st) graph_box(to->graphs[i])->held = true;
    }
    return st;
}

static pgy_status copy_attributes(pgy_gs_node *to, copying *c, const pgy_gs_node *from,
                                  pgy_gs_graph *g)
{
    pgy_status st = PGY_OK;
    pgy_gs_attribute *list = gs_alloc(c->to, from->attribute_count, sizeof(*list));
    if (!list) return gs_no_memory(c->err);
    for (size_t i = 0; i < from->attribute_count && !st; i++)
        st = copy_attribute(&list[i], c, &from->attributes[i], g);
    to->attributes = list;
    to->attribute_count = gs_node_box(to)->attribute_capacity = from->attribute_count;
    return st;
}

static pgy_status copy_edges(pgy_gs_node *to, copying *c, const pgy_gs_node *from)
{
    pgy_gs_tensor *t = NULL;
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < from->input_count && !st; i++) {
        st = copy_tensor(&t, c, from->inputs[i]);
        if (!st) st = gs_attach_input(to, i, t, c->err);
    }
    for (size_t i = 0; i < from->output_count && !st; i++) {
        st = copy_tensor(&t, c, from->outputs[i]);
        if (!st) st = gs_attach_output(to, i, t, c->err);
    }
    return st;
}

static pgy_status copy_node(pgy_gs_node **out, copying *c, const pgy_gs_node *from, pgy_gs_graph *g)
{
    pgy_gs_node *n = NULL;
    pgy_status st = gs_node_create(&n, c->to, c->err);
    if (st) return st;
    gs_node *box = gs_node_box(n);
    n->name = from->name;
    n->op = from->op;
    n->domain = from->domain;
    n->overload = from->overload;
    n->doc_string = from->doc_string;
    n->stored = from->stored;
    box->changed = gs_node_box(from)->changed;
    box->named.name = n->name;
    box->named.hash = gs_hash(n->name);
    if (!gs_names_add(&c->to->node_names, &box->named)) return gs_no_memory(c->err);
    if (from->attribute_count) st = copy_attributes(n, c, from, g);
    if (!st) st = copy_edges(n, c, from);
    if (!st) *out = n;
    return st;
}

static pgy_status copy_nodes(pgy_gs_graph *to, copying *c, const pgy_gs_graph *from)
{
    to->nodes = gs_alloc(c->to, from->node_count, sizeof(*to->nodes));
    if (!to->nodes) return gs_no_memory(c->err);
    graph_box(to)->node_capacity = from->node_count;
    for (size_t i = 0; i < from->node_count; i++) {
        const pgy_status st = copy_node(&to->nodes[i], c, from->nodes[i], to);
        if (st) return st;
        to->nodes[i]->graph = to;
        gs_node_box(to->nodes[i])->index_hint = i;
        to->node_count = i + 1;
    }
    return PGY_OK;
}

/* ---- Levels ---------------------------------------------------------------------------------- */

static pgy_status copy_kept(pgy_gs_graph *to, copying *c, const pgy_gs_graph *from)
{
    const gs_graph *old = graph_box(from);
    gs_graph *box = graph_box(to);
    if (!old->kept_count) return PGY_OK;
    const pgy_status st = copy_list(&box->kept, c, old->kept, old->kept_count);
    if (st) return st;
    box->kept_count = old->kept_count;
    for (size_t i = 0; i < box->kept_count; i++)
        gs_names_remove(&c->to->tensor_names, &tensor_box(box->kept[i])->named);
    return PGY_OK;
}

static void copy_fields(pgy_gs_graph *to, const pgy_gs_graph *from)
{
    gs_graph *box = graph_box(to);
    const gs_graph *old = graph_box(from);
    to->name = from->name;
    to->doc_string = from->doc_string;
    to->opset = from->opset;
    to->imports = from->imports;
    to->import_count = from->import_count;
    to->ir_version = from->ir_version;
    to->producer_name = from->producer_name;
    to->producer_version = from->producer_version;
    to->is_function = from->is_function;
    to->domain = from->domain;
    to->overload = from->overload;
    to->parameters = from->parameters;
    to->parameter_count = from->parameter_count;
    to->stored = from->stored;
    box->name_count = old->name_count;
    box->stored_function = old->stored_function;
    box->ir_version_set = old->ir_version_set;
}

static pgy_status copy_level(pgy_gs_graph **out, copying *c, const pgy_gs_graph *from,
                             pgy_gs_graph *parent)
{
    pgy_gs_graph *to = NULL;
    pgy_status st = gs_graph_create(&to, c->to, parent, NULL, c->err);
    if (st) return st;
    if (!c->to->top) c->to->top = to;
    graph_box(from)->twin = to;
    copy_fields(to, from);
    st = copy_list(&to->inputs, c, from->inputs, from->input_count);
    if (!st) to->input_count = graph_box(to)->input_capacity = from->input_count;
    if (!st) st = copy_list(&to->outputs, c, from->outputs, from->output_count);
    if (!st) to->output_count = graph_box(to)->output_capacity = from->output_count;
    if (!st) st = copy_nodes(to, c, from);
    if (!st) st = copy_kept(to, c, from);
    graph_box(to)->changed = graph_box(from)->changed;
    if (!st) *out = to;
    return st;
}

static pgy_status copy_functions(copying *c)
{
    gs_document *to = c->to;
    const gs_document *from = c->from;
    to->functions = gs_alloc(to, from->function_count, sizeof(*to->functions));
    if (!to->functions) return gs_no_memory(c->err);
    to->function_capacity = from->function_count;
    c->walk = ++c->from->walk; /* the copied graph may itself be one of the functions */
    for (size_t i = 0; i < from->function_count; i++) {
        const pgy_status st = copy_level(&to->functions[i], c, from->functions[i], NULL);
        if (st) return st;
        to->function_count = i + 1;
    }
    gs_publish_functions(to);
    return PGY_OK;
}

/* Sets the model's fields in the copy. Only a copied main graph refers to the imported file, so a
 * copied subgraph does not get the file's other fields, such as metadata. */
static void make_top(copying *c, const pgy_gs_graph *from)
{
    pgy_gs_graph *top = c->to->top;
    const pgy_gs_graph *old = c->from->top;
    if (from == old) {
        c->to->source = c->from->source;
        c->to->edits = c->from->edits;
        return;
    }
    top->is_function = false;
    top->producer_name = old->producer_name;
    top->producer_version = old->producer_version;
    top->ir_version = old->ir_version;
    gs_touch(top);
}

pgy_status pgy_gs_copy(pgy_gs_graph **out, const pgy_gs_graph *g, pgy_error *err)
{
    if (!out || !g)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out' and the graph must not be NULL");
    copying c = {.from = graph_box(g)->document, .err = err};
    c.walk = ++c.from->walk;
    for (size_t i = 0; i < c.from->graph_count; i++) graph_box(c.from->graphs[i])->twin = NULL;
    pgy_gs_graph *top = NULL;
    pgy_status st = gs_document_create(&c.to, err);
    if (!st) st = pgy_model_keep(c.to->store, c.from->store, err);
    if (!st) st = copy_level(&top, &c, g, NULL);
    if (!st) st = copy_functions(&c);
    if (!st) st = gs_registry_copy(c.to, c.from, err);
    if (st) goto done;
    c.to->shares_subgraphs = c.from->shares_subgraphs;
    make_top(&c, g);
    *out = c.to->top;
    c.to = NULL;
done:
    pgy_gs_tensor_list_free(&c.tensors);
    gs_document_destroy(c.to);
    return st;
}
