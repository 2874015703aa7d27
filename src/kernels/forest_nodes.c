/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of all trees as kernels walk through them. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/forest.h"

/* Appends the nodes of one tree in the order in which a depth-first walk leaves them: children
 * first. */
static void list_tree(forest_nodes *m, uint32_t root)
{
    size_t depth = 0;
    if (m->number[root]) return;
    m->stack[depth++] = root;
    m->number[root] = 1;
    while (depth) {
        const uint32_t at = m->stack[depth - 1];
        const forest_node *n = &m->f->nodes[at];
        int side = 1;
        while (n->mode != FOREST_LEAF && side >= 0 && m->number[forest_child(m->f, at, side)])
            side--;
        if (n->mode == FOREST_LEAF || side < 0) {
            m->order[m->count++] = at;
            depth--;
            continue;
        }
        const uint32_t child = forest_child(m->f, at, side);
        m->number[child] = 1;
        m->stack[depth++] = child;
    }
}

/* Numbers the nodes so that children come behind their parents, the child of a failed test next to
 * its parent where it can be: the reverse of the list of all trees. */
static void number_trees(forest_nodes *m)
{
    for (size_t i = m->f->root_count; i-- > 0;) list_tree(m, m->f->roots[i]);
    for (size_t i = 0, k = m->count; i + 1 < k; i++) {
        const uint32_t held = m->order[i];
        m->order[i] = m->order[--k];
        m->order[k] = held;
    }
    for (size_t i = 0; i < m->count; i++) m->number[m->order[i]] = (uint32_t)i + 1;
}

/* v < s is v <= the number before s, and so all tests of most ensembles are of one kind. */
static bool is_shifted(const forest_node *n)
{
    return n->mode == FOREST_LT && (float)n->split > -INFINITY;
}

static uint32_t mask_of(const forest_node *n)
{
    static const uint32_t MASKS[] = {[FOREST_LEQ] = FOREST_LESS | FOREST_EQUAL,
                                     [FOREST_LT] = FOREST_LESS,
                                     [FOREST_GTE] = FOREST_GREATER | FOREST_EQUAL,
                                     [FOREST_GT] = FOREST_GREATER};
    return MASKS[is_shifted(n) ? FOREST_LEQ : n->mode] | (n->missing ? FOREST_NAN : 0);
}

/* Makes a test. `sets` has *used words of former nodes, behind which a set of its own is added. */
static void make_test(const forest_nodes *m, forest_step *s, uint32_t at, uint32_t *sets,
                      size_t *used)
{
    const forest_node *n = &m->f->nodes[at];
    s->feature = n->feature;
    s->split = (float)n->split;
    for (int side = 0; side < 2; side++)
        s->next[side] = m->number[forest_child(m->f, at, side)] - 1;
    if (forest_is_set(n)) {
        const uint32_t place = (uint32_t)*used;
        memcpy(&s->split, &place, sizeof place);
        *used += forest_put_set(sets + *used, m->f, at);
        return;
    }
    if (is_shifted(n)) s->split = nextafterf(s->split, -INFINITY);
    s->feature |= mask_of(n) << FOREST_MASK_BIT;
    if (!isnan(n->split)) return;
    /* nothing compares with NaN, or is less than this */
    const uint32_t never = FOREST_LESS | (n->missing ? FOREST_NAN : 0);
    s->split = -INFINITY;
    s->feature = n->feature | never << FOREST_MASK_BIT;
}

void forest_nodes_write(const forest_nodes *m, const forest_view *v)
{
    forest_step *steps = (forest_step *)(uintptr_t)v->nodes;
    uint32_t *ranges = (uint32_t *)(uintptr_t)v->ranges, *sets = (uint32_t *)(uintptr_t)v->sets;
    forest_share *weights = (forest_share *)(uintptr_t)v->weights;
    uint32_t leaves = 0, used = 0;
    size_t set_words = FOREST_SET_HEAD + 1; /* the first set is empty */
    ranges[0] = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        const forest_node *n = &m->f->nodes[m->order[i]];
        forest_step *s = &steps[i];
        if (n->mode != FOREST_LEAF) {
            make_test(m, s, m->order[i], sets, &set_words);
            continue;
        }
        s->split = (float)n->split;
        s->feature = FOREST_ANYTHING;
        s->next[0] = s->next[1] = i;
        if (m->f->target_count == 1 && m->ranked)
            weights[used++] = (forest_share){.value = n->split};
        for (uint32_t k = 0; m->f->target_count > 1 && k < n->next[1]; k++) {
            const forest_weight *w = &m->f->weights[n->next[0] + k];
            weights[used++] = (forest_share){.target = w->target, .value = w->value};
        }
        if (m->f->target_count > 1 || m->ranked) memcpy(&s->split, &leaves, sizeof leaves);
        ranges[++leaves] = used;
    }
}

void forest_nodes_count(forest_params *p, const forest_nodes *m)
{
    p->nodes = m->count;
    p->simple = true;
    for (size_t i = 0; i < m->count; i++) {
        const forest_node *n = &m->f->nodes[m->order[i]];
        const bool leaf = n->mode == FOREST_LEAF;
        p->leaves += leaf;
        if (leaf && m->f->target_count > 1) p->weights += n->next[1];
        if (leaf && m->f->target_count == 1 && m->ranked) p->weights++;
        if (!leaf && ((n->mode != FOREST_LEQ && !is_shifted(n)) || n->missing)) p->simple = false;
        if (!leaf && isnan(n->split)) p->simple = false;
        if (!forest_is_set(n)) continue;
        if (!p->sets) p->sets = FOREST_SET_HEAD + 1;
        p->sets += forest_put_set(NULL, m->f, m->order[i]);
    }
}

bool forest_nodes_make(forest_nodes *m, const forest *f)
{
    m->f = f;
    m->order = mem_calloc(f->node_count, sizeof *m->order);
    m->number = mem_calloc(f->node_count, sizeof *m->number);
    m->stack = mem_calloc(f->node_count + 1, sizeof *m->stack);
    if (!m->order || !m->number || !m->stack) return false;
    number_trees(m);
    return true;
}

void forest_nodes_free(forest_nodes *m)
{
    mem_free(m->order);
    mem_free(m->number);
    mem_free(m->stack);
}
