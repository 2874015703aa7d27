/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs that add nodes: insert and layer. */
#include <ctype.h>
#include <string.h>

#include "gs/script/script.h"

typedef struct insertion {
    pgy_gs_node *after, *before; /* anchors of the new node; at most one is given */
    size_t slot;
    pgy_gs_tensor *met;    /* the anchor's output (after) or input (before) where the node goes */
    pgy_gs_node **readers; /* consumers of `met` before the edit */
    size_t reader_count;
    operand_refs inputs, outputs;
    attr_refs attrs;
} insertion;

static pgy_status find_anchor(insertion *x, pgy_gs_script *s, const call *c, pgy_error *err)
{
    int64_t slot;
    pgy_status st = ref_node_arg(&x->after, s, c, "after", err);
    if (!st) st = ref_node_arg(&x->before, s, c, "before", err);
    if (!st && x->after && x->before)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "after= and before= exclude each other");
    if (!st && call_has(c, "slot") && !x->after && !x->before)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "slot= names a slot of the node in after= or before=; give one of them");
    if (!st) st = call_int(&slot, c, "slot", 0, INT32_MAX, 0, err);
    if (!st && x->after) {
        st = node_slot(&x->slot, x->after, x->after->output_count, "output", slot, err);
        if (!st) x->met = x->after->outputs[x->slot];
    }
    if (!st && x->before) {
        st = node_slot(&x->slot, x->before, x->before->input_count, "input", slot, err);
        if (!st) x->met = x->before->inputs[x->slot];
    }
    if (!st && x->met && pgy_gs_is_omitted(x->met))
        st = gs_node_error(x->after ? x->after : x->before, err, PGY_E_ARGUMENT,
                           "its slot %zu is omitted", x->slot);
    if (!st && x->after) {
        x->reader_count = x->met->consumer_count;
        x->readers = arena_alloc_array(c->memory, x->reader_count + 1, sizeof(pgy_gs_node *));
        if (!x->readers) return gs_no_memory(err);
        if (x->reader_count)
            memcpy(x->readers, x->met->consumers, x->reader_count * sizeof(pgy_gs_node *));
    }
    return st;
}

/* Gives the new node one output with a generated name, such as "conv_out". */
static pgy_status name_output(operand_refs *out, const char *op, arena *a, pgy_error *err)
{
    char *base = arena_printf(a, "%s_out", op);
    out->items = arena_alloc_array(a, 1, sizeof *out->items);
    out->held = arena_alloc_array(a, 1, sizeof(pgy_tensor *));
    if (!base || !out->items || !out->held) return gs_no_memory(err);
    for (char *p = base; *p; p++) *p = (char)tolower((unsigned char)*p);
    out->items[0] = pgy_gs_name_operand(base);
    out->count = 1;
    return PGY_OK;
}

static pgy_status set_output_type(const pgy_gs_node *n, const call *c, pgy_error *err)
{
    const piece *p = call_get(c, "type");
    type_spec type;
    if (!p) return PGY_OK;
    if (n->output_count == 0 || pgy_gs_is_omitted(n->outputs[0]))
        return pgy_error_set(err, PGY_E_ARGUMENT, "type= needs an output of the new node");
    const pgy_status st = value_type(&type, *p, c->memory, err);
    return st ? st : value_apply_type(n->outputs[0], &type, err);
}

static pgy_status build(pgy_gs_node **out, pgy_gs_script *s, const call *c, const insertion *x,
                        pgy_error *err)
{
    const pgy_gs_layer_spec spec = {.op = call_text(c, "op"),
                                    .name = call_text(c, "name"),
                                    .domain = call_text(c, "domain"),
                                    .inputs = x->inputs.items,
                                    .input_count = x->inputs.count,
                                    .outputs = x->outputs.items,
                                    .output_count = x->outputs.count,
                                    .attrs = x->attrs.items,
                                    .attr_count = x->attrs.count};
    pgy_status st = pgy_gs_layer(out, s->current, &spec, err);
    if (!st) st = set_output_type(*out, c, err);
    return st;
}

static pgy_status read_instead(pgy_gs_node *n, const pgy_gs_tensor *from, pgy_gs_tensor *to,
                               pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < n->input_count; i++)
        if (n->inputs[i] == from) st = pgy_gs_set_input(n, i, to, err);
    return st;
}

/* Connects the new node after its anchor: consumers of the anchor's output read the new output. A
 * graph output keeps its name unless outputs= gives another. */
static pgy_status wire_after(pgy_gs_script *s, const insertion *x, pgy_gs_node *n, const call *c,
                             pgy_error *err)
{
    pgy_gs_graph *g = s->current;
    pgy_gs_tensor *made = n->output_count ? n->outputs[0] : NULL, *met = x->met;
    const size_t place = graph_output_index(g, met);
    if (!made || pgy_gs_is_omitted(made))
        return pgy_error_set(err, PGY_E_ARGUMENT, "with after= the new node needs an output");
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < x->reader_count; i++)
        if (x->readers[i] != n) st = read_instead(x->readers[i], met, made, err);
    if (st || place == g->output_count) return st;
    if (call_has(c, "outputs")) return graph_set_output(g, place, made, c->memory, err);
    /* From here on, the anchor makes a new tensor of the same type, and the new node makes the
     * graph output. */
    st = pgy_gs_set_type(made, met->dtype, met->rank, met->dims, err);
    if (!st) st = pgy_gs_replace_uses(made, met, err);
    if (!st) st = read_instead(n, met, made, err);
    if (!st) st = pgy_gs_set_output(x->after, x->slot, made, err);
    if (!st) st = pgy_gs_set_output(n, 0, met, err);
    return st ? st : set_output_type(n, c, err);
}

static pgy_status wire(pgy_gs_script *s, const insertion *x, pgy_gs_node *n, const call *c,
                       pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (x->after) {
        st = wire_after(s, x, n, c, err);
        if (!st && x->after->graph == n->graph)
            st = pgy_gs_place_node(n, s->current, pgy_gs_node_index(x->after) + 1, err);
    } else if (x->before) {
        if (n->output_count == 0)
            return pgy_error_set(err, PGY_E_ARGUMENT, "with before= the new node needs an output");
        st = pgy_gs_set_input(x->before, x->slot, n->outputs[0], err);
        if (!st && x->before->graph == n->graph)
            st = pgy_gs_place_node(n, s->current, pgy_gs_node_index(x->before), err);
    }
    return st;
}

pgy_status verb_insert(pgy_gs_script *s, const call *c, pgy_error *err)
{
    insertion x = {0};
    pgy_gs_node *n = NULL;
    const piece *inputs = call_get(c, "inputs"), *outputs = call_get(c, "outputs");
    pgy_status st = find_anchor(&x, s, c, err);
    const pgy_gs_node *anchor = x.after ? x.after : x.before;
    if (!st && inputs) st = ref_operands(&x.inputs, s, *inputs, anchor, c->memory, err);
    pgy_gs_operand met = pgy_gs_tensor_operand(x.met);
    if (!st && !inputs && x.met) {
        x.inputs.items = &met;
        x.inputs.count = 1;
        x.inputs.held = arena_alloc_array(c->memory, 1, sizeof(pgy_tensor *));
        if (!x.inputs.held) st = gs_no_memory(err);
    }
    if (!st) st = ref_attrs(&x.attrs, s, c, err);
    if (!st)
        st = outputs ? ref_new_outputs(&x.outputs, s, outputs, c->memory, err)
                     : name_output(&x.outputs, call_text(c, "op"), c->memory, err);
    if (!st) st = build(&n, s, c, &x, err);
    if (!st) st = wire(s, &x, n, c, err);
    ref_operands_release(&x.outputs);
    ref_attrs_release(&x.attrs);
    ref_operands_release(&x.inputs);
    return st;
}

/* Outputs of the verb `layer`: NAME is the stem of a generated name; an unquoted $ refers to an
 * existing tensor. */
static pgy_status base_outputs(operand_refs *out, pgy_gs_script *s, const piece *list, arena *a,
                               pgy_error *err)
{
    piece_list names;
    pgy_status st = piece_split(&names, *list, a, err);
    if (st) return st;
    out->items = arena_alloc_array(a, names.count + 1, sizeof *out->items);
    out->held = arena_alloc_array(a, names.count + 1, sizeof(pgy_tensor *));
    if (!out->items || !out->held) return gs_no_memory(err);
    for (; !st && out->count < names.count; out->count++) {
        const piece p = names.items[out->count];
        pgy_gs_tensor *t;
        out->items[out->count] = pgy_gs_name_operand(p.text);
        if (p.text[0] != '$' || p.quoted[0] == '1') continue;
        st = ref_tensor(&t, s, p, NULL, a, err);
        if (!st) out->items[out->count] = pgy_gs_tensor_operand(t);
    }
    return st;
}

pgy_status verb_layer(pgy_gs_script *s, const call *c, pgy_error *err)
{
    insertion x = {0};
    pgy_gs_node *n = NULL;
    const piece *inputs = call_get(c, "inputs"), *outputs = call_get(c, "outputs");
    pgy_status st = inputs ? ref_operands(&x.inputs, s, *inputs, NULL, c->memory, err) : PGY_OK;
    if (!st) st = ref_attrs(&x.attrs, s, c, err);
    if (!st && outputs) st = base_outputs(&x.outputs, s, outputs, c->memory, err);
    if (!st) st = build(&n, s, c, &x, err);
    ref_operands_release(&x.outputs);
    ref_attrs_release(&x.attrs);
    ref_operands_release(&x.inputs);
    return st;
}
