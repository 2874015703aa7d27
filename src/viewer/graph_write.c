/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the block graph-I of the page: columns whose texts are indices into one list of strings.
 */
#include <stdio.h>

#include "viewer/graph_command.h"
#include "viewer/graph_ops.h"
#include "viewer/layout/layout.h"

typedef struct columns {
    json_writer *w;
    const view_graph *g;
    strmap strings; /* text -> index + 1; in the order of first use */
} columns;

/* ---- Strings -------------------------------------------------------------------------------- */

static void add_string(columns *c, const char *text)
{
    if (!text || strmap_has(&c->strings, text)) return;
    if (!strmap_put(&c->strings, text, (void *)(c->strings.count + 1)))
        json_fail(c->w, PGY_E_MEMORY, "out of memory while writing a graph");
}

static void gather_strings(columns *c)
{
    const view_graph *g = c->g;
    add_string(c, "");
    for (uint32_t i = 0; i < g->op_count; i++) {
        add_string(c, g->ops[i].name);
        add_string(c, g->ops[i].domain);
        add_string(c, g->ops[i].doc);
    }
    for (uint32_t i = 0; i < g->node_count; i++) add_string(c, g->nodes[i].name);
    for (uint32_t i = 0; i < g->tensor_count; i++) {
        const view_tensor *t = &g->tensors[i];
        const char *const texts[] = {t->name, t->dtype, t->shape, t->declared, t->seen, t->value};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) add_string(c, texts[k]);
    }
    for (uint32_t i = 0; i < g->container_count; i++) {
        add_string(c, g->containers[i].name);
        add_string(c, g->containers[i].note);
    }
}

static void put_string(columns *c, const char *text)
{
    const size_t at = text ? (size_t)(uintptr_t)strmap_get(&c->strings, text) : 0;
    json_int(c->w, (int64_t)at - 1);
}

static void write_strings(columns *c)
{
    json_key(c->w, "strings");
    json_begin_array(c->w);
    for (size_t i = 0; i < c->strings.count; i++) json_text(c->w, c->strings.entries[i].key);
    json_end_array(c->w);
}

/* ---- Columns -------------------------------------------------------------------------------- */

static void put_index(json_writer *w, uint32_t i)
{
    json_int(w, i == VIEW_NONE ? -1 : (int64_t)i);
}

static void put_list(json_writer *w, const uint32_t *list, uint32_t count)
{
    json_begin_array(w);
    for (uint32_t i = 0; i < count; i++) put_index(w, list[i]);
    json_end_array(w);
}

/* A column: its key, and an array of what `body` writes for each `x` of `items`. */
#define COLUMN(c, key, type, items, count, body)                        \
    do {                                                                \
        json_key((c)->w, key);                                          \
        json_begin_array((c)->w);                                       \
        for (const type *x = (items); x < (items) + (count); x++) body; \
        json_end_array((c)->w);                                         \
    } while (0)

static void write_ops(columns *c)
{
    const view_graph *g = c->g;
    json_key(c->w, "op");
    json_begin_object(c->w);
    COLUMN(c, "name", view_op, g->ops, g->op_count, put_string(c, x->name));
    COLUMN(c, "domain", view_op, g->ops, g->op_count, put_string(c, x->domain));
    COLUMN(c, "doc", view_op, g->ops, g->op_count, put_string(c, x->doc));
    COLUMN(c, "category", view_op, g->ops, g->op_count,
           json_text(c->w, graph_category_name(x->category)));
    json_end_object(c->w);
}

static void write_members(columns *c)
{
    char key[16];
    json_key(c->w, "members");
    json_begin_object(c->w);
    for (uint32_t i = 0; i < c->g->node_count; i++) {
        const view_node *n = &c->g->nodes[i];
        if (!n->member_count) continue;
        snprintf(key, sizeof key, "%u", (unsigned)i);
        json_key(c->w, key);
        json_begin_array(c->w);
        for (uint32_t k = 0; k < n->member_count; k++) json_text(c->w, n->members[k]);
        json_end_array(c->w);
    }
    json_end_object(c->w);
}

static void write_nodes(columns *c)
{
    const view_graph *g = c->g;
    json_writer *w = c->w;
    json_key(w, "node");
    json_begin_object(w);
    COLUMN(c, "op", view_node, g->nodes, g->node_count, put_index(w, x->op));
    COLUMN(c, "name", view_node, g->nodes, g->node_count, put_string(c, x->name));
    COLUMN(c, "parent", view_node, g->nodes, g->node_count, put_index(w, x->parent));
    COLUMN(c, "kind", view_node, g->nodes, g->node_count, json_int(w, x->kind));
    COLUMN(c, "inputs", view_node, g->nodes, g->node_count, put_list(w, x->inputs, x->input_count));
    COLUMN(c, "outputs", view_node, g->nodes, g->node_count,
           put_list(w, x->outputs, x->output_count));
    COLUMN(c, "w", view_node, g->nodes, g->node_count, json_int(w, (int64_t)x->width));
    COLUMN(c, "h", view_node, g->nodes, g->node_count, json_int(w, (int64_t)x->height));
    write_members(c);
    json_end_object(w);
}

static void write_tensors(columns *c)
{
    const view_graph *g = c->g;
    json_writer *w = c->w;
    json_key(w, "tensor");
    json_begin_object(w);
    COLUMN(c, "name", view_tensor, g->tensors, g->tensor_count, put_string(c, x->name));
    COLUMN(c, "dtype", view_tensor, g->tensors, g->tensor_count, put_string(c, x->dtype));
    COLUMN(c, "kind", view_tensor, g->tensors, g->tensor_count, json_int(w, x->kind));
    COLUMN(c, "shape", view_tensor, g->tensors, g->tensor_count, put_string(c, x->shape));
    COLUMN(c, "declared", view_tensor, g->tensors, g->tensor_count, put_string(c, x->declared));
    COLUMN(c, "seen", view_tensor, g->tensors, g->tensor_count, put_string(c, x->seen));
    COLUMN(c, "producer", view_tensor, g->tensors, g->tensor_count, put_index(w, x->producer));
    COLUMN(c, "bytes", view_tensor, g->tensors, g->tensor_count, json_uint(w, x->bytes));
    COLUMN(c, "value", view_tensor, g->tensors, g->tensor_count, put_string(c, x->value));
    json_end_object(w);
}

static void write_containers(columns *c)
{
    const view_graph *g = c->g;
    json_writer *w = c->w;
    const uint32_t count = g->container_count;
    json_key(w, "container");
    json_begin_object(w);
    COLUMN(c, "kind", view_container, g->containers, count, json_int(w, x->kind));
    COLUMN(c, "name", view_container, g->containers, count, put_string(c, x->name));
    COLUMN(c, "parent", view_container, g->containers, count, put_index(w, x->parent));
    COLUMN(c, "node", view_container, g->containers, count, put_index(w, x->node));
    COLUMN(c, "note", view_container, g->containers, count, put_string(c, x->note));
    COLUMN(c, "state", view_container, g->containers, count, json_int(w, x->state));
    COLUMN(c, "layout", view_container, g->containers, count,
           view_layout_write(w, g, (uint32_t)(x - g->containers)));
    json_end_object(w);
}

/* ---- The block ------------------------------------------------------------------------------ */

static void write_properties(columns *c)
{
    json_key(c->w, "properties");
    json_begin_array(c->w);
    for (uint32_t i = 0; i < c->g->property_count; i++) {
        json_begin_array(c->w);
        json_text(c->w, c->g->properties[i][0]);
        json_text(c->w, c->g->properties[i][1]);
        json_end_array(c->w);
    }
    json_end_array(c->w);
}

void view_graph_write(json_writer *w, const view_graph *g)
{
    columns c = {.w = w, .g = g};
    gather_strings(&c);
    json_begin_object(w);
    json_put_text(w, "name", g->name);
    json_put_text(w, "kind", g->kind);
    write_properties(&c);
    if (g->model) {
        json_key(w, "commands");
        graph_write_command_texts(w, g);
    }
    write_strings(&c);
    write_ops(&c);
    write_nodes(&c);
    write_tensors(&c);
    write_containers(&c);
    json_end_object(w);
    strmap_deinit(&c.strings);
}
