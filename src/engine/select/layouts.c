/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses layouts for all nodes together, as a PBQP. A node is a variable whose states are its
 * choices of formats. A value with one reader is an edge between two nodes. A value with several
 * readers is a variable too, whose states are sets of places, so that a reorder that serves two
 * readers is paid once. Fixed layouts of inputs and outputs become costs of states. */
#include <string.h>

#include "base/alloc.h"
#include "engine/select/pbqp.h"
#include "engine/select/select.h"

enum { OUTSIDE = UINT32_MAX };

/* A reader of a tensor: an input of a node, or the caller, who reads outputs. */
typedef struct reader {
    uint32_t node; /* index of the reading node; OUTSIDE: the caller */
    uint32_t slot; /* index in select_choice.places; OUTSIDE: the reader needs the linear layout on
                      the host */
    uint32_t next; /* index of the tensor's next reader */
} reader;

typedef struct net {
    selection *s;
    pbqp *p;
    uint32_t outside;    /* the PBQP variable with one state that stands for the caller */
    uint32_t *values;    /* indexed by tensor: its PBQP variable, or OUTSIDE */
    uint32_t *guesses;   /* indexed by tensor with a variable: the state in the first guess */
    uint32_t *producers; /* indexed by tensor: the node that produces it, or OUTSIDE */
    uint32_t *outputs;   /* indexed by tensor: which output of its producer it is */
    uint32_t *first;     /* indexed by tensor: index of its first reader */
    reader *readers;
    size_t reader_count;
} net;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while kernels are chosen");
}

/* ---- Readers of each tensor ----------------------------------------------------------------- */

static void add_reader(net *w, uint32_t tensor, uint32_t node, uint32_t slot)
{
    if (tensor == PROGRAM_NO_TENSOR) return;
    w->readers[w->reader_count] = (reader){.node = node, .slot = slot, .next = w->first[tensor]};
    w->first[tensor] = (uint32_t)w->reader_count++;
}

static bool allocate(net *w)
{
    const selection *s = w->s;
    const size_t tensors = s->b->tensor_count + 1;
    size_t most = s->b->graph->output_count;
    for (size_t i = 0; i < s->count; i++)
        most += s->nodes[i].n->input_count + s->nodes[i].n->captured_count;
    w->values = arena_alloc_array(s->memory, tensors, sizeof *w->values);
    w->guesses = arena_alloc_array(s->memory, tensors, sizeof *w->guesses);
    w->producers = arena_alloc_array(s->memory, tensors, sizeof *w->producers);
    w->outputs = arena_alloc_array(s->memory, tensors, sizeof *w->outputs);
    w->first = arena_alloc_array(s->memory, tensors, sizeof *w->first);
    w->readers = arena_alloc_array(s->memory, most + 1, sizeof *w->readers);
    if (!w->values || !w->guesses || !w->producers || !w->outputs || !w->first || !w->readers)
        return false;
    memset(w->values, 0xff, tensors * sizeof *w->values);
    memset(w->producers, 0xff, tensors * sizeof *w->producers);
    memset(w->first, 0xff, tensors * sizeof *w->first);
    return true;
}

static void connect(net *w)
{
    const selection *s = w->s;
    for (uint32_t i = 0; i < s->count; i++) {
        const build_node *n = s->nodes[i].n;
        const size_t inputs = n->problem.input_count, reads = n->input_count + n->captured_count;
        for (size_t k = 0; k < reads; k++)
            add_reader(w, n->tensors[k], i, k < inputs ? (uint32_t)k : OUTSIDE);
        for (size_t k = 0; k < n->problem.output_count; k++) {
            const uint32_t t = n->tensors[reads + k];
            if (t == PROGRAM_NO_TENSOR) continue;
            w->producers[t] = i;
            w->outputs[t] = (uint32_t)(inputs + k);
        }
    }
    for (size_t i = 0; i < s->b->graph->output_count; i++)
        add_reader(w, build_bound(s->b, s->b->graph->outputs[i]), OUTSIDE, OUTSIDE);
}

/* ---- Layouts of states ---------------------------------------------------------------------- */

static unsigned wanted(const net *w, const reader *r, size_t choice)
{
    if (r->slot == OUTSIDE) return KERNEL_LINEAR;
    return w->s->nodes[r->node].choices[choice].places[r->slot];
}

static size_t choices_of(const net *w, uint32_t node)
{
    return node == OUTSIDE ? 1 : w->s->nodes[node].choice_count;
}

static unsigned given(const net *w, uint32_t tensor, size_t choice)
{
    const uint32_t node = w->producers[tensor];
    if (node == OUTSIDE) return KERNEL_LINEAR;
    return w->s->nodes[node].choices[choice].places[w->outputs[tensor]];
}

/* The places in which some choice produces or reads the tensor. */
static uint32_t places_in_play(const net *w, uint32_t tensor)
{
    uint32_t mask = 0;
    for (size_t f = 0; f < choices_of(w, w->producers[tensor]); f++)
        mask |= UINT32_C(1) << given(w, tensor, f);
    for (uint32_t r = w->first[tensor]; r != OUTSIDE; r = w->readers[r].next)
        for (size_t f = 0; f < choices_of(w, w->readers[r].node); f++)
            mask |= UINT32_C(1) << wanted(w, &w->readers[r], f);
    return mask;
}

static uint32_t variable_of(const net *w, uint32_t node)
{
    return node == OUTSIDE ? w->outside : w->s->nodes[node].variable;
}

static bool add_direct(net *w, uint32_t tensor, const reader *r)
{
    const size_t rows = choices_of(w, w->producers[tensor]), columns = choices_of(w, r->node);
    double *costs = arena_alloc_array(w->s->memory, rows * columns, sizeof *costs);
    if (!costs) return false;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < columns; k++)
            costs[i * columns + k] =
                select_reorder_ns(w->s, tensor, given(w, tensor, i), wanted(w, r, k));
    return pbqp_add_edge(w->p, variable_of(w, w->producers[tensor]), variable_of(w, r->node),
                         costs);
}

/* Adds the cost between a value's producer and the value's set of places: a reorder for each place
 * in the set that the producer does not write. */
static bool add_producer(net *w, uint32_t tensor, uint32_t value, const uint32_t *sets,
                         size_t count)
{
    const size_t rows = choices_of(w, w->producers[tensor]);
    double *costs = arena_alloc_array(w->s->memory, rows * count, sizeof *costs);
    if (!costs) return false;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < count; k++) {
            const unsigned own = given(w, tensor, i);
            double cost = sets[k] >> own & 1 ? 0 : PBQP_NEVER;
            for (uint32_t rest = sets[k]; rest; rest &= rest - 1)
                cost += select_reorder_ns(w->s, tensor, own, (unsigned)__builtin_ctz(rest));
            costs[i * count + k] = cost;
        }
    return pbqp_add_edge(w->p, variable_of(w, w->producers[tensor]), value, costs);
}

static bool add_reading(net *w, const reader *r, uint32_t value, const uint32_t *sets, size_t count)
{
    const size_t rows = choices_of(w, r->node);
    double *costs = arena_alloc_array(w->s->memory, rows * count, sizeof *costs);
    if (!costs) return false;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < count; k++)
            costs[i * count + k] = sets[k] >> wanted(w, r, i) & 1 ? 0 : PBQP_NEVER;
    return pbqp_add_edge(w->p, variable_of(w, r->node), value, costs);
}

/* Keeps the list ascending, since the PBQP takes the first of equal solutions. */
static void insert_set(uint32_t *sets, size_t *count, uint32_t set)
{
    size_t at = (*count)++;
    for (; at > 0 && sets[at - 1] > set; at--) sets[at] = sets[at - 1];
    sets[at] = set;
}

/* Adds `set`, and its unions with up to `room` of the places in `free`. */
static void add_sets(uint32_t *sets, size_t *count, uint32_t set, uint32_t free, size_t room)
{
    if (set) insert_set(sets, count, set);
    for (uint32_t rest = free; room && rest; rest &= rest - 1) {
        const uint32_t bit = rest & -rest;
        add_sets(sets, count, set | bit, rest & (rest - 1), room - 1);
    }
}

size_t select_sets(uint32_t sets[SELECT_MAX_SETS], uint32_t in_play, uint32_t needed)
{
    const int places = __builtin_popcount(in_play);
    const size_t room = places <= 4 ? 4 : places <= 8 ? 3 : 2;
    size_t count = 0;
    add_sets(sets, &count, 0, in_play, room);
    if ((size_t)__builtin_popcount(needed) > room) insert_set(sets, &count, needed);
    return count;
}

/* The places in which the readers need a value if nodes take these choices. */
static uint32_t needed_by(const net *w, uint32_t tensor, const uint32_t *choices)
{
    const uint32_t p = w->producers[tensor];
    uint32_t needed = UINT32_C(1) << given(w, tensor, p == OUTSIDE ? 0 : choices[p]);
    for (uint32_t r = w->first[tensor]; r != OUTSIDE; r = w->readers[r].next) {
        const uint32_t n = w->readers[r].node;
        needed |= UINT32_C(1) << wanted(w, &w->readers[r], n == OUTSIDE ? 0 : choices[n]);
    }
    return needed;
}

static bool add_shared(net *w, uint32_t tensor, uint32_t in_play, uint32_t needed)
{
    uint32_t sets[SELECT_MAX_SETS];
    const size_t count = select_sets(sets, in_play, needed);
    double *costs = arena_alloc_array(w->s->memory, count, sizeof *costs);
    uint32_t value;
    if (!costs || !pbqp_add_node(w->p, &value, count, costs)) return false;
    w->values[tensor] = value;
    for (size_t i = 0; i < count; i++)
        if (sets[i] == needed) w->guesses[tensor] = (uint32_t)i;
    if (!add_producer(w, tensor, value, sets, count)) return false;
    for (uint32_t r = w->first[tensor]; r != OUTSIDE; r = w->readers[r].next)
        if (!add_reading(w, &w->readers[r], value, sets, count)) return false;
    return true;
}

static bool add_value(net *w, uint32_t tensor, const uint32_t *choices)
{
    const build_tensor *t = &w->s->b->tensors[tensor];
    if (w->first[tensor] == OUTSIDE || w->s->b->tensors[t->root].constant) return true;
    const uint32_t mask = places_in_play(w, tensor);
    if ((mask & (mask - 1)) == 0) return true;
    const reader *r = &w->readers[w->first[tensor]];
    return r->next == OUTSIDE ? add_direct(w, tensor, r)
                              : add_shared(w, tensor, mask, needed_by(w, tensor, choices));
}

static bool add_nodes(net *w)
{
    static const double FREE[1] = {0};
    for (size_t i = 0; i < w->s->count; i++) {
        select_node *n = &w->s->nodes[i];
        double *costs = arena_alloc_array(w->s->memory, n->choice_count, sizeof *costs);
        if (!costs) return false;
        for (size_t f = 0; f < n->choice_count; f++) costs[f] = n->choices[f].cost_ns;
        if (!pbqp_add_node(w->p, &n->variable, n->choice_count, costs)) return false;
    }
    return pbqp_add_node(w->p, &w->outside, 1, FREE);
}

/* ---- A first guess -------------------------------------------------------------------------- */

/* Greedy guess: from front to back, each node takes its cheapest choice. */
static void guess(const net *w, uint32_t *choices)
{
    const selection *s = w->s;
    for (uint32_t i = 0; i < s->count; i++) {
        const select_node *n = &s->nodes[i];
        double best = PBQP_NEVER;
        for (size_t f = 0; f < n->choice_count; f++) {
            double cost = n->choices[f].cost_ns;
            for (size_t k = 0; k < n->n->problem.input_count; k++) {
                const uint32_t t = n->n->tensors[k];
                if (t == PROGRAM_NO_TENSOR || s->b->tensors[s->b->tensors[t].root].constant)
                    continue;
                const size_t from = w->producers[t] == OUTSIDE ? 0 : choices[w->producers[t]];
                cost += select_reorder_ns(s, t, given(w, t, from), n->choices[f].places[k]);
            }
            if (cost >= best) continue;
            best = cost;
            choices[i] = (uint32_t)f;
        }
    }
}

pgy_status select_layouts(selection *s, uint32_t *choices, bool guessed, pgy_error *err)
{
    net w = {.s = s, .p = pbqp_create(s->memory)};
    if (!w.p || !allocate(&w) || !add_nodes(&w)) return no_memory(err);
    connect(&w);
    if (!guessed) guess(&w, choices);
    for (uint32_t t = 0; t < s->b->tensor_count; t++)
        if (!add_value(&w, t, choices)) return no_memory(err);
    uint32_t *states = arena_alloc_array(s->memory, pbqp_node_count(w.p) + 1, sizeof *states);
    if (!states) return no_memory(err);
    memcpy(states, choices, s->count * sizeof *states);
    for (uint32_t t = 0; t < s->b->tensor_count; t++)
        if (w.values[t] != OUTSIDE) states[w.values[t]] = w.guesses[t];
    if (!pbqp_solve(w.p, states)) return no_memory(err);
    memcpy(choices, states, s->count * sizeof *choices);
    return PGY_OK;
}
