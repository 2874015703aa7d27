/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of one graph: values by name, nodes with their inputs and outputs, the users of each
 * value, and a topological order. Invalid graphs are accepted: a name that is defined twice keeps
 * its first value, an undefined name is a value without a producer, nodes in cycles come last. */
#include <string.h>

#include "base/alloc.h"
#include "inspect/diff.h"

pgy_status diff_no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while comparing models");
}

/* The tensor of a Constant node that holds a plain weight; or NULL. */
static const pgy_onnx_tensor *constant_of(const pgy_onnx_node *n)
{
    if (strcmp(n->op_type, "Constant") || (n->domain[0] && strcmp(n->domain, "ai.onnx")) ||
        n->output_count != 1 || n->input_count || n->attribute_count != 1)
        return NULL;
    const pgy_onnx_attribute *a = n->attributes[0];
    return strcmp(a->name, "value") == 0 && !a->ref_attr_name[0] ? a->t : NULL;
}

static diff_value *find(const diff_side *s, const char *name)
{
    for (; s; s = s->outer) {
        diff_value *v = strmap_get(&s->names, name);
        if (v) return v;
    }
    return NULL;
}

/* Finds the value with this name in this graph, or adds it. NULL: out of memory. */
static diff_value *define(diff_side *s, const char *name)
{
    diff_value *v = strmap_get(&s->names, name);
    if (v) return v;
    v = &s->values[s->value_count];
    *v = (diff_value){.name = name, .side = s};
    if (!strmap_put(&s->names, name, v)) return NULL;
    s->value_count++;
    return v;
}

static size_t count_values(const diff_side *s, size_t proto_count)
{
    size_t count = s->input_count + s->output_count + 1;
    if (s->graph) count += s->graph->initializer_count + s->graph->sparse_initializer_count;
    for (size_t i = 0; i < proto_count; i++)
        count += s->protos[i]->input_count + s->protos[i]->output_count;
    return count;
}

static bool define_interface(diff_side *s, bool inputs)
{
    diff_value **list = inputs ? s->inputs : s->outputs;
    const size_t count = inputs ? s->input_count : s->output_count;
    for (size_t i = 0; i < count; i++) {
        const pgy_onnx_value_info *info = !s->graph ? NULL
                                          : inputs  ? s->graph->inputs[i]
                                                    : s->graph->outputs[i];
        const char *name = info     ? info->name
                           : inputs ? s->function->inputs[i]
                                    : s->function->outputs[i];
        diff_value *v = inputs ? define(s, name) : find(s, name);
        if (!v) v = define(s, name);
        if (!v) return false;
        if (inputs) v->is_input = true;
        if (!inputs && v->side == s) v->is_output = true;
        if (info && v->side == s && !v->info) v->info = info;
        list[i] = v;
    }
    return true;
}

static bool define_weights(diff_side *s)
{
    for (size_t i = 0; s->graph && i < s->graph->initializer_count; i++) {
        diff_value *v = define(s, s->graph->initializers[i]->name);
        if (!v) return false;
        if (!diff_is_weight(v)) v->weight = s->graph->initializers[i];
    }
    for (size_t i = 0; s->graph && i < s->graph->sparse_initializer_count; i++) {
        const pgy_onnx_sparse_tensor *sparse = s->graph->sparse_initializers[i];
        diff_value *v = define(s, sparse->values ? sparse->values->name : "");
        if (!v) return false;
        if (!diff_is_weight(v)) v->sparse = sparse;
    }
    return true;
}

static void attach_infos(diff_side *s)
{
    pgy_onnx_value_info *const *infos = s->graph ? s->graph->value_infos : s->function->value_infos;
    const size_t count = s->graph ? s->graph->value_info_count : s->function->value_info_count;
    for (size_t i = 0; i < count; i++) {
        diff_value *v = strmap_get(&s->names, infos[i]->name);
        if (v && !v->info) v->info = infos[i];
    }
}

static bool define_outputs(diff_side *s, size_t proto_count, arena *memory)
{
    for (size_t i = 0; i < proto_count; i++) {
        const pgy_onnx_node *p = s->protos[i];
        const pgy_onnx_tensor *constant = constant_of(p);
        diff_value *known = constant ? strmap_get(&s->names, p->outputs[0]) : NULL;
        if (constant && p->outputs[0][0] && !known) {
            diff_value *v = define(s, p->outputs[0]);
            if (!v) return false;
            v->weight = constant;
            v->is_constant = true;
            continue;
        }
        diff_node *n = &s->nodes[s->node_count++];
        *n = (diff_node){.proto = p, .index = i, .local = diff_hash_node(p)};
        n->inputs = arena_alloc_array(memory, p->input_count, sizeof *n->inputs);
        n->outputs = arena_alloc_array(memory, p->output_count, sizeof *n->outputs);
        if (!n->inputs || !n->outputs) return false;
        for (size_t k = 0; k < p->output_count; k++) {
            diff_value *v = p->outputs[k][0] ? define(s, p->outputs[k]) : NULL;
            if (p->outputs[k][0] && !v) return false;
            if (!v || v->producer || v->is_input || diff_is_weight(v)) continue;
            v->producer = n;
            v->output_index = k;
            n->outputs[k] = v;
        }
    }
    return true;
}

static bool link_inputs(diff_side *s, arena *memory)
{
    for (size_t i = 0; i < s->node_count; i++)
        for (size_t k = 0; k < s->nodes[i].proto->input_count; k++) {
            const char *name = s->nodes[i].proto->inputs[k];
            diff_value *v = name[0] ? find(s, name) : NULL;
            if (name[0] && !v) v = define(s, name);
            if (name[0] && !v) return false;
            s->nodes[i].inputs[k] = v;
            if (v && v->side == s) v->use_count++;
        }
    for (size_t i = 0; i < s->value_count; i++) {
        s->values[i].uses = arena_alloc_array(memory, s->values[i].use_count, sizeof(size_t));
        if (!s->values[i].uses) return false;
        s->values[i].use_count = 0;
    }
    for (size_t i = 0; i < s->node_count; i++)
        for (size_t k = 0; k < s->nodes[i].proto->input_count; k++) {
            diff_value *v = s->nodes[i].inputs[k];
            if (v && v->side == s) v->uses[v->use_count++] = i;
        }
    return true;
}

/* Sorts nodes topologically, in file order where possible; nodes in cycles come last. */
static bool sort_nodes(diff_side *s)
{
    size_t *waits = mem_calloc(s->node_count + 1, sizeof *waits), count = 0;
    if (!waits) return false;
    for (size_t i = 0; i < s->node_count; i++) {
        for (size_t k = 0; k < s->nodes[i].proto->input_count; k++) {
            const diff_value *v = s->nodes[i].inputs[k];
            waits[i] += v && v->side == s && v->producer;
        }
        if (!waits[i]) s->order[count++] = &s->nodes[i];
    }
    for (size_t at = 0; at < count; at++)
        for (size_t k = 0; k < s->order[at]->proto->output_count; k++) {
            const diff_value *v = s->order[at]->outputs[k];
            for (size_t u = 0; v && u < v->use_count; u++)
                if (--waits[v->uses[u]] == 0) s->order[count++] = &s->nodes[v->uses[u]];
        }
    for (size_t i = 0; i < s->node_count && count < s->node_count; i++)
        if (waits[i]) s->order[count++] = &s->nodes[i];
    mem_free(waits);
    return true;
}

pgy_status diff_side_init(diff_side *out, const pgy_onnx_graph *graph,
                          const pgy_onnx_function *function, const diff_side *outer, arena *memory,
                          pgy_error *err)
{
    const size_t nodes = graph ? graph->node_count : function->node_count;
    diff_side *s = out;
    *s = (diff_side){.outer = outer, .graph = graph, .function = function};
    s->protos = graph ? graph->nodes : function->nodes;
    s->input_count = graph ? graph->input_count : function->input_count;
    s->output_count = graph ? graph->output_count : function->output_count;
    s->nodes = arena_alloc_array(memory, nodes, sizeof *s->nodes);
    s->order = arena_alloc_array(memory, nodes, sizeof *s->order);
    s->inputs = arena_alloc_array(memory, s->input_count, sizeof *s->inputs);
    s->outputs = arena_alloc_array(memory, s->output_count, sizeof *s->outputs);
    s->values = arena_alloc_array(memory, count_values(s, nodes), sizeof *s->values);
    const bool ok = s->nodes && s->order && s->inputs && s->outputs && s->values &&
                    define_weights(s) && define_interface(s, true) &&
                    define_outputs(s, nodes, memory) && define_interface(s, false) &&
                    link_inputs(s, memory) && sort_nodes(s);
    if (!ok) return diff_no_memory(err);
    attach_infos(s);
    return PGY_OK;
}

void diff_side_deinit(diff_side *s)
{
    strmap_deinit(&s->names);
}
