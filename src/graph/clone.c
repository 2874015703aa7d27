/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a whole graph. Nodes and values point to each other in circles, so a copy is allocated
 * when something first points to it, and filled later. Levels that nothing reaches, such as inlined
 * bodies, stay empty. The protobuf messages belong to the model, which both graphs keep alive. */
#include <string.h>

#include "base/alloc.h"
#include "graph/graph.h"

typedef struct cloner {
    const graph_state *from;
    graph_state *to;
    dim_copy dims;
    value_box **values; /* copies, indexed by id; NULL: not allocated yet */
    node_box **nodes;   /* same for nodes */
    const value_box **open_values;
    const node_box **open_nodes; /* originals whose copies are allocated but not filled yet */
    size_t open_value_count, open_node_count;
    graph_function **functions; /* copies, indexed by id */
    bool *live;  /* indexed by level id: whether the main graph or a function reaches the level */
    bool failed; /* out of memory */
} cloner;

/* ---- Memory --------------------------------------------------------------------------------- */

static void *make(cloner *c, size_t count, size_t item_bytes)
{
    void *p = c->failed ? NULL : arena_alloc_array(&c->to->memory, count, item_bytes);
    c->failed |= !p;
    return p;
}

static const char *copy_text(cloner *c, const char *text)
{
    if (!text || !*text || c->failed) return text ? "" : NULL;
    const char *copy = arena_strdup(&c->to->memory, text);
    c->failed |= !copy;
    return copy;
}

static void *copy_items(cloner *c, const void *items, size_t count, size_t item_bytes)
{
    void *copy = items ? make(c, count, item_bytes) : NULL;
    if (copy) memcpy(copy, items, count * item_bytes);
    return copy;
}

/* ---- Places --------------------------------------------------------------------------------- */

static pgy_graph *level_in(const cloner *c, const pgy_graph *g)
{
    return g ? c->to->levels[level_id(g)] : NULL;
}

static pgy_value *value_in(cloner *c, const pgy_value *v)
{
    if (!v || c->failed) return NULL;
    value_box **place = &c->values[value_id(v)];
    if (*place) return &(*place)->value;
    *place = make(c, 1, sizeof **place);
    if (!*place) return NULL;
    c->open_values[c->open_value_count++] = v->internal;
    return &(*place)->value;
}

static pgy_node *node_in(cloner *c, const pgy_node *n)
{
    if (!n || c->failed) return NULL;
    node_box **place = &c->nodes[node_id(n)];
    if (*place) return &(*place)->node;
    *place = make(c, 1, sizeof **place);
    if (!*place) return NULL;
    c->open_nodes[c->open_node_count++] = node_box_of(n);
    return &(*place)->node;
}

static pgy_value **values_in(cloner *c, pgy_value *const *values, size_t count)
{
    pgy_value **copy = make(c, count, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++) copy[i] = value_in(c, values[i]);
    return copy;
}

/* ---- What is known of values ---------------------------------------------------------------- */

static const dim *dims_in(cloner *c, const dim *dims, size_t count)
{
    dim *copy = dims ? make(c, count, sizeof *copy) : NULL;
    for (size_t i = 0; copy && i < count; i++) copy[i] = dim_copied(&c->dims, dims[i]);
    return copy;
}

/* Shares a tensor with the copy: adds a reference that the copy's state releases. */
static const pgy_tensor *tensor_in(cloner *c, const pgy_tensor *t)
{
    if (!t || c->failed) return NULL;
    c->failed |= state_keep_tensor(c->to, pgy_tensor_retain((pgy_tensor *)t), NULL) != PGY_OK;
    return t;
}

static op_value knowledge_in(cloner *c, const op_value *from)
{
    op_value to = *from;
    to.dims = dims_in(c, from->dims, from->rank > 0 ? (size_t)from->rank : 0);
    to.elements = dims_in(c, from->elements, from->element_count);
    to.data = tensor_in(c, from->data);
    if (!from->sequence) return to;
    op_value *element = make(c, 1, sizeof *element);
    if (element) *element = knowledge_in(c, from->sequence);
    to.sequence = element;
    return to;
}

static const pgy_dim *shown_dims_in(cloner *c, const pgy_value *v)
{
    if (!v->dims) return NULL;
    pgy_dim *dims = make(c, v->rank > 0 ? (size_t)v->rank : 0, sizeof *dims);
    for (int32_t i = 0; dims && i < v->rank; i++)
        dims[i] = (pgy_dim){v->dims[i].value, copy_text(c, v->dims[i].text)};
    return dims;
}

static pgy_node **consumers_in(cloner *c, const pgy_value *v)
{
    pgy_node **copy = make(c, v->consumer_count, sizeof *copy);
    for (size_t i = 0; copy && i < v->consumer_count; i++) copy[i] = node_in(c, v->consumers[i]);
    return copy;
}

static void fill_value(cloner *c, const value_box *from)
{
    value_box *to = c->values[from->id];
    pgy_value *v = &to->value;
    *to = *from;
    v->internal = to;
    v->name = copy_text(c, from->value.name);
    v->dims = shown_dims_in(c, &from->value);
    v->producer = node_in(c, from->value.producer);
    v->consumers = to->uses = consumers_in(c, &from->value);
    to->room = v->consumer_count;
    v->unknown_why = copy_text(c, from->value.unknown_why);
    v->graph = level_in(c, from->value.graph);
    to->declared = knowledge_in(c, &from->declared);
    to->known = knowledge_in(c, &from->known);
    to->sizes = NULL; /* the next inference computes them again */
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

static op_attr attr_in(cloner *c, const op_attr *from)
{
    op_attr to = *from;
    if (from->strings) to.strings = copy_items(c, from->strings, from->count, sizeof *to.strings);
    if (from->tensor) to.tensor = (pgy_tensor *)tensor_in(c, from->tensor);
    if (from->graph) to.graph = level_in(c, from->graph);
    return to;
}

static op_attr *attrs_in(cloner *c, const node_box *box)
{
    op_attr *copy = box->attrs ? make(c, box->attr_count + 1, sizeof *copy) : NULL;
    for (size_t i = 0; copy && i < box->attr_count; i++) copy[i] = attr_in(c, &box->attrs[i]);
    return copy;
}

static void fill_subgraphs(cloner *c, pgy_node *to, const pgy_node *from)
{
    const char **names = make(c, from->subgraph_count, sizeof *names);
    to->subgraphs = make(c, from->subgraph_count, sizeof(pgy_graph *));
    to->subgraph_names = names;
    for (size_t i = 0; !c->failed && i < from->subgraph_count; i++) {
        to->subgraphs[i] = level_in(c, from->subgraphs[i]);
        names[i] = copy_text(c, from->subgraph_names[i]);
    }
}

static void fill_node(cloner *c, const node_box *from)
{
    node_box *to = c->nodes[from->id];
    pgy_node *n = &to->node;
    *to = *from;
    n->internal = to;
    n->name = copy_text(c, from->node.name);
    n->op_type = copy_text(c, from->node.op_type);
    n->domain = copy_text(c, from->node.domain);
    n->overload = copy_text(c, from->node.overload);
    n->inputs = values_in(c, from->node.inputs, n->input_count);
    n->outputs = values_in(c, from->node.outputs, n->output_count);
    n->attributes = copy_items(c, from->node.attributes, n->attribute_count, sizeof *n->attributes);
    n->graph = level_in(c, from->node.graph);
    fill_subgraphs(c, n, &from->node);
    to->function = from->function ? c->functions[from->function->id] : NULL;
    to->attrs = attrs_in(c, from);
    to->captured = values_in(c, from->captured, from->captured_count);
}

/* ---- Levels --------------------------------------------------------------------------------- */

static void fill_level(cloner *c, const pgy_graph *from)
{
    pgy_graph *to = level_in(c, from);
    const graph_level *old = level_of(from);
    graph_level *level = level_of(to);
    void *const internal = to->internal;
    *to = *from;
    to->internal = internal;
    to->name = copy_text(c, from->name);
    to->parent = level_in(c, from->parent);
    to->nodes = make(c, from->node_count, sizeof *to->nodes);
    for (size_t i = 0; to->nodes && i < from->node_count; i++)
        to->nodes[i] = node_in(c, from->nodes[i]);
    to->inputs = values_in(c, from->inputs, from->input_count);
    to->outputs = values_in(c, from->outputs, from->output_count);
    to->initializers = values_in(c, from->initializers, from->initializer_count);
    *level = *old;
    level->state = c->to;
    level->values = (strmap){0};
    level->declared = values_in(c, old->declared, old->declared_count);
    level->node_capacity = from->node_count;
    level->weight_capacity = 0;
    level->owner = node_in(c, old->owner);
    level->owner_attribute = copy_text(c, old->owner_attribute);
    for (size_t i = 0; !c->failed && i < old->values.count; i++) {
        const strmap_entry *e = &old->values.entries[i];
        c->failed |= !strmap_put(&level->values, e->key, value_in(c, e->value));
    }
}

static void fill_levels(cloner *c)
{
    for (size_t i = 0; !c->failed && i < c->from->level_count; i++)
        if (c->live[i]) fill_level(c, c->from->levels[i]);
    while (!c->failed && (c->open_value_count || c->open_node_count)) {
        if (c->open_node_count)
            fill_node(c, c->open_nodes[--c->open_node_count]);
        else
            fill_value(c, c->open_values[--c->open_value_count]);
    }
}

/* ---- The whole ------------------------------------------------------------------------------ */

static pgy_status make_places(cloner *c, pgy_error *err)
{
    const graph_state *s = c->from;
    c->values = mem_calloc(s->value_count + 1, sizeof *c->values);
    c->nodes = mem_calloc(s->node_count + 1, sizeof *c->nodes);
    c->functions = mem_calloc(s->function_count + 1, sizeof *c->functions);
    c->live = mem_calloc(s->level_count + 1, sizeof *c->live);
    c->open_values = mem_calloc(s->value_count + 1, sizeof *c->open_values);
    c->open_nodes = mem_calloc(s->node_count + 1, sizeof *c->open_nodes);
    if (!c->values || !c->nodes || !c->functions || !c->live || !c->open_values || !c->open_nodes)
        return graph_no_memory(err);
    for (size_t i = 0; i < s->level_count; i++) {
        pgy_graph *level = NULL;
        const pgy_status st = level_create(&level, c->to, NULL, err);
        if (st) return st;
    }
    return PGY_OK;
}

/* Marks g and its subgraphs as live, and allocates copies of their nodes. */
static void find_live(cloner *c, const pgy_graph *g)
{
    c->live[level_id(g)] = true;
    for (size_t i = 0; i < g->node_count; i++) {
        (void)node_in(c, g->nodes[i]);
        for (size_t k = 0; k < g->nodes[i]->subgraph_count; k++)
            find_live(c, g->nodes[i]->subgraphs[k]);
    }
}

static void find_all_live(cloner *c, const pgy_graph *g)
{
    const strmap *functions = &c->from->functions;
    find_live(c, g);
    for (size_t i = 0; i < functions->count; i++) {
        const graph_function *f = functions->entries[i].value;
        if (f->body) find_live(c, f->body);
    }
}

/* Maps the node that made an unknown size to its copy; NULL if the node was removed from the graph.
 */
static const void *live_owner(const void *of, void *user)
{
    const cloner *c = user;
    const node_box *box = c->nodes[node_id(of)];
    return box ? &box->node : NULL;
}

static pgy_status copy_functions(cloner *c, pgy_error *err)
{
    const strmap *functions = &c->from->functions;
    for (size_t i = 0; i < functions->count; i++) {
        const strmap_entry *e = &functions->entries[i];
        const graph_function *from = e->value;
        graph_function *to = make(c, 1, sizeof *to);
        if (!to || !strmap_put(&c->to->functions, e->key, to)) return graph_no_memory(err);
        *to = *from;
        to->body = level_in(c, from->body);
        c->functions[from->id] = to;
    }
    return PGY_OK;
}

static pgy_status copy_state(cloner *c, const pgy_graph *g, pgy_error *err)
{
    const graph_state *from = c->from;
    graph_state *to = c->to;
    pgy_status st = make_places(c, err);
    if (!st) find_all_live(c, g);
    if (!st && !dim_table_copy(&c->dims, &to->dims, &from->dims, live_owner, c))
        st = graph_no_memory(err);
    if (!st) st = copy_functions(c, err);
    if (!st) st = operators_copy(to, from, err);
    to->value_count = from->value_count;
    to->node_count = from->node_count;
    to->name_count = from->name_count;
    to->newer = from->newer;
    to->ir_version = from->ir_version;
    to->channel_block = from->channel_block;
    return st;
}

pgy_status graph_clone(pgy_graph **out, const pgy_graph *g, pgy_error *err)
{
    if (g->parent)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "only a whole graph can be cloned, not a subgraph");
    cloner c = {.from = state_of(g), .to = mem_calloc(1, sizeof *c.to)};
    if (!c.to) return graph_no_memory(err);
    pgy_status st = copy_state(&c, g, err);
    if (!st) fill_levels(&c);
    if (!st && c.failed) st = graph_no_memory(err);
    if (st) {
        state_destroy(c.to);
    } else {
        *out = level_in(&c, g);
        pgy_model_retain(g->model);
    }
    dim_copy_deinit(&c.dims);
    mem_free(c.values);
    mem_free(c.nodes);
    mem_free(c.functions);
    mem_free(c.live);
    mem_free(c.open_values);
    mem_free(c.open_nodes);
    return st;
}
