/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: one pass over the nodes in running order. The rule of each node gets what is
 * known of its inputs. If all of them are small constants the node is run instead, so arithmetic on
 * shapes is exact. Subgraphs are inferred when the rule of their node asks for it, function bodies
 * once per call. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/sized.h"
#include "graph/graph.h"
#include "graph/side_table.h"
#include "ops/signature.h"

static const char LOG_PATH[] = "backend/onnx/loader.py";

enum { SMALL_COUNT = 16, MAX_FOLDED = 4096, MAX_FOLDED_BYTES = 1 << 20 };
static const uint64_t MAX_STEPS = 1u << 22;

typedef struct infer_run {
    graph_state *state;
    const attr_scope *scope;
    merge_rules rules; /* `findings` NULL: the first failure ends inference */
    const call_chain *calls;
    int depth;       /* of calls */
    uint64_t steps;  /* nodes visited; bounded, because nested calls can multiply */
    id_marks absent; /* values: inputs of a function body that the present call omits */
    op_host host;
} infer_run;

static pgy_status infer_level(infer_run *run, pgy_graph *g, pgy_error *err);

/* ---- Running a node on constants ------------------------------------------------------------ */

static bool is_small(const op_value *v)
{
    int64_t count = 1;
    for (int32_t i = 0; i < v->rank; i++) {
        if (!dim_is_const(v->dims[i])) return v->dims[i].expr != NULL;
        if (v->dims[i].value < 0 || !i64_mul(&count, count, v->dims[i].value) || count > MAX_FOLDED)
            return false;
    }
    return true;
}

static bool can_fold(const op_infer *c)
{
    if ((c->node->def->flags & (OP_RANDOM | OP_HAS_GRAPHS)) || c->node->input_count == 0)
        return false;
    for (size_t i = 0; i < c->node->input_count; i++)
        if (c->present[i] && !c->inputs[i].data) return false;
    for (size_t i = 0; i < c->node->output_count; i++)
        if (c->outputs[i].sequence || !is_small(&c->outputs[i])) return false;
    return true;
}

/* Stores a computed tensor as the known value of an output. */
static pgy_status adopt_result(op_infer *c, size_t i, op_tensor *result, infer_run *run,
                               pgy_error *err)
{
    pgy_tensor *t = result->value;
    if (!t || pgy_tensor_count(t) > MAX_FOLDED) {
        op_tensor_release(result);
        return PGY_OK;
    }
    dim *dims = op_dims(c, pgy_tensor_rank(t));
    const pgy_dtype dtype = result->dtype;
    *result = (op_tensor){0};
    const pgy_status st = state_keep_tensor(run->state, t, err);
    if (st || !dims) return st ? st : graph_no_memory(err);
    for (size_t d = 0; d < pgy_tensor_rank(t); d++) dims[d] = dim_const(pgy_tensor_shape(t)[d]);
    c->outputs[i] =
        (op_value){.dtype = dtype, .rank = (int32_t)pgy_tensor_rank(t), .dims = dims, .data = t};
    return PGY_OK;
}

/* A node that fails on its constants is no error here, because a run may never reach it. */
static pgy_status fold(infer_run *run, op_infer *c, pgy_error *err)
{
    arena memory = {0};
    pgy_status st = PGY_OK;
    op_tensor *in = arena_alloc_array(&memory, c->node->input_count, sizeof *in);
    op_tensor *out = arena_alloc_array(&memory, c->node->output_count, sizeof *out);
    if (!in || !out) st = graph_no_memory(err);
    for (size_t i = 0; !st && i < c->node->input_count; i++)
        if (c->present[i])
            in[i] =
                (op_tensor){.dtype = c->inputs[i].dtype, .value = (pgy_tensor *)c->inputs[i].data};
    if (!st && op_run(c->node, in, out, c->wanted, c->host, NULL) == PGY_OK) {
        for (size_t i = 0; i < c->node->output_count; i++) {
            const pgy_status one = st ? PGY_OK : adopt_result(c, i, &out[i], run, err);
            if (one) st = one;
            if (out[i].value) op_tensor_release(&out[i]);
        }
    }
    arena_deinit(&memory);
    return st;
}

/* If all elements are known numbers, the value is a constant. */
static pgy_status elements_to_data(infer_run *run, op_value *v, pgy_error *err)
{
    pgy_tensor *t = NULL;
    const int64_t shape[1] = {(int64_t)v->element_count};
    const pgy_dtype held = op_storage(v->dtype);
    if (v->data || !v->elements || v->rank < 0 || v->rank > 1 ||
        (held != PGY_I64 && held != PGY_BOOL))
        return PGY_OK;
    for (size_t i = 0; i < v->element_count; i++)
        if (!dim_is_const(v->elements[i])) return PGY_OK;
    if (v->rank == 0 && v->element_count != 1) return PGY_OK;
    pgy_status st = pgy_tensor_create(&t, held, (size_t)v->rank, shape, err);
    if (!st) st = state_keep_tensor(run->state, t, err);
    if (st) return st;
    for (size_t i = 0; i < v->element_count; i++) {
        if (held == PGY_BOOL)
            ((bool *)pgy_tensor_data(t))[i] = v->elements[i].value != 0;
        else
            op_i64(t)[i] = v->elements[i].value;
    }
    op_conform(t, v->dtype, false);
    v->data = t;
    return PGY_OK;
}

/* ---- One node ------------------------------------------------------------------------------- */

/* Arrays for one node: on the stack for the usual sizes. */
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

/* Do two rows of an operator differ in nothing but the types they take? */
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
            LOG(WARNING, "%s; it runs as in opset %lld, which allows it", why, (long long)v);
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
    if (!st && can_fold(&c)) st = fold(run, &c, err);
    for (size_t i = 0; !st && i < n->output_count; i++) {
        st = elements_to_data(run, &a->outputs[i], err);
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
    snprintf(why, sizeof why, "operator %s (domain '%s', opset %lld) is not known", n->op_type,
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
                          "the function calls itself, or calls are nested too deep");
    pgy_status st = function_body(&body, f, n->graph, err);
    if (!st && (n->input_count > body->input_count || n->output_count > body->output_count))
        st = node_error(n, err, PGY_E_FORMAT,
                        "has %zu inputs and %zu outputs, but its function has %zu and %zu",
                        n->input_count, n->output_count, body->input_count, body->output_count);
    if (!st) st = infer_body(run, n, body, a, err);
    if (st) return pgy_error_prefix(err, st, "%s '%s': ", n->op_type, node_label(n));
    for (size_t i = 0; !st && i < n->output_count; i++)
        st = merge_output(n, i, &box_of(body->outputs[i])->known, body->outputs[i]->unknown_why,
                          &run->rules, err);
    return st;
}

/* ---- Levels --------------------------------------------------------------------------------- */

static pgy_status infer_node(infer_run *run, pgy_node *n, pgy_error *err)
{
    node_arrays a;
    if (++run->steps > MAX_STEPS)
        return node_error(n, err, PGY_E_UNSUPPORTED,
                          "functions and subgraphs expand to more than %llu nodes",
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

/* Does the node omit something required, and is it well-formed otherwise? */
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

/* The checker has reported omitted inputs already; the same code and text make it one finding. */
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

static pgy_status infer_level(infer_run *run, pgy_graph *g, pgy_error *err)
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

/* Merges what an operator knows about an input of its subgraph with the declaration. */
static op_value bound_input(const op_value *given, const op_value *declared)
{
    op_value v = *given;
    if (!v.dtype && !v.sequence) {
        v.dtype = declared->dtype;
        v.sequence = declared->sequence;
        v.optional = declared->optional;
    }
    if (v.rank < 0 && !v.sequence) {
        v.rank = declared->rank;
        v.dims = declared->dims;
    }
    return v;
}

/* Compares the type of a value that enters a body, or leaves it unchanged, with the body's
 * declaration. */
static pgy_status compare_types(const infer_run *run, const pgy_graph *g, const char *name,
                                pgy_dtype is, pgy_dtype declared, pgy_error *err)
{
    if (!is || !declared || is == declared || run->calls) return PGY_OK;
    if (run->rules.findings)
        finding_add_value(run->rules.findings, CHECK_DECLARED_TYPE, g, name,
                          "'%s' is %s, but graph '%s' declares %s", name, pgy_dtype_name(is),
                          g->name, pgy_dtype_name(declared));
    else if (run->rules.strict)
        return pgy_error_set(err, PGY_E_TYPE, "'%s' is %s, but graph '%s' declares %s", name,
                             pgy_dtype_name(is), g->name, pgy_dtype_name(declared));
    else if (!run->rules.quiet)
        LOG(WARNING, "'%s' is %s, but graph '%s' declares %s", name, pgy_dtype_name(is), g->name,
            pgy_dtype_name(declared));
    return PGY_OK;
}

/* Compares the types of outputs that no node of the graph writes: weights, inputs, captured values.
 */
static pgy_status compare_outputs(const infer_run *run, const pgy_graph *g, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && g->proto && i < g->output_count && i < g->proto->output_count; i++) {
        pgy_value *v = g->outputs[i];
        const pgy_onnx_value_info *info = g->proto->outputs[i];
        if ((v->producer && v->graph == g) || strcmp(info->name, v->name) != 0 || !info->type ||
            !info->type->tensor_type)
            continue;
        st = compare_types(run, g, v->name, box_of(v)->known.dtype,
                           pgy_dtype_from_onnx(info->type->tensor_type->elem_type), err);
    }
    return st;
}

static pgy_status infer_subgraph(void *graph, const op_value *inputs, size_t input_count,
                                 op_value *outputs, size_t output_count, void *user, pgy_error *err)
{
    infer_run *run = user;
    pgy_graph *g = graph;
    const graph_level *level = g ? level_of(g) : NULL;
    if (!g) return pgy_error_set(err, PGY_E_FORMAT, "a subgraph is missing");
    if (input_count > level->declared_count || output_count > g->output_count)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "subgraph '%s' has %zu inputs and %zu outputs, but needs %zu and %zu",
                             g->name, level->declared_count, g->output_count, input_count,
                             output_count);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < input_count; i++) {
        value_box *box = box_of(level->declared[i]);
        st = compare_types(run, g, box->value.name, inputs[i].dtype, box->declared.dtype, err);
        box->known = bound_input(&inputs[i], &box->declared);
    }
    if (!st) st = infer_level(run, g, err);
    if (!st) st = compare_outputs(run, g, err);
    for (size_t i = 0; !st && i < output_count; i++) outputs[i] = box_of(g->outputs[i])->known;
    return st;
}

/* ---- The whole ------------------------------------------------------------------------------ */

static pgy_status replace_input(pgy_value *v, const pgy_tensor_info *info, pgy_error *err)
{
    op_value *known = &box_of(v)->known;
    if (info->dtype) known->dtype = info->dtype;
    return info->rank < 0 ? PGY_OK : value_set_shape(known, state_of(v->graph), info, err);
}

static const char *input_reason(const pgy_value *v)
{
    const op_value *known = &box_of((pgy_value *)v)->known;
    const char *lacks = !known->dtype ? "type" : known->rank < 0 ? "rank" : "size of a dimension";
    return arena_printf(&state_of(v->graph)->memory, "the %s of input '%s' is not given", lacks,
                        v->name);
}

/* Sets the elements of an input, which inference then treats as a constant. */
static pgy_status know_elements(pgy_value *v, pgy_tensor *t, pgy_error *err)
{
    graph_state *s = state_of(v->graph);
    op_value *known = &box_of(v)->known;
    pgy_tensor *stored = NULL;
    const size_t rank = pgy_tensor_rank(t);
    dim *dims = arena_alloc_array(&s->memory, rank, sizeof *dims);
    if (!dims) return graph_no_memory(err);
    for (size_t i = 0; i < rank; i++) dims[i] = dim_const(pgy_tensor_shape(t)[i]);
    pgy_status st = op_to_storage(&stored, t, err);
    if (!st) st = state_keep_tensor(s, stored, err);
    if (st) return st;
    *known = (op_value){
        .dtype = pgy_tensor_dtype(t), .rank = (int32_t)rank, .dims = dims, .data = stored};
    return PGY_OK;
}

static pgy_status start_inputs(pgy_graph *g, const pgy_metadata *given,
                               const pgy_tensor_map *values, pgy_error *err)
{
    const graph_level *level = level_of(g);
    for (size_t i = 0; i < level->declared_count; i++) {
        pgy_value *v = level->declared[i];
        const pgy_tensor_info *info = given ? pgy_metadata_find(given, v->name) : NULL;
        box_of(v)->known = box_of(v)->declared;
        pgy_tensor *elements = values ? pgy_tensor_map_find(values, v->name) : NULL;
        pgy_status st = info ? replace_input(v, info, err) : PGY_OK;
        if (!st && elements) st = know_elements(v, elements, err);
        if (st) return st;
        v->unknown_why = value_is_known(&box_of(v)->known) ? NULL : input_reason(v);
    }
    return PGY_OK;
}

/* Gives names to unknown sizes of computed values: equal names mean equal sizes. */
static void name_unknowns(pgy_value *v)
{
    const op_value *known = &box_of(v)->known;
    for (int32_t i = 0; v->producer && i < known->rank; i++)
        dim_name_unknowns(&state_of(v->graph)->dims, known->dims[i]);
}

static pgy_status publish(pgy_graph *g, pgy_error *err)
{
    const strmap *values = &level_of(g)->values;
    for (size_t i = 0; i < values->count; i++) {
        pgy_value *v = values->entries[i].value;
        const pgy_dtype before = v->dtype;
        const int32_t rank = v->rank;
        name_unknowns(v);
        const pgy_status st = value_publish(v, err);
        if (st) return st;
        if (!v->initializer && (!v->info || v->dtype != before || v->rank != rank))
            graph_mark_changed(g);
    }
    return PGY_OK;
}

static bool is_part_of(const pgy_graph *g, const pgy_graph *top)
{
    while (g && g != top) g = g->parent;
    return g != NULL;
}

pgy_status graph_infer_node(pgy_node *n, pgy_error *err)
{
    graph_state *s = state_of(n->graph);
    infer_run run = {.state = s};
    run.host = (op_host){.infer_graph = infer_subgraph,
                         .max_bytes = MAX_FOLDED_BYTES,
                         .model_precision = true,
                         .user = &run};
    pgy_status st = infer_node(&run, n, err);
    id_marks_deinit(&run.absent);
    for (size_t i = 0; !st && i < n->output_count; i++) {
        if (!n->outputs[i]) continue;
        name_unknowns(n->outputs[i]);
        st = value_publish(n->outputs[i], err);
    }
    for (size_t i = 0; !st && n->subgraph_count && i < s->level_count; i++)
        if (is_part_of(s->levels[i], n->graph) && s->levels[i] != n->graph)
            st = publish(s->levels[i], err);
    if (!st && s->dims.failed) st = graph_no_memory(err);
    return st;
}

static pgy_status infer_graph(infer_run *run, pgy_graph *g, const pgy_metadata *inputs,
                              const pgy_tensor_map *values, pgy_error *err)
{
    graph_state *s = state_of(g);
    run->state = s;
    run->host = (op_host){.infer_graph = infer_subgraph,
                          .max_bytes = MAX_FOLDED_BYTES,
                          .model_precision = true,
                          .user = run};
    run->rules.quiet = inputs != NULL;
    pgy_status st = start_inputs(g, inputs, values, err);
    if (!st) st = infer_level(run, g, err);
    if (!st) st = compare_outputs(run, g, err);
    id_marks_deinit(&run->absent);
    for (size_t i = 0; !st && i < s->level_count; i++)
        if (is_part_of(s->levels[i], g)) st = publish(s->levels[i], err);
    if (!st && s->dims.failed) st = graph_no_memory(err);
    return st;
}

pgy_status pgy_graph_infer_shapes(pgy_graph *g, const pgy_infer_options *options, pgy_error *err)
{
    if (!g) return pgy_error_set(err, PGY_E_ARGUMENT, "there is no graph");
    pgy_infer_options o = {.size = sizeof o};
    pgy_status st = SIZED_TAKE(pgy_infer_options, &o, options, err);
    if (st) return st;
    infer_run run = {.rules = {.strict = o.strict}};
    st = infer_graph(&run, g, o.inputs, o.values, err);
    if (!st) LOG(EXTRA_VERBOSE, "Inferred the shapes of %zu nodes", g->node_count);
    return st;
}

pgy_status graph_infer_all(pgy_graph *g, finding_list *findings, pgy_error *err)
{
    infer_run run = {.rules = {.findings = findings}};
    return infer_graph(&run, g, NULL, NULL, err);
}
