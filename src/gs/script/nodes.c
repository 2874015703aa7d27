/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs on nodes: remove, replace, replace-region, rename-node, place, set-attr, remove-attr. */
#include <string.h>

#include "gs/script/script.h"

size_t graph_output_index(const pgy_gs_graph *g, const pgy_gs_tensor *t)
{
    size_t i = 0;
    while (i < g->output_count && g->outputs[i] != t) i++;
    return i;
}

pgy_status graph_set_output(pgy_gs_graph *g, size_t i, pgy_gs_tensor *t, arena *a, pgy_error *err)
{
    pgy_gs_tensor **list = arena_alloc_array(a, g->output_count, sizeof *list);
    if (!list) return gs_no_memory(err);
    memcpy(list, g->outputs, g->output_count * sizeof *list);
    list[i] = t;
    return pgy_gs_set_graph_outputs(g, list, g->output_count, err);
}

pgy_status node_slot(size_t *out, const pgy_gs_node *n, size_t count, const char *what,
                     int64_t slot, pgy_error *err)
{
    if ((uint64_t)slot >= count)
        return gs_node_error(n, err, PGY_E_NOT_FOUND, "has no %s %lld", what, (long long)slot);
    *out = (size_t)slot;
    return PGY_OK;
}

/* ---- remove ---------------------------------------------------------------------------------- */

static bool is_used(const pgy_gs_graph *g, const pgy_gs_tensor *t)
{
    return t->consumer_count || graph_output_index(g, t) < g->output_count;
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
    if (in->producer_count != 1 || is_input(g, in) || graph_output_index(g, in) < g->output_count)
        return gs_node_error(n, err, PGY_E_UNSUPPORTED,
                             "its output '%s' cannot be kept: its input '%s' %s", out->name,
                             in->name,
                             is_input(g, in)      ? "is an input of the graph"
                             : in->producer_count ? "is also an output of the graph"
                                                  : "has no node that computes it");
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
        return pgy_error_set(err, PGY_E_ARGUMENT, "keep= is '%s'; expected input or output", keep);
    pgy_status st = call_int(&wanted, c, "slot", 0, INT32_MAX, 0, err);
    if (st) return st;
    if (call_has(c, "--cut")) {
        pgy_gs_remove_node(n);
        return PGY_OK;
    }
    for (size_t i = 1; i < n->output_count; i++)
        if (!pgy_gs_is_omitted(n->outputs[i]) && is_used(g, n->outputs[i]))
            return gs_node_error(n, err, PGY_E_ARGUMENT,
                                 "its output '%s' has readers, too, which cannot read its input "
                                 "instead; --cut removes the node anyway",
                                 n->outputs[i]->name);
    st = node_slot(&slot, n, n->input_count, "input", wanted, err);
    if (st) return st;
    pgy_gs_tensor *in = n->inputs[slot], *out = n->output_count ? n->outputs[0] : NULL;
    if (pgy_gs_is_omitted(in))
        return gs_node_error(n, err, PGY_E_ARGUMENT, "its input %zu is omitted", slot);
    if (!out || !is_used(g, out)) {
        pgy_gs_remove_node(n);
        return PGY_OK;
    }
    const bool is_output = graph_output_index(g, out) < g->output_count;
    if (keep ? strcmp(keep, "output") == 0 : is_output) return keep_output(n, in, out, err);
    if (is_output) st = graph_set_output(g, graph_output_index(g, out), in, c->memory, err);
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
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "expected exactly one of INDEX, after= and before=");
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
