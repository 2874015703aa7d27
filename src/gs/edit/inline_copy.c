/* SPDX-License-Identifier: Apache-2.0 */
/* Copies the body of a function for one call. The function's inputs and outputs become those of the
 * call; its other tensors become new ones, with names that are free in the whole document. The
 * body's tensors point to their copies: `scratch` is the copy if `mark` equals the epoch of this
 * call. */
#include "gs/edit/inline.h"

#include "base/alloc.h"
#include "graph/edit.h"

#include <stdio.h>
#include <string.h>

enum { LONG_NAME = 200, LONG_PATH = 4000 };

typedef struct copying {
    inliner *x;
    const pgy_gs_node *call;
    const pgy_gs_graph *f;
    pgy_gs_graph *into;
    uint64_t epoch;
    const char *suffix;
    pgy_error *err;
} copying;

/* A graph of the function (its body or a subgraph), the graph that receives the copy, and the
 * enclosing pair. */
typedef struct pairing {
    const pgy_gs_graph *from;
    pgy_gs_graph *to;
    const struct pairing *up;
} pairing;

static pgy_status copy_subgraph(pgy_gs_graph **out, copying *c, const pairing *up,
                                const pgy_gs_graph *from);

/* ---- Names ----------------------------------------------------------------------------------- */

const char *gs_node_path_name(const pgy_gs_node *n)
{
    if (*n->name) return n->name;
    for (size_t i = 0; i < n->output_count; i++)
        if (*n->outputs[i]->name) return n->outputs[i]->name;
    return "";
}

static bool has_name(const char *name, const void *names)
{
    return gs_names_find(names, name, gs_hash(name));
}

/* Makes "<name>_<call>" or "<call>/<name>", followed by a number if the name is in `taken`. NULL:
 * out of memory. */
static const char *free_name(const copying *c, const char *name, const gs_names *taken)
{
    gs_document *d = c->x->document;
    str text = {0};
    if (c->x->paths && strlen(name) + strlen(c->suffix) < LONG_PATH)
        str_printf(&text, "%s/%s", c->suffix, name);
    else if (strlen(name) + strlen(c->suffix) < LONG_NAME)
        str_printf(&text, "%s_%s", name, c->suffix);
    else
        str_printf(&text, "%.*s_%llu", LONG_NAME / 2, name, (unsigned long long)d->serial);
    uint64_t number = d->serial;
    name_make_free(&text, &number, has_name, taken);
    const char *kept = text.failed ? NULL : gs_strdup(d, str_text(&text));
    str_deinit(&text);
    return kept;
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static void map_tensor(const copying *c, const pgy_gs_tensor *from, pgy_gs_tensor *to)
{
    tensor_box(from)->mark = c->epoch;
    tensor_box(from)->scratch = (uintptr_t)to;
}

static bool is_mapped(const copying *c, const pgy_gs_tensor *t)
{
    return tensor_box(t)->mark == c->epoch;
}

static pgy_gs_graph *new_home(const copying *c, const pairing *level, const pgy_gs_tensor *t)
{
    for (; level; level = level->up)
        if (tensor_box(t)->home == level->from) return level->to;
    return c->into;
}

/* Makes symbolic dimensions unknown, because a function's dimension names mean nothing outside it.
 */
static pgy_status forget_names(pgy_gs_tensor *t, gs_document *d, pgy_error *err)
{
    pgy_dim *dims = NULL;
    if (t->rank <= 0) return PGY_OK;
    dims = gs_alloc(d, (size_t)t->rank, sizeof *dims);
    if (!dims) return gs_no_memory(err);
    for (int32_t i = 0; i < t->rank; i++) dims[i].value = t->dims[i].value;
    t->dims = dims;
    return PGY_OK;
}

static pgy_status copy_tensor(pgy_gs_tensor **out, copying *c, const pairing *level,
                              const pgy_gs_tensor *from)
{
    gs_document *d = c->x->document;
    pgy_gs_tensor *t = NULL;
    const char *name = *from->name ? free_name(c, from->name, &d->tensor_names) : "";
    if (!name) return gs_no_memory(c->err);
    pgy_status st = gs_tensor_create(&t, d, name, c->err);
    if (st) return st;
    gs_tensor_take(t, from);
    tensor_box(t)->home = new_home(c, level, from);
    tensor_box(t)->info_changed = true;
    if (level->up)
        t->info = from->info;
    else if (t->kind == PGY_GS_VARIABLE)
        st = forget_names(t, d, c->err);
    if (!st) *out = t;
    return st;
}

/* Finds or creates the copy of a tensor. Each omitted input or output gets a new tensor. */
static pgy_status find_tensor(pgy_gs_tensor **out, copying *c, const pairing *level,
                              const pgy_gs_tensor *from)
{
    pgy_gs_tensor *mapped = is_mapped(c, from) ? (pgy_gs_tensor *)tensor_box(from)->scratch : NULL;
    if (mapped) {
        *out = mapped;
        return PGY_OK;
    }
    if (!*from->name || is_mapped(c, from)) return pgy_gs_omitted(out, c->into, c->err);
    pgy_status st = copy_tensor(out, c, level, from);
    if (!st) map_tensor(c, from, *out);
    return st;
}

/* ---- Attributes ------------------------------------------------------------------------------ */

/* The value that the call gives an attribute parameter, else its default, else NULL. */
static const pgy_gs_attribute *find_argument(const copying *c, const char *parameter)
{
    const pgy_gs_attribute *given = pgy_gs_find_attr(c->call, parameter);
    for (size_t i = 0; !given && i < c->f->parameter_count; i++)
        if (!strcmp(c->f->parameters[i].name, parameter) && c->f->parameters[i].value)
            return &c->f->parameters[i];
    return given;
}

/* Graphs in the call's attributes are used without a copy, because they read tensors around the
 * call. */
static pgy_status bind_graphs(const pgy_gs_attribute *a, const copying *c, const pairing *level)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < a->graph_count && !st; i++) {
        gs_set_parent(a->graphs[i], level->to);
        c->x->document->shares_subgraphs = true;
        st = gs_level_list_push(a->graphs[i], &c->x->levels, c->err);
    }
    return st;
}

static pgy_status bind_parameter(pgy_gs_attribute *out, const copying *c, const pairing *level,
                                 const pgy_gs_attribute *from, const pgy_gs_attribute *argument)
{
    const pgy_onnx_attribute_type wanted = (pgy_onnx_attribute_type)from->value->type;
    const pgy_onnx_attribute_type given =
        argument->value ? pgy_onnx_attribute_kind(argument->value) : PGY_ATTR_GRAPH;
    if (wanted != PGY_ATTR_UNDEFINED && given != PGY_ATTR_UNDEFINED && wanted != given)
        return gs_node_error(
            c->call, c->err, PGY_E_TYPE,
            "attribute '%.200s' has type %d, but function '%.200s' uses it as type %d",
            argument->name, (int)given, c->f->name, (int)wanted);
    *out = *argument;
    out->name = from->name;
    if (!argument->value) return bind_graphs(out, c, level);
    out->value = attribute_renamed(c->x->document->store, argument->value, from->name);
    if (!out->value) return gs_no_memory(c->err);
    return bind_graphs(out, c, level);
}

static pgy_status copy_graphs(pgy_gs_attribute *out, copying *c, const pairing *level,
                              const pgy_gs_attribute *from)
{
    out->graphs = gs_alloc(c->x->document, from->graph_count, sizeof *out->graphs);
    out->graph_count = 0;
    if (!out->graphs) return gs_no_memory(c->err);
    for (size_t i = 0; i < from->graph_count; i++) {
        pgy_status st = copy_subgraph(&out->graphs[i], c, level, from->graphs[i]);
        if (st) return st;
        graph_box(out->graphs[i])->held = true;
        out->graph_count = i + 1;
    }
    return PGY_OK;
}

/* Copies a node's attributes, except those that refer to a function parameter without a value. */
static pgy_status copy_attributes(pgy_gs_node *to, copying *c, const pairing *level,
                                  const pgy_gs_node *from)
{
    pgy_gs_attribute *list = gs_alloc(c->x->document, from->attribute_count, sizeof *list);
    if (!list) return gs_no_memory(c->err);
    to->attributes = list;
    gs_node_box(to)->attribute_capacity = from->attribute_count;
    for (size_t i = 0; i < from->attribute_count; i++) {
        const pgy_gs_attribute *a = &from->attributes[i];
        pgy_gs_attribute made = *a;
        pgy_status st = PGY_OK;
        if (a->value && *a->value->ref_attr_name) {
            const pgy_gs_attribute *argument = find_argument(c, a->value->ref_attr_name);
            if (!argument) continue;
            st = bind_parameter(&made, c, level, a, argument);
        } else if (a->graph_count) {
            st = copy_graphs(&made, c, level, a);
        }
        if (st) return st;
        list[to->attribute_count++] = made;
    }
    return PGY_OK;
}

/* ---- Nodes and graphs ------------------------------------------------------------------------ */

static pgy_status attach_copies(pgy_gs_node *to, copying *c, const pairing *level,
                                const pgy_gs_node *from)
{
    pgy_status st = PGY_OK;
    pgy_gs_tensor *t = NULL;
    for (size_t i = 0; i < from->input_count && !st; i++) {
        st = find_tensor(&t, c, level, from->inputs[i]);
        if (!st) st = gs_attach_input(to, i, t, c->err);
    }
    for (size_t i = 0; i < from->output_count && !st; i++) {
        st = find_tensor(&t, c, level, from->outputs[i]);
        if (!st) st = gs_attach_output(to, i, t, c->err);
    }
    return st;
}

static pgy_status name_node(pgy_gs_node *n, const copying *c, const pairing *level,
                            const pgy_gs_node *from)
{
    gs_names *names = &c->x->document->node_names;
    const char *name = c->x->paths ? gs_node_path_name(from) : from->name;
    if (!*name) return PGY_OK;
    n->name = c->x->paths && level->up ? name : free_name(c, name, names);
    return n->name && gs_names_rename(names, &gs_node_box(n)->named, n->name)
               ? PGY_OK
               : gs_no_memory(c->err);
}

static pgy_status copy_node(pgy_gs_node **out, copying *c, const pairing *level,
                            const pgy_gs_node *from)
{
    pgy_gs_node *n = NULL;
    pgy_status st = gs_node_create(&n, c->x->document, c->err);
    if (!st) st = gs_node_list_push(&c->x->made, n, c->err);
    if (!st) st = name_node(n, c, level, from);
    if (st) return st;
    n->op = from->op;
    n->domain = from->domain;
    n->overload = from->overload;
    n->doc_string = from->doc_string;
    n->stored = from->stored;
    gs_node_box(n)->changed = true;
    st = copy_attributes(n, c, level, from);
    if (!st) st = attach_copies(n, c, level, from);
    if (!st) *out = n;
    return st;
}

/* Clears the marks of copied tensors: a subgraph that two attributes hold is copied twice, and each
 * copy needs its own tensors. */
static void forget_level(const pgy_gs_graph *g)
{
    for (size_t i = 0; i < g->input_count; i++) tensor_box(g->inputs[i])->mark = 0;
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_gs_node *n = g->nodes[i];
        for (size_t j = 0; j < n->input_count; j++)
            if (tensor_box(n->inputs[j])->home == g) tensor_box(n->inputs[j])->mark = 0;
        for (size_t j = 0; j < n->output_count; j++) tensor_box(n->outputs[j])->mark = 0;
    }
}

static pgy_status copy_interface(pgy_gs_tensor ***items, size_t *count, copying *c,
                                 const pairing *level, pgy_gs_tensor *const *from, size_t wanted)
{
    *items = gs_alloc(c->x->document, wanted, sizeof **items);
    if (!*items) return gs_no_memory(c->err);
    for (*count = 0; *count < wanted; ++*count) {
        pgy_status st = find_tensor(&(*items)[*count], c, level, from[*count]);
        if (st) return st;
    }
    return PGY_OK;
}

static pgy_status copy_subgraph(pgy_gs_graph **out, copying *c, const pairing *up,
                                const pgy_gs_graph *from)
{
    pgy_gs_graph *g = NULL;
    pgy_status st = gs_graph_create(&g, c->x->document, up->to, NULL, c->err);
    if (st) return st;
    const pairing level = {from, g, up};
    g->name = from->name;
    g->doc_string = from->doc_string;
    g->stored = from->stored;
    graph_box(g)->changed = true;
    forget_level(from);
    st = copy_interface(&g->inputs, &g->input_count, c, &level, from->inputs, from->input_count);
    if (!st)
        st = copy_interface(&g->outputs, &g->output_count, c, &level, from->outputs,
                            from->output_count);
    graph_box(g)->input_capacity = g->input_count;
    graph_box(g)->output_capacity = g->output_count;
    g->nodes = gs_alloc(c->x->document, from->node_count, sizeof *g->nodes);
    graph_box(g)->node_capacity = from->node_count;
    if (!st && !g->nodes) st = gs_no_memory(c->err);
    for (size_t i = 0; i < from->node_count && !st; i++) {
        pgy_gs_node *n = NULL;
        st = copy_node(&n, c, &level, from->nodes[i]);
        if (st) return st;
        n->graph = g;
        gs_node_box(n)->index_hint = i;
        g->nodes[g->node_count++] = n;
    }
    if (!st) st = gs_level_list_push(g, &c->x->levels, c->err);
    if (!st) *out = g;
    return st;
}

/* ---- A call ---------------------------------------------------------------------------------- */

/* Adds an Identity node that reads `from` and writes `to`. */
static pgy_status add_identity(gs_node_list *out, copying *c, const pairing *level,
                               const pgy_gs_tensor *from, pgy_gs_tensor *to)
{
    pgy_gs_node *n = NULL;
    pgy_gs_tensor *t = NULL;
    pgy_status st = gs_node_create(&n, c->x->document, c->err);
    if (!st) st = gs_node_list_push(&c->x->made, n, c->err);
    if (!st) st = find_tensor(&t, c, level, from);
    if (st) return st;
    n->op = "Identity";
    gs_node_box(n)->changed = true;
    st = gs_attach_input(n, 0, t, c->err);
    if (!st) st = gs_attach_output(n, 0, to, c->err);
    return st ? st : gs_node_list_push(out, n, c->err);
}

static bool is_made_by(const pgy_gs_graph *f, const pgy_gs_tensor *t)
{
    for (size_t i = 0; i < t->producer_count; i++)
        if (t->producers[i]->graph == f) return true;
    return false;
}

/* Makes the call's inputs and outputs stand for the function's in the copied body. */
static void map_interface(copying *c)
{
    const pgy_gs_node *n = c->call;
    for (size_t i = 0; i < c->f->input_count; i++) {
        bool given = i < n->input_count && *n->inputs[i]->name;
        map_tensor(c, c->f->inputs[i], given ? n->inputs[i] : NULL);
    }
    for (size_t i = 0; i < c->f->output_count && i < n->output_count; i++) {
        const pgy_gs_tensor *t = c->f->outputs[i];
        if (*n->outputs[i]->name && !is_mapped(c, t) && is_made_by(c->f, t))
            map_tensor(c, t, n->outputs[i]);
    }
}

static pgy_status check_arity(const copying *c)
{
    const pgy_gs_node *n = c->call;
    if (n->input_count <= c->f->input_count && n->output_count <= c->f->output_count) return PGY_OK;
    return gs_node_error(n, c->err, PGY_E_FORMAT,
                         "has %zu inputs and %zu outputs, but function '%.200s' has %zu and %zu",
                         n->input_count, n->output_count, c->f->name, c->f->input_count,
                         c->f->output_count);
}

pgy_status inliner_copy_body(gs_node_list *out, inliner *x, const pgy_gs_node *n,
                             const pgy_gs_graph *f, pgy_gs_graph *into, size_t number,
                             pgy_error *err)
{
    char digits[24];
    copying c = {x, n, f, into, ++x->document->epoch, n->name, err};
    const pairing level = {f, into, NULL};
    if (x->paths)
        c.suffix = gs_node_path_name(n);
    else if (!*n->name) {
        snprintf(digits, sizeof digits, "%zu", number);
        c.suffix = digits;
    }
    pgy_status st = check_arity(&c);
    if (!st) map_interface(&c);
    for (size_t i = 0; i < f->node_count && !st; i++) {
        pgy_gs_node *made = NULL;
        st = copy_node(&made, &c, &level, f->nodes[i]);
        if (!st) st = gs_node_list_push(out, made, err);
    }
    for (size_t i = 0; i < n->output_count && !st; i++) {
        const pgy_gs_tensor *t = f->outputs[i];
        bool made = is_mapped(&c, t) && tensor_box(t)->scratch == (uintptr_t)n->outputs[i];
        if (*n->outputs[i]->name && !made) st = add_identity(out, &c, &level, t, n->outputs[i]);
    }
    return st;
}
