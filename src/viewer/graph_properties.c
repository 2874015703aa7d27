/* SPDX-License-Identifier: Apache-2.0 */
/* What the page says about a model as a whole. */
#include "viewer/graph_properties.h"

void graph_add_properties(graph_parts *b, const pgy_onnx_model *m)
{
    str s = {0};
    str_printf(&s, "%lld", (long long)m->ir_version);
    collect_property(b, "IR version", str_text(&s));
    str_clear(&s);
    for (size_t i = 0; i < m->opset_import_count; i++)
        str_printf(&s, "%s%s %lld", i ? ", " : "",
                   *m->opset_imports[i]->domain ? m->opset_imports[i]->domain : "ai.onnx",
                   (long long)m->opset_imports[i]->version);
    collect_property(b, "opsets", str_text(&s));
    str_deinit(&s);
    const char *const texts[][2] = {{"producer", m->producer_name},
                                    {"producer version", m->producer_version},
                                    {"domain", m->domain},
                                    {"graph", m->graph ? m->graph->name : ""},
                                    {"description", m->doc_string}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (*texts[i][1]) collect_property(b, texts[i][0], texts[i][1]);
    for (size_t i = 0; i < m->metadata_prop_count && !b->failed; i++)
        collect_property(b, m->metadata_props[i]->key, m->metadata_props[i]->value);
}

void graph_add_parameters(graph_parts *b)
{
    str s = {0};
    uint64_t bytes = 0;
    for (size_t i = 0; i < b->tensor_count; i++)
        if (b->tensors[i].kind == VIEW_WEIGHT) bytes += b->tensors[i].bytes;
    str_printf(&s, "%.0f, ", b->parameters);
    str_append_bytes(&s, bytes);
    collect_property(b, "parameters", str_text(&s));
    if (s.failed) b->failed = true;
    str_deinit(&s);
}
