/* SPDX-License-Identifier: Apache-2.0 */
/* Matches what is left of two graphs of which one is no model: by name and operator, by names of
 * outputs, by signatures of neighbourhoods that occur once on each side, by neighbours of pairs,
 * and last, per operator, in order. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/hash.h"
#include "viewer/diff.h"

enum { HOPS = 3, WIDE_USE = 64, WIDE_NODE = 64 };

typedef struct signed_node {
    uint64_t key;
    uint32_t node;
} signed_node;

typedef struct structure {
    view_match *m;
    uint64_t *sign[2], *next[2];
    signed_node *keys[2];
    uint32_t *queue; /* paired nodes of a */
    uint32_t queue_count;
} structure;

static bool is_open(const view_side *s, uint32_t i)
{
    return s->graph->nodes[i].kind == VIEW_NODE && view_is_alone(s, i);
}

static bool same_op(const view_match *m, uint32_t a, uint32_t b)
{
    return strcmp(view_op_name(m->side[0].graph, a), view_op_name(m->side[1].graph, b)) == 0;
}

static void pair(structure *s, uint32_t a, uint32_t b)
{
    view_pair_nodes(s->m, a, b);
    s->queue[s->queue_count++] = a;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static void match_names(structure *s)
{
    const view_side *a = &s->m->side[0], *b = &s->m->side[1];
    for (uint32_t i = 0; i < a->graph->node_count; i++) {
        const char *name = a->graph->nodes[i].name;
        const uint32_t k = name[0] && is_open(a, i) ? view_graph_node(b->graph, name) : VIEW_NONE;
        if (k != VIEW_NONE && is_open(b, k) && same_op(s->m, i, k)) pair(s, i, k);
    }
}

static void match_output_names(structure *s)
{
    const view_side *a = &s->m->side[0], *b = &s->m->side[1];
    for (uint32_t i = 0; i < a->graph->node_count; i++) {
        const view_node *n = &a->graph->nodes[i];
        if (!is_open(a, i) || !n->output_count || n->outputs[0] == VIEW_NONE) continue;
        const uint32_t t = view_graph_tensor(b->graph, a->graph->tensors[n->outputs[0]].name);
        const uint32_t k = t == VIEW_NONE ? VIEW_NONE : b->graph->tensors[t].producer;
        if (k != VIEW_NONE && is_open(b, k) && same_op(s->m, i, k)) pair(s, i, k);
    }
}

/* ---- Signatures ------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t h, uint64_t v)
{
    h ^= v * 0x9E3779B97F4A7C15U;
    h = (h << 27 | h >> 37) * 0x3C79AC492BA7B653U;
    return h ^ h >> 29;
}

/* A pair has the same signature on both sides, and it counts whatever its neighbours are. */
static uint64_t first_sign(const view_side *s, uint32_t i, bool is_b)
{
    if (s->pair[i] != VIEW_NONE) return mix(2, is_b ? s->pair[i] : i);
    const char *op = view_op_name(s->graph, i);
    return mix(3, hash_xxh64(op, strlen(op), s->graph->nodes[i].kind));
}

static uint64_t sign_around(const view_side *s, const uint64_t *sign, uint32_t i)
{
    const view_node *n = &s->graph->nodes[i];
    uint64_t h = mix(5, sign[i]);
    for (uint32_t k = 0; k < n->input_count; k++) {
        const uint32_t t = n->inputs[k];
        const uint32_t p = t == VIEW_NONE ? VIEW_NONE : s->graph->tensors[t].producer;
        h = mix(h, p == VIEW_NONE ? t != VIEW_NONE : sign[p]);
    }
    for (uint32_t k = 0; k < n->output_count; k++) {
        const uint32_t t = n->outputs[k];
        uint64_t sum = 0; /* does not depend on the order of uses */
        for (uint32_t u = t == VIEW_NONE ? 0 : s->use_start[t];
             t != VIEW_NONE && u < s->use_start[t + 1]; u++)
            sum += mix(7, sign[s->uses[u]]);
        h = mix(h, sum);
    }
    return h;
}

static void sign_side(structure *s, int side)
{
    const view_side *v = &s->m->side[side];
    const uint32_t count = v->graph->node_count;
    for (uint32_t i = 0; i < count; i++) s->sign[side][i] = first_sign(v, i, side == 1);
    for (int hop = 0; hop < HOPS && !cancel_requested(); hop++) {
        for (uint32_t i = 0; i < count; i++)
            s->next[side][i] =
                v->pair[i] != VIEW_NONE ? s->sign[side][i] : sign_around(v, s->sign[side], i);
        memcpy(s->sign[side], s->next[side], count * sizeof *s->sign[side]);
    }
}

static int by_key(const void *x, const void *y)
{
    const signed_node *a = x, *b = y;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static uint32_t collect(structure *s, int side, const uint64_t *sign)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->m->side[side].graph->node_count; i++)
        if (is_open(&s->m->side[side], i)) s->keys[side][count++] = (signed_node){sign[i], i};
    qsort(s->keys[side], count, sizeof(signed_node), by_key);
    return count;
}

static uint32_t run_length(const signed_node *keys, uint32_t at, uint32_t count)
{
    uint32_t end = at;
    while (end < count && keys[end].key == keys[at].key) end++;
    return end - at;
}

/* Pairs nodes with equal keys, in order, where both sides have as many; or only single ones. */
static void match_keys(structure *s, bool only_single)
{
    const uint32_t count_a = collect(s, 0, s->sign[0]), count_b = collect(s, 1, s->sign[1]);
    for (uint32_t i = 0, k = 0; i < count_a && k < count_b;) {
        const uint64_t x = s->keys[0][i].key, y = s->keys[1][k].key;
        const uint32_t n = run_length(s->keys[0], i, count_a);
        const uint32_t l = run_length(s->keys[1], k, count_b);
        if (x == y && n == l && (n == 1 || !only_single))
            for (uint32_t p = 0; p < n; p++)
                pair(s, s->keys[0][i + p].node, s->keys[1][k + p].node);
        if (x <= y) i += n;
        if (y <= x) k += l;
    }
}

/* ---- Neighbours ------------------------------------------------------------------------------ */

static void pair_if_open(structure *s, uint32_t a, uint32_t b)
{
    if (a != VIEW_NONE && b != VIEW_NONE && is_open(&s->m->side[0], a) &&
        is_open(&s->m->side[1], b) && same_op(s->m, a, b))
        pair(s, a, b);
}

/* The only open user of a tensor with this operator; VIEW_NONE: none or several. */
static uint32_t only_user(const view_side *s, uint32_t tensor, const char *op)
{
    uint32_t found = VIEW_NONE;
    if (s->use_start[tensor + 1] - s->use_start[tensor] > WIDE_USE) return VIEW_NONE;
    for (uint32_t u = s->use_start[tensor]; u < s->use_start[tensor + 1]; u++) {
        const uint32_t n = s->uses[u];
        if (n == found || !is_open(s, n) || strcmp(view_op_name(s->graph, n), op)) continue;
        if (found != VIEW_NONE) return VIEW_NONE;
        found = n;
    }
    return found;
}

static void match_users(structure *s, uint32_t t, uint32_t u)
{
    const view_side *a = &s->m->side[0], *b = &s->m->side[1];
    if (t == VIEW_NONE || u == VIEW_NONE || a->use_start[t + 1] - a->use_start[t] > WIDE_USE)
        return;
    for (uint32_t i = a->use_start[t]; i < a->use_start[t + 1]; i++) {
        const char *op = view_op_name(a->graph, a->uses[i]);
        if (is_open(a, a->uses[i]) && only_user(a, t, op) == a->uses[i])
            pair_if_open(s, a->uses[i], only_user(b, u, op));
    }
}

static void spread(structure *s)
{
    const view_graph *a = s->m->side[0].graph, *b = s->m->side[1].graph;
    for (uint32_t at = 0; at < s->queue_count && !cancel_requested(); at++) {
        const view_node *x = &a->nodes[s->queue[at]];
        const view_node *y = &b->nodes[s->m->side[0].pair[s->queue[at]]];
        for (uint32_t k = 0; k < x->input_count && k < y->input_count && k < WIDE_NODE; k++) {
            const uint32_t t = x->inputs[k], u = y->inputs[k];
            if (t != VIEW_NONE && u != VIEW_NONE)
                pair_if_open(s, a->tensors[t].producer, b->tensors[u].producer);
        }
        for (uint32_t k = 0; k < x->output_count && k < y->output_count && k < WIDE_NODE; k++)
            match_users(s, x->outputs[k], y->outputs[k]);
    }
    s->queue_count = 0;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void match_in_order(structure *s)
{
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < s->m->side[side].graph->node_count; i++)
            s->sign[side][i] = first_sign(&s->m->side[side], i, side == 1);
    match_keys(s, false);
}

static void match_all(structure *s)
{
    for (uint32_t i = 0; i < s->m->side[0].graph->node_count; i++)
        if (s->m->side[0].pair[i] != VIEW_NONE) s->queue[s->queue_count++] = i;
    match_names(s);
    match_output_names(s);
    spread(s);
    for (int round = 0; round < 2; round++) {
        sign_side(s, 0);
        sign_side(s, 1);
        match_keys(s, round == 0);
        spread(s);
    }
    match_in_order(s);
    s->queue_count = 0;
}

pgy_status view_match_structure(view_match *m, pgy_error *err)
{
    structure s = {.m = m};
    bool ok = true;
    for (int side = 0; side < 2; side++) {
        const size_t count = (size_t)m->side[side].graph->node_count + 1;
        s.sign[side] = mem_calloc(count, sizeof *s.sign[side]);
        s.next[side] = mem_calloc(count, sizeof *s.next[side]);
        s.keys[side] = mem_calloc(count, sizeof *s.keys[side]);
        ok = ok && s.sign[side] && s.next[side] && s.keys[side];
    }
    s.queue = mem_calloc((size_t)m->side[0].graph->node_count + 1, sizeof *s.queue);
    ok = ok && s.queue;
    if (ok) match_all(&s);
    for (int side = 0; side < 2; side++) {
        mem_free(s.sign[side]);
        mem_free(s.next[side]);
        mem_free(s.keys[side]);
    }
    mem_free(s.queue);
    if (!ok) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while comparing two graphs");
    return cancel_check(err);
}
