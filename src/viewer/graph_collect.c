/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the parts of a view's graph. */
#include "viewer/graph_collect.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "viewer/graph_ops.h"
#include "viewer/graph_text.h"
#include "viewer/layout/layout.h"

enum { WARNING_LIMIT = 100 };

pgy_status collect_start(graph_parts *b, const char *kind, const char *name, strvec *warnings,
                         pgy_error *err)
{
    *b = (graph_parts){.warnings = warnings};
    b->g = mem_calloc(1, sizeof *b->g);
    if (!b->g) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while reading a graph");
    b->g->kind = kind;
    b->g->role = "a";
    b->g->name = collect_text(b, name);
    return PGY_OK;
}

void collect_deinit(graph_parts *b)
{
    view_graph_destroy(b->g);
    mem_free(b->ops);
    mem_free(b->nodes);
    mem_free(b->tensors);
    mem_free(b->containers);
    mem_free(b->order);
    mem_free(b->properties);
    strmap_deinit(&b->op_places);
    graph_functions_deinit(&b->functions);
    *b = (graph_parts){0};
}

/* ---- Texts ---------------------------------------------------------------------------------- */

static const char *checked(graph_parts *b, const char *text)
{
    if (!text) b->failed = true;
    return text ? text : "";
}

static const char *repaired(graph_parts *b, const char *text)
{
    str s = {0};
    graph_append_valid(&s, text, strlen(text));
    return collect_take(b, &s);
}

const char *collect_kept_text(graph_parts *b, const char *text)
{
    if (!text || !*text) return "";
    return graph_text_is_valid(text) ? text : repaired(b, text);
}

const char *collect_text(graph_parts *b, const char *text)
{
    if (!text || !*text) return "";
    if (!graph_text_is_valid(text)) return repaired(b, text);
    return checked(b, arena_strdup(&b->g->memory, text));
}

const char *collect_take(graph_parts *b, str *text)
{
    const char *copy = text->failed ? NULL : arena_strdup(&b->g->memory, str_text(text));
    str_deinit(text);
    return checked(b, copy);
}

void collect_warn(graph_parts *b, const char *format, ...)
{
    if (++b->warning_count > WARNING_LIMIT) return;
    str s = {0};
    va_list args;
    va_start(args, format);
    str_vprintf(&s, format, args);
    va_end(args);
    if (s.failed || !strvec_push(b->warnings, collect_take(b, &s))) b->failed = true;
    str_deinit(&s);
}

/* ---- Parts ---------------------------------------------------------------------------------- */

static bool grow(graph_parts *b, void **items, size_t *room, size_t count, size_t item_bytes)
{
    if (!b->failed && (count >= VIEW_NONE - 1 || !mem_grow(items, room, count + 1, item_bytes)))
        b->failed = true;
    return !b->failed;
}

#define GROW(b, items, room, count) grow(b, (void **)&(items), &(room), count, sizeof *(items))

void collect_property(graph_parts *b, const char *name, const char *text)
{
    if (!GROW(b, b->properties, b->property_room, b->property_count)) return;
    b->properties[b->property_count][0] = collect_text(b, name);
    b->properties[b->property_count++][1] = collect_text(b, text);
}

uint32_t collect_op(graph_parts *b, const char *name, const char *domain)
{
    str key = {0};
    if (strcmp(domain, "ai.onnx") == 0) domain = "";
    str_printf(&key, "%s:%s", domain, name);
    size_t at = (size_t)(uintptr_t)strmap_get(&b->op_places, str_text(&key));
    if (!at && GROW(b, b->ops, b->op_room, b->op_count)) {
        b->ops[b->op_count] =
            (view_op){.name = collect_kept_text(b, name), .domain = collect_kept_text(b, domain)};
        graph_describe_op(&b->ops[b->op_count], name, domain);
        at = ++b->op_count;
        if (!strmap_put(&b->op_places, str_text(&key), (void *)(uintptr_t)at)) b->failed = true;
    }
    if (key.failed) b->failed = true;
    str_deinit(&key);
    return b->failed ? 0 : (uint32_t)at - 1;
}

uint32_t *collect_list(graph_parts *b, size_t count)
{
    uint32_t *list = arena_alloc_array(&b->g->memory, count, sizeof *list);
    if (!list) b->failed = true;
    for (size_t i = 0; list && i < count; i++) list[i] = VIEW_NONE;
    return list;
}

static void put_item(graph_parts *b, view_item_kind kind, size_t ref)
{
    if (GROW(b, b->order, b->order_room, b->order_count))
        b->order[b->order_count++] = (view_item){kind, (uint32_t)ref};
}

uint32_t collect_node(graph_parts *b, const view_node *like)
{
    if (!GROW(b, b->nodes, b->node_room, b->node_count)) return 0;
    b->nodes[b->node_count] = *like;
    put_item(b, VIEW_ITEM_NODE, b->node_count);
    return (uint32_t)b->node_count++;
}

uint32_t collect_tensor(graph_parts *b, const view_tensor *like)
{
    if (!GROW(b, b->tensors, b->tensor_room, b->tensor_count)) return 0;
    b->tensors[b->tensor_count] = *like;
    return (uint32_t)b->tensor_count++;
}

uint32_t collect_container(graph_parts *b, const view_container *like)
{
    if (!GROW(b, b->containers, b->container_room, b->container_count)) return 0;
    b->containers[b->container_count] = *like;
    put_item(b, VIEW_ITEM_CONTAINER, b->container_count);
    return (uint32_t)b->container_count++;
}

static uint32_t collect_card(graph_parts *b, view_node_kind kind, uint32_t tensor,
                             uint32_t container)
{
    uint32_t *list = collect_list(b, 1);
    if (b->failed) return 0;
    list[0] = tensor;
    view_node n = {.kind = kind,
                   .name = b->tensors[tensor].name,
                   .parent = container,
                   .op = collect_op(b, kind == VIEW_NODE_INPUT ? "Input" : "Output", ""),
                   .flops = NAN};
    if (kind == VIEW_NODE_INPUT)
        n.outputs = list, n.output_count = 1;
    else
        n.inputs = list, n.input_count = 1;
    return collect_node(b, &n);
}

uint32_t collect_input(graph_parts *b, uint32_t tensor, uint32_t container)
{
    const uint32_t node = collect_card(b, VIEW_NODE_INPUT, tensor, container);
    if (!b->failed) b->tensors[tensor].producer = node;
    return node;
}

uint32_t collect_output(graph_parts *b, uint32_t tensor, uint32_t container)
{
    return collect_card(b, VIEW_NODE_OUTPUT, tensor, container);
}

/* ---- The graph ------------------------------------------------------------------------------ */

static float text_width(const char *text, float character)
{
    size_t count = 0;
    for (; *text && count < 100; text++) count += (*text & 0xC0) != 0x80;
    return character * (float)count;
}

static void size_card(view_node *n, const view_op *op)
{
    const float margins = 24, smallest = 96, largest = 220;
    const float title = text_width(op->name, 7.2f), line = text_width(n->name, 6.2f);
    const float width = margins + (title > line ? title : line);
    n->width = width < smallest ? smallest : width > largest ? largest : width;
    n->height = VIEW_CARD_HEIGHT;
}

/* NaN: the size of one is unknown. */
static double output_bytes(const graph_parts *b, const view_node *n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n->output_count; i++) {
        if (n->outputs[i] == VIEW_NONE) continue;
        if (!b->tensors[n->outputs[i]].bytes) return NAN;
        sum += (double)b->tensors[n->outputs[i]].bytes;
    }
    return sum;
}

static double weight_bytes(const graph_parts *b, const view_node *n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n->input_count; i++) {
        if (n->inputs[i] == VIEW_NONE) continue;
        const view_tensor *t = &b->tensors[n->inputs[i]];
        if (t->kind == VIEW_WEIGHT || t->kind == VIEW_NODE_CONSTANT) sum += (double)t->bytes;
    }
    return sum;
}

static void measure_nodes(graph_parts *b)
{
    for (size_t i = 0; i < b->node_count; i++) {
        view_node *n = &b->nodes[i];
        size_card(n, &b->ops[n->op]);
        n->output_bytes = n->kind == VIEW_NODE_OUTPUT ? NAN : output_bytes(b, n);
        n->weight_bytes = weight_bytes(b, n);
    }
}

/* True if the item is a child of its parent: the node of a call is not. */
static bool is_child(const view_graph *g, view_item item, uint32_t *parent)
{
    *parent =
        item.kind == VIEW_ITEM_NODE ? g->nodes[item.ref].parent : g->containers[item.ref].parent;
    if (*parent == VIEW_NONE) return false;
    return item.kind != VIEW_ITEM_NODE || g->containers[*parent].node != item.ref;
}

static void place_children(graph_parts *b)
{
    view_graph *g = b->g;
    uint32_t parent;
    for (size_t i = 0; i < b->order_count; i++)
        if (is_child(g, b->order[i], &parent)) g->containers[parent].child_count++;
    for (uint32_t i = 0; i < g->container_count; i++) {
        view_container *c = &g->containers[i];
        c->children = arena_alloc_array(&g->memory, c->child_count, sizeof *c->children);
        if (!c->children) b->failed = true;
        c->child_count = 0;
    }
    for (size_t i = 0; !b->failed && i < b->order_count; i++)
        if (is_child(g, b->order[i], &parent)) {
            view_container *c = &g->containers[parent];
            c->children[c->child_count++] = b->order[i];
        }
}

static void *moved(graph_parts *b, const void *items, size_t count, size_t item_bytes)
{
    void *copy = arena_alloc_array(&b->g->memory, count, item_bytes);
    if (!copy)
        b->failed = true;
    else if (count)
        memcpy(copy, items, count * item_bytes);
    return copy;
}

static void put_node_name(graph_parts *b, const char *name, view_node *n)
{
    view_graph *g = b->g;
    if (*name && !strmap_has(&g->node_by_name, name) && !strmap_put(&g->node_by_name, name, n))
        b->failed = true;
}

/* Members of layers come after all layers. */
static void index_members(graph_parts *b)
{
    for (uint32_t i = 0; i < b->g->node_count && !b->failed; i++)
        for (uint32_t k = 0; k < b->g->nodes[i].member_count && !b->failed; k++)
            put_node_name(b, b->g->nodes[i].members[k], &b->g->nodes[i]);
}

/* The main graph's containers come first, so that its names win over those of subgraphs, functions
 * and copies; of its own equal names the first wins. */
static void index_names(graph_parts *b)
{
    view_graph *g = b->g;
    for (int pass = 0; pass < 2 && !b->failed; pass++) {
        for (uint32_t i = 0; i < g->node_count && !b->failed; i++) {
            view_node *n = &g->nodes[i];
            const view_container *c = &g->containers[n->parent];
            const bool is_main = n->parent == 0 || (c->node == i && c->parent == 0);
            if (is_main == (pass == 0) && n->kind == VIEW_NODE) put_node_name(b, n->name, n);
        }
        for (uint32_t i = 0; i < g->tensor_count && !b->failed; i++) {
            view_tensor *t = &g->tensors[i];
            if ((t->container == 0) != (pass == 0) || !*t->name) continue;
            if (!strmap_has(&g->tensor_by_name, t->name) &&
                !strmap_put(&g->tensor_by_name, t->name, t))
                b->failed = true;
        }
    }
}

pgy_status collect_finish(view_graph **out, graph_parts *b, pgy_error *err)
{
    view_graph *g = b->g;
    if (b->warning_count > WARNING_LIMIT) {
        const size_t more = b->warning_count - WARNING_LIMIT;
        b->warning_count = 0;
        collect_warn(b, "%zu more warnings are left out", more);
    }
    if (!b->failed) measure_nodes(b);
    if (!b->failed) {
        g->ops = moved(b, b->ops, b->op_count, sizeof *g->ops);
        g->nodes = moved(b, b->nodes, b->node_count, sizeof *g->nodes);
        g->tensors = moved(b, b->tensors, b->tensor_count, sizeof *g->tensors);
        g->containers = moved(b, b->containers, b->container_count, sizeof *g->containers);
        g->properties = moved(b, b->properties, b->property_count, sizeof *g->properties);
        g->op_count = (uint32_t)b->op_count;
        g->node_count = (uint32_t)b->node_count;
        g->tensor_count = (uint32_t)b->tensor_count;
        g->container_count = (uint32_t)b->container_count;
        g->property_count = (uint32_t)b->property_count;
    }
    if (!b->failed) place_children(b);
    if (!b->failed) index_names(b);
    if (!b->failed) index_members(b);
    if (b->failed) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while reading a graph");
    *out = g;
    b->g = NULL;
    return PGY_OK;
}
