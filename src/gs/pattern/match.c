/* SPDX-License-Identifier: Apache-2.0 */
/* Finds matches of a pattern. For each node that fits the pattern's first node, the search follows
 * the steps of the plan; where several consumers of a tensor fit, it backtracks. The number of
 * tried nodes is limited, so that an ambiguous graph ends in an error and not in hours of search.
 */
#include "gs/pattern/pattern.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* A search may try MIN_TRIES nodes, plus NODE_TRIES for each node of the graph. */
enum { MIN_TRIES = 4000000, NODE_TRIES = 256 };

/* Memory that all matches of one search share. */
typedef struct match_batch {
    arena memory;
} match_batch;

typedef struct match_entry {
    const char *name;
    pgy_gs_node *node; /* NULL: the entry is a nested pattern's match, in `nested` */
    pgy_gs_match *nested;
} match_entry;

typedef struct match_box {
    match_batch *batch;
    match_entry *entries;
    size_t entry_count;
    const char **constant_names;
} match_box;

/* State of one step of the plan: nodes list[next] to list[count - 1] are still to be tried. */
typedef struct cursor {
    pgy_gs_node *const *list;
    size_t count, next;
    size_t bound; /* number of slots with a tensor before this step; backtracking returns to it */
} cursor;

typedef struct matcher {
    const plan *plan;
    const pgy_gs_graph *g;
    pgy_gs_tensor **outputs; /* outputs of the graph, sorted by address */
    pgy_gs_node **nodes;     /* indexed by node of the plan: the matched node */
    pgy_gs_tensor **tensors; /* indexed by slot of the plan: the matched tensor; NULL: none yet */
    size_t *trail;           /* slots in the order in which they got tensors */
    size_t bound;
    cursor *cursors; /* indexed by step of the plan */
    uint64_t tries, max_tries;
} matcher;

/* ---- One node -------------------------------------------------------------------------------- */

static bool bind(matcher *m, size_t slot, pgy_gs_tensor *t)
{
    const plan_slot *s = &m->plan->slots[slot];
    if (m->tensors[slot]) return m->tensors[slot] == t;
    if (s->kind == PATTERN_CONSTANT && t->kind != PGY_GS_CONSTANT) return false;
    /* If the tensor has more consumers than the whole pattern has inputs, some are outside the
     * match. */
    if (s->inner && t->consumer_count > m->plan->input_count) return false;
    m->tensors[slot] = t;
    m->trail[m->bound++] = slot;
    return true;
}

static void unbind(matcher *m, size_t bound)
{
    while (m->bound > bound) m->tensors[m->trail[--m->bound]] = NULL;
}

static bool is_taken(const matcher *m, size_t step, const pgy_gs_node *n)
{
    for (size_t i = 0; i < step; i++)
        if (m->nodes[m->plan->steps[i].node] == n) return true;
    return false;
}

static bool try_node(matcher *m, size_t step, pgy_gs_node *n)
{
    const plan_step *s = &m->plan->steps[step];
    const plan_node *wanted = &m->plan->nodes[s->node];
    const pgy_gs_pattern_node *spec = &wanted->node->spec;
    m->tries++;
    if (n->graph != m->g || n->input_count != spec->input_count ||
        n->output_count != wanted->node->output_count || strcmp(n->op, spec->op) ||
        is_taken(m, step, n))
        return false;
    bool fits = true;
    for (size_t i = 0; i < n->input_count && fits; i++)
        fits = bind(m, wanted->inputs[i], n->inputs[i]);
    for (size_t i = 0; i < n->output_count && fits; i++)
        fits = bind(m, wanted->outputs[i], n->outputs[i]);
    if (fits && spec->check) fits = spec->check(n, spec->user);
    if (fits)
        m->nodes[s->node] = n;
    else
        unbind(m, m->cursors[step].bound);
    return fits;
}

/* ---- One match ------------------------------------------------------------------------------- */

static int compare_tensors(const void *a, const void *b)
{
    const pgy_gs_tensor *x = *(pgy_gs_tensor *const *)a, *y = *(pgy_gs_tensor *const *)b;
    return (x > y) - (x < y);
}

/* True if nothing outside the match reads its inner tensors. */
static bool is_closed(const matcher *m)
{
    for (size_t i = 0; i < m->plan->slot_count; i++) {
        const pgy_gs_tensor *t = m->tensors[i];
        if (!m->plan->slots[i].inner || !t || pgy_gs_is_omitted(t)) continue;
        if (m->g->output_count &&
            bsearch(&t, m->outputs, m->g->output_count, sizeof(void *), compare_tensors))
            return false;
        for (size_t j = 0; j < t->consumer_count; j++)
            if (!is_taken(m, m->plan->node_count, t->consumers[j])) return false;
    }
    return true;
}

static void open_step(matcher *m, size_t step)
{
    const plan_step *s = &m->plan->steps[step];
    const pgy_gs_tensor *t = m->tensors[s->slot];
    cursor *c = &m->cursors[step];
    c->list = s->is_producer ? t->producers : t->consumers;
    c->count = s->is_producer ? t->producer_count : t->consumer_count;
    c->next = 0;
    c->bound = m->bound;
}

/* Finds a match whose first node is `root`. */
static bool match_at(matcher *m, pgy_gs_node *root)
{
    size_t step = 0, count = m->plan->node_count;
    m->cursors[0] = (cursor){.list = &root, .count = 1};
    while (m->tries < m->max_tries) {
        cursor *c = &m->cursors[step];
        if (c->next == c->count) {
            if (!step) return false;
            unbind(m, m->cursors[--step].bound);
        } else if (try_node(m, step, c->list[c->next++])) {
            if (step + 1 < count)
                open_step(m, ++step);
            else if (is_closed(m))
                return true;
            else
                unbind(m, c->bound);
        }
    }
    return false;
}

/* ---- Results --------------------------------------------------------------------------------- */

static pgy_gs_tensor **list_kind(size_t *count, const matcher *m, const plan_instance *in,
                                 pattern_kind kind, arena *memory)
{
    const pgy_gs_pattern *p = in->pattern;
    pgy_gs_tensor **list = arena_alloc_array(memory, p->slot_count + 1, sizeof(void *));
    for (size_t i = 0; list && i < p->slot_count; i++)
        if (p->slots[i].kind == kind && m->tensors[in->slots[i]])
            list[(*count)++] = m->tensors[in->slots[i]];
    return list;
}

static bool fill_match(pgy_gs_match *out, const matcher *m, const plan_instance *in,
                       match_batch *batch)
{
    const pgy_gs_pattern *p = in->pattern;
    arena *memory = &batch->memory;
    match_box *box = arena_alloc(memory, sizeof *box);
    out->internal = box;
    out->inputs = list_kind(&out->input_count, m, in, PATTERN_VARIABLE, memory);
    out->constants = list_kind(&out->constant_count, m, in, PATTERN_CONSTANT, memory);
    out->outputs = arena_alloc_array(memory, p->output_count + 1, sizeof(void *));
    if (!box || !out->inputs || !out->constants || !out->outputs) return false;
    for (size_t i = 0; i < p->output_count; i++)
        out->outputs[out->output_count++] = m->tensors[in->slots[p->outputs[i]]];
    *box = (match_box){.batch = batch};
    box->entries = arena_alloc_array(memory, p->node_count + 1, sizeof *box->entries);
    box->constant_names = arena_alloc_array(memory, out->constant_count + 1, sizeof(void *));
    if (!box->entries || !box->constant_names) return false;
    for (size_t i = 0, c = 0; i < p->slot_count; i++)
        if (p->slots[i].kind == PATTERN_CONSTANT && m->tensors[in->slots[i]] &&
            !(box->constant_names[c++] = arena_strdup(memory, p->slots[i].name)))
            return false;
    for (size_t i = 0; i < p->node_count; i++) {
        match_entry *e = &box->entries[box->entry_count++];
        e->name = arena_strdup(memory, p->nodes[i].spec.name);
        if (!e->name) return false;
        if (!in->children[i]) {
            e->node = m->nodes[in->nodes[i]];
            continue;
        }
        e->nested = arena_alloc(memory, sizeof *e->nested);
        if (!e->nested || !fill_match(e->nested, m, in->children[i], batch)) return false;
    }
    return true;
}

typedef struct match_list {
    pgy_gs_match *items;
    size_t count, capacity;
} match_list;

static pgy_status matcher_init(matcher *m, const plan *p, const pgy_gs_graph *g, pgy_error *err)
{
    *m =
        (matcher){.plan = p, .g = g, .max_tries = MIN_TRIES + NODE_TRIES * (uint64_t)g->node_count};
    m->outputs = mem_calloc(g->output_count, sizeof(void *));
    m->nodes = mem_calloc(p->node_count, sizeof *m->nodes);
    m->tensors = mem_calloc(p->slot_count, sizeof *m->tensors);
    m->trail = mem_calloc(p->slot_count, sizeof *m->trail);
    m->cursors = mem_calloc(p->node_count, sizeof *m->cursors);
    if (!m->outputs || !m->nodes || !m->tensors || !m->trail || !m->cursors)
        return gs_no_memory(err);
    if (!g->output_count) return PGY_OK;
    memcpy(m->outputs, g->outputs, g->output_count * sizeof(void *));
    qsort(m->outputs, g->output_count, sizeof(void *), compare_tensors);
    return PGY_OK;
}

static void matcher_deinit(matcher *m)
{
    mem_free(m->outputs);
    mem_free(m->nodes);
    mem_free(m->tensors);
    mem_free(m->trail);
    mem_free(m->cursors);
}

static pgy_status find_matches(match_list *out, matcher *m, match_batch *batch, pgy_error *err)
{
    for (size_t i = 0; i < m->g->node_count; i++) {
        bool found = match_at(m, m->g->nodes[i]);
        if (m->tries >= m->max_tries)
            return gs_node_error(m->g->nodes[i], err, PGY_E_UNSUPPORTED,
                                 "the pattern is ambiguous here: the search stopped after %llu "
                                 "tries; make the pattern more specific",
                                 (unsigned long long)m->tries);
        if (!found) continue;
        if (!mem_grow((void **)&out->items, &out->capacity, out->count + 1, sizeof *out->items))
            return gs_no_memory(err);
        out->items[out->count] = (pgy_gs_match){0};
        if (!fill_match(&out->items[out->count++], m, m->plan->top, batch))
            return gs_no_memory(err);
        unbind(m, 0);
    }
    return PGY_OK;
}

pgy_status pgy_gs_match_all(pgy_gs_match **out, size_t *count, const pgy_gs_pattern *p,
                            const pgy_gs_graph *g, pgy_error *err)
{
    if (!out || !count || !p || !g)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the pattern and the graph must not be NULL");
    plan pl = {0};
    matcher m = {0};
    match_list found = {0};
    match_batch *batch = mem_calloc(1, sizeof *batch);
    pgy_status st = batch ? plan_init(&pl, p, err) : gs_no_memory(err);
    if (!st) st = matcher_init(&m, &pl, g, err);
    if (!st) st = find_matches(&found, &m, batch, err);
    if (st) goto done;
    *out = found.items;
    *count = found.count;
    found.items = NULL;
    if (found.count) batch = NULL;
done:
    matcher_deinit(&m);
    plan_deinit(&pl);
    mem_free(found.items);
    if (batch) arena_deinit(&batch->memory);
    mem_free(batch);
    return st;
}

void pgy_gs_matches_free(pgy_gs_match *matches, size_t count)
{
    if (matches && count) {
        match_batch *batch = ((match_box *)matches[0].internal)->batch;
        arena_deinit(&batch->memory);
        mem_free(batch);
    }
    mem_free(matches);
}

static const match_entry *find_entry(const pgy_gs_match *m, const char *name)
{
    const match_box *box = m->internal;
    for (size_t i = 0; i < box->entry_count; i++)
        if (!strcmp(box->entries[i].name, name)) return &box->entries[i];
    return NULL;
}

pgy_gs_node *pgy_gs_match_node(const pgy_gs_match *m, const char *name)
{
    const match_entry *e = find_entry(m, name);
    return e ? e->node : NULL;
}

const pgy_gs_match *pgy_gs_match_nested(const pgy_gs_match *m, const char *name)
{
    const match_entry *e = find_entry(m, name);
    return e ? e->nested : NULL;
}

pgy_gs_tensor *pgy_gs_match_constant(const pgy_gs_match *m, const char *name)
{
    const match_box *box = m->internal;
    for (size_t i = 0; i < m->constant_count; i++)
        if (!strcmp(box->constant_names[i], name)) return m->constants[i];
    return NULL;
}
