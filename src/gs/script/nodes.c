/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs on nodes: insert, layer, remove, replace, replace-region, rename-node, place, set-attr,
 * remove-attr. */
#include <ctype.h>
#include <string.h>

#include "gs/script/script.h"

static size_t output_index(const pgy_gs_graph *g, const pgy_gs_tensor *t)
{
    size_t i = 0;
    while (i < g->output_count && g->outputs[i] != t) i++;
    return i;
}

static pgy_status set_graph_output(pgy_gs_graph *g, size_t i, pgy_gs_tensor *t, arena *a,
                                   pgy_error *err)
{
    pgy_gs_tensor **list = arena_alloc_array(a, g->output_count, sizeof *list);
    if (!list) return gs_no_memory(err);
    memcpy(list, g->outputs, g->output_count * sizeof *list);
    list[i] = t;
    return pgy_gs_set_graph_outputs(g, list, g->output_count, err);
}

static pgy_status node_at(size_t *out, const pgy_gs_node *n, size_t count, const char *what,
                          int64_t slot, pgy_error *err)
{
    if ((uint64_t)slot >= count)
        return gs_node_error(n, err, PGY_E_NOT_FOUND, "has no %s %lld", what, (long long)slot);
    *out = (size_t)slot;
    return PGY_OK;
}

/* ---- insert and layer ------------------------------------------------------------------------ */

typedef struct insertion {
    pgy_gs_node *after, *before; /* at most one */
    size_t slot;
    pgy_gs_tensor *met;    /* the anchor's tensor */
    pgy_gs_node **readers; /* readers of `met` before the edit */
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
        st = pgy_error_set(err, PGY_E_ARGUMENT, "slot= needs after= or before=, whose slot it is");
    if (!st) st = call_int(&slot, c, "slot", 0, INT32_MAX, 0, err);
    if (!st && x->after) {
        st = node_at(&x->slot, x->after, x->after->output_count, "output", slot, err);
        if (!st) x->met = x->after->outputs[x->slot];
    }
    if (!st && x->before) {
        st = node_at(&x->slot, x->before, x->before->input_count, "input", slot, err);
        if (!st) x->met = x->before->inputs[x->slot];
    }
    if (!st && x->met && pgy_gs_is_omitted(x->met))
        st = gs_node_error(x->after ? x->after : x->before, err, PGY_E_ARGUMENT,
                           "leaves slot %zu out", x->slot);
    if (!st && x->after) {
        x->reader_count = x->met->consumer_count;
        x->readers = arena_alloc_array(c->memory, x->reader_count + 1, sizeof(pgy_gs_node *));
        if (!x->readers) return gs_no_memory(err);
        if (x->reader_count)
            memcpy(x->readers, x->met->consumers, x->reader_count * sizeof(pgy_gs_node *));
    }
    return st;
}

/* One output with a generated name: "conv_out". */
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
        return pgy_error_set(err, PGY_E_ARGUMENT, "type=: there is no output");
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

/* The new node goes after its anchor: readers of the anchor's tensor read the new output. An output
 * of the graph keeps its name unless outputs= gives another. */
static pgy_status wire_after(pgy_gs_script *s, const insertion *x, pgy_gs_node *n, const call *c,
                             pgy_error *err)
{
    pgy_gs_graph *g = s->current;
    pgy_gs_tensor *made = n->output_count ? n->outputs[0] : NULL, *met = x->met;
    const size_t place = output_index(g, met);
    if (!made || pgy_gs_is_omitted(made))
        return pgy_error_set(err, PGY_E_ARGUMENT, "with after= the new node needs an output");
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < x->reader_count; i++)
        if (x->readers[i] != n) st = read_instead(x->readers[i], met, made, err);
    if (st || place == g->output_count) return st;
    if (call_has(c, "outputs")) return set_graph_output(g, place, made, c->memory, err);
    /* The anchor makes a new tensor of the same type; the new node makes the graph's output. */
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

/* Outputs of `layer` are stems of generated names; $tensor:NAME is an existing tensor. */
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

/* ---- remove ---------------------------------------------------------------------------------- */

static bool is_used(const pgy_gs_graph *g, const pgy_gs_tensor *t)
{
    return t->consumer_count || output_index(g, t) < g->output_count;
}

static bool is_input(const pgy_gs_graph *g, const pgy_gs_tensor *t)
{
    for (size_t i = 0; i < g->input_count; i++)
        if (g->inputs[i] == t) return true;
    return false;
}

static pgy_status keep_output(pgy_gs_node *n, pgy_gs_tensor *in, pgy_gs_tensor *out, pgy_error *err)
{
    pgy_gs_graph *g = n->graph;
    if (in->producer_count != 1 || is_input(g, in) || output_index(g, in) < g->output_count)
        return gs_node_error(n, err, PGY_E_UNSUPPORTED,
                             "its output '%s' cannot be made by another node: '%s' %s", out->name,
                             in->name,
                             is_input(g, in)      ? "is an input of the graph"
                             : in->producer_count ? "is an output of the graph too"
                                                  : "is made by no node");
    pgy_gs_node *maker = in->producers[0];
    size_t slot = 0;
    while (maker->outputs[slot] != in) slot++;
    pgy_gs_remove_node(n);
    pgy_status st = pgy_gs_replace_uses(in, out, err);
    if (!st) st = pgy_gs_set_output(maker, slot, out, err);
    return st;
}

static pgy_status remove_one(pgy_gs_script *s, pgy_gs_node *n, const call *c, pgy_error *err)
{
    pgy_gs_graph *g = s->current;
    int64_t wanted;
    size_t slot = 0;
    const char *keep = call_text(c, "keep");
    if (keep && strcmp(keep, "input") != 0 && strcmp(keep, "output") != 0)
        return pgy_error_set(err, PGY_E_ARGUMENT, "keep=%s: write input or output", keep);
    pgy_status st = call_int(&wanted, c, "slot", 0, INT32_MAX, 0, err);
    if (st) return st;
    if (call_has(c, "--cut")) {
        pgy_gs_remove_node(n);
        return PGY_OK;
    }
    for (size_t i = 1; i < n->output_count; i++)
        if (!pgy_gs_is_omitted(n->outputs[i]) && is_used(g, n->outputs[i]))
            return gs_node_error(n, err, PGY_E_ARGUMENT,
                                 "its output '%s' is used too; --cut leaves the readers without",
                                 n->outputs[i]->name);
    st = node_at(&slot, n, n->input_count, "input", wanted, err);
    if (st) return st;
    pgy_gs_tensor *in = n->inputs[slot], *out = n->output_count ? n->outputs[0] : NULL;
    if (pgy_gs_is_omitted(in))
        return gs_node_error(n, err, PGY_E_ARGUMENT, "leaves input %zu out", slot);
    if (!out || !is_used(g, out)) {
        pgy_gs_remove_node(n);
        return PGY_OK;
    }
    const bool is_output = output_index(g, out) < g->output_count;
    if (keep ? strcmp(keep, "output") == 0 : is_output) return keep_output(n, in, out, err);
    if (is_output) st = set_graph_output(g, output_index(g, out), in, c->memory, err);
    pgy_gs_remove_node(n);
    return st ? st : pgy_gs_replace_uses(out, in, err);
}

pgy_status verb_remove(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->rest.count; i++) {
        pgy_gs_node *n = NULL;
        st = ref_node(&n, s, c->rest.items[i], err);
        if (!st) st = remove_one(s, n, c, err);
    }
    return st;
}

/* ---- replace --------------------------------------------------------------------------------- */

static void clear_attrs(pgy_gs_node *n)
{
    while (n->attribute_count) pgy_gs_remove_attr(n, n->attributes[0].name);
}

pgy_status verb_replace(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_gs_node *n = NULL;
    attr_refs attrs = {0};
    tensor_refs inputs, outputs;
    const piece *in = call_get(c, "inputs"), *out = call_get(c, "outputs");
    pgy_status st = ref_node_arg(&n, s, c, "node", err);
    if (!st) st = ref_attrs(&attrs, s, c, err);
    if (!st && in) st = ref_tensors(&inputs, s, *in, n, c->memory, err);
    if (!st && out) st = ref_tensors(&outputs, s, *out, n, c->memory, err);
    if (!st && call_has(c, "op")) st = pgy_gs_set_op(n, call_text(c, "op"), err);
    if (!st && call_has(c, "name")) st = pgy_gs_set_node_name(n, call_text(c, "name"), err);
    if (!st && call_has(c, "domain")) st = pgy_gs_set_domain(n, call_text(c, "domain"), err);
    if (!st && in) st = pgy_gs_set_inputs(n, inputs.items, inputs.count, err);
    if (!st && out) st = pgy_gs_set_outputs(n, outputs.items, outputs.count, err);
    if (!st && call_has(c, "--clear-attrs")) clear_attrs(n);
    for (size_t i = 0; !st && i < attrs.count; i++) st = pgy_gs_set_attr(n, &attrs.items[i], err);
    ref_attrs_release(&attrs);
    return st;
}

pgy_status verb_replace_region(pgy_gs_script *s, const call *c, pgy_error *err)
{
    tensor_refs inputs, outputs;
    attr_refs attrs = {0};
    pgy_gs_node *made;
    pgy_status st = ref_tensors(&inputs, s, *call_get(c, "inputs"), NULL, c->memory, err);
    if (!st) st = ref_tensors(&outputs, s, *call_get(c, "outputs"), NULL, c->memory, err);
    if (!st) st = ref_attrs(&attrs, s, c, err);
    if (!st) {
        const char *name = call_text(c, "name");
        if (!name) name = ref_new_name(s->current, "onnx_graphsurgeon_node", true, c->memory);
        const pgy_gs_node_spec spec = {.op = call_text(c, "op"),
                                       .name = name,
                                       .domain = call_text(c, "domain"),
                                       .inputs = inputs.items,
                                       .input_count = inputs.count,
                                       .outputs = outputs.items,
                                       .output_count = outputs.count,
                                       .attrs = attrs.items,
                                       .attr_count = attrs.count};
        st = name ? pgy_gs_replace_region(&made, s->current, &spec, err) : gs_no_memory(err);
    }
    ref_attrs_release(&attrs);
    return st;
}

/* ---- Names, places, attributes --------------------------------------------------------------- */

pgy_status verb_rename_node(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_gs_node *n;
    const pgy_status st = ref_node_arg(&n, s, c, "node", err);
    return st ? st : pgy_gs_set_node_name(n, call_text(c, "name"), err);
}

pgy_status verb_place(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_gs_node *n, *after, *before;
    int64_t index;
    pgy_status st = ref_node_arg(&n, s, c, "node", err);
    if (!st) st = ref_node_arg(&after, s, c, "after", err);
    if (!st) st = ref_node_arg(&before, s, c, "before", err);
    if (st) return st;
    pgy_gs_node *other = after ? after : before;
    if (call_has(c, "index") + (after != NULL) + (before != NULL) != 1)
        return pgy_error_set(err, PGY_E_ARGUMENT, "write one of INDEX, after= and before=");
    st = call_int(&index, c, "index", 0, (int64_t)s->current->node_count - 1, 0, err);
    if (st || other == n) return st;
    if (other && other->graph != s->current)
        return gs_node_error(other, err, PGY_E_ARGUMENT, "is not in this graph");
    pgy_gs_unlist_node(n);
    if (other) index = (int64_t)pgy_gs_node_index(other) + (after ? 1 : 0);
    return pgy_gs_place_node(n, s->current, (size_t)index, err);
}

pgy_status verb_set_attr(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_gs_node *n;
    attr_refs attrs = {0};
    pgy_status st = ref_node_arg(&n, s, c, "node", err);
    if (!st) st = ref_attrs(&attrs, s, c, err);
    for (size_t i = 0; !st && i < attrs.count; i++) st = pgy_gs_set_attr(n, &attrs.items[i], err);
    ref_attrs_release(&attrs);
    return st;
}

static pgy_status no_attribute(const pgy_gs_node *n, const char *name, arena *a, pgy_error *err)
{
    const char **names = arena_alloc_array(a, n->attribute_count + 1, sizeof *names);
    str near = {0};
    if (!names) return gs_no_memory(err);
    for (size_t i = 0; i < n->attribute_count; i++) names[i] = n->attributes[i].name;
    gs_suggest(&near, name, names, n->attribute_count);
    const pgy_status st =
        gs_node_error(n, err, PGY_E_NOT_FOUND, "has no attribute '%s'%s", name, str_text(&near));
    str_deinit(&near);
    return st;
}

pgy_status verb_remove_attr(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_gs_node *n;
    pgy_status st = ref_node_arg(&n, s, c, "node", err);
    for (size_t i = 0; !st && i < c->rest.count; i++)
        if (!pgy_gs_remove_attr(n, c->rest.items[i].text))
            st = no_attribute(n, c->rest.items[i].text, c->memory, err);
    return st;
}
