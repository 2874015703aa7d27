/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of other domains as layers, and assertions. An assertion has no output, so nothing
 * would wait for it. When the model is made, an output of the network passes through a node that
 * checks the condition first. */
#include <string.h>

#include "base/alloc.h"
#include "engine/network/network.h"
#include "graph/edit.h"

/* ---- Plug-ins ------------------------------------------------------------------------------- */

static void set_field(builder *b, pgy_value *v, const pgy_plugin_field *f)
{
    switch (f->kind) {
    case PGY_FIELD_INT: build_int(b, v, f->name, f->i); break;
    case PGY_FIELD_FLOAT: build_float(b, v, f->name, f->f); break;
    case PGY_FIELD_TEXT: build_text(b, v, f->name, f->text); break;
    case PGY_FIELD_INTS: build_ints(b, v, f->name, f->ints, f->count); break;
    case PGY_FIELD_FLOATS: build_floats(b, v, f->name, f->floats, f->count); break;
    default: build_fail(b, PGY_E_ARGUMENT, "field '%s' has an unknown kind", f->name);
    }
}

pgy_status pgy_network_add_plugin(pgy_layer **out, pgy_network *net, const char *domain,
                                  const char *op_type, pgy_value *const *inputs, size_t input_count,
                                  size_t output_count, const pgy_plugin_field *fields,
                                  size_t field_count, pgy_error *err)
{
    builder b = build_start(net, PGY_LAYER_PLUGIN_V3, err);
    if (!domain || !*domain || !op_type || strchr(domain, ':'))
        build_fail(&b, PGY_E_ARGUMENT,
                   "the domain of a plug-in is empty or has a ':', or its operator is NULL");
    if (b.status) return build_finish(&b, out);
    build_list(&b, inputs, input_count);
    const int64_t opset = pgy_graph_opset(net->root->graph, domain);
    if (!op_find(domain, op_type, opset ? opset : 1))
        build_fail(&b, PGY_E_NOT_FOUND,
                   "no operator '%s' of domain '%s' is known; load the library that has it",
                   op_type, domain);
    str op = {0};
    str_printf(&op, "%s:%s", domain, op_type);
    pgy_node *n = build_node(&b, str_text(&op), inputs, input_count, output_count);
    str_deinit(&op);
    for (size_t i = 0; n && i < field_count; i++) set_field(&b, n->outputs[0], &fields[i]);
    for (size_t i = 0; n && i < output_count; i++) build_output(&b, n->outputs[i]);
    return build_finish(&b, out);
}

/* ---- Assertions ----------------------------------------------------------------------------- */

/* The value of a condition: 1: all elements true, 0: some false, -1: known only at run time. */
static int truth_of(pgy_value *v)
{
    const pgy_tensor *t = box_of(v)->known.data;
    if (!t || pgy_tensor_dtype(t) != PGY_BOOL) return -1;
    const bool *x = pgy_tensor_data(t);
    for (size_t i = 0; i < pgy_tensor_count(t); i++)
        if (!x[i]) return 0;
    return 1;
}

static bool add_assertion(pgy_network *net, pgy_layer *layer, const char *message)
{
    void *assertions = net->assertions;
    if (!mem_grow(&assertions, &net->assertion_capacity, net->assertion_count + 1,
                  sizeof *net->assertions))
        return false;
    net->assertions = assertions;
    net->assertions[net->assertion_count++] = (assertion){.layer = layer, .message = message};
    return true;
}

pgy_status pgy_network_add_assertion(pgy_layer **out, pgy_network *net, pgy_value *condition,
                                     const char *message, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_ASSERTION, condition, err);
    pgy_layer *layer = NULL;
    if (!b.status && build_dtype(&b, condition) != PGY_BOOL)
        build_fail(&b, PGY_E_TYPE, "the condition is %s; expected bool",
                   pgy_dtype_name(condition->dtype));
    const int truth = b.status ? -1 : truth_of(condition);
    if (truth == 0)
        build_fail(&b, PGY_E_ARGUMENT, "the assertion is false: %s", message ? message : "");
    char *copy =
        b.status ? NULL : arena_strdup(&state_of(net->level)->memory, message ? message : "");
    if (!b.status && !copy) build_fail(&b, PGY_E_MEMORY, "out of memory");
    pgy_status st = build_finish(&b, &layer);
    if (st) return st;
    if (truth < 0 && !add_assertion(net, layer, copy)) return network_no_memory(err);
    if (out) *out = layer;
    return PGY_OK;
}

/* Adds a node that passes on output v once the conditions have been checked. */
static pgy_status guard(pgy_network *net, pgy_value *v, assertion *a, pgy_error *err)
{
    builder b = build_start(net, PGY_LAYER_ASSERTION, err);
    pgy_node *producer = v->producer;
    const size_t index = v->output_index;
    if (b.status) return b.status;
    b.keep_names = true;
    pgy_value *inner = build_emit(&b, "pgy:Assert", 2, v, a->layer->inputs[0]);
    build_text(&b, inner, "message", a->message);
    if (b.status) return b.status;
    /* v keeps its users and name: it becomes the check's output, and `inner` the producer's. */
    pgy_node *check = inner->producer;
    node_set_output(check, 0, v);
    node_set_output(producer, index, inner);
    pgy_status st = node_set_input(check, 0, inner, err);
    if (!st) st = graph_infer_node(producer, err);
    if (!st) st = graph_infer_node(check, err);
    if (st) return st;
    pgy_node **nodes = arena_alloc(&state_of(net->level)->memory, sizeof *nodes);
    if (!nodes) return network_no_memory(err);
    nodes[0] = check;
    check->name = a->layer->name;
    a->layer->nodes = nodes;
    a->layer->node_count = 1;
    a->placed = true;
    return PGY_OK;
}

/* Picks for each assertion an output that a node makes and that no other node reads. */
pgy_status network_place_assertions(pgy_network *net, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < net->assertion_count; i++) {
        assertion *a = &net->assertions[i];
        pgy_value *guarded = NULL;
        for (size_t k = 0; !a->placed && k < net->level->output_count && !guarded; k++) {
            pgy_value *v = net->level->outputs[k];
            if (v->producer && v->graph == net->level && v->consumer_count == 0) guarded = v;
        }
        if (a->placed) continue;
        if (!guarded)
            return pgy_error_set(err, PGY_E_UNSUPPORTED,
                                 "layer '%s' (ASSERTION): other layers read every output of the "
                                 "network; mark the Identity of an output as output instead",
                                 a->layer->name);
        st = guard(net, guarded, a, err);
    }
    return st;
}
