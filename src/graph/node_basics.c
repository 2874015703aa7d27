/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a stored node before its operator is known. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "graph/graph.h"

const char *node_label(const pgy_node *n)
{
    if (n->name && *n->name) return n->name;
    for (size_t i = 0; i < n->output_count; i++)
        if (n->outputs[i]) return n->outputs[i]->name;
    return "";
}

pgy_status node_error(const pgy_node *n, pgy_error *err, pgy_status st, const char *format, ...)
{
    char text[sizeof err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return pgy_error_set(err, st, "%s '%s': %s", n->op_type, node_label(n), text);
}

bool domain_is_default(const char *domain)
{
    return !domain || !*domain || strcmp(domain, "ai.onnx") == 0;
}

bool node_is(const pgy_node *n, const char *op_type)
{
    return domain_is_default(n->domain) && strcmp(n->op_type, op_type) == 0;
}

const pgy_onnx_attribute *node_attribute(const pgy_node *n, const char *name)
{
    for (size_t i = 0; i < n->attribute_count; i++)
        if (strcmp(n->attributes[i]->name, name) == 0) return n->attributes[i];
    return NULL;
}

const pgy_onnx_tensor *node_constant(const pgy_node *n)
{
    if (n->input_count || n->output_count != 1 || !node_is(n, "Constant")) return NULL;
    const pgy_onnx_attribute *a = node_attribute(n, "value");
    return a && !(a->ref_attr_name && *a->ref_attr_name) ? a->t : NULL;
}

int64_t pgy_graph_opset(const pgy_graph *g, const char *domain)
{
    const graph_level *level = level_of(g);
    if (domain_is_default(domain)) return level->default_opset;
    for (size_t i = 0; i < level->opset_count; i++)
        if (strcmp(level->opsets[i]->domain, domain) == 0) return level->opsets[i]->version;
    return 0;
}

pgy_status function_find(graph_function **out, const pgy_graph *g, const pgy_node *n,
                         pgy_error *err)
{
    const strmap *functions = &state_of(g)->functions;
    *out = NULL;
    if (functions->count == 0) return PGY_OK;
    str key = {0};
    str_printf(&key, "%s:%s:%s", domain_is_default(n->domain) ? "" : n->domain, n->op_type,
               n->overload ? n->overload : "");
    const pgy_status st = key.failed ? graph_no_memory(err) : PGY_OK;
    if (!st) *out = strmap_get(functions, str_text(&key));
    str_deinit(&key);
    return st;
}

bool call_is_open(const call_chain *calls, const graph_function *f)
{
    for (; calls; calls = calls->outer)
        if (calls->function == f) return true;
    return false;
}
