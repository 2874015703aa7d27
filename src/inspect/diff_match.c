/* SPDX-License-Identifier: Apache-2.0 */
/* Matches the nodes of two graphs. Names come first, if something else agrees too (generated
 * numbers in names shift when a node is inserted). Then come signatures that occur once on each
 * side, from the widest neighbourhood to the narrowest; after each step, neighbours of pairs are
 * paired. The remaining nodes with equal signatures are paired in file order. Last come nodes whose
 * operator changed in place. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "inspect/diff.h"

enum { WIDE_USE = 64, ROUNDS = 4, SAMPLE_BYTES = 4096 };

typedef struct entry {
    uint64_t key;
    diff_node *node;
} entry;

typedef struct matcher {
    pgy_diff *d;
    diff_side *a, *b;
    diff_node **pairs; /* matched nodes of a, in the order in which they were matched */
    size_t count, looked_at;
    entry *keys_a, *keys_b;
} matcher;

/* ---- Pairs ----------------------------------------------------------------------------------- */

void diff_pair_values(pgy_diff *d, diff_value *a, diff_value *b)
{
    if (!a || !b || a->pair || b->pair) return;
    a->pair = b;
    b->pair = a;
    a->id = b->id = ++d->next_id;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static bool same_operator(const diff_node *a, const diff_node *b)
{
    return same_text(a->proto->op_type, b->proto->op_type) &&
           same_text(diff_domain(a->proto), diff_domain(b->proto)) &&
           same_text(a->proto->overload, b->proto->overload);
}

static bool is_local(const diff_value *v, const diff_side *s)
{
    return v && v->side == s;
}

static void pair_nodes(matcher *m, diff_node *a, diff_node *b)
{
    a->pair = b;
    b->pair = a;
    a->id = b->id = ++m->d->next_id;
    m->pairs[m->count++] = a;
    for (size_t k = 0; k < a->proto->output_count && k < b->proto->output_count; k++)
        diff_pair_values(m->d, a->outputs[k], b->outputs[k]);
}

/* Are the first stored bytes equal? */
static bool same_start(const diff_value *v, const diff_value *w)
{
    const pgy_bytes a = v->weight ? v->weight->raw_data : (pgy_bytes){0};
    const pgy_bytes b = w->weight ? w->weight->raw_data : (pgy_bytes){0};
    return a.size && a.size == b.size &&
           memcmp(a.data, b.data, a.size < SAMPLE_BYTES ? a.size : SAMPLE_BYTES) == 0;
}

/* Was v replaced by w? True if side b still has v's bytes under v's name: then v was not renamed to
 * w. */
static bool was_replaced(const matcher *m, const diff_value *v, const diff_value *w)
{
    const diff_value *named = strmap_get(&m->b->names, v->name);
    return named && named != w && diff_is_weight(named) && !same_start(v, w) &&
           same_start(v, named);
}

/* Pairs weights at the same input of a pair of nodes: those with equal names, or those with
 * different names. */
static void pair_weights_of(matcher *m, const diff_node *a, const diff_node *b, bool same_names)
{
    for (size_t k = 0; k < a->proto->input_count && k < b->proto->input_count; k++) {
        diff_value *v = a->inputs[k], *w = b->inputs[k];
        if (!is_local(v, m->a) || !is_local(w, m->b) || !diff_is_weight(v) || !diff_is_weight(w) ||
            v->is_input || w->is_input)
            continue;
        if (same_names == same_text(v->name, w->name) && (same_names || !was_replaced(m, v, w)))
            diff_pair_values(m->d, v, w);
    }
}

/* ---- By name --------------------------------------------------------------------------------- */

static void match_values_by_name(matcher *m, bool weights)
{
    for (size_t i = 0; i < m->a->value_count; i++) {
        diff_value *v = &m->a->values[i], *w = strmap_get(&m->b->names, v->name);
        if (!w || v->pair || w->pair) continue;
        if (weights && diff_is_weight(v) && diff_is_weight(w)) diff_pair_values(m->d, v, w);
        if (!weights && v->is_input && w->is_input) diff_pair_values(m->d, v, w);
    }
}

static void match_inputs_in_order(matcher *m, bool same_type)
{
    for (size_t i = 0, k = 0; i < m->a->input_count; i++) {
        diff_value *v = m->a->inputs[i];
        if (v->pair) continue;
        for (size_t at = k; at < m->b->input_count; at++) {
            diff_value *w = m->b->inputs[at];
            if (w->pair) continue;
            const bool fits = diff_hash_type(v->info ? v->info->type : NULL) ==
                              diff_hash_type(w->info ? w->info->type : NULL);
            if (same_type && !fits) continue;
            diff_pair_values(m->d, v, w);
            k = at + 1;
            break;
        }
    }
}

/* Graph outputs with the same name, or else at the same position, get the same `sink`, which their
 * signatures include. */
static void mark_sinks(matcher *m)
{
    for (size_t i = 0; i < m->a->output_count; i++) {
        diff_value *v = m->a->outputs[i], *w = strmap_get(&m->b->names, v->name);
        if (w && w->is_output && v->is_output) v->sink = w->sink = ++m->d->next_id;
    }
    const bool by_place = m->a->output_count == m->b->output_count;
    for (size_t i = 0; i < m->a->output_count; i++)
        if (is_local(m->a->outputs[i], m->a) && !m->a->outputs[i]->sink)
            m->a->outputs[i]->sink = by_place ? i + 2 : 1;
    for (size_t i = 0; i < m->b->output_count; i++)
        if (is_local(m->b->outputs[i], m->b) && !m->b->outputs[i]->sink)
            m->b->outputs[i]->sink = by_place ? i + 2 : 1;
}

/* Does anything but the node's own name agree? */
static bool is_supported(const diff_node *a, const diff_node *b)
{
    for (size_t k = 0; k < a->proto->output_count && k < b->proto->output_count; k++)
        if (same_text(a->proto->outputs[k], b->proto->outputs[k])) return true;
    for (size_t k = 0; k < a->proto->input_count && k < b->proto->input_count; k++)
        if (a->proto->inputs[k][0] && same_text(a->proto->inputs[k], b->proto->inputs[k]))
            return true;
    return a->around == b->around;
}

static bool put_names(strmap *names, const diff_side *s)
{
    for (size_t i = 0; i < s->node_count; i++) {
        const char *name = s->nodes[i].proto->name;
        if (!name[0]) continue;
        const bool twice = strmap_has(names, name); /* a repeated name identifies no node */
        if (!strmap_put(names, name, twice ? NULL : &s->nodes[i])) return false;
    }
    return true;
}

static pgy_status match_names(matcher *m, bool careful, pgy_error *err)
{
    strmap names_a = {0}, names_b = {0};
    const bool ok = put_names(&names_a, m->a) && put_names(&names_b, m->b);
    for (size_t i = 0; ok && i < m->a->node_count; i++) {
        diff_node *a = &m->a->nodes[i];
        if (a->pair || strmap_get(&names_a, a->proto->name) != a) continue;
        diff_node *b = strmap_get(&names_b, a->proto->name);
        if (b && !b->pair && same_operator(a, b) && (!careful || is_supported(a, b)))
            pair_nodes(m, a, b);
    }
    strmap_deinit(&names_a);
    strmap_deinit(&names_b);
    return ok ? PGY_OK : diff_no_memory(err);
}

/* Nodes without names are matched by the names of their outputs. */
static void match_output_names(matcher *m)
{
    for (size_t i = 0; i < m->a->node_count; i++) {
        diff_node *a = &m->a->nodes[i];
        const char *name = a->proto->output_count ? a->proto->outputs[0] : "";
        const diff_value *w = name[0] ? strmap_get(&m->b->names, name) : NULL;
        if (a->pair || !w || !w->producer || w->producer->pair) continue;
        diff_node *b = w->producer;
        const bool named = a->proto->name[0] && b->proto->name[0];
        if (same_operator(a, b) && (!named || a->around == b->around)) pair_nodes(m, a, b);
    }
}

/* ---- By signature ---------------------------------------------------------------------------- */

static int by_key(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->node->index < b->node->index ? -1 : a->node->index > b->node->index;
}

typedef uint64_t (*key_of)(const diff_node *n);
static uint64_t key_cones(const diff_node *n)
{
    return diff_mix(n->forward, n->backward);
}
static uint64_t key_forward(const diff_node *n)
{
    return n->forward;
}
static uint64_t key_backward(const diff_node *n)
{
    return n->backward;
}
static uint64_t key_around(const diff_node *n)
{
    return n->around;
}

static size_t collect(entry *out, const diff_side *s, key_of key)
{
    size_t count = 0;
    for (size_t i = 0; i < s->node_count; i++)
        if (!s->nodes[i].pair) out[count++] = (entry){key(&s->nodes[i]), &s->nodes[i]};
    qsort(out, count, sizeof *out, by_key);
    return count;
}

static size_t run_length(const entry *items, size_t at, size_t count)
{
    size_t end = at;
    while (end < count && items[end].key == items[at].key) end++;
    return end - at;
}

typedef enum group_rule { ONLY_SINGLE, EQUAL_GROUPS } group_rule;

static void match_keys(matcher *m, key_of key, group_rule rule)
{
    const size_t count_a = collect(m->keys_a, m->a, key), count_b = collect(m->keys_b, m->b, key);
    for (size_t i = 0, k = 0; i < count_a && k < count_b;) {
        const uint64_t x = m->keys_a[i].key, y = m->keys_b[k].key;
        const size_t n = run_length(m->keys_a, i, count_a), l = run_length(m->keys_b, k, count_b);
        if (x == y) {
            const size_t pairs = n < l ? n : l;
            if (n == l && (n == 1 || rule == EQUAL_GROUPS))
                for (size_t p = 0; p < pairs; p++)
                    pair_nodes(m, m->keys_a[i + p].node, m->keys_b[k + p].node);
        }
        if (x <= y) i += n;
        if (y <= x) k += l;
    }
}

/* ---- Next to pairs --------------------------------------------------------------------------- */

static bool fits(const diff_node *a, const diff_node *b, bool strict)
{
    return strict ? a->local == b->local : same_operator(a, b);
}

/* The only unpaired user that fits and has the value at input `slot`; NULL if none or several do.
 */
static diff_node *only_user(const diff_value *v, const diff_side *s, size_t slot,
                            const diff_node *like, bool strict)
{
    diff_node *found = NULL;
    for (size_t i = 0; i < v->use_count; i++) {
        diff_node *n = &s->nodes[v->uses[i]];
        if (n->pair || n == found || slot >= n->proto->input_count || n->inputs[slot] != v ||
            !fits(n, like, strict))
            continue;
        if (found) return NULL;
        found = n;
    }
    return found;
}

static void match_users(matcher *m, const diff_value *v, const diff_value *w, bool strict)
{
    if (!v || !w || v->use_count > WIDE_USE || w->use_count > WIDE_USE) return;
    for (size_t i = 0; i < v->use_count; i++) {
        diff_node *a = &m->a->nodes[v->uses[i]];
        for (size_t slot = 0; slot < a->proto->input_count && slot < WIDE_USE && !a->pair; slot++) {
            if (a->inputs[slot] != v || only_user(v, m->a, slot, a, strict) != a) continue;
            diff_node *b = only_user(w, m->b, slot, a, strict);
            if (b) pair_nodes(m, a, b);
        }
    }
}

static void match_neighbours(matcher *m, const diff_node *a, bool strict)
{
    const diff_node *b = a->pair;
    for (size_t k = 0; k < a->proto->input_count && k < b->proto->input_count; k++) {
        const diff_value *v = a->inputs[k], *w = b->inputs[k];
        if (!is_local(v, m->a) || !is_local(w, m->b)) continue;
        diff_node *p = v->producer, *q = w->producer;
        if (p && q && !p->pair && !q->pair && v->output_index == w->output_index &&
            fits(p, q, strict))
            pair_nodes(m, p, q);
    }
    for (size_t k = 0; k < a->proto->output_count && k < b->proto->output_count; k++)
        match_users(m, a->outputs[k], b->outputs[k], strict);
}

static void match_inputs_users(matcher *m, bool strict)
{
    for (size_t i = 0; i < m->a->input_count; i++)
        match_users(m, m->a->inputs[i], m->a->inputs[i]->pair, strict);
}

static void spread(matcher *m)
{
    while (m->looked_at < m->count) match_neighbours(m, m->pairs[m->looked_at++], true);
}

static void spread_all(matcher *m, bool strict)
{
    match_inputs_users(m, strict);
    for (size_t i = 0; i < m->count; i++) match_neighbours(m, m->pairs[i], strict);
    spread(m);
}

/* ---- Changed operators ----------------------------------------------------------------------- */

/* Did b replace a with another operator? At least two must agree: node name, first input, first
 * output's name. */
static bool stands_for(const diff_node *a, const diff_node *b)
{
    const pgy_onnx_node *p = a->proto, *q = b->proto;
    const bool input = p->input_count && q->input_count && a->inputs[0] && b->inputs[0] &&
                       a->inputs[0]->pair == b->inputs[0];
    const bool output =
        p->output_count && q->output_count && same_text(p->outputs[0], q->outputs[0]);
    return (p->name[0] && same_text(p->name, q->name) && (input || output)) || (input && output);
}

static diff_node *user_in_pair(const diff_node *a, const diff_side *s, size_t *slot)
{
    const diff_value *v = a->proto->output_count ? a->outputs[0] : NULL;
    for (size_t i = 0; v && i < v->use_count && i < WIDE_USE; i++) {
        diff_node *user = &s->nodes[v->uses[i]];
        if (!user->pair) continue;
        *slot = 0;
        while (*slot < WIDE_USE && *slot + 1 < user->proto->input_count && user->inputs[*slot] != v)
            (*slot)++;
        if (user->inputs[*slot] == v) return user;
    }
    return NULL;
}

/* Finds what may replace a: takes a matched node that reads a's output, and goes to the same input
 * of its counterpart in b. The unmatched node that produces this input counts if its first input is
 * matched with a's. */
static diff_node *replacement(const matcher *m, const diff_node *a)
{
    size_t slot = 0;
    const diff_node *user = user_in_pair(a, m->a, &slot);
    if (!user || slot >= user->pair->proto->input_count) return NULL;
    const diff_value *w = user->pair->inputs[slot];
    diff_node *b = is_local(w, m->b) ? w->producer : NULL;
    if (!b || b->pair || !a->proto->input_count || !b->proto->input_count) return NULL;
    return a->inputs[0] && b->inputs[0] && a->inputs[0]->pair == b->inputs[0] ? b : NULL;
}

static void match_changed(matcher *m)
{
    for (size_t i = 0; i < m->a->node_count; i++) {
        diff_node *a = &m->a->nodes[i];
        const char *name = a->proto->output_count ? a->proto->outputs[0] : "";
        const diff_value *w = name[0] ? strmap_get(&m->b->names, name) : NULL;
        if (a->pair) continue;
        diff_node *b = w ? w->producer : NULL;
        if (!b || b->pair || !stands_for(a, b)) b = replacement(m, a);
        if (b) pair_nodes(m, a, b);
    }
    spread(m);
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void pair_all_weights(matcher *m)
{
    for (size_t i = 0; i < m->count; i++) pair_weights_of(m, m->pairs[i], m->pairs[i]->pair, true);
    for (size_t i = 0; i < m->count; i++) pair_weights_of(m, m->pairs[i], m->pairs[i]->pair, false);
}

static void match_around(matcher *m, size_t hops, group_rule rule)
{
    diff_sign_around(m->a, hops);
    diff_sign_around(m->b, hops);
    match_keys(m, key_around, rule);
    spread(m);
}

static void match_rounds(matcher *m)
{
    static const size_t HOPS[] = {6, 3, 1};
    size_t before;
    int round = 0;
    do {
        before = m->count;
        diff_sign_cones(m->a);
        diff_sign_cones(m->b);
        match_keys(m, key_cones, ONLY_SINGLE);
        match_keys(m, key_cones, EQUAL_GROUPS);
        match_keys(m, key_forward, ONLY_SINGLE);
        match_keys(m, key_backward, ONLY_SINGLE);
        spread(m);
        for (size_t i = 0; i < sizeof HOPS / sizeof *HOPS; i++)
            match_around(m, HOPS[i], ONLY_SINGLE);
    } while (m->count > before && ++round < ROUNDS);
    for (size_t i = 0; i < sizeof HOPS / sizeof *HOPS; i++) match_around(m, HOPS[i], EQUAL_GROUPS);
    spread_all(m, false);
}

static pgy_status match_all(matcher *m, pgy_error *err)
{
    match_values_by_name(m, false);
    match_inputs_in_order(m, true);
    match_inputs_in_order(m, false);
    mark_sinks(m);
    diff_sign_around(m->a, 1);
    diff_sign_around(m->b, 1);
    pgy_status st = match_names(m, true, err);
    if (st) return st;
    match_output_names(m);
    spread(m);
    if (m->count < m->a->node_count && m->count < m->b->node_count) match_rounds(m);
    st = match_names(m, false, err);
    if (st) return st;
    spread_all(m, true);
    match_changed(m);
    spread_all(m, false);
    pair_all_weights(m);
    match_values_by_name(m, true);
    return PGY_OK;
}

pgy_status diff_match(pgy_diff *d, diff_side *a, diff_side *b, pgy_error *err)
{
    matcher m = {.d = d, .a = a, .b = b};
    m.pairs = mem_calloc(a->node_count + 1, sizeof *m.pairs);
    m.keys_a = mem_calloc(a->node_count + 1, sizeof *m.keys_a);
    m.keys_b = mem_calloc(b->node_count + 1, sizeof *m.keys_b);
    pgy_status st = m.pairs && m.keys_a && m.keys_b ? match_all(&m, err) : diff_no_memory(err);
    mem_free(m.pairs);
    mem_free(m.keys_a);
    mem_free(m.keys_b);
    return st;
}
