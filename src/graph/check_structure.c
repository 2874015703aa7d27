/* SPDX-License-Identifier: Apache-2.0 */
/* Reports whatever would make an import of the graph fail, by reading the file's messages before
 * they are linked: names that are defined twice or not at all, types that do not exist, nodes in
 * cycles. An import stops at the first fault; here each is noted and the faulty part skipped. Names
 * are looked up outwards, as in an import. What a node and its subgraphs read is recorded as edges
 * of the level that holds the node, so cycles are searched one level at a time. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/check.h"
#include "graph/order.h"

enum { NO_NODE = -1 };

/* Node `node` needs a result of node `needed`; both are indices in the same level. */
typedef struct edge {
    size_t node, needed;
} edge;

/* What defines a value name in a level. */
typedef struct definition {
    ptrdiff_t producer; /* index of the node that writes the value, or NO_NODE */
    bool weight, typed;
} definition;

typedef struct scope {
    struct scope *outer;
    strmap values;
    pgy_onnx_node *const *nodes;
    size_t node_count;
    size_t current; /* index of the node being checked */
    edge *edges;    /* sorted by `node` */
    size_t edge_count, edge_capacity;
    const char *path; /* path of the level in findings: "If_3/then_branch" */
    const char *what; /* name of the level in findings: "graph 'main'" */
    int depth;
} scope;

typedef struct structure {
    graph_state *state; /* owns the memory of the findings */
    finding_list *list;
} structure;

/* ---- Places --------------------------------------------------------------------------------- */

static void append_step(str *out, const char *step)
{
    if (out->size && *step) str_append(out, "/");
    str_append(out, step);
}

static void append_node(str *out, const scope *at, size_t node)
{
    const pgy_onnx_node *n = at->nodes[node];
    append_step(out, at->path);
    append_step(out, *n->name ? n->name : n->op_type);
    if (!*n->name) str_printf(out, "_%zu", node);
}

/* Adds a finding about a node with a text like "Output 'y' is defined already in graph 'main'". */
static void at_node(structure *s, check_code code, const scope *at, size_t node, const char *before,
                    const char *name, const char *after)
{
    const pgy_onnx_node *n = at->nodes[node];
    const char *label = *n->name ? n->name : n->output_count ? n->outputs[0] : n->op_type;
    str path = {0};
    append_node(&path, at, node);
    finding_add_at(s->list, s->state, code, &(finding_place){label, n->op_type, str_text(&path)},
                   "%s '%s'%s in %s", before, name, after, at->what);
    s->list->failed |= path.failed;
    str_deinit(&path);
}

PGY_PRINTF(5, 6)
static void at_value(structure *s, check_code code, const scope *at, const char *name,
                     const char *format, ...)
{
    char text[2048];
    str path = {0};
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    append_step(&path, at->path);
    append_step(&path, name);
    finding_add_at(s->list, s->state, code, &(finding_place){"", "", str_text(&path)}, "%s", text);
    s->list->failed |= path.failed;
    str_deinit(&path);
}

static void in_no_memory(structure *s)
{
    s->list->failed = true;
}

/* ---- Definitions ---------------------------------------------------------------------------- */

static definition *define(structure *s, scope *at, const char *name, ptrdiff_t producer)
{
    definition *d = arena_alloc(&s->state->memory, sizeof *d);
    if (!d || !strmap_put(&at->values, name, d)) {
        in_no_memory(s);
        return NULL;
    }
    d->producer = producer;
    return d;
}

/* Turns the failure of a step into a finding; running out of memory ends the check instead. */
static void note_failure(structure *s, const scope *at, const char *name, pgy_status st,
                         const pgy_error *why)
{
    if (st == PGY_E_MEMORY)
        in_no_memory(s);
    else if (st)
        at_value(s, CHECK_INVALID_TYPE, at, name, "%s", why->text);
}

static void check_type(structure *s, const scope *at, const char *name, const pgy_onnx_type *type)
{
    pgy_error why = {0};
    op_value ignored;
    pgy_value_kind kind;
    note_failure(s, at, name, type_declare(&ignored, &kind, s->state, type, name, &why), &why);
}

static void define_input(structure *s, scope *at, const char *name)
{
    if (!*name)
        at_value(s, CHECK_EMPTY_NAME, at, "", "An input of %s has no name", at->what);
    else if (strmap_has(&at->values, name))
        at_value(s, CHECK_DUPLICATE_VALUE, at, name, "%s has two inputs named '%s'", at->what,
                 name);
    else
        define(s, at, name, NO_NODE);
}

static void define_weight(structure *s, scope *at, const pgy_onnx_tensor *t)
{
    pgy_tensor_info info;
    pgy_error why = {0};
    definition *d = strmap_get(&at->values, t->name);
    if (!*t->name)
        at_value(s, CHECK_EMPTY_NAME, at, "", "An initializer of %s has no name", at->what);
    else if (d && d->weight)
        at_value(s, CHECK_DUPLICATE_VALUE, at, t->name, "%s has two initializers named '%s'",
                 at->what, t->name);
    else if (!d)
        d = define(s, at, t->name, NO_NODE);
    if (d) d->weight = d->typed = true;
    note_failure(s, at, t->name, pgy_onnx_tensor_info(&info, t, &why), &why);
}

static void define_sparse(structure *s, scope *at, const pgy_onnx_sparse_tensor *sparse)
{
    if (!sparse->values) {
        at_value(s, CHECK_TENSOR_FIELDS, at, "", "A sparse initializer of %s has no values",
                 at->what);
        return;
    }
    const pgy_onnx_tensor dense = {.name = sparse->values->name,
                                   .dims = sparse->dims,
                                   .dim_count = sparse->dim_count,
                                   .data_type = sparse->values->data_type};
    define_weight(s, at, &dense);
}

static void define_results(structure *s, scope *at, size_t node)
{
    const pgy_onnx_node *n = at->nodes[node];
    for (size_t i = 0; i < n->output_count; i++) {
        if (!*n->outputs[i]) continue;
        if (strmap_has(&at->values, n->outputs[i]))
            at_node(s, CHECK_DUPLICATE_VALUE, at, node, "Output", n->outputs[i],
                    " is defined already");
        else
            define(s, at, n->outputs[i], (ptrdiff_t)node);
    }
}

/* ---- Uses ----------------------------------------------------------------------------------- */

static void need(structure *s, scope *at, size_t needed)
{
    void *edges = at->edges;
    if (!mem_grow(&edges, &at->edge_capacity, at->edge_count + 1, sizeof *at->edges)) {
        in_no_memory(s);
        return;
    }
    at->edges = edges;
    at->edges[at->edge_count++] = (edge){at->current, needed};
}

static bool resolve(structure *s, scope *at, const char *name)
{
    for (; at; at = at->outer) {
        const definition *d = strmap_get(&at->values, name);
        if (!d) continue;
        if (d->producer != NO_NODE && at->current < at->node_count)
            need(s, at, (size_t)d->producer);
        return true;
    }
    return false;
}

static void check_graph(structure *s, scope *at, const pgy_onnx_graph *g);

static void check_subgraph(structure *s, scope *at, const char *attribute, const pgy_onnx_graph *g)
{
    str path = {0}, what = {0};
    append_node(&path, at, at->current);
    append_step(&path, attribute);
    str_printf(&what, "graph '%s'", g->name);
    scope inner = {
        .outer = at, .path = str_text(&path), .what = str_text(&what), .depth = at->depth + 1};
    if (path.failed || what.failed)
        in_no_memory(s);
    else if (inner.depth > GRAPH_MAX_DEPTH)
        at_node(s, CHECK_NESTED_TOO_DEEP, at, at->current, "Its subgraph", attribute,
                " is nested deeper than is supported");
    else
        check_graph(s, &inner, g);
    str_deinit(&path);
    str_deinit(&what);
}

static void check_uses(structure *s, scope *at)
{
    for (at->current = 0; at->current < at->node_count; at->current++) {
        const pgy_onnx_node *n = at->nodes[at->current];
        for (size_t i = 0; i < n->input_count; i++)
            if (*n->inputs[i] && !resolve(s, at, n->inputs[i]))
                at_node(s, CHECK_UNDEFINED_INPUT, at, at->current, "Input", n->inputs[i],
                        " is not defined");
        for (size_t i = 0; i < n->attribute_count; i++) {
            const pgy_onnx_attribute *a = n->attributes[i];
            if (a->g) check_subgraph(s, at, a->name, a->g);
            for (size_t k = 0; k < a->graph_count; k++)
                check_subgraph(s, at, a->name, a->graphs[k]);
        }
    }
}

/* ---- Cycles --------------------------------------------------------------------------------- */

typedef struct cycle_finder {
    structure *s;
    const scope *at;
    bool *told; /* indexed by node: whether its cycle was reported */
} cycle_finder;

static void tell_cycle(size_t node, size_t needed, void *user)
{
    const cycle_finder *f = user;
    const pgy_onnx_node *n = f->at->nodes[node];
    if (f->told[needed]) return;
    f->told[needed] = true;
    at_node(f->s, CHECK_CYCLE, f->at, needed,
            "The node is part of a cycle: it depends on its own output through",
            *n->name          ? n->name
            : n->output_count ? n->outputs[0]
                              : n->op_type,
            "");
}

static void check_cycles(structure *s, const scope *at)
{
    cycle_finder f = {s, at, mem_calloc(at->node_count + 1, sizeof *f.told)};
    order o = {0};
    pgy_status st = f.told ? order_init(&o, at->node_count, NULL) : PGY_E_MEMORY;
    o.on_cycle = tell_cycle;
    o.user = &f;
    for (size_t i = 0, e = 0; !st && i < at->node_count; i++) {
        order_open(&o, i);
        for (; !st && e < at->edge_count && at->edges[e].node == i; e++)
            st = order_need(&o, at->edges[e].needed, NULL);
    }
    if (!st) st = order_settle(&o, NULL);
    if (st) in_no_memory(s);
    order_deinit(&o);
    mem_free(f.told);
}

/* ---- Levels --------------------------------------------------------------------------------- */

static void check_nodes(structure *s, scope *at, pgy_onnx_node *const *nodes, size_t count)
{
    at->nodes = nodes;
    at->node_count = count;
    for (size_t i = 0; i < count; i++) define_results(s, at, i);
    check_uses(s, at);
}

/* Checks the declared types. If a name is declared more than once, the first declaration counts. */
static void check_infos(structure *s, scope *at, pgy_onnx_value_info *const *infos, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        definition *d = strmap_get(&at->values, infos[i]->name);
        if (!d || d->typed) continue;
        d->typed = true;
        check_type(s, at, infos[i]->name, infos[i]->type);
    }
}

static void scope_close(structure *s, scope *at)
{
    check_cycles(s, at);
    strmap_deinit(&at->values);
    mem_free(at->edges);
}

static void check_graph(structure *s, scope *at, const pgy_onnx_graph *g)
{
    for (size_t i = 0; i < g->input_count; i++) {
        define_input(s, at, g->inputs[i]->name);
        definition *d = strmap_get(&at->values, g->inputs[i]->name);
        if (d) d->typed = true;
        check_type(s, at, g->inputs[i]->name, g->inputs[i]->type);
    }
    for (size_t i = 0; i < g->initializer_count; i++) define_weight(s, at, g->initializers[i]);
    for (size_t i = 0; i < g->sparse_initializer_count; i++)
        define_sparse(s, at, g->sparse_initializers[i]);
    check_nodes(s, at, g->nodes, g->node_count);
    for (size_t i = 0; i < g->output_count; i++)
        if (!resolve(s, at, g->outputs[i]->name))
            at_value(s, CHECK_UNDEFINED_OUTPUT, at, g->outputs[i]->name,
                     "Nothing computes output '%s' of %s", g->outputs[i]->name, at->what);
    check_infos(s, at, g->outputs, g->output_count);
    check_infos(s, at, g->value_infos, g->value_info_count);
    scope_close(s, at);
}

static void check_body(structure *s, const pgy_onnx_function *f)
{
    str path = {0}, what = {0};
    str_printf(&path, "%s:body", f->name);
    str_printf(&what, "function '%s'", f->name);
    scope at = {.path = str_text(&path), .what = str_text(&what)};
    if (path.failed || what.failed) in_no_memory(s);
    for (size_t i = 0; i < f->input_count; i++) define_input(s, &at, f->inputs[i]);
    check_nodes(s, &at, f->nodes, f->node_count);
    for (size_t i = 0; i < f->output_count; i++)
        if (!resolve(s, &at, f->outputs[i]))
            at_value(s, CHECK_UNDEFINED_OUTPUT, &at, f->outputs[i],
                     "Nothing computes output '%s' of %s", f->outputs[i], at.what);
    check_infos(s, &at, f->value_infos, f->value_info_count);
    scope_close(s, &at);
    str_deinit(&path);
    str_deinit(&what);
}

void check_structure_of_function(finding_list *list, graph_state *state, const pgy_onnx_function *f)
{
    structure s = {state, list};
    check_body(&s, f);
}

static void check_function_names(structure *s, const pgy_onnx_model *m)
{
    strmap seen = {0};
    const scope top = {.path = ""};
    for (size_t i = 0; i < m->function_count; i++) {
        const pgy_onnx_function *f = m->functions[i];
        str key = {0};
        str_printf(&key, "%s:%s:%s", domain_is_default(f->domain) ? "" : f->domain, f->name,
                   f->overload);
        if (strmap_has(&seen, str_text(&key)))
            at_value(s, CHECK_DUPLICATE_FUNCTION, &top, f->name,
                     "Function '%s' of domain '%s' is defined twice", f->name, f->domain);
        else if (!strmap_put(&seen, str_text(&key), s))
            in_no_memory(s);
        s->list->failed |= key.failed;
        str_deinit(&key);
    }
    strmap_deinit(&seen);
}

void check_structure(finding_list *list, graph_state *state, const pgy_onnx_model *m)
{
    structure s = {state, list};
    str what = {0};
    check_function_names(&s, m);
    if (m->graph) {
        str_printf(&what, "graph '%s'", m->graph->name);
        scope top = {.path = "", .what = str_text(&what)};
        check_graph(&s, &top, m->graph);
    }
    for (size_t i = 0; i < m->function_count; i++) check_body(&s, m->functions[i]);
    list->failed |= what.failed;
    str_deinit(&what);
}

/* ---- Findings that the model keeps ---------------------------------------------------------- */

static bool keep(pgy_finding *f, pgy_model *m)
{
    f->node = pgy_model_strdup(m, f->node);
    f->op_type = pgy_model_strdup(m, f->op_type);
    f->message = pgy_model_strdup(m, f->message);
    f->path = pgy_model_strdup(m, f->path);
    return f->node && f->op_type && f->message && f->path;
}

pgy_status pgy_model_check(const pgy_finding **out, size_t *count, pgy_model *model, pgy_error *err)
{
    if (!out || !count || !model)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out', 'count' and 'model' must not be NULL");
    graph_state state = {0};
    finding_list list = {0};
    if (pgy_model_proto(model)) check_structure(&list, &state, pgy_model_proto(model));
    pgy_finding *kept = pgy_model_alloc(model, list.count + 1, sizeof *kept);
    bool ok = kept && !list.failed && !state.dims.failed;
    for (size_t i = 0; ok && i < list.count; i++) {
        kept[i] = list.items[i];
        ok = keep(&kept[i], model);
    }
    if (ok) {
        *out = kept;
        *count = list.count;
    }
    strmap_deinit(&list.seen);
    dim_table_deinit(&state.dims);
    arena_deinit(&state.memory);
    return ok ? PGY_OK : graph_no_memory(err);
}
