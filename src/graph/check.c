/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a model without a runtime, in three steps: it visits every node and weight of all levels
 * and functions once, infers shapes and types without stopping at failures, and reports whatever
 * affects no output. check_rules.def lists all findings; each aspect has a file check_*.c. */
#include "graph/check.h"

#include <string.h>

#include "base/cancel.h"
#include "ops/signature.h"

enum { OLDEST_SIGNED = 7 }; /* the first opset for which operators have signatures */

/* ---- Operators ------------------------------------------------------------------------------ */

static bool is_defined(const op_def *def, const char *attribute)
{
    for (const op_attr_def *d = def->attrs; d && d->name; d++)
        if (strcmp(d->name, attribute) == 0) return true;
    return false;
}

static pgy_status check_domain(checker *c, const pgy_node *n, pgy_error *err)
{
    const char *domain = domain_is_default(n->domain) ? "" : n->domain;
    if (!strmap_put(&c->used_domains, domain, c)) return graph_no_memory(err);
    if (pgy_graph_opset(n->graph, domain) || strmap_has(&c->domains, domain)) return PGY_OK;
    finding_add(&c->list, c->state,
                *domain ? CHECK_OPSET_IMPORT_MISSING_DOMAIN : CHECK_OPSET_IMPORT_MISSING, n,
                "No opset import for domain '%s'", domain);
    return strmap_put(&c->domains, domain, c) ? PGY_OK : graph_no_memory(err);
}

static void check_unknown(checker *c, const pgy_node *n)
{
    const bool own = domain_is_default(n->domain);
    if (!*n->op_type)
        finding_add(&c->list, c->state, CHECK_EMPTY_NAME, n, "The node has no operator type");
    else
        finding_add(&c->list, c->state,
                    own ? CHECK_UNKNOWN_OPERATOR : CHECK_UNKNOWN_CUSTOM_OPERATOR, n,
                    "%s is not a known operator of domain '%s' in opset %lld", n->op_type,
                    own ? "ai.onnx" : n->domain, (long long)node_box_of(n)->opset);
}

/* Reports required inputs and outputs that are listed with an empty name. */
static void check_omitted(checker *c, const pgy_node *n, const op_signature *s)
{
    for (size_t i = 0; i < n->input_count; i++) {
        const op_parameter *p = op_signature_input(s, i);
        if (p && !(p->flags & OP_PARAM_OPTIONAL) && !n->inputs[i])
            finding_add(&c->list, c->state, CHECK_MISSING_INPUT, n,
                        "input %zu '%s' is required, but omitted", i, p->name);
    }
    for (size_t i = 0; i < n->output_count; i++) {
        const op_parameter *p = op_signature_output(s, i);
        if (p && !p->flags && !n->outputs[i])
            finding_add(&c->list, c->state, CHECK_MISSING_INPUT, n,
                        "output %zu '%s' is required, but omitted", i, p->name);
    }
}

/* Checks the counts of inputs and outputs of an operator that has a signature but no definition. */
static void check_counts(checker *c, const pgy_node *n, const op_signature *s)
{
    size_t inputs = 0, outputs = 0;
    for (size_t i = 0; i < s->input_count; i++)
        if (!(op_signature_input(s, i)->flags & (OP_PARAM_OPTIONAL | OP_PARAM_VARIADIC)))
            inputs = i + 1;
    for (size_t i = 0; i < s->output_count; i++)
        if (!(op_signature_output(s, i)->flags & (OP_PARAM_OPTIONAL | OP_PARAM_VARIADIC)))
            outputs = i + 1;
    const bool few = n->input_count < inputs || n->output_count < outputs;
    const bool many = (n->input_count && !op_signature_input(s, n->input_count - 1)) ||
                      (n->output_count && !op_signature_output(s, n->output_count - 1));
    if (few || many)
        finding_add(&c->list, c->state, CHECK_MALFORMED_NODE, n,
                    "%s has %zu inputs and %zu outputs: too %s for this operator", n->op_type,
                    n->input_count, n->output_count, few ? "few" : "many");
    check_omitted(c, n, s);
}

static pgy_status check_operator(checker *c, pgy_node *n, pgy_error *err)
{
    const node_box *box = node_box_of(n);
    if (box->function) {
        str key = {0};
        const pgy_onnx_function *f = box->function->proto;
        str_printf(&key, "%s:%s:%s", f->domain, f->name, f->overload);
        const bool ok = !key.failed && strmap_put(&c->called, str_text(&key), c);
        str_deinit(&key);
        return ok ? PGY_OK : graph_no_memory(err);
    }
    if (!box->def) {
        const op_signature *s = op_signature_find(n->domain, n->op_type, box->opset);
        if (s) /* ONNX has it, but this program does not */
            check_counts(c, n, s);
        else
            check_unknown(c, n);
        return PGY_OK;
    }
    if (domain_is_default(n->domain) && !box->signature && box->opset >= OLDEST_SIGNED)
        check_unknown(c, n); /* a custom operator, or one of a newer opset */
    if (box->def->deprecated && box->opset >= box->def->deprecated)
        finding_add(&c->list, c->state, CHECK_DEPRECATED_OPERATOR, n,
                    "%s is deprecated since opset %d", n->op_type, box->def->deprecated);
    for (size_t i = 0; i < n->attribute_count; i++)
        if (!is_defined(box->def, n->attributes[i]->name))
            finding_add(&c->list, c->state, CHECK_UNKNOWN_ATTRIBUTE, n,
                        "Unrecognized attribute: '%s' for operator %s in opset %lld",
                        n->attributes[i]->name, n->op_type, (long long)box->opset);
    if (box->signature) check_omitted(c, n, box->signature);
    return PGY_OK;
}

/* ---- Levels --------------------------------------------------------------------------------- */

static pgy_status check_level(checker *c, pgy_graph *g, const pgy_onnx_function *f, pgy_error *err);

static pgy_status check_node(checker *c, pgy_node *n, const pgy_onnx_function *f, pgy_error *err)
{
    pgy_error failure = {0};
    pgy_status st = check_domain(c, n, err);
    if (!st) st = check_attributes(c, n, f, err);
    if (st) return st;
    check_order(c, n);
    st = node_prepare(n, &failure);
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", failure.text);
    if (!st) {
        st = check_operator(c, n, err);
        check_captures(c, n);
        if (!st) st = check_constants(c, n, err);
    } else {
        st = PGY_OK; /* not reported here: inference fails in the same way and reports it */
    }
    for (size_t k = 0; !st && k < n->subgraph_count; k++)
        st = check_level(c, n->subgraphs[k], f, err);
    return st;
}

static pgy_status check_level(checker *c, pgy_graph *g, const pgy_onnx_function *f, pgy_error *err)
{
    if (g->proto && !*g->name)
        finding_add_value(&c->list, CHECK_EMPTY_NAME, g, "", "The graph has no name");
    pgy_status st = check_names(c, g, err);
    for (size_t i = 0; !st && i < g->node_count; i++)
        st = cancel_check_after(check_node(c, g->nodes[i], f, err), err);
    return st ? st : check_weights(c, g, err);
}

static pgy_status check_functions(checker *c, pgy_error *err)
{
    const strmap *functions = &c->state->functions;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < functions->count; i++) {
        graph_function *f = functions->entries[i].value;
        pgy_graph *body;
        pgy_error failure = {0};
        st = function_body(&body, f, c->top, &failure);
        if (status_ends_all(st)) return pgy_error_set(err, st, "%s", failure.text);
        if (st) {
            const size_t before = c->list.count;
            check_structure_of_function(&c->list, c->state, f->proto);
            if (c->list.count == before)
                finding_add_value(&c->list, CHECK_FUNCTION_BODY, c->top, f->proto->name, "%s",
                                  failure.text);
            st = PGY_OK;
            continue;
        }
        graph_reindex(body);
        st = check_level(c, body, f->proto, err);
        if (!st) st = check_unused(c, body, err);
    }
    return st;
}

static pgy_status check_shapes(checker *c, pgy_graph *g, pgy_error *err)
{
    arena memory = {0};
    pgy_node **order = NULL;
    pgy_error cycle = {0};
    pgy_status st = graph_order(&order, g, &memory, &cycle);
    arena_deinit(&memory);
    if (st == PGY_E_FORMAT) {
        const size_t before = c->list.count;
        if (g->model) check_structure(&c->list, c->state, pgy_model_proto(g->model));
        if (c->list.count == before)
            finding_add(&c->list, c->state, CHECK_CYCLE, NULL, "%s", cycle.text);
        return PGY_OK;
    }
    return st ? pgy_error_set(err, st, "%s", cycle.text) : graph_infer_all(g, &c->list, err);
}

pgy_status pgy_graph_check(const pgy_finding **out, size_t *count, pgy_graph *g, pgy_error *err)
{
    if (!out || !count || !g)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out', 'count' and 'g' must not be NULL");
    checker c = {.state = state_of(g), .top = g};
    graph_reindex(g);
    if (g->node_count == 0)
        finding_add(&c.list, c.state, CHECK_EMPTY_MODEL, NULL, "The model has no nodes");
    pgy_status st = check_model(&c, err);
    if (!st) st = check_level(&c, g, NULL, err);
    if (!st) st = check_functions(&c, err);
    if (!st) st = check_shapes(&c, g, err);
    if (!st) st = check_unused(&c, g, err);
    if (!st) st = check_imports_used(&c, err);
    strmap_deinit(&c.names);
    strmap_deinit(&c.domains);
    strmap_deinit(&c.used_domains);
    strmap_deinit(&c.called);
    strmap_deinit(&c.list.seen);
    if (!st && c.list.failed) st = graph_no_memory(err);
    if (st) return st;
    *out = c.list.items;
    *count = c.list.count;
    return PGY_OK;
}
