/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: one pass over the nodes in execution order. The rule of each node gets what is
 * known of its inputs. Subgraphs are inferred when the rule of their node asks for it, function
 * bodies once per call. */
#include "graph/infer.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "ops/signature.h"

static const char LOG_PATH[] = "backend/onnx/loader.py";

enum { SMALL_COUNT = 16 };
static const uint64_t MAX_STEPS = 1u << 22;

/* ---- One node ------------------------------------------------------------------------------- */

/* Arrays with one entry per input or output of a node; up to SMALL_COUNT entries need no
 * allocation. */
typedef struct node_arrays {
    op_value in_room[SMALL_COUNT], out_room[SMALL_COUNT], *inputs, *outputs;
    bool present_room[SMALL_COUNT], wanted_room[SMALL_COUNT], *present, *wanted;
    arena memory;
} node_arrays;

static bool arrays_init(node_arrays *a, const pgy_node *n)
{
    a->memory = (arena){0};
    const bool few_in = n->input_count <= SMALL_COUNT, few_out = n->output_count <= SMALL_COUNT;
    a->inputs =
        few_in ? a->in_room : arena_alloc_array(&a->memory, n->input_count, sizeof *a->inputs);
    a->present = few_in ? a->present_room
                        : arena_alloc_array(&a->memory, n->input_count, sizeof *a->present);
    a->outputs =
        few_out ? a->out_room : arena_alloc_array(&a->memory, n->output_count, sizeof *a->outputs);
    a->wanted = few_out ? a->wanted_room
                        : arena_alloc_array(&a->memory, n->output_count, sizeof *a->wanted);
    return a->inputs && a->present && a->outputs && a->wanted;
}

static pgy_status gather_inputs(const infer_run *run, node_arrays *a, pgy_node *n, pgy_error *err)
{
    for (size_t i = 0; i < n->input_count; i++) {
        pgy_value *v = n->inputs[i];
        a->inputs[i] = (op_value){.rank = -1};
        a->present[i] = v && !id_marks_get(&run->absent, value_id(v));
        if (!a->present[i]) continue;
        if (v->initializer) {
            const pgy_status st = value_read_small(v, v->initializer, err);
            if (st) return st;
        }
        a->inputs[i] = box_of(v)->known;
    }
    for (size_t i = 0; i < n->output_count; i++) {
        a->outputs[i] = (op_value){.rank = -1};
        a->wanted[i] = n->outputs[i] != NULL;
    }
    return PGY_OK;
}

/* Do two versions of an operator differ only in the types that they accept? */
static bool computes_same(const op_def *a, const op_def *b)
{
    return a->infer == b->infer && a->eval == b->eval && a->user == b->user &&
           a->user_data == b->user_data && a->attrs == b->attrs && a->flags == b->flags &&
           a->min_inputs == b->min_inputs && a->max_inputs == b->max_inputs &&
           a->min_outputs == b->min_outputs && a->max_outputs == b->max_outputs;
}

/* Switches to the first newer version of the operator that accepts these types, if there is one. */
static bool take_newer_types(op_infer *c, op_node *node, pgy_node *n, const char *why)
{
    node_box *box = node_box_of(n);
    const op_node before = *node;
    const int64_t newest = domain_is_default(n->domain) ? op_newest_opset() : 0;
    for (int64_t v = before.opset + 1; v <= newest; v++) {
        const op_def *def = op_find("", n->op_type, v);
        const op_signature *s = op_signature_find("", n->op_type, v);
        if (!s || s->since != v || !def || !computes_same(def, before.def)) continue;
        node->def = def;
        node->signature = s;
        if (op_check_inputs(c, NULL)) continue;
        box->def = def;
        box->signature = s;
        if (graph_warns_newer(n))
            LOG(WARNING, "%s. It runs as in opset %lld, which allows this type", why, (long long)v);
        return true;
    }
    *node = before;
    return false;
}

static pgy_status check_inputs(infer_run *run, op_infer *c, op_node *node, pgy_node *n,
                               pgy_error *err)
{
    pgy_error why = {0};
    const pgy_status st = op_check_inputs(c, &why);
    if (!st) return PGY_OK;
    if (st == PGY_E_TYPE && run->state->newer != NEWER_REFUSED &&
        take_newer_types(c, node, n, why.text))
        return PGY_OK;
    return pgy_error_set(err, st, "%s", why.text);
}

static pgy_status infer_operator(infer_run *run, pgy_node *n, node_arrays *a, pgy_error *err)
{
    op_node node = node_op(n);
    pgy_status st =
        node_attrs(&node.attrs, &node.attr_count, n, run->scope, &run->state->memory, err);
    if (!st) st = op_check_node(&node, err);
    if (st) return st;
    op_infer c = {.node = &node,
                  .inputs = a->inputs,
                  .present = a->present,
                  .outputs = a->outputs,
                  .wanted = a->wanted,
                  .dims = &run->state->dims,
                  .memory = &run->state->memory,
                  .host = &run->host};
    const void *outer = run->state->dims.owner;
    run->state->dims.owner = n;
    st = check_inputs(run, &c, &node, n, err);
    if (!st) st = op_check_named(&c, err);
    if (!st) st = node.def->infer(&c, err);
    if (!st) st = op_check_outputs(&c, err);
    if (!st) st = infer_fold(run->state, &c, err);
    for (size_t i = 0; !st && i < n->output_count; i++) {
        st = infer_elements(run->state, &a->outputs[i], err);
        if (!st) st = merge_output(n, i, &a->outputs[i], c.why, &run->rules, err);
    }
    run->state->dims.owner = outer;
    return st;
}

pgy_status graph_foresee_types(pgy_dtype *types, pgy_node *n, const node_types *wanted,
                               pgy_error *err)
{
    node_arrays a;
    infer_run run = {.state = state_of(n->graph), .host = {.max_bytes = 0}};
    op_node node = node_op(n);
    node.attrs = wanted->attrs;
    node.attr_count = wanted->attr_count;
    pgy_status st = arrays_init(&a, n) ? gather_inputs(&run, &a, n, err) : graph_no_memory(err);
    for (size_t i = 0; !st && i < n->input_count; i++)
        if (a.inputs[i].dtype == wanted->from) a.inputs[i].dtype = wanted->to;
    op_infer c = {.node = &node,
                  .inputs = a.inputs,
                  .present = a.present,
                  .outputs = a.outputs,
                  .wanted = a.wanted,
                  .dims = &run.state->dims,
                  .memory = &run.state->memory,
                  .host = &run.host};
    if (!st) st = op_check_node(&node, err);
    if (!st) st = op_check_inputs(&c, err);
    if (!st) st = node_box_of(n)->def->infer(&c, err);
    if (!st) st = op_check_outputs(&c, err);
    for (size_t i = 0; !st && i < n->output_count; i++) types[i] = a.outputs[i].dtype;
    arena_deinit(&a.memory);
    return st;
}

static pgy_status infer_constant(infer_run *run, pgy_node *n, const pgy_onnx_tensor *t,
                                 pgy_error *err)
{
    pgy_value *v = n->outputs[0];
    if (!v) return node_error(n, err, PGY_E_FORMAT, "output 0 'output' is required, but omitted");
    const op_value declared = box_of(v)->declared;
    const pgy_tensor *data = declared.data;
    pgy_status st = value_describe_tensor(v, t, err);
    if (!st) st = value_read_small(v, t, err);
    if (st) return pgy_error_prefix(err, st, "Constant '%s': ", node_label(n));
    op_value computed = box_of(v)->known;
    if (!computed.data) computed.data = data;
    box_of(v)->declared = declared;
    box_of(v)->declared.data = computed.data;
    return merge_output(n, 0, &computed, NULL, &run->rules, err);
}

static pgy_status infer_unknown_operator(infer_run *run, pgy_node *n, pgy_error *err)
{
    const op_value nothing = {.rank = -1};
    char why[256];
    snprintf(why, sizeof why, "operator %s (domain '%s', opset %lld) is unknown", n->op_type,
             n->domain, (long long)node_box_of(n)->opset);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < n->output_count; i++)
        st = merge_output(n, i, &nothing, why, &run->rules, err);
    return st;
}

/* ---- Functions ------------------------------------------------------------------------------ */

static pgy_status bind_inputs(infer_run *run, pgy_graph *body, const node_arrays *a, size_t count,
                              pgy_error *err)
{
    for (size_t i = 0; i < body->input_count; i++) {
        pgy_value *v = body->inputs[i];
        bool *absent = id_marks_at(&run->absent, value_id(v));
        if (!absent) return graph_no_memory(err);
        *absent = i >= count || !a->present[i];
        box_of(v)->known = *absent ? (op_value){.rank = -1} : a->inputs[i];
        v->unknown_why = NULL;
    }
    return PGY_OK;
}

static pgy_status infer_body(infer_run *run, pgy_node *n, pgy_graph *body, const node_arrays *a,
                             pgy_error *err)
{
    const node_box *box = node_box_of(n);
    const op_attr *attrs;
    size_t count;
    attr_scope scope = {0};
    pgy_status st = node_attrs(&attrs, &count, n, run->scope, &run->state->memory, err);
    if (!st) st = function_scope(&scope, box->function, n, attrs, count, &run->state->memory, err);
    if (st) return st;
    const attr_scope *outer = run->scope;
    const call_chain call = {box->function, run->calls};
    run->scope = &scope;
    run->calls = &call;
    run->depth++;
    st = bind_inputs(run, body, a, n->input_count, err);
    if (!st) st = infer_level(run, body, err);
    run->depth--;
    run->calls = call.outer;
    run->scope = outer;
    return st;
}

static pgy_status infer_call(infer_run *run, pgy_node *n, const node_arrays *a, pgy_error *err)
{
    graph_function *f = node_box_of(n)->function;
    pgy_graph *body = NULL;
    if (call_is_open(run->calls, f) || run->depth > GRAPH_MAX_DEPTH)
        return node_error(n, err, PGY_E_FORMAT,
                          "the function calls itself, or function calls are nested too deep");
    pgy_status st = function_body(&body, f, n->graph, err);
    if (!st && (n->input_count > body->input_count || n->output_count > body->output_count))
        st = node_error(n, err, PGY_E_FORMAT,
                        "the call has %zu inputs and %zu outputs, but the function has %zu and %zu",
                        n->input_count, n->output_count, body->input_count, body->output_count);
    if (!st) st = infer_body(run, n, body, a, err);
    if (st) return pgy_error_prefix(err, st, "%s '%s': ", n->op_type, node_label(n));
    for (size_t i = 0; !st && i < n->output_count; i++)
        st = merge_output(n, i, &box_of(body->outputs[i])->known, body->outputs[i]->unknown_why,
                          &run->rules, err);
    return st;
}

/* ---- Levels --------------------------------------------------------------------------------- */

pgy_status infer_node(infer_run *run, pgy_node *n, pgy_error *err)
{
    node_arrays a;
    if (++run->steps > MAX_STEPS)
        return node_error(n, err, PGY_E_UNSUPPORTED,
                          "functions and subgraphs expand to more nodes than the limit of %llu",
                          (unsigned long long)MAX_STEPS);
    pgy_status st = node_prepare(n, err);
    if (st) return st;
    const pgy_onnx_tensor *constant = node_constant(n);
    if (constant) return infer_constant(run, n, constant, err);
    if (!arrays_init(&a, n)) st = graph_no_memory(err);
    if (!st) st = gather_inputs(run, &a, n, err);
    if (!st && node_box_of(n)->function)
        st = infer_call(run, n, &a, err);
    else if (!st && node_box_of(n)->def)
        st = infer_operator(run, n, &a, err);
    else if (!st)
        st = infer_unknown_operator(run, n, err);
    arena_deinit(&a.memory);
    return st;
}

/* Is an omitted required input or output the only fault of the node? */
static bool omits(const pgy_node *n)
{
    const op_node node = node_op(n);
    if (!node.def || (!node_constant(n) && op_check_node(&node, NULL))) return false;
    for (size_t i = 0; i < n->input_count; i++)
        if (!n->inputs[i] && op_requires_input(&node, i)) return true;
    for (size_t i = 0; i < n->output_count; i++)
        if (!n->outputs[i] && op_requires_output(&node, i)) return true;
    return false;
}

/* The code of the finding for failure `st`. The checker has reported an omitted input already; with
 * the same code and text the second finding is dropped. */
static check_code code_of(pgy_status st, const pgy_node *n)
{
    if (st == PGY_E_FORMAT && omits(n)) return CHECK_MISSING_INPUT;
    switch (st) {
    case PGY_E_TYPE: return CHECK_INPUT_TYPE;
    case PGY_E_SHAPE: return CHECK_INPUT_SHAPE;
    case PGY_E_ARGUMENT: return CHECK_ATTRIBUTE_VALUE;
    case PGY_E_FORMAT: return CHECK_MALFORMED_NODE;
    default: return CHECK_INFERENCE_FAILED;
    }
}

/* Adds a finding and leaves the outputs of the node unknown. A failure inside a function is
 * reported at the call. */
static pgy_status note_failure(infer_run *run, pgy_node *n, pgy_status st, const pgy_error *failure,
                               pgy_error *err)
{
    char prefix[512];
    const char *text = failure->text;
    const op_value nothing = {.rank = -1};
    const int size = snprintf(prefix, sizeof prefix, "%s '%s': ", n->op_type, node_label(n));
    if (status_ends_all(st) || !run->rules.findings || run->calls)
        return pgy_error_set(err, st, "%s", text);
    if (size > 0 && (size_t)size < sizeof prefix && strncmp(text, prefix, (size_t)size) == 0)
        text += size;
    finding_add(run->rules.findings, run->state, code_of(st, n), n, "%s", text);
    const merge_rules lenient = {.quiet = run->rules.quiet, .findings = run->rules.findings};
    pgy_status kept = PGY_OK;
    for (size_t i = 0; !kept && i < n->output_count; i++)
        kept = merge_output(n, i, &nothing, text, &lenient, err);
    return kept;
}

pgy_status infer_level(infer_run *run, pgy_graph *g, pgy_error *err)
{
    arena memory = {0};
    pgy_node **order = NULL;
    pgy_error failure = {0};
    pgy_status st = graph_order(&order, g, &memory, err);
    for (size_t i = 0; !st && i < g->node_count; i++) {
        st = infer_node(run, order[i], &failure);
        if (st) st = note_failure(run, order[i], st, &failure, err);
        st = cancel_check_after(st, err);
    }
    arena_deinit(&memory);
    return st;
}
