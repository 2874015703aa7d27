/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of nodes, which do not depend on names. `forward` covers all that leads from the
 * graph's inputs to a node, `backward` all that leads from the node to the outputs, `around` a few
 * steps in both directions. A paired neighbour counts by the id of its pair, so that a change in
 * one place does not change the signatures beyond it. */
#include <string.h>

#include "base/hash.h"
#include "inspect/diff.h"

enum { WIDE_NODE = 64 };
enum { SEED_ABSENT = 1, SEED_OUTSIDE, SEED_USE, SEED_PAIR, SEED_WEIGHT, SEED_INPUT, SEED_CIRCLE };

uint64_t diff_mix(uint64_t h, uint64_t v)
{
    h ^= v * 0x9E3779B97F4A7C15U;
    h = (h << 27 | h >> 37) * 0x3C79AC492BA7B653U;
    return h ^ h >> 29;
}

uint64_t diff_hash_text(const char *text)
{
    return hash_xxh64(text, strlen(text), 0);
}

uint64_t diff_hash_type(const pgy_onnx_type *t)
{
    uint64_t h = 3;
    for (int depth = 0; t && depth < DIFF_MAX_DEPTH; depth++) {
        const pgy_onnx_tensor_type *tensor =
            t->tensor_type ? t->tensor_type : t->sparse_tensor_type;
        h = diff_mix(h, t->tensor_type     ? 1
                        : t->sequence_type ? 2
                        : t->optional_type ? 3
                        : t->map_type      ? 4
                        : t->opaque_type   ? 5
                                           : 6);
        if (tensor) {
            h = diff_mix(h, (uint64_t)tensor->elem_type);
            h = diff_mix(h, tensor->shape ? tensor->shape->dim_count + 1 : 0);
        }
        t = t->sequence_type   ? t->sequence_type->elem_type
            : t->optional_type ? t->optional_type->elem_type
            : t->map_type      ? t->map_type->value_type
                               : NULL;
    }
    return h;
}

static uint64_t hash_tensor(const pgy_onnx_tensor *t)
{
    uint64_t h = diff_mix(5, (uint64_t)t->data_type);
    for (size_t i = 0; i < t->dim_count; i++) h = diff_mix(h, (uint64_t)t->dims[i]);
    return h;
}

uint64_t diff_hash_weight(const diff_value *v)
{
    if (v->weight) return hash_tensor(v->weight);
    return v->sparse && v->sparse->values ? diff_mix(7, hash_tensor(v->sparse->values)) : 7;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static uint64_t hash_graph(const pgy_onnx_graph *g, int depth);

static uint64_t hash_attribute(const pgy_onnx_attribute *a, int depth)
{
    uint64_t h = diff_hash_text(a->name), bits = 0;
    h = diff_mix(h, (uint64_t)pgy_onnx_attribute_kind(a));
    h = diff_mix(h, (uint64_t)a->i);
    memcpy(&bits, &a->f, sizeof a->f);
    h = diff_mix(h, bits);
    if (a->s.size) h = diff_mix(h, hash_xxh64(a->s.data, a->s.size, 0));
    if (a->int_count) h = diff_mix(h, hash_xxh64(a->ints, a->int_count * sizeof *a->ints, 1));
    if (a->float_count)
        h = diff_mix(h, hash_xxh64(a->floats, a->float_count * sizeof *a->floats, 2));
    for (size_t i = 0; i < a->string_count; i++)
        h = diff_mix(h, a->strings[i].size ? hash_xxh64(a->strings[i].data, a->strings[i].size, 3)
                                           : 3);
    if (a->t) h = diff_mix(h, hash_tensor(a->t));
    if (a->g) h = diff_mix(h, hash_graph(a->g, depth + 1));
    for (size_t i = 0; i < a->graph_count; i++)
        h = diff_mix(h, hash_graph(a->graphs[i], depth + 1));
    if (a->ref_attr_name[0]) h = diff_mix(h, diff_hash_text(a->ref_attr_name));
    return h;
}

static uint64_t hash_operator(const pgy_onnx_node *n)
{
    const bool is_default = strcmp(n->domain, "ai.onnx") == 0;
    uint64_t h = diff_mix(11, diff_hash_text(n->op_type));
    if (n->domain[0] && !is_default) h = diff_mix(h, diff_hash_text(n->domain));
    return n->overload[0] ? diff_mix(h, diff_hash_text(n->overload)) : h;
}

static uint64_t hash_node(const pgy_onnx_node *n, int depth)
{
    uint64_t h = hash_operator(n), attributes = 0;
    for (size_t i = 0; i < n->attribute_count; i++) /* a sum, so the order does not matter */
        attributes += diff_mix(13, hash_attribute(n->attributes[i], depth));
    return diff_mix(diff_mix(h, attributes), n->output_count);
}

static uint64_t hash_graph(const pgy_onnx_graph *g, int depth)
{
    uint64_t h = diff_mix(17, g->node_count);
    for (size_t i = 0; i < g->node_count && depth < DIFF_MAX_DEPTH; i++)
        h = diff_mix(h, hash_node(g->nodes[i], depth));
    return h;
}

uint64_t diff_hash_node(const pgy_onnx_node *n)
{
    return hash_node(n, 0);
}

/* ---- Neighbourhoods -------------------------------------------------------------------------- */

static uint64_t pair_of(uint64_t id)
{
    return diff_mix(SEED_PAIR, id);
}

/* Hash of a value without its producer. */
static uint64_t value_kind(const diff_value *v, const diff_side *s)
{
    if (!v) return SEED_ABSENT;
    if (v->id) return pair_of(v->id);
    if (diff_is_weight(v)) return diff_mix(SEED_WEIGHT, diff_hash_weight(v));
    if (v->side != s) return SEED_OUTSIDE;
    return v->is_input ? SEED_INPUT : 0;
}

static uint64_t forward_of(const diff_value *v, const diff_side *s)
{
    const uint64_t kind = value_kind(v, s);
    return kind ? kind : v->producer ? v->forward : SEED_CIRCLE;
}

static void sign_forward(diff_side *s)
{
    for (size_t i = 0; i < s->value_count; i++) s->values[i].forward = SEED_CIRCLE;
    for (size_t i = 0; i < s->node_count; i++) {
        diff_node *n = s->order[i];
        uint64_t h = diff_mix(19, n->local);
        for (size_t k = 0; k < n->proto->input_count; k++)
            h = diff_mix(h, forward_of(n->inputs[k], s));
        n->forward = n->id ? pair_of(n->id) : h;
        for (size_t k = 0; k < n->proto->output_count; k++)
            if (n->outputs[k]) n->outputs[k]->forward = diff_mix(n->forward, k);
    }
}

/* Index of a value among its user's inputs: the first one if it is used twice, capped at WIDE_NODE.
 */
static size_t slot_of(const diff_node *user, const diff_value *v)
{
    size_t k = 0;
    while (k + 1 < user->proto->input_count && k < WIDE_NODE && user->inputs[k] != v) k++;
    return k;
}

static uint64_t uses_of(const diff_value *v, const diff_side *s, size_t offset)
{
    uint64_t sum = v->sink ? diff_mix(SEED_USE, v->sink) : 0;
    for (size_t i = 0; i < v->use_count; i++) { /* a sum, so the order does not matter */
        const diff_node *user = &s->nodes[v->uses[i]];
        uint64_t of_user;
        memcpy(&of_user, (const char *)user + offset, sizeof of_user);
        if (user->id) of_user = pair_of(user->id);
        sum += diff_mix(diff_mix(SEED_USE, of_user), slot_of(user, v));
    }
    return sum;
}

static void sign_backward(diff_side *s)
{
    for (size_t i = 0; i < s->node_count; i++) s->nodes[i].backward = SEED_CIRCLE;
    for (size_t i = s->node_count; i-- > 0;) {
        diff_node *n = s->order[i];
        uint64_t h = diff_mix(23, n->local);
        for (size_t k = 0; k < n->proto->output_count; k++)
            h = diff_mix(h, n->outputs[k] ? uses_of(n->outputs[k], s, offsetof(diff_node, backward))
                                          : SEED_ABSENT);
        for (size_t k = 0; k < n->proto->input_count; k++)
            if (n->inputs[k] && diff_is_weight(n->inputs[k]))
                h = diff_mix(h, value_kind(n->inputs[k], s));
        n->backward = n->id ? pair_of(n->id) : h;
    }
}

void diff_sign_cones(diff_side *s)
{
    sign_forward(s);
    sign_backward(s);
}

static uint64_t around_once(const diff_node *n, const diff_side *s)
{
    uint64_t h = diff_mix(29, n->around);
    for (size_t k = 0; k < n->proto->input_count; k++) {
        const diff_value *v = n->inputs[k];
        const uint64_t kind = value_kind(v, s);
        h = diff_mix(h,
                     kind || !v->producer ? kind : diff_mix(v->producer->around, v->output_index));
    }
    for (size_t k = 0; k < n->proto->output_count; k++)
        h = diff_mix(h, n->outputs[k] ? uses_of(n->outputs[k], s, offsetof(diff_node, around))
                                      : SEED_ABSENT);
    return h;
}

void diff_sign_around(diff_side *s, size_t hops)
{
    for (size_t i = 0; i < s->node_count; i++)
        s->nodes[i].around = s->nodes[i].id ? pair_of(s->nodes[i].id) : s->nodes[i].local;
    for (size_t hop = 0; hop < hops; hop++) {
        for (size_t i = 0; i < s->node_count; i++)
            if (!s->nodes[i].id) s->nodes[i].forward = around_once(&s->nodes[i], s);
        for (size_t i = 0; i < s->node_count; i++)
            if (!s->nodes[i].id) s->nodes[i].around = s->nodes[i].forward;
    }
}
