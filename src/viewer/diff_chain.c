/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of nodes that a shorter chain replaces, as when each of several fused layers follows
 * another and no tensor between them kept its name. Both chains must lie between nodes that belong
 * together. Where the longer one is divided is decided by the shapes of weights and by operators,
 * then by equal lengths. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "viewer/diff.h"

enum {
    CHAIN_LIMIT = 64,
    WEIGHT_LIMIT = 16,
    SHAPE_SCORE = 200,
    OP_SCORE = 300,
    START_SCORE = 50,
    EVEN_COST = 1
};

typedef struct chain {
    uint32_t nodes[CHAIN_LIMIT], count;
    uint32_t from, to; /* tensors before the first and after the last node */
} chain;

typedef struct chains {
    view_match *m;
    int part, whole; /* sides: the long chains, the short ones */
    chain parts, wholes;
    int best[CHAIN_LIMIT + 1][CHAIN_LIMIT + 1]; /* score of the first i wholes, the first j parts */
    uint32_t cut[CHAIN_LIMIT + 1][CHAIN_LIMIT + 1]; /* where the last one of these begins */
} chains;

/* ---- Chains --------------------------------------------------------------------------------- */

/* The only input that a node computes; VIEW_NONE: none or several. */
static uint32_t only_input(const view_graph *g, uint32_t node)
{
    uint32_t found = VIEW_NONE;
    for (uint32_t k = 0; k < g->nodes[node].input_count; k++) {
        const uint32_t t = g->nodes[node].inputs[k];
        if (t == VIEW_NONE || view_is_constant(g, t) || t == found) continue;
        if (found != VIEW_NONE) return VIEW_NONE;
        found = t;
    }
    return found;
}

/* The only output that is read; VIEW_NONE: none or several. */
static uint32_t only_output(const view_side *s, uint32_t node)
{
    const view_node *n = &s->graph->nodes[node];
    uint32_t found = VIEW_NONE;
    for (uint32_t k = 0; k < n->output_count; k++) {
        const uint32_t t = n->outputs[k];
        if (t == VIEW_NONE || s->use_start[t] == s->use_start[t + 1]) continue;
        if (found != VIEW_NONE) return VIEW_NONE;
        found = t;
    }
    return found;
}

static bool is_link(const view_side *s, uint32_t node)
{
    return s->graph->nodes[node].kind == VIEW_NODE && view_is_alone(s, node) &&
           s->graph->containers[s->graph->nodes[node].parent].node != node &&
           only_input(s->graph, node) != VIEW_NONE && only_output(s, node) != VIEW_NONE;
}

/* Follows the chain that begins with a link, to the end of its links. False: it is too long, or
 * branches where it must not. */
static bool follow(chain *c, const view_side *s, uint32_t node)
{
    c->count = 0;
    c->from = only_input(s->graph, node);
    for (;;) {
        if (c->count == CHAIN_LIMIT) return false;
        c->nodes[c->count++] = node;
        c->to = only_output(s, node);
        const uint32_t uses = s->use_start[c->to + 1] - s->use_start[c->to];
        const uint32_t next = s->uses[s->use_start[c->to]];
        if (!is_link(s, next)) return true;
        if (uses != 1) return false;
        node = next;
    }
}

/* ---- Borders -------------------------------------------------------------------------------- */

/* What the counterpart of its producer computes in place of a tensor. */
static uint32_t counterpart(const chains *c, uint32_t tensor)
{
    const view_side *w = &c->m->side[c->whole], *p = &c->m->side[c->part];
    if (w->tensor_pair[tensor] != VIEW_NONE) return w->tensor_pair[tensor];
    const uint32_t from = w->graph->tensors[tensor].producer;
    if (from == VIEW_NONE || w->pair[from] == VIEW_NONE) return VIEW_NONE;
    const view_node *x = &w->graph->nodes[from], *y = &p->graph->nodes[w->pair[from]];
    for (uint32_t k = 0; k < x->output_count && k < y->output_count; k++)
        if (x->outputs[k] == tensor) return y->outputs[k];
    return VIEW_NONE;
}

/* Does a counterpart of a reader of the short chain's end read the long one's? */
static bool ends_meet(const chains *c)
{
    const view_side *w = &c->m->side[c->whole], *p = &c->m->side[c->part];
    const uint32_t end = c->wholes.to;
    for (uint32_t u = w->use_start[end]; u < w->use_start[end + 1]; u++) {
        const uint32_t other = w->pair[w->uses[u]];
        if (other == VIEW_NONE) continue;
        const view_node *x = &w->graph->nodes[w->uses[u]], *y = &p->graph->nodes[other];
        for (uint32_t k = 0; k < x->input_count && k < y->input_count; k++)
            if (x->inputs[k] == end && y->inputs[k] == c->parts.to) return true;
    }
    return false;
}

/* Finds the longer chain that begins where the counterpart of the short one's input is read. */
static bool find_parts(chains *c)
{
    const view_side *p = &c->m->side[c->part];
    const uint32_t start = counterpart(c, c->wholes.from);
    if (start == VIEW_NONE) return false;
    for (uint32_t u = p->use_start[start]; u < p->use_start[start + 1]; u++)
        if (is_link(p, p->uses[u]) && follow(&c->parts, p, p->uses[u]) &&
            c->parts.count > c->wholes.count && ends_meet(c))
            return true;
    return false;
}

/* ---- Where to divide ------------------------------------------------------------------------- */

static bool equal_texts(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* Is a weight of this shape and type among those of parts [first, end) that are not taken? */
static bool take_weight(const chains *c, uint32_t first, uint32_t end, const view_tensor *like,
                        uint32_t *taken, uint32_t *taken_count)
{
    const view_graph *g = c->m->side[c->part].graph;
    for (uint32_t i = first; i < end; i++) {
        const view_node *n = &g->nodes[c->parts.nodes[i]];
        for (uint32_t k = 0; k < n->input_count && k < WEIGHT_LIMIT; k++) {
            const uint32_t t = n->inputs[k];
            bool is_taken = t == VIEW_NONE || !view_is_constant(g, t);
            for (uint32_t x = 0; x < *taken_count && !is_taken; x++) is_taken = taken[x] == t;
            if (is_taken || !equal_texts(g->tensors[t].shape, like->shape)) continue;
            taken[(*taken_count)++] = t;
            return true;
        }
    }
    return false;
}

static int score(const chains *c, uint32_t whole, uint32_t first, uint32_t end)
{
    const view_graph *g = c->m->side[c->whole].graph, *p = c->m->side[c->part].graph;
    const uint32_t node = c->wholes.nodes[whole];
    const view_node *n = &g->nodes[node];
    uint32_t taken[WEIGHT_LIMIT], count = 0;
    int sum = -EVEN_COST * (int)((end - first) * (end - first));
    bool has_op = false;
    for (uint32_t k = 0; k < n->input_count && count < WEIGHT_LIMIT; k++)
        if (n->inputs[k] != VIEW_NONE && view_is_constant(g, n->inputs[k]) &&
            take_weight(c, first, end, &g->tensors[n->inputs[k]], taken, &count))
            sum += SHAPE_SCORE;
    for (uint32_t i = first; i < end && !has_op; i++) { /* "FusedConv" has a Conv */
        has_op = strstr(view_op_name(g, node), view_op_name(p, c->parts.nodes[i])) != NULL;
        if (has_op && i == first) sum += START_SCORE; /* activations come last */
    }
    return sum + (has_op ? OP_SCORE : 0);
}

static void divide(chains *c)
{
    const uint32_t wholes = c->wholes.count, parts = c->parts.count;
    for (uint32_t i = 0; i <= wholes; i++)
        for (uint32_t j = 0; j <= parts; j++) c->best[i][j] = i || j ? INT32_MIN / 2 : 0;
    for (uint32_t i = 1; i <= wholes; i++)
        for (uint32_t j = i; j + wholes <= parts + i; j++)
            for (uint32_t from = i - 1; from < j; from++) {
                if (c->best[i - 1][from] <= INT32_MIN / 2) continue;
                const int sum = c->best[i - 1][from] + score(c, i - 1, from, j);
                if (sum <= c->best[i][j]) continue;
                c->best[i][j] = sum;
                c->cut[i][j] = from;
            }
}

static void join(chains *c)
{
    view_match *m = c->m;
    uint32_t end = c->parts.count;
    divide(c);
    for (uint32_t i = c->wholes.count; i > 0; i--) {
        const uint32_t first = c->cut[i][end], whole = c->wholes.nodes[i - 1];
        const uint32_t last = c->parts.nodes[end - 1];
        const uint32_t t = only_output(&m->side[c->part], last);
        const uint32_t u = only_output(&m->side[c->whole], whole);
        view_pair_tensors(m, c->part ? u : t, c->part ? t : u);
        if (end - first == 1) view_pair_nodes(m, c->part ? whole : last, c->part ? last : whole);
        for (uint32_t k = first; k < end && end - first > 1; k++)
            view_join_node(m, c->part, c->parts.nodes[k], whole);
        end = first;
    }
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* Is it the first link of its chain? */
static bool begins_chain(const view_side *s, uint32_t node)
{
    if (!is_link(s, node)) return false;
    const uint32_t from = s->graph->tensors[only_input(s->graph, node)].producer;
    return from == VIEW_NONE || !is_link(s, from);
}

pgy_status view_match_chains(view_match *m, pgy_error *err)
{
    chains *c = mem_calloc(1, sizeof *c);
    if (!c) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while comparing two graphs");
    c->m = m;
    for (int part = 0; part < 2; part++) {
        const view_side *w = &m->side[!part];
        c->part = part;
        c->whole = !part;
        for (uint32_t i = 0; i < w->graph->node_count && !cancel_requested(); i++)
            if (begins_chain(w, i) && follow(&c->wholes, w, i) && c->wholes.count > 1 &&
                find_parts(c))
                join(c);
    }
    mem_free(c);
    return cancel_check(err);
}
