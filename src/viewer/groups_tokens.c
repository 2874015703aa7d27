/* SPDX-License-Identifier: Apache-2.0 */
/* Describes pieces of a graph by tokens. */
#include "viewer/groups_tokens.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

/* ---- What a node is by itself --------------------------------------------------------------- */

static uint64_t hash_bytes(const void *data, size_t size, uint64_t seed)
{
    return size ? hash_xxh64(data, size, seed) : seed + 1; /* then data may be NULL */
}

static uint64_t hash_text(const char *text, uint64_t seed)
{
    return hash_bytes(text ? text : "\1", text ? strlen(text) : 1, seed);
}

static uint64_t hash_number(uint64_t n, uint64_t seed)
{
    return hash_bytes(&n, sizeof n, seed);
}

/* Named sizes are equal: inference gives each unknown one its own name. */
static uint64_t hash_shape(const char *shape, uint64_t h)
{
    if (!shape) return hash_number(0, h);
    for (const char *p = shape; *p; p++) {
        const char *end = strchr(p, 'x');
        const size_t size = end ? (size_t)(end - p) : strlen(p);
        h = *p >= '0' && *p <= '9' ? hash_bytes(p, size, h) : hash_number('?', h);
        if (!end) break;
        p = end;
    }
    return h;
}

static uint64_t hash_tensor(const pgy_onnx_tensor *t, uint64_t h)
{
    h = hash_number((uint64_t)t->data_type, h);
    return hash_bytes(t->dims, t->dim_count * sizeof *t->dims, h);
}

static uint64_t hash_attribute(const pgy_onnx_attribute *a, uint64_t h)
{
    const pgy_onnx_attribute_type kind = pgy_onnx_attribute_kind(a);
    h = hash_number((uint64_t)kind, hash_text(a->ref_attr_name, hash_text(a->name, h)));
    switch (kind) {
    case PGY_ATTR_FLOAT: return hash_bytes(&a->f, sizeof a->f, h);
    case PGY_ATTR_INT: return hash_bytes(&a->i, sizeof a->i, h);
    case PGY_ATTR_STRING: return hash_bytes(a->s.data, a->s.size, h);
    case PGY_ATTR_TENSOR: return a->t ? hash_tensor(a->t, h) : h;
    case PGY_ATTR_FLOATS: return hash_bytes(a->floats, a->float_count * sizeof *a->floats, h);
    case PGY_ATTR_INTS: return hash_bytes(a->ints, a->int_count * sizeof *a->ints, h);
    case PGY_ATTR_STRINGS:
        for (size_t i = 0; i < a->string_count; i++)
            h = hash_bytes(a->strings[i].data, a->strings[i].size, h);
        return h;
    default: return hash_number(a->graph_count, h);
    }
}

static uint64_t hash_node(const view_graph *g, const view_node *n)
{
    uint64_t h = hash_number(n->op, (uint64_t)n->kind);
    h = hash_number(n->input_count, hash_number(n->output_count, h));
    for (size_t i = 0; n->source && i < n->source->attribute_count; i++)
        h = hash_attribute(n->source->attributes[i], h);
    for (uint32_t i = 0; i < n->input_count; i++) {
        if (n->inputs[i] == VIEW_NONE) continue;
        const view_tensor *t = &g->tensors[n->inputs[i]];
        const bool is_weight = t->kind == VIEW_WEIGHT || t->kind == VIEW_NODE_CONSTANT;
        h = hash_shape(t->shape, hash_text(t->dtype, hash_number(is_weight, h)));
    }
    for (uint32_t i = 0; i < n->output_count; i++) {
        if (n->outputs[i] == VIEW_NONE) continue;
        const view_tensor *t = &g->tensors[n->outputs[i]];
        h = hash_shape(t->shape, hash_text(t->dtype, h));
    }
    return h;
}

bool tokenizer_start(tokenizer *x, grouping *s)
{
    const view_graph *g = s->g;
    arena *a = &s->memory;
    *x = (tokenizer){.s = s};
    x->node_hash = arena_alloc_array(a, g->node_count, sizeof *x->node_hash);
    x->place = arena_alloc_array(a, g->node_count, sizeof *x->place);
    x->place_stamp = arena_alloc_array(a, g->node_count, sizeof *x->place_stamp);
    x->output_index = arena_alloc_array(a, g->tensor_count, sizeof *x->output_index);
    x->outside = arena_alloc_array(a, g->tensor_count, sizeof *x->outside);
    x->outside_stamp = arena_alloc_array(a, g->tensor_count, sizeof *x->outside_stamp);
    if (!x->node_hash || !x->place || !x->place_stamp || !x->output_index || !x->outside ||
        !x->outside_stamp)
        return false;
    for (uint32_t i = 0; i < g->node_count; i++) {
        const view_node *n = &g->nodes[i];
        x->node_hash[i] = hash_node(g, n);
        for (uint32_t k = 0; k < n->output_count; k++)
            if (n->outputs[k] != VIEW_NONE) x->output_index[n->outputs[k]] = k;
    }
    return true;
}

/* ---- Tokens --------------------------------------------------------------------------------- */

enum token { TOKEN_NONE, TOKEN_INSIDE, TOKEN_OUTSIDE, TOKEN_SEEN, TOKEN_CONTAINER, TOKEN_END };

static void put(tokenizer *x, uint64_t token)
{
    group_tokens *t = x->out;
    if (x->failed || !mem_grow((void **)&t->items, &t->room, t->count + 1, sizeof *t->items))
        x->failed = true;
    else
        t->items[t->count++] = token;
}

static void put_input(tokenizer *x, uint32_t tensor)
{
    if (tensor == VIEW_NONE) {
        put(x, TOKEN_NONE);
        return;
    }
    const view_tensor *t = &x->s->g->tensors[tensor];
    if (t->producer != VIEW_NONE && x->place_stamp[t->producer] == x->stamp) {
        put(x, TOKEN_INSIDE);
        put(x, (uint64_t)x->place[t->producer] << 32 | x->output_index[tensor]);
        return;
    }
    if (x->outside_stamp[tensor] != x->stamp) {
        x->outside_stamp[tensor] = x->stamp;
        x->outside[tensor] = x->outside_count++;
    }
    put(x, t->producer == VIEW_NONE ? TOKEN_OUTSIDE : TOKEN_SEEN);
    put(x, x->outside[tensor]);
}

/* Is a tensor of the piece read outside it? */
static bool is_used_outside(const tokenizer *x, uint32_t tensor)
{
    const group_lists *uses = &x->s->uses;
    if (tensor == VIEW_NONE) return false;
    for (uint32_t k = uses->start[tensor]; k < uses->start[tensor + 1]; k++)
        if (x->place_stamp[uses->values[k]] != x->stamp) return true;
    return false;
}

static void put_node(tokenizer *x, uint32_t node)
{
    const view_node *n = &x->s->g->nodes[node];
    put(x, x->node_hash[node]);
    put(x, (uint64_t)n->op << 32 | (uint64_t)n->kind);
    put(x, (uint64_t)n->input_count << 32 | n->output_count);
    for (uint32_t i = 0; i < n->input_count; i++) put_input(x, n->inputs[i]);
    for (uint32_t i = 0; i < n->output_count; i++)
        put(x, (uint64_t)(n->outputs[i] == VIEW_NONE) << 1 | is_used_outside(x, n->outputs[i]));
}

/* The names of equal scopes differ in their numbers only. */
static uint64_t hash_name(const char *name)
{
    uint64_t h = 0;
    while (*name) {
        const size_t size = strcspn(name, "0123456789");
        h = hash_bytes(name, size, h);
        name += size;
        name += strspn(name, "0123456789");
    }
    return h;
}

static void put_container(tokenizer *x, const view_container *c)
{
    const bool is_named = c->kind == VIEW_SCOPE || c->kind == VIEW_BODY;
    put(x, TOKEN_CONTAINER);
    put(x, (uint64_t)c->kind << 32 | c->child_count);
    put(x, is_named ? hash_name(c->name) : 0);
}

/* First all nodes get their places, then the tokens are written. */
static void walk(tokenizer *x, view_item item, bool numbering)
{
    if (item.kind == VIEW_ITEM_NODE) {
        if (!numbering) {
            put_node(x, item.ref);
        } else {
            x->place[item.ref] = x->place_count++;
            x->place_stamp[item.ref] = x->stamp;
        }
        return;
    }
    const view_container *c = &x->s->g->containers[item.ref];
    if (!numbering) put_container(x, c);
    if (c->node != VIEW_NONE) walk(x, (view_item){VIEW_ITEM_NODE, c->node}, numbering);
    for (uint32_t i = 0; i < c->child_count && !x->failed; i++) walk(x, c->children[i], numbering);
    if (!numbering) put(x, TOKEN_END);
}

bool tokenizer_read(tokenizer *x, group_tokens *out, const view_item *items, uint32_t count)
{
    x->out = out;
    out->count = 0;
    x->stamp++;
    x->place_count = x->outside_count = 0;
    for (uint32_t i = 0; i < count; i++) walk(x, items[i], true);
    for (uint32_t i = 0; i < count && !x->failed; i++) walk(x, items[i], false);
    return !x->failed;
}
