/* SPDX-License-Identifier: Apache-2.0 */
/* From names of layers to nodes: the node's own name, the name of a known group, names joined by
 * " + ", the name of the tensor that an unnamed node makes. */
#include "viewer/sources/layer_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static const char JOINT[] = " + ";

typedef struct node_list {
    uint32_t *items;
    size_t count, capacity;
} node_list;

static bool push(node_list *list, uint32_t node)
{
    if (!mem_grow((void **)&list->items, &list->capacity, list->count + 1, sizeof node))
        return false;
    list->items[list->count++] = node;
    return true;
}

static uint32_t node_named(const view_graph *g, const char *name)
{
    const view_node *n = strmap_get(&g->node_by_name, name);
    if (n) return (uint32_t)(n - g->nodes);
    const uint32_t tensor = view_graph_tensor(g, name);
    return tensor == VIEW_NONE ? VIEW_NONE : g->tensors[tensor].producer;
}

static bool add_named(node_list *list, const view_graph *g, const char *name)
{
    const uint32_t node = node_named(g, name);
    return node == VIEW_NONE || push(list, node);
}

/* The parts of "a + b". */
static bool add_parts(node_list *list, const view_graph *g, const char *name)
{
    str part = {0};
    bool good = true;
    for (const char *p = name; good && p;) {
        const char *end = strstr(p, JOINT);
        str_clear(&part);
        str_append_n(&part, p, end ? (size_t)(end - p) : strlen(p));
        good = !part.failed && add_named(list, g, str_text(&part));
        p = end ? end + strlen(JOINT) : NULL;
    }
    str_deinit(&part);
    return good;
}

static bool add_members(node_list *list, const view_graph *g, const strvec *members)
{
    bool good = true;
    for (size_t i = 0; i < members->count && good; i++)
        good = add_named(list, g, members->items[i]);
    return good;
}

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* In the order of the graph, each once. */
static void sort(node_list *list)
{
    size_t kept = 0;
    if (list->count) qsort(list->items, list->count, sizeof *list->items, ascending);
    for (size_t i = 0; i < list->count; i++)
        if (!i || list->items[i] != list->items[i - 1]) list->items[kept++] = list->items[i];
    list->count = kept;
}

/* The first node of a fused container with this name; VIEW_NONE: there is none. */
static uint32_t known_group(const view_graph *g, const char *name)
{
    for (uint32_t i = 0; i < g->container_count; i++) {
        const view_container *c = &g->containers[i];
        if (c->kind != VIEW_FUSED || strcmp(c->name, name) != 0) continue;
        uint32_t first = VIEW_NONE;
        for (uint32_t k = 0; k < c->child_count; k++)
            if (c->children[k].kind == VIEW_ITEM_NODE && c->children[k].ref < first)
                first = c->children[k].ref;
        return first;
    }
    return VIEW_NONE;
}

/* Puts a frame around the nodes; nodes of different bodies cannot have one. */
static pgy_status wrap(node_list *list, result_file *f, const char *name, pgy_error *err)
{
    pgy_error why = {0};
    pgy_status st =
        view_graph_wrap(f->graph, VIEW_FUSED, name, list->items, list->count, NULL, &why);
    if (st && st != PGY_E_ARGUMENT) return pgy_error_set(err, st, "%s", why.text);
    st = PGY_OK;
    for (size_t i = 0; i < list->count && !st; i++)
        st = result_mark(f, VIEW_OF_NODE, list->items[i], VIEW_MARK_FUSED, err,
                         "part of the layer '%.200s', whose values are those of all its nodes",
                         name);
    return st;
}

/* ONNX Runtime names a fused node after its main one: "fused /conv/ConvAddFusion", "conv_nchwc". */
static pgy_status find_optimized(uint32_t *node, result_file *f, const char *name, pgy_error *err)
{
    static const char PREFIX[] = "fused ", NCHWC[] = "_nchwc";
    str text = {0};
    str_append(&text, str_starts_with(name, PREFIX) ? name + strlen(PREFIX) : name);
    if (str_ends_with(str_text(&text), NCHWC)) text.data[text.size -= strlen(NCHWC)] = 0;
    *node = node_named(f->graph, str_text(&text));
    while (*node == VIEW_NONE && str_ends_with(str_text(&text), "Fusion")) {
        char *slash = strrchr(text.data, '/');
        if (!slash) break;
        *slash = 0;
        *node = node_named(f->graph, text.data);
        if (!str_ends_with(text.data, "Fusion")) break;
    }
    pgy_status st = text.failed
                        ? pgy_error_set(err, PGY_E_MEMORY, "out of memory for names of layers")
                        : PGY_OK;
    str_deinit(&text);
    const bool is_fused = str_starts_with(name, PREFIX) || str_ends_with(name, "Fusion");
    if (st || *node == VIEW_NONE || !is_fused) return st;
    return result_mark(f, VIEW_OF_NODE, *node, VIEW_MARK_FUSED, err,
                       "computed as '%.200s', together with nodes that the file does not name",
                       name);
}

pgy_status layer_find(uint32_t *node, result_file *f, const char *name, const strvec *members,
                      pgy_error *err)
{
    node_list list = {0};
    pgy_status st = PGY_OK;
    const view_node *whole = strmap_get(&f->graph->node_by_name, name);
    *node = whole ? (uint32_t)(whole - f->graph->nodes) : known_group(f->graph, name);
    if (*node == VIEW_NONE) {
        if (!(members->count ? add_members(&list, f->graph, members)
                             : add_parts(&list, f->graph, name)))
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for names of layers");
        sort(&list);
        if (!st && list.count) *node = list.items[0];
        if (!st && list.count > 1) st = wrap(&list, f, name, err);
        if (!st && !list.count) st = find_optimized(node, f, name, err);
    }
    result_counted(f, *node, name);
    mem_free(list.items);
    return st;
}
