/* SPDX-License-Identifier: Apache-2.0 */
/* Exports an editable graph as a model. An imported message that is still correct is reused, and
 * the writer copies its bytes; only edited parts get new messages. An unedited graph gives the
 * imported model's bytes. export_tensor.c exports weights and declarations. */
#include "gs/io/export.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/sized.h"

static const char LOG_PATH[] = "gs/io/export.c";
enum { FUNCTION_IR = 8, OVERLOAD_IR = 10 };

/* ---- Attributes ------------------------------------------------------------------------------ */

/* True if the attribute holds its first graph in `g`, not in the list `graphs`. */
static bool holds_single(const pgy_onnx_attribute *a)
{
    return a->g || pgy_onnx_attribute_kind(a) == PGY_ATTR_GRAPH;
}

static bool same_graphs(const pgy_onnx_attribute *from, pgy_onnx_graph *const *graphs, size_t count)
{
    const size_t single = from->g != NULL;
    if (count != single + from->graph_count) return false;
    if (single && graphs[0] != from->g) return false;
    for (size_t i = single; i < count; i++)
        if (graphs[i] != from->graphs[i - single]) return false;
    return true;
}

pgy_status export_attribute(pgy_onnx_attribute **out, exporter *x, const pgy_gs_attribute *a)
{
    *out = (pgy_onnx_attribute *)a->value;
    if (!a->graph_count) return PGY_OK;
    pgy_onnx_graph **graphs = export_alloc(x, a->graph_count, sizeof(*graphs));
    if (!graphs) return export_no_memory(x);
    for (size_t i = 0; i < a->graph_count; i++) {
        const pgy_status st = export_level(&graphs[i], x, a->graphs[i]);
        if (st) return st;
    }
    if (same_graphs(a->value, graphs, a->graph_count)) return PGY_OK;
    pgy_onnx_attribute *to = export_alloc(x, 1, sizeof(*to));
    if (!to) return export_no_memory(x);
    const size_t single = holds_single(a->value);
    *to = *a->value;
    to->message.raw = (pgy_bytes){0};
    to->g = single ? graphs[0] : NULL;
    to->graphs = graphs + single;
    to->graph_count = a->graph_count - single;
    *out = to;
    return PGY_OK;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static bool same_slots(const char *const *names, size_t count, pgy_gs_tensor *const *slots,
                       size_t slot_count)
{
    if (count != slot_count) return false;
    for (size_t i = 0; i < count; i++)
        if (names[i] != slots[i]->name && strcmp(names[i], slots[i]->name) != 0) return false;
    return true;
}

static const char *const *slot_names(exporter *x, pgy_gs_tensor *const *slots, size_t count)
{
    const char **names = export_alloc(x, count, sizeof(*names));
    for (size_t i = 0; names && i < count; i++) names[i] = slots[i]->name;
    return names;
}

static bool is_unchanged(const pgy_gs_node *n, pgy_onnx_attribute *const *attributes)
{
    const pgy_onnx_node *from = n->stored;
    if (!from || gs_node_box(n)->changed || from->attribute_count != n->attribute_count)
        return false;
    for (size_t i = 0; attributes && i < n->attribute_count; i++)
        if (attributes[i] != from->attributes[i]) return false;
    return same_slots(from->inputs, from->input_count, n->inputs, n->input_count) &&
           same_slots(from->outputs, from->output_count, n->outputs, n->output_count);
}

static pgy_status export_node(pgy_onnx_node **out, exporter *x, const pgy_gs_node *n)
{
    pgy_onnx_attribute **attributes = NULL;
    if (*n->overload && x->ir_version < OVERLOAD_IR) x->ir_version = OVERLOAD_IR;
    if (!gs_has_subgraphs(n) && is_unchanged(n, NULL)) {
        *out = (pgy_onnx_node *)n->stored;
        return PGY_OK;
    }
    attributes = export_alloc(x, n->attribute_count, sizeof(*attributes));
    if (!attributes) return export_no_memory(x);
    for (size_t i = 0; i < n->attribute_count; i++) {
        const pgy_status st = export_attribute(&attributes[i], x, &n->attributes[i]);
        if (st) return st;
    }
    if (is_unchanged(n, attributes)) {
        *out = (pgy_onnx_node *)n->stored;
        return PGY_OK;
    }
    pgy_onnx_node *to = export_alloc(x, 1, sizeof(*to));
    if (!to) return export_no_memory(x);
    if (n->stored) *to = *n->stored;
    to->message.raw = (pgy_bytes){0};
    to->name = n->name;
    to->op_type = n->op;
    to->domain = n->domain;
    to->overload = n->overload;
    to->doc_string = n->doc_string;
    to->attributes = attributes;
    to->attribute_count = n->attribute_count;
    to->inputs = slot_names(x, n->inputs, n->input_count);
    to->input_count = n->input_count;
    to->outputs = slot_names(x, n->outputs, n->output_count);
    to->output_count = n->output_count;
    *out = to;
    return to->inputs && to->outputs ? PGY_OK : export_no_memory(x);
}

static void warn_duplicates(const pgy_gs_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++) {
        const gs_named *item = &gs_node_box(g->nodes[i])->named;
        if (!item->not_alone || !*item->name) continue;
        const gs_named *other = item->next;
        while (other && ((pgy_gs_node *)other->owner)->graph != g) other = other->next;
        if (other) LOG(WARNING, "Graph '%s' has several nodes named '%s'", g->name, item->name);
    }
}

static pgy_status check_cycles(exporter *x, const pgy_gs_graph *g)
{
    pgy_gs_node **order = NULL;
    const pgy_status st = gs_order(&order, g, false, x->err);
    mem_free(order);
    return st;
}

pgy_status export_nodes(pgy_onnx_node ***out, exporter *x, pgy_gs_graph *g, size_t first)
{
    pgy_onnx_node **nodes = export_alloc(x, first + g->node_count, sizeof(*nodes));
    pgy_status st = nodes ? check_cycles(x, g) : export_no_memory(x);
    if (st) return st;
    warn_duplicates(g);
    for (size_t i = 0; i < g->node_count && !st; i++)
        st = export_node(&nodes[first + i], x, g->nodes[i]);
    *out = nodes;
    return st;
}

/* ---- Graphs ---------------------------------------------------------------------------------- */

/* False if an input or output was renamed or retyped, which does not mark its graph as changed. */
static bool same_interface(pgy_gs_tensor *const *tensors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tensor_box(tensors[i])->info_changed) return false;
    return true;
}

static bool is_level_unchanged(const pgy_gs_graph *g)
{
    const gs_graph *box = graph_box(g);
    return g->stored && !box->changed && !box->document->shares_subgraphs &&
           same_interface(g->inputs, g->input_count) && same_interface(g->outputs, g->output_count);
}

static pgy_status fill_level(pgy_onnx_graph *to, exporter *x, pgy_gs_graph *g, level_tensors *lt)
{
    static const pgy_onnx_graph NONE;
    const pgy_onnx_graph *from = g->stored ? g->stored : &NONE;
    lt->are_inputs = g == x->document->top && gs_weights_are_inputs(x->document);
    pgy_onnx_node **nodes = NULL;
    pgy_status st = export_tensors_enter(lt, x, g);
    if (!st) st = export_nodes(&nodes, x, g, 0);
    to->nodes = nodes;
    to->node_count = g->node_count;
    if (!st) st = export_weights(to, x, g, lt);
    if (!st)
        st = export_interface(&to->inputs, &to->input_count, x, g->inputs, g->input_count,
                              from->inputs, from->input_count);
    if (!st && lt->are_inputs) st = export_weight_inputs(to, x, g, lt);
    if (!st)
        st = export_interface(&to->outputs, &to->output_count, x, g->outputs, g->output_count,
                              from->outputs, from->output_count);
    if (!st) st = export_value_infos(&to->value_infos, &to->value_info_count, x, g, lt);
    return st;
}

pgy_status export_level(pgy_onnx_graph **out, exporter *x, pgy_gs_graph *g)
{
    if (is_level_unchanged(g)) {
        *out = (pgy_onnx_graph *)g->stored;
        return PGY_OK;
    }
    level_tensors lt = {0};
    pgy_onnx_graph *to = export_alloc(x, 1, sizeof(*to));
    if (!to) return export_no_memory(x);
    if (g->stored) *to = *g->stored;
    to->message.raw = (pgy_bytes){0};
    to->name = g->name;
    to->doc_string = g->doc_string;
    const bool no_type_check = x->no_type_check;
    x->no_type_check = no_type_check || g->parent;
    const pgy_status st = fill_level(to, x, g, &lt);
    x->no_type_check = no_type_check;
    export_tensors_leave(&lt);
    if (!st) *out = to;
    return st;
}

/* ---- Functions ------------------------------------------------------------------------------- */

/* Makes a Constant node for a weight. A function has no initializers, so its weights become nodes
 * at the front. */
static pgy_onnx_node *constant_node(exporter *x, const pgy_gs_tensor *t)
{
    pgy_onnx_node *n = export_alloc(x, 1, sizeof(*n));
    pgy_onnx_attribute *a = export_alloc(x, 1, sizeof(*a));
    pgy_onnx_attribute **attributes = export_alloc(x, 1, sizeof(*attributes));
    const char **outputs = export_alloc(x, 1, sizeof(*outputs));
    if (!n || !a || !attributes || !outputs) return NULL;
    a->name = t->stored ? "value" : "sparse_value";
    a->ref_attr_name = a->doc_string = "";
    a->type = t->stored ? PGY_ATTR_TENSOR : PGY_ATTR_SPARSE_TENSOR;
    if (t->stored && !(a->t = export_weight(x, t))) return NULL;
    a->sparse_tensor = t->stored ? NULL : (pgy_onnx_sparse_tensor *)t->sparse;
    attributes[0] = a;
    outputs[0] = t->name;
    n->name = n->domain = n->overload = n->doc_string = "";
    n->op_type = "Constant";
    n->attributes = attributes;
    n->attribute_count = n->output_count = 1;
    n->outputs = outputs;
    return n;
}

static pgy_status export_parameters(pgy_onnx_function *to, exporter *x, const pgy_gs_graph *g)
{
    const char **names = export_alloc(x, g->parameter_count, sizeof(*names));
    pgy_onnx_attribute **values = export_alloc(x, g->parameter_count, sizeof(*values));
    if (!names || !values) return export_no_memory(x);
    to->attribute_count = to->attribute_proto_count = 0;
    for (size_t i = 0; i < g->parameter_count; i++) {
        const pgy_gs_attribute *p = &g->parameters[i];
        if (p->value)
            values[to->attribute_proto_count++] = (pgy_onnx_attribute *)p->value;
        else
            names[to->attribute_count++] = p->name;
    }
    to->attributes = names;
    to->attribute_protos = values;
    return PGY_OK;
}

static pgy_status fill_function(pgy_onnx_function *to, exporter *x, pgy_gs_graph *g,
                                level_tensors *lt)
{
    const pgy_onnx_function *from = graph_box(g)->stored_function;
    pgy_onnx_node **nodes = NULL;
    pgy_status st = export_tensors_enter(lt, x, g);
    const size_t first = lt->weights.count;
    if (!st) st = export_nodes(&nodes, x, g, first);
    for (size_t i = 0; i < first && !st; i++)
        if (!(nodes[i] = constant_node(x, lt->weights.items[i]))) st = export_no_memory(x);
    to->nodes = nodes;
    to->node_count = first + g->node_count;
    to->inputs = slot_names(x, g->inputs, g->input_count);
    to->input_count = g->input_count;
    to->outputs = slot_names(x, g->outputs, g->output_count);
    to->output_count = g->output_count;
    if (!to->inputs || !to->outputs) return export_no_memory(x);
    if (!st) st = export_parameters(to, x, g);
    if (!st)
        st = export_imports(&to->opset_imports, &to->opset_import_count, x, g,
                            from ? from->opset_imports : NULL, from ? from->opset_import_count : 0);
    if (!st) st = export_value_infos(&to->value_infos, &to->value_info_count, x, g, lt);
    return st;
}

static pgy_status export_function(pgy_onnx_function **out, exporter *x, pgy_gs_graph *g)
{
    const pgy_onnx_function *from = graph_box(g)->stored_function;
    const bool same = from && !graph_box(g)->changed && !x->document->shares_subgraphs &&
                      same_interface(g->inputs, g->input_count) &&
                      same_interface(g->outputs, g->output_count);
    if (*g->overload && x->ir_version < OVERLOAD_IR) x->ir_version = OVERLOAD_IR;
    if (same) {
        *out = (pgy_onnx_function *)from;
        return PGY_OK;
    }
    level_tensors lt = {0};
    pgy_onnx_function *to = export_alloc(x, 1, sizeof(*to));
    if (!to) return export_no_memory(x);
    if (from) *to = *from;
    to->message.raw = (pgy_bytes){0};
    to->name = g->name;
    to->domain = g->domain;
    to->overload = g->overload;
    to->doc_string = g->doc_string;
    const pgy_status st = fill_function(to, x, g, &lt);
    export_tensors_leave(&lt);
    if (!st) *out = to;
    return st;
}

static pgy_status export_functions(pgy_onnx_model *to, exporter *x)
{
    const gs_document *d = x->document;
    pgy_onnx_function **list = export_alloc(x, d->function_count, sizeof(*list));
    if (!list) return export_no_memory(x);
    for (size_t i = 0; i < d->function_count; i++) {
        const pgy_status st = export_function(&list[i], x, d->functions[i]);
        if (st) return st;
    }
    if (d->function_count && x->ir_version < FUNCTION_IR) x->ir_version = FUNCTION_IR;
    to->functions = list;
    to->function_count = d->function_count;
    return PGY_OK;
}

/* ---- Models ---------------------------------------------------------------------------------- */

static int64_t ir_version_of(const exporter *x)
{
    const pgy_gs_graph *g = x->document->top;
    if (graph_box(g)->ir_version_set) return g->ir_version;
    const int64_t first = g->ir_version ? g->ir_version : export_ir_of_opset(g->opset);
    /* A file of an IR version that lists weights as inputs keeps its version, unless a type or
     * opset needs a higher one. */
    return x->ir_version > first && x->ir_version > export_ir_of_type(PGY_F32) ? x->ir_version
                                                                               : first;
}

static pgy_status fill_model(pgy_onnx_model *to, exporter *x)
{
    gs_document *d = x->document;
    pgy_gs_graph *g = d->top;
    static const pgy_onnx_model NONE = {.domain = "", .doc_string = ""};
    const pgy_onnx_model *from = d->source ? pgy_model_proto(d->source) : &NONE;
    *to = *from;
    if (d->edits || !d->source) to->message.raw = (pgy_bytes){0};
    if (to->message.raw.data) return PGY_OK;
    to->producer_name = g->producer_name;
    to->producer_version = g->producer_version;
    pgy_status st = export_level(&to->graph, x, g);
    if (!st) st = export_functions(to, x);
    if (!st)
        st = export_imports(&to->opset_imports, &to->opset_import_count, x, g, from->opset_imports,
                            from->opset_import_count);
    to->ir_version = ir_version_of(x);
    return st;
}

pgy_status pgy_gs_export(pgy_model **out, pgy_gs_graph *g, const pgy_gs_export_options *options,
                         pgy_error *err)
{
    if (!out || !g || graph_box(g)->document->top != g)
        return pgy_error_set(err, PGY_E_ARGUMENT, "only the top graph can be exported");
    pgy_gs_export_options o = {.size = sizeof o};
    pgy_status st = SIZED_TAKE(pgy_gs_export_options, &o, options, err);
    if (st) return st;
    exporter x = {.document = graph_box(g)->document, .no_type_check = o.no_type_check, .err = err};
    pgy_onnx_model *to = NULL;
    st = pgy_model_create(&x.model, err);
    if (!st) st = pgy_model_keep(x.model, x.document->store, err);
    if (st) goto done;
    if (!(to = export_alloc(&x, 1, sizeof(*to)))) st = export_no_memory(&x);
    if (!st) st = fill_model(to, &x);
    if (st) goto done;
    pgy_model_set_proto(x.model, to);
    *out = x.model;
    x.model = NULL;
done:
    pgy_model_destroy(x.model);
    return st;
}
