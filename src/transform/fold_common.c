/* SPDX-License-Identifier: Apache-2.0 */
/* Common subexpressions: of nodes in one level with the same operator, inputs and attributes only
 * the first stays, and consumers of the others read its outputs. Random and unknown operators, and
 * nodes with subgraphs, are left alone. */
#include <string.h>

#include "transform/fold.h"

typedef struct table {
    pgy_node **slots;
    uint64_t *hashes;
    size_t mask;
} table;

static uint64_t mix(uint64_t h, uint64_t part)
{
    h = (h ^ part) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 31);
}

static uint64_t hash_of(const pgy_node *n)
{
    uint64_t h = mix(n->input_count, n->output_count);
    h = mix(h, span_hash(span_of(n->op_type)));
    for (size_t i = 0; i < n->input_count; i++) h = mix(h, (uintptr_t)n->inputs[i]);
    return mix(h, n->attribute_count);
}

static bool same_bytes(const void *a, size_t a_size, const void *b, size_t b_size)
{
    return a_size == b_size && (a_size == 0 || memcmp(a, b, a_size) == 0);
}

/* Equal if the encoded bytes are. Attributes that folding made may have no encoding, so plain kinds
 * are also compared by value. */
static bool same_attribute(const pgy_onnx_attribute *a, const pgy_onnx_attribute *b)
{
    if (a == b) return true;
    if (a->message.raw.data && b->message.raw.data &&
        same_bytes(a->message.raw.data, a->message.raw.size, b->message.raw.data,
                   b->message.raw.size))
        return true;
    if (strcmp(a->name, b->name) != 0 || a->ref_attr_name[0] || b->ref_attr_name[0] ||
        pgy_onnx_attribute_kind(a) != pgy_onnx_attribute_kind(b))
        return false;
    switch (pgy_onnx_attribute_kind(a)) {
    case PGY_ATTR_INT: return a->i == b->i;
    case PGY_ATTR_FLOAT: return memcmp(&a->f, &b->f, sizeof a->f) == 0;
    case PGY_ATTR_STRING: return same_bytes(a->s.data, a->s.size, b->s.data, b->s.size);
    case PGY_ATTR_INTS:
        return a->int_count == b->int_count && same_bytes(a->ints, a->int_count * sizeof *a->ints,
                                                          b->ints, b->int_count * sizeof *b->ints);
    default: return false;
    }
}

static bool same_omissions(const pgy_node *a, const pgy_node *b)
{
    for (size_t i = 0; i < b->output_count; i++)
        if (b->outputs[i] && !a->outputs[i]) return false;
    return true;
}

static bool same(const pgy_node *a, const pgy_node *b)
{
    if (strcmp(a->op_type, b->op_type) != 0 || a->input_count != b->input_count ||
        a->output_count != b->output_count || a->attribute_count != b->attribute_count ||
        domain_is_default(a->domain) != domain_is_default(b->domain) ||
        (!domain_is_default(a->domain) && strcmp(a->domain, b->domain) != 0) ||
        strcmp(a->overload, b->overload) != 0 || !same_omissions(a, b))
        return false;
    for (size_t i = 0; i < a->input_count; i++)
        if (a->inputs[i] != b->inputs[i]) return false;
    for (size_t i = 0; i < a->attribute_count; i++)
        if (!same_attribute(a->attributes[i], b->attributes[i])) return false;
    return true;
}

/* May n be merged with an equal node? Unlike in folding, QuantizeLinear and DequantizeLinear may,
 * because one of the equal nodes stays. */
static pgy_status takes_part(bool *out, folder *f, pgy_node *n, pgy_error *err)
{
    *out = false;
    const pgy_status st = node_prepare(n, err);
    const node_box *box = node_box_of(n);
    if (st || n->subgraph_count || n->input_count == 0) return st;
    if (node_is(n, "QuantizeLinear") || node_is(n, "DequantizeLinear")) {
        *out = box->def != NULL;
        return PGY_OK;
    }
    for (size_t i = 0; i < n->output_count; i++)
        if (n->outputs[i] && n->outputs[i]->is_output) return PGY_OK;
    return fold_can_compute(out, f, n, err);
}

static pgy_status merge(folder *f, pgy_node *first, pgy_node *n, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < n->output_count; i++)
        if (n->outputs[i] && n->outputs[i]->is_output) return PGY_OK;
    for (size_t i = 0; !st && i < n->output_count; i++)
        if (n->outputs[i]) st = value_replace_uses(n->outputs[i], first->outputs[i], err);
    if (!st) fold_drop_node(f, n);
    return st;
}

static pgy_status visit(folder *f, table *t, pgy_node *n, pgy_error *err)
{
    const uint64_t hash = hash_of(n);
    size_t at = hash & t->mask;
    for (; t->slots[at]; at = (at + 1) & t->mask)
        if (t->hashes[at] == hash && same(t->slots[at], n)) return merge(f, t->slots[at], n, err);
    t->slots[at] = n;
    t->hashes[at] = hash;
    return PGY_OK;
}

pgy_status fold_common(folder *f, pgy_graph *level, pgy_error *err)
{
    pgy_node **order = NULL;
    size_t size = 16;
    while (size < 2 * level->node_count) size *= 2;
    table t = {.slots = arena_alloc_array(&f->memory, size, sizeof *t.slots),
               .hashes = arena_alloc_array(&f->memory, size, sizeof *t.hashes),
               .mask = size - 1};
    if (!t.slots || !t.hashes) return graph_no_memory(err);
    pgy_status st = graph_order(&order, level, &f->memory, err);
    const size_t before = f->changes;
    for (size_t i = 0; !st && i < level->node_count; i++) {
        bool part = false;
        st = takes_part(&part, f, order[i], err);
        if (!st && part) st = visit(f, &t, order[i], err);
    }
    if (f->changes != before) graph_sweep(level);
    return st;
}
