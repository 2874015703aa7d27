/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a model's graphs into a view. It takes the stored messages as they are, not an imported
 * graph, because a model that cannot be imported must be shown, too. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/printable.h"
#include "viewer/graph_infer.h"
#include "viewer/graph_properties.h"
#include "viewer/graph_type.h"

enum { DEPTH_LIMIT = 32 };

/* A graph whose names are visible: those of its own tensors, then those of the graphs around it. */
typedef struct level {
    const struct level *outer;
    strmap tensors; /* name -> index + 1 */
    strmap outputs; /* names of the graph's outputs */
    uint32_t container;
    int depth;
    bool is_function; /* drawn by itself: calls in it are cards */
} level;

/* What a level is made from: a graph, or the body of a function, which has names only. */
typedef struct level_parts {
    const pgy_onnx_graph *graph; /* NULL: a function */
    pgy_onnx_node *const *nodes;
    size_t node_count;
    pgy_onnx_value_info *const *infos;
    size_t info_count;
    const char *const *inputs, *const *outputs; /* of functions */
    size_t input_count, output_count;
} level_parts;

/* ---- Names ---------------------------------------------------------------------------------- */

static uint32_t find_tensor(const level *l, const char *name)
{
    for (; l; l = l->outer) {
        const size_t at = (size_t)(uintptr_t)strmap_get(&l->tensors, name);
        if (at) return (uint32_t)(at - 1);
    }
    return VIEW_NONE;
}

/* Adds a tensor under its name. A second one of that name is shown, but nothing can read it. */
static uint32_t define(graph_parts *b, level *l, const char *name, view_tensor_kind kind)
{
    const view_tensor like = {.name = collect_kept_text(b, name),
                              .kind = kind,
                              .dtype = "",
                              .producer = VIEW_NONE,
                              .container = l->container};
    const uint32_t t = collect_tensor(b, &like);
    if (strmap_has(&l->tensors, name))
        collect_warn(b, "tensor '%s' is defined more than once", printable_name(name));
    else if (!strmap_put(&l->tensors, name, (void *)((uintptr_t)t + 1)))
        b->failed = true;
    return t;
}

/* The tensor that a node or graph output reads. */
static uint32_t use(graph_parts *b, level *l, const char *name, const char *reader)
{
    if (!*name) return VIEW_NONE;
    const uint32_t t = find_tensor(l, name);
    if (t != VIEW_NONE) return t;
    collect_warn(b, "%s reads tensor '%s', which nothing makes", reader, printable_name(name));
    return define(b, l, name, VIEW_VALUE);
}

/* ---- Tensors of a level --------------------------------------------------------------------- */

static void count_parameters(graph_parts *b, const pgy_onnx_tensor *w)
{
    double count = 1;
    for (size_t i = 0; i < w->dim_count; i++) count *= w->dims[i] > 0 ? (double)w->dims[i] : 0;
    b->parameters += count;
}

static void define_weights(graph_parts *b, level *l, const pgy_onnx_graph *g)
{
    for (size_t i = 0; i < g->initializer_count && !b->failed; i++) {
        const uint32_t t = define(b, l, g->initializers[i]->name, VIEW_WEIGHT);
        if (b->failed) return;
        graph_type_weight(b, &b->tensors[t], g->initializers[i]);
        count_parameters(b, g->initializers[i]);
    }
    for (size_t i = 0; i < g->sparse_initializer_count && !b->failed; i++) {
        const pgy_onnx_sparse_tensor *s = g->sparse_initializers[i];
        const uint32_t t = define(b, l, s->values ? s->values->name : "", VIEW_WEIGHT);
        if (!b->failed) graph_type_sparse(b, &b->tensors[t], s);
    }
}

/* Inputs that have a weight as default are weights. */
static void define_inputs(graph_parts *b, level *l, const level_parts *p)
{
    for (size_t i = 0; p->graph && i < p->graph->input_count && !b->failed; i++) {
        const pgy_onnx_value_info *info = p->graph->inputs[i];
        const uint32_t known = find_tensor(&(level){.tensors = l->tensors}, info->name);
        if (known != VIEW_NONE && b->tensors[known].kind == VIEW_WEIGHT) continue;
        const uint32_t t = define(b, l, info->name, VIEW_GRAPH_INPUT);
        if (b->failed) return;
        graph_type_declare(b, &b->tensors[t], info->type);
        collect_input(b, t, l->container);
    }
    for (size_t i = 0; i < p->input_count && !b->failed; i++)
        collect_input(b, define(b, l, p->inputs[i], VIEW_GRAPH_INPUT), l->container);
}

static bool is_default(const pgy_onnx_node *n, const char *op_type)
{
    return strcmp(n->op_type, op_type) == 0 && (!*n->domain || strcmp(n->domain, "ai.onnx") == 0);
}

static bool is_constant(const graph_parts *b, uint32_t tensor)
{
    return tensor != VIEW_NONE && (b->tensors[tensor].kind == VIEW_WEIGHT ||
                                   b->tensors[tensor].kind == VIEW_NODE_CONSTANT);
}

/* The weight that an Identity gives another name, as PyTorch's exporter does for tied weights. */
static uint32_t renamed_weight(const graph_parts *b, const level *l, const pgy_onnx_node *n)
{
    if (!is_default(n, "Identity") || n->input_count != 1 || !*n->inputs[0]) return VIEW_NONE;
    const uint32_t t = find_tensor(l, n->inputs[0]);
    return is_constant(b, t) ? t : VIEW_NONE;
}

/* Constants and renamed weights are not drawn, except where a graph's output would hang in the air
 * without them. True if this was one. */
static bool define_constant(graph_parts *b, level *l, const pgy_onnx_node *n, uint32_t *output)
{
    const uint32_t weight = renamed_weight(b, l, n);
    if (!is_default(n, "Constant") && weight == VIEW_NONE) return false;
    if (n->output_count != 1 || !*n->outputs[0] || strmap_has(&l->outputs, n->outputs[0]))
        return false;
    *output = define(b, l, n->outputs[0], VIEW_NODE_CONSTANT);
    if (b->failed) return true;
    view_tensor *t = &b->tensors[*output];
    if (weight == VIEW_NONE) {
        graph_type_constant(b, t, n);
    } else {
        const view_tensor *w = &b->tensors[weight];
        t->dtype = w->dtype;
        t->shape = w->shape;
        t->value = w->value;
        t->bytes = w->bytes;
    }
    return true;
}

static void define_node_outputs(graph_parts *b, level *l, const level_parts *p, uint32_t **outputs)
{
    for (size_t i = 0; i < p->node_count && !b->failed; i++) {
        const pgy_onnx_node *n = p->nodes[i];
        outputs[i] = collect_list(b, n->output_count);
        if (b->failed || define_constant(b, l, n, outputs[i])) continue;
        for (size_t k = 0; k < n->output_count && !b->failed; k++)
            if (*n->outputs[k]) outputs[i][k] = define(b, l, n->outputs[k], VIEW_VALUE);
    }
}

/* Was the node found to be a constant? */
static bool is_hidden(const graph_parts *b, const pgy_onnx_node *n, const uint32_t *outputs)
{
    return n->output_count == 1 && outputs[0] != VIEW_NONE &&
           b->tensors[outputs[0]].kind == VIEW_NODE_CONSTANT;
}

static void declare_types(graph_parts *b, level *l, pgy_onnx_value_info *const *infos, size_t count)
{
    for (size_t i = 0; i < count && !b->failed; i++) {
        const size_t at = (size_t)(uintptr_t)strmap_get(&l->tensors, infos[i]->name);
        if (at && b->tensors[at - 1].kind == VIEW_VALUE)
            graph_type_declare(b, &b->tensors[at - 1], infos[i]->type);
    }
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

static void add_level(graph_parts *b, level l, const level_parts *p);

static level_parts parts_of(const pgy_onnx_graph *g)
{
    return (level_parts){.graph = g,
                         .nodes = g->nodes,
                         .node_count = g->node_count,
                         .infos = g->value_infos,
                         .info_count = g->value_info_count};
}

static void add_body(graph_parts *b, const level *l, uint32_t call, const char *name,
                     const pgy_onnx_graph *g)
{
    const view_container like = {.kind = VIEW_BODY,
                                 .name = collect_kept_text(b, name),
                                 .parent = call,
                                 .node = VIEW_NONE,
                                 .state = VIEW_OPEN};
    const uint32_t body = collect_container(b, &like);
    const level_parts parts = parts_of(g);
    const level inner = {
        .outer = l, .container = body, .depth = l->depth + 1, .is_function = l->is_function};
    if (!b->failed) add_level(b, inner, &parts);
}

static void add_bodies(graph_parts *b, const level *l, uint32_t call, const pgy_onnx_node *n)
{
    for (size_t i = 0; i < n->attribute_count && !b->failed; i++) {
        const pgy_onnx_attribute *a = n->attributes[i];
        if (a->g) add_body(b, l, call, a->name, a->g);
        for (size_t k = 0; k < a->graph_count && !b->failed; k++)
            add_body(b, l, call, a->name, a->graphs[k]);
    }
}

static bool has_bodies(const pgy_onnx_node *n)
{
    for (size_t i = 0; i < n->attribute_count; i++)
        if (n->attributes[i]->g || n->attributes[i]->graph_count) return true;
    return false;
}

static level_parts parts_of_function(const pgy_onnx_function *f)
{
    return (level_parts){.nodes = f->nodes,
                         .node_count = f->node_count,
                         .infos = f->value_infos,
                         .info_count = f->value_info_count,
                         .inputs = f->inputs,
                         .outputs = f->outputs,
                         .input_count = f->input_count,
                         .output_count = f->output_count};
}

/* The copy of a function's body, which sees no names but its own. */
static void add_copy(graph_parts *b, const level *l, uint32_t call, const pgy_onnx_function *f)
{
    const view_container like = {.kind = VIEW_BODY,
                                 .name = collect_kept_text(b, f->name),
                                 .parent = call,
                                 .node = VIEW_NONE,
                                 .state = VIEW_OPEN};
    const uint32_t body = collect_container(b, &like);
    const level_parts parts = parts_of_function(f);
    if (!b->failed) add_level(b, (level){.container = body, .depth = l->depth + 1}, &parts);
}

/* The container of a node that stands for other nodes. */
static void add_call(graph_parts *b, const level *l, uint32_t node, const pgy_onnx_function *f)
{
    const view_node *n = &b->nodes[node];
    const pgy_onnx_node *source = n->source;
    const bool left_out = f && !b->functions.copies;
    const view_container call = {.kind = VIEW_CALL,
                                 .name = *n->name ? n->name : b->ops[n->op].name,
                                 .note = left_out ? "shown as a card, because all calls of "
                                                    "functions together have too many nodes"
                                                  : NULL,
                                 .parent = l->container,
                                 .node = node};
    if (l->depth >= DEPTH_LIMIT) {
        collect_warn(b, "graphs nested deeper than %d are left out", DEPTH_LIMIT);
        return;
    }
    const uint32_t container = collect_container(b, &call);
    if (b->failed) return;
    b->nodes[node].parent = container;
    add_bodies(b, l, container, source);
    if (f && b->functions.copies) add_copy(b, l, container, f);
}

static void add_node(graph_parts *b, level *l, const pgy_onnx_node *n, uint32_t *outputs)
{
    str reader = {0};
    const view_node like = {.op = collect_op(b, n->op_type, n->domain),
                            .name = collect_kept_text(b, n->name),
                            .parent = l->container,
                            .inputs = collect_list(b, n->input_count),
                            .outputs = outputs,
                            .input_count = (uint32_t)n->input_count,
                            .output_count = (uint32_t)n->output_count,
                            .source = n,
                            .flops = NAN};
    str_printf(&reader, "node '%s' (%s)", printable_name(n->name), printable_name(n->op_type));
    for (size_t i = 0; i < n->input_count && !b->failed; i++)
        like.inputs[i] = use(b, l, n->inputs[i], str_text(&reader));
    str_deinit(&reader);
    const uint32_t node = collect_node(b, &like);
    for (size_t i = 0; i < n->output_count && !b->failed; i++)
        if (outputs[i] != VIEW_NONE) b->tensors[outputs[i]].producer = node;
    const pgy_onnx_function *f =
        b->failed || l->is_function ? NULL : graph_function_of(&b->functions, n);
    if (!b->failed && (f || has_bodies(n))) add_call(b, l, node, f);
}

/* ---- Levels --------------------------------------------------------------------------------- */

static void add_outputs(graph_parts *b, level *l, const level_parts *p)
{
    const size_t count = p->graph ? p->graph->output_count : p->output_count;
    for (size_t i = 0; i < count && !b->failed; i++) {
        const char *name = p->graph ? p->graph->outputs[i]->name : p->outputs[i];
        const uint32_t t = use(b, l, name, "the graph's list of outputs");
        if (t == VIEW_NONE || b->failed) continue;
        view_tensor *v = &b->tensors[t];
        if (v->kind == VIEW_VALUE) v->kind = VIEW_GRAPH_OUTPUT;
        if (p->graph && v->kind == VIEW_GRAPH_OUTPUT && (!*v->dtype || !v->shape))
            graph_type_declare(b, v, p->graph->outputs[i]->type);
        collect_output(b, t, l->container);
    }
}

static bool gather_output_names(level *l, const level_parts *p)
{
    const size_t count = p->graph ? p->graph->output_count : p->output_count;
    for (size_t i = 0; i < count; i++)
        if (!strmap_put(&l->outputs, p->graph ? p->graph->outputs[i]->name : p->outputs[i], l))
            return false;
    return true;
}

static void add_level(graph_parts *b, level l, const level_parts *p)
{
    uint32_t **outputs = mem_calloc(p->node_count, sizeof *outputs);
    if (!outputs || !gather_output_names(&l, p)) b->failed = true;
    if (p->graph) define_weights(b, &l, p->graph);
    define_inputs(b, &l, p);
    if (!b->failed) define_node_outputs(b, &l, p, outputs);
    declare_types(b, &l, p->infos, p->info_count);
    for (size_t i = 0; i < p->node_count && !b->failed && !cancel_requested(); i++)
        if (!is_hidden(b, p->nodes[i], outputs[i])) add_node(b, &l, p->nodes[i], outputs[i]);
    add_outputs(b, &l, p);
    mem_free(outputs);
    strmap_deinit(&l.tensors);
    strmap_deinit(&l.outputs);
}

static void add_function(graph_parts *b, const pgy_onnx_function *f)
{
    const view_container like = {.kind = VIEW_FUNCTION,
                                 .name = collect_kept_text(b, f->name),
                                 .note = *f->domain ? collect_kept_text(b, f->domain) : NULL,
                                 .parent = VIEW_NONE,
                                 .node = VIEW_NONE,
                                 .state = VIEW_OPEN};
    const uint32_t container = collect_container(b, &like);
    const level_parts parts = parts_of_function(f);
    if (!b->failed) add_level(b, (level){.container = container, .is_function = true}, &parts);
}

static pgy_status read_model(view_graph **out, graph_parts *b, pgy_model *model, pgy_error *err)
{
    const pgy_onnx_model *m = pgy_model_proto(model);
    const view_container main_graph = {.kind = VIEW_GRAPH,
                                       .name = collect_kept_text(b, m->graph ? m->graph->name : ""),
                                       .parent = VIEW_NONE,
                                       .node = VIEW_NONE,
                                       .state = VIEW_OPEN};
    b->g->model = pgy_model_retain(model);
    if (!graph_functions_start(&b->functions, m)) b->failed = true;
    graph_add_properties(b, m);
    collect_container(b, &main_graph);
    if (m->graph && !b->failed) {
        const level_parts parts = parts_of(m->graph);
        add_level(b, (level){.container = 0}, &parts);
    } else {
        collect_warn(b, "the model has no graph");
    }
    for (size_t i = 0; i < m->function_count && !b->failed; i++) add_function(b, m->functions[i]);
    graph_add_parameters(b);
    if (m->graph && !b->failed) graph_infer(b, model);
    const pgy_status st = cancel_check(err);
    return st ? st : collect_finish(out, b, err);
}

pgy_status view_graph_from_model(view_graph **out, pgy_model *model, const char *name,
                                 strvec *warnings, pgy_error *err)
{
    graph_parts b;
    pgy_status st = collect_start(&b, "onnx", name, warnings, err);
    if (!st) st = read_model(out, &b, model, err);
    collect_deinit(&b);
    return st;
}
