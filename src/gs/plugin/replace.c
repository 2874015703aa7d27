/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the nodes that a plugin's pattern matched by one node. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "graph/names.h"
#include "gs/graph/gs.h"
#include "gs/plugin/plugin.h"

static const char LOG_PATH[] = "gs/plugin/replace.c";

/* Finds all tensors by name. *out NULL: a tensor is missing, which is logged. */
static pgy_status find_all(pgy_gs_tensor ***out, const pgy_gs_graph *g, const char *const *names,
                           size_t count, const pgy_plugin_places *p, pgy_error *err)
{
    pgy_gs_tensor **items = mem_calloc(count ? count : 1, sizeof *items);
    pgy_error why = {0};
    *out = NULL;
    if (!items) return gs_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const pgy_status st = pgy_gs_get_tensor(&items[i], g, names[i], &why);
        if (!st) continue;
        mem_free(items);
        if (st == PGY_E_MEMORY) return gs_no_memory(err);
        LOG(WARNING, "Skipping an instance of plugin %s: %s", p->name, why.text);
        return PGY_OK;
    }
    *out = items;
    return PGY_OK;
}

/* Makes a list attribute. The list is in the document's memory, because it outlives this call. */
static bool make_list(pgy_gs_attr *out, gs_document *d, const pgy_plugin_value *v)
{
    const pgy_plugin_kind kind = v->count ? v->items[0].kind : PGY_PLUGIN_INT;
    int64_t *ints = kind < PGY_PLUGIN_REAL ? gs_alloc(d, v->count + 1, sizeof *ints) : NULL;
    float *floats = kind == PGY_PLUGIN_REAL ? gs_alloc(d, v->count, sizeof *floats) : NULL;
    const char **texts = kind == PGY_PLUGIN_TEXT ? gs_alloc(d, v->count, sizeof *texts) : NULL;
    for (size_t i = 0; i < v->count; i++) {
        if (ints) ints[i] = v->items[i].integer;
        if (floats) floats[i] = (float)v->items[i].real;
        if (texts) texts[i] = v->items[i].text;
    }
    *out = floats  ? pgy_gs_attr_floats(v->name, floats, v->count)
           : texts ? pgy_gs_attr_texts(v->name, texts, v->count)
                   : pgy_gs_attr_ints(v->name, ints, v->count);
    return ints || floats || texts;
}

static bool make_attribute(pgy_gs_attr *out, gs_document *d, const pgy_plugin_value *v)
{
    switch (v->kind) {
    case PGY_PLUGIN_REAL: *out = pgy_gs_attr_float(v->name, (float)v->real); return true;
    case PGY_PLUGIN_TEXT: *out = pgy_gs_attr_text(v->name, v->text); return true;
    case PGY_PLUGIN_LIST: return make_list(out, d, v);
    default: *out = pgy_gs_attr_int(v->name, v->integer); return true;
    }
}

static bool is_node_name(const char *name, const void *user)
{
    return pgy_gs_find_node(user, name);
}

static pgy_status import_domain(pgy_gs_graph *g, const char *domain, pgy_error *err)
{
    bool known = !*domain;
    for (size_t i = 0; i < g->import_count; i++) known |= !strcmp(g->imports[i].domain, domain);
    return known ? PGY_OK : pgy_gs_set_import(g, domain, 1, err);
}

static pgy_status put_node(pgy_gs_graph *g, const pgy_plugin_places *p,
                           const pgy_plugin_instance *v, pgy_gs_tensor **inputs,
                           pgy_gs_tensor **outputs, pgy_error *err)
{
    gs_document *d = graph_box(g)->document;
    pgy_gs_attr *attrs = gs_alloc(d, v->attribute_count + 1, sizeof *attrs);
    str name = {0};
    uint64_t number = 0;
    pgy_gs_node *made;
    for (size_t i = 0; attrs && i < v->attribute_count; i++)
        if (!make_attribute(&attrs[i], d, &v->attributes[i])) attrs = NULL;
    if (!attrs) return gs_no_memory(err);
    pgy_status st = import_domain(g, p->domain, err);
    if (st) return st;
    str_append(&name, "onnx_graphsurgeon_node");
    name_number(&name, &number, is_node_name, g);
    const pgy_gs_node_spec spec = {.op = p->op,
                                   .name = str_text(&name),
                                   .domain = p->domain,
                                   .inputs = inputs,
                                   .input_count = v->input_count,
                                   .outputs = outputs,
                                   .output_count = v->output_count,
                                   .attrs = attrs,
                                   .attr_count = v->attribute_count};
    st = name.failed ? gs_no_memory(err) : pgy_gs_replace_region(&made, g, &spec, err);
    str_deinit(&name);
    return st;
}

pgy_status pgy_plugin_replace(bool *done, pgy_gs_graph *g, const pgy_plugin_places *plugin,
                              size_t index, pgy_error *err)
{
    if (index >= plugin->count)
        return pgy_error_set(err, PGY_E_ARGUMENT, "plugin '%s' has no instance %zu", plugin->name,
                             index);
    const pgy_plugin_instance *v = &plugin->instances[index];
    pgy_gs_tensor **inputs = NULL, **outputs = NULL;
    pgy_status st = find_all(&inputs, g, v->inputs, v->input_count, plugin, err);
    if (!st && inputs) st = find_all(&outputs, g, v->outputs, v->output_count, plugin, err);
    *done = false;
    if (!st && outputs) {
        st = put_node(g, plugin, v, inputs, outputs, err);
        *done = !st;
    }
    mem_free(inputs);
    mem_free(outputs);
    return st;
}
