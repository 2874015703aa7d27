/* SPDX-License-Identifier: Apache-2.0 */
/* Creates attributes. Their texts are never NULL, like those of attributes read from a file, so
 * readers need no checks for NULL. */
#include <string.h>

#include "graph/edit.h"

pgy_onnx_attribute *attribute_create(pgy_model *m, const char *name,
                                     const pgy_onnx_attribute *value)
{
    pgy_onnx_attribute *a = pgy_model_alloc(m, 1, sizeof *a);
    if (!a) return NULL;
    *a = *value;
    a->name = name;
    a->doc_string = "";
    if (!a->ref_attr_name) a->ref_attr_name = "";
    return a;
}

pgy_onnx_attribute *attribute_create_ints(pgy_model *m, const char *name, const int64_t *values,
                                          size_t count)
{
    int64_t *ints = pgy_model_alloc(m, count + 1, sizeof *ints);
    if (!ints) return NULL;
    if (count) memcpy(ints, values, count * sizeof *ints);
    return attribute_create(
        m, name, &(pgy_onnx_attribute){.type = PGY_ATTR_INTS, .ints = ints, .int_count = count});
}

pgy_onnx_attribute *attribute_renamed(pgy_model *m, const pgy_onnx_attribute *from,
                                      const char *name)
{
    pgy_onnx_attribute *a = pgy_model_alloc(m, 1, sizeof *a);
    if (!a) return NULL;
    *a = *from;
    a->name = name;
    a->message.raw = (pgy_bytes){0};
    return a;
}

pgy_status node_replace_attribute(pgy_node *n, const char *name, const pgy_onnx_attribute *a,
                                  pgy_error *err)
{
    const pgy_onnx_attribute **list =
        arena_alloc_array(&state_of(n->graph)->memory, n->attribute_count + 1, sizeof *list);
    size_t count = 0;
    if (!list) return graph_no_memory(err);
    for (size_t i = 0; i < n->attribute_count; i++)
        if (strcmp(n->attributes[i]->name, name) != 0) list[count++] = n->attributes[i];
    if (a) list[count++] = a;
    n->attributes = list;
    n->attribute_count = count;
    node_box_of(n)->changed = true;
    node_box_of(n)->prepared = false;
    graph_mark_changed(n->graph);
    return PGY_OK;
}

pgy_status node_set_only_attribute(pgy_node *n, const pgy_onnx_attribute *a, pgy_error *err)
{
    const pgy_onnx_attribute **list = arena_alloc(&state_of(n->graph)->memory, sizeof *list);
    if (!list) return graph_no_memory(err);
    list[0] = a;
    n->attributes = list;
    n->attribute_count = a != NULL;
    return PGY_OK;
}
