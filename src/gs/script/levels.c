/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs on subgraphs and functions: entering, leaving, creating and calling them. */
#include <string.h>

#include "gs/edit/toposort.h"
#include "gs/graph/document.h"
#include "gs/graph/registry.h"
#include "gs/script/script.h"

/* ---- Finding --------------------------------------------------------------------------------- */

pgy_status verb_enter(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_gs_node *n;
    int64_t index;
    const char *name = call_text(c, "attribute");
    pgy_status st = ref_node_arg(&n, s, c, "node", err);
    if (!st) st = call_int(&index, c, "index", 0, INT32_MAX, 0, err);
    if (st) return st;
    const pgy_gs_attribute *a = pgy_gs_find_attr(n, name);
    if (!a || !a->graphs || (uint64_t)index >= a->graph_count)
        return gs_node_error(n, err, PGY_E_NOT_FOUND, "has no graph %lld in an attribute '%s'",
                             (long long)index, name);
    s->current = a->graphs[index];
    return PGY_OK;
}

static pgy_status no_function(const pgy_gs_script *s, const char *name, arena *a, pgy_error *err)
{
    const char **names = arena_alloc_array(a, s->top->function_count + 1, sizeof *names);
    str near = {0};
    if (!names) return gs_no_memory(err);
    for (size_t i = 0; i < s->top->function_count; i++) names[i] = s->top->functions[i]->name;
    gs_suggest(&near, name, names, s->top->function_count);
    const pgy_status st =
        pgy_error_set(err, PGY_E_NOT_FOUND, "there is no function '%s'%s", name, str_text(&near));
    str_deinit(&near);
    return st;
}

/* Finds the function of the name and, if the script's line gives it, the domain. */
static pgy_status find_function(pgy_gs_graph **out, const pgy_gs_script *s, const call *c,
                                const char *name, pgy_error *err)
{
    const char *domain = call_text(c, "domain");
    pgy_gs_graph *found = NULL;
    for (size_t i = 0; i < s->top->function_count; i++) {
        pgy_gs_graph *f = s->top->functions[i];
        if (strcmp(f->name, name) != 0 || (domain && strcmp(f->domain, domain) != 0)) continue;
        if (found && !domain && strcmp(found->domain, f->domain) != 0)
            return pgy_error_set(
                err, PGY_E_ARGUMENT,
                "domains '%s' and '%s' both have a function '%s'; choose one by domain=",
                found->domain, f->domain, name);
        if (!found) found = f;
    }
    if (!found) return no_function(s, name, c->memory, err);
    *out = found;
    return PGY_OK;
}

pgy_status verb_enter_function(pgy_gs_script *s, const call *c, pgy_error *err)
{
    return find_function(&s->current, s, c, call_text(c, "name"), err);
}

pgy_status verb_leave(pgy_gs_script *s, const call *c, pgy_error *err)
{
    (void)c;
    if (s->current == s->top)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the graph has no enclosing graph to return to");
    s->current = s->current->parent ? s->current->parent : s->top;
    return PGY_OK;
}

/* ---- Creating subgraphs and functions -------------------------------------------------------- */

static pgy_gs_tensor *find_listed(const tensor_refs *list, const char *name)
{
    for (size_t i = 0; list && i < list->count; i++)
        if (strcmp(list->items[i]->name, name) == 0) return list->items[i];
    return NULL;
}

/* Creates variables of the current graph. A name that is listed in `inputs` means that input. */
static pgy_status make_variables(tensor_refs *out, pgy_gs_script *s, const call *c,
                                 const char *argument, const tensor_refs *inputs, pgy_error *err)
{
    const piece *list = call_get(c, argument);
    piece_list names = {0};
    pgy_status st = list ? piece_split(&names, *list, c->memory, err) : PGY_OK;
    out->items = arena_alloc_array(c->memory, names.count + 1, sizeof(pgy_gs_tensor *));
    if (!out->items) return gs_no_memory(err);
    for (; !st && out->count < names.count; out->count++) {
        const char *name = names.items[out->count].text;
        pgy_gs_tensor *t = find_listed(inputs, name);
        if (!*name)
            st = pgy_error_set(err, PGY_E_ARGUMENT, "%s: a tensor needs a name", argument);
        else if (!t && (find_listed(out, name) || ref_find_tensor(s, name)))
            st = pgy_error_set(err, PGY_E_ARGUMENT, "%s: a tensor '%s' already exists", argument,
                               name);
        else if (!t)
            st = pgy_gs_variable(&t, s->current, name, PGY_DTYPE_NONE, -1, NULL, err);
        out->items[out->count] = t;
    }
    return st;
}

static pgy_status make_interface(pgy_gs_script *s, const call *c, pgy_error *err)
{
    tensor_refs inputs = {0}, outputs = {0};
    pgy_status st = make_variables(&inputs, s, c, "inputs", NULL, err);
    if (!st) st = make_variables(&outputs, s, c, "outputs", &inputs, err);
    if (!st) st = pgy_gs_set_graph_inputs(s->current, inputs.items, inputs.count, err);
    return st ? st : pgy_gs_set_graph_outputs(s->current, outputs.items, outputs.count, err);
}

pgy_status verb_new_subgraph(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_gs_node *n;
    pgy_gs_graph *made;
    const char *attribute = call_text(c, "attribute"), *name = call_text(c, "name");
    pgy_status st = ref_node_arg(&n, s, c, "node", err);
    if (st) return st;
    if (pgy_gs_find_attr(n, attribute))
        return gs_node_error(n, err, PGY_E_ARGUMENT, "already has an attribute '%s'", attribute);
    st = pgy_gs_subgraph(&made, n->graph, name ? name : attribute, err);
    if (st) return st;
    const pgy_gs_attr a = pgy_gs_attr_graph(attribute, made);
    st = pgy_gs_set_attr(n, &a, err);
    if (st) return st;
    s->current = made;
    return make_interface(s, c, err);
}

pgy_status verb_new_function(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_gs_graph *made;
    const pgy_status st =
        pgy_gs_function(&made, s->top, call_text(c, "name"), call_text(c, "domain"), err);
    if (st) return st;
    s->current = made;
    return make_interface(s, c, err);
}

pgy_status verb_add_parameter(pgy_gs_script *s, const call *c, pgy_error *err)
{
    const char *name = call_text(c, "name");
    const piece *value = call_get(c, "value");
    pgy_gs_attr a;
    pgy_tensor *held = NULL;
    if (!s->current->is_function)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "graph '%s' is not a function; enter one with new-function or enter-function",
            s->current->name);
    pgy_status st = value ? value_attr(&a, &held, name, *value, c->memory, err) : PGY_OK;
    if (!st && value && a.ref)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "a default cannot refer to another attribute");
    if (!st) st = pgy_gs_add_parameter(s->current, name, value ? &a : NULL, err);
    pgy_tensor_release(held);
    return st;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Copies the types of the function's outputs to outputs of the call that have none. */
static pgy_status take_types(const pgy_gs_node *n, const pgy_gs_graph *f, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < n->output_count && i < f->output_count; i++) {
        const pgy_gs_tensor *from = f->outputs[i];
        pgy_gs_tensor *to = n->outputs[i];
        if (to->kind == PGY_GS_CONSTANT || to->dtype || to->rank >= 0 || !*to->name) continue;
        if (from->type_kind != PGY_VALUE_TENSOR || (!from->dtype && from->rank < 0)) continue;
        st = pgy_gs_set_type(to, from->dtype, from->rank, from->dims, err);
    }
    return st;
}

/* Fails if functions call each other in a cycle. Stops checking when the script has used up
 * checks_left. */
static pgy_status check_recursion(pgy_gs_script *s, pgy_error *err)
{
    order calls;
    size_t cost = 0;
    for (size_t i = 0; i < s->top->function_count; i++) cost += s->top->functions[i]->node_count;
    if (s->checks_left < cost) return PGY_OK;
    s->checks_left -= cost;
    const pgy_status st = gs_function_order(&calls, graph_box(s->top)->document, err);
    order_deinit(&calls);
    return st;
}

pgy_status verb_call(pgy_gs_script *s, const call *c, pgy_error *err)
{
    operand_refs inputs = {0}, outputs = {0};
    attr_refs attrs = {0};
    pgy_gs_graph *f = NULL;
    pgy_gs_node *n = NULL;
    const piece *in = call_get(c, "inputs"), *out = call_get(c, "outputs");
    pgy_status st = find_function(&f, s, c, call_text(c, "function"), err);
    if (!st && gs_root(s->current) == f)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "function '%s' cannot call itself", f->name);
    if (!st && in) st = ref_operands(&inputs, s, *in, NULL, c->memory, err);
    if (!st) st = ref_attrs(&attrs, s, c, err);
    if (!st && out) st = ref_new_outputs(&outputs, s, out, c->memory, err);
    const pgy_gs_call what = {.inputs = inputs.items,
                              .input_count = inputs.count,
                              .outputs = outputs.items,
                              .output_count = outputs.count,
                              .attrs = attrs.items,
                              .attr_count = attrs.count};
    if (!st) st = gs_call_function(&n, s->current, f, &what, call_text(c, "name"), err);
    if (!st) st = take_types(n, f, err);
    if (!st && gs_root(s->current)->is_function) st = check_recursion(s, err);
    ref_operands_release(&outputs);
    ref_attrs_release(&attrs);
    ref_operands_release(&inputs);
    return st;
}

pgy_status verb_remove_function(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_gs_graph *f = NULL;
    pgy_status st = find_function(&f, s, c, call_text(c, "name"), err);
    if (!st) st = pgy_gs_remove_function(f, err);
    if (!st && gs_root(s->current) == f) s->current = s->top;
    return st;
}
