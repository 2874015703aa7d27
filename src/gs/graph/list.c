/* SPDX-License-Identifier: Apache-2.0 */
/* Growing lists of tensors, nodes and levels. */
#include "base/alloc.h"
#include "gs/graph/gs.h"

static pgy_status push(void **items, size_t *count, size_t *capacity, void *item, pgy_error *err)
{
    void **list;
    if (!mem_grow(items, capacity, *count + 1, sizeof item)) return gs_no_memory(err);
    list = *items;
    list[(*count)++] = item;
    return PGY_OK;
}

void pgy_gs_tensor_list_free(pgy_gs_tensor_list *list)
{
    if (!list) return;
    mem_free(list->items);
    *list = (pgy_gs_tensor_list){0};
}

pgy_status gs_list_push(pgy_gs_tensor_list *list, pgy_gs_tensor *t, pgy_error *err)
{
    return push((void **)&list->items, &list->count, &list->capacity, t, err);
}

pgy_status gs_node_list_push(gs_node_list *list, pgy_gs_node *n, pgy_error *err)
{
    return push((void **)&list->items, &list->count, &list->capacity, n, err);
}

pgy_status gs_level_list_push(pgy_gs_graph *g, void *list, pgy_error *err)
{
    gs_level_list *l = list;
    return push((void **)&l->items, &l->count, &l->capacity, g, err);
}
