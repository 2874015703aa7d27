/* SPDX-License-Identifier: Apache-2.0 */
/* Local functions: creating, finding, removing and calling them, and their attribute parameters. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gs/graph/attribute.h"
#include "gs/graph/document.h"
#include "gs/graph/registry.h"

static const char LOG_PATH[] = "gs/graph/function.c";
static const char DEFAULT_DOMAIN[] = "onnx_graphsurgeon";

pgy_gs_graph *pgy_gs_find_function(const pgy_gs_graph *g, const char *domain, const char *name,
                                   const char *overload)
{
    if (!g || !name) return NULL;
    const gs_document *d = graph_box(g)->document;
    for (size_t i = 0; i < d->function_count; i++) {
        pgy_gs_graph *f = d->functions[i];
        if (strcmp(f->name, name) == 0 && strcmp(f->domain, domain ? domain : "") == 0 &&
            strcmp(f->overload, overload ? overload : "") == 0)
            return f;
    }
    return NULL;
}

pgy_status pgy_gs_function(pgy_gs_graph **out, pgy_gs_graph *g, const char *name,
                           const char *domain, pgy_error *err)
{
    pgy_gs_graph *f = NULL;
    if (!out || !g || !name || !*name)
        return pgy_error_set(err, PGY_E_ARGUMENT, "a function needs a graph and a name");
    gs_document *d = graph_box(g)->document;
    if (!domain) domain = DEFAULT_DOMAIN;
    if (pgy_gs_find_function(g, domain, name, ""))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "a function '%.200s' of domain '%.200s' already exists", name, domain);
    const char *kept = NULL;
    pgy_status st = gs_keep_text(&kept, d, domain, err);
    if (!st) st = gs_grow(d, &d->functions, d->function_count, &d->function_capacity, err);
    if (!st) st = gs_graph_create(&f, d, NULL, name, err);
    if (!st) st = pgy_gs_set_opset(f, d->top->opset, err);
    if (st) return st;
    f->is_function = true;
    f->domain = kept;
    d->functions[d->function_count++] = f;
    gs_publish_functions(d);
    gs_touch(f);
    gs_touch(d->top);
    *out = f;
    return PGY_OK;
}

pgy_status pgy_gs_add_parameter(pgy_gs_graph *function, const char *name, const pgy_gs_attr *value,
                                pgy_error *err)
{
    if (!function || !function->is_function || !name || !*name)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "a parameter needs a function, not a graph, and a name");
    gs_document *d = graph_box(function)->document;
    const size_t count = function->parameter_count;
    for (size_t i = 0; i < count; i++)
        if (strcmp(function->parameters[i].name, name) == 0)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "function '%.200s' already has a parameter '%.200s'",
                                 function->name, name);
    if (value && value->type == PGY_ATTR_GRAPH)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "function '%.200s': parameter '%.200s' cannot have a graph as default",
                             function->name, name);
    pgy_gs_attribute *list = gs_alloc(d, count + 1, sizeof(*list));
    pgy_gs_attribute made = {0};
    if (!list) return gs_no_memory(err);
    const pgy_status kept = gs_keep_text(&made.name, d, name, err);
    if (kept) return kept;
    if (value) {
        pgy_gs_attr named = *value;
        named.name = name;
        const pgy_status st = gs_attribute_make(&made.value, d, &named, err);
        if (st) return st;
    }
    if (count) memcpy(list, function->parameters, count * sizeof(*list));
    list[count] = made;
    function->parameters = list;
    function->parameter_count = count + 1;
    gs_touch(function);
    return PGY_OK;
}

/* ---- Removing -------------------------------------------------------------------------------- */

typedef struct call_search {
    const pgy_gs_graph *function;
    const pgy_gs_node *found;
} call_search;

static pgy_status find_call(pgy_gs_graph *g, void *user, pgy_error *err)
{
    call_search *x = user;
    const pgy_gs_graph *f = x->function;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && !x->found && i < g->node_count; i++) {
        const pgy_gs_node *n = g->nodes[i];
        if (!strcmp(n->op, f->name) && !strcmp(n->domain, f->domain) &&
            !strcmp(n->overload, f->overload))
            x->found = n;
        else
            st = gs_each_subgraph(n, find_call, user, err);
    }
    return st;
}

pgy_status pgy_gs_remove_function(pgy_gs_graph *function, pgy_error *err)
{
    if (!function || !function->is_function)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the function to remove must not be NULL");
    gs_document *d = graph_box(function)->document;
    call_search x = {.function = function};
    size_t at = 0;
    while (at < d->function_count && d->functions[at] != function) at++;
    if (at == d->function_count)
        return pgy_error_set(err, PGY_E_ARGUMENT, "function '%.200s' is already removed",
                             function->name);
    pgy_status st = find_call(d->top, &x, err);
    for (size_t i = 0; !st && i < d->function_count; i++)
        if (i != at) st = find_call(d->functions[i], &x, err);
    if (!st && x.found)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "function '%.200s' cannot be removed: '%.200s' calls it", function->name,
                           gs_node_label(x.found));
    if (st) return st;
    memmove(&d->functions[at], &d->functions[at + 1],
            (d->function_count - at - 1) * sizeof *d->functions);
    d->function_count--;
    gs_publish_functions(d);
    gs_touch(d->top);
    return PGY_OK;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void warn_call(const pgy_gs_graph *f, const pgy_gs_call *call)
{
    if (call->input_count != f->input_count)
        LOG(WARNING, "Function '%s' has %zu inputs, but is called with %zu", f->name,
            f->input_count, call->input_count);
    if (call->output_count && call->output_count != f->output_count)
        LOG(WARNING, "Function '%s' has %zu outputs, but is called with %zu", f->name,
            f->output_count, call->output_count);
    for (size_t i = 0; i < f->parameter_count; i++) {
        bool given = f->parameters[i].value;
        for (size_t k = 0; k < call->attr_count && !given; k++)
            given = call->attrs[k].name && strcmp(call->attrs[k].name, f->parameters[i].name) == 0;
        if (!given)
            LOG(WARNING, "Function '%s' is called without its required attribute '%s'", f->name,
                f->parameters[i].name);
    }
}

/* Copies the types of the function's outputs to those call outputs that were created for it.
 */
static pgy_status take_types(pgy_gs_node *n, const pgy_gs_graph *f, const pgy_gs_operand *outputs,
                             pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (n->output_count != f->output_count) return PGY_OK;
    for (size_t i = 0; i < n->output_count && !st; i++) {
        const pgy_gs_tensor *from = f->outputs[i];
        if (outputs[i].kind != PGY_GS_NAME) continue;
        st = pgy_gs_set_type(n->outputs[i], from->dtype, from->rank, from->dims, err);
        n->outputs[i]->type_kind = from->type_kind;
    }
    return st;
}

pgy_status gs_call_function(pgy_gs_node **out, pgy_gs_graph *g, pgy_gs_graph *f,
                            const pgy_gs_call *call, const char *name, pgy_error *err)
{
    pgy_gs_node *n = NULL;
    const bool own = call->output_count == 0;
    const size_t count = own ? f->output_count : call->output_count;
    pgy_gs_operand *outputs = mem_calloc(count + 1, sizeof(*outputs));
    if (!outputs) return gs_no_memory(err);
    for (size_t i = 0; i < count; i++)
        outputs[i] = own ? pgy_gs_name_operand(f->outputs[i]->name) : call->outputs[i];
    warn_call(f, call);
    const pgy_gs_layer_spec spec = {
        .op = f->name,
        .name = name,
        .domain = f->domain,
        .inputs = call->inputs,
        .input_count = call->input_count,
        .outputs = outputs,
        .output_count = count,
        .attrs = call->attrs,
        .attr_count = call->attr_count,
    };
    pgy_status st = pgy_gs_layer(&n, g, &spec, err);
    if (!st) n->overload = f->overload;
    if (!st) st = take_types(n, f, outputs, err);
    mem_free(outputs);
    if (!st) *out = n;
    return st;
}
