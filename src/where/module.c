/* SPDX-License-Identifier: Apache-2.0 */
/* The module path of a node: the last of PyTorch's scopes, or the folder in the node's name. */
#include <string.h>

#include "where/where.h"

/* PyTorch's list of modules is one string: "['', 'encoder', 'encoder.layer.0']"; the last is empty
 * or the node itself in some exporters. */
static const char *last_scope(const char *list, arena *memory)
{
    const char *best = NULL;
    size_t size = 0;
    for (const char *p = strchr(list, '\''); p;) {
        const char *end = strchr(p + 1, '\'');
        if (!end) break;
        if (end > p + 1) best = p + 1, size = (size_t)(end - p - 1);
        p = strchr(end + 1, '\'');
    }
    return best ? arena_strndup(memory, best, size) : "";
}

const char *where_module(const pgy_node *n, arena *memory)
{
    for (size_t i = 0; n->proto && i < n->proto->metadata_prop_count; i++)
        if (!strcmp(n->proto->metadata_props[i]->key, "pkg.torch.onnx.name_scopes"))
            return last_scope(n->proto->metadata_props[i]->value, memory);
    const char *name = n->name, *end = strrchr(name, '/');
    while (*name == '/') name++;
    return end > name ? arena_strndup(memory, name, (size_t)(end - name)) : "";
}
