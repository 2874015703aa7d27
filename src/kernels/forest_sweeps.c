/* SPDX-License-Identifier: Apache-2.0 */
/* Makes what sweeps over the upper parts of trees need (forest.h). Everything is made
 * twice: first counted, then written. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/forest.h"

typedef struct maker {
    forest_sweeps *s;
    forest_params *p;
    const forest_view *v;
    uint32_t *leaves;    /* below each node, at most FOREST_MOST_EXITS + 1 */
    uint32_t *column_of; /* column + 1 of a feature */
    bool write, tables;
    bool fits; /* no word has too many tests */
    forest_part part;
} maker;

/* ---- Columns -------------------------------------------------------------------------------- */

/* Marks the features that tests use: column_of becomes the number of the column + 1. */
static bool number_columns(maker *m)
{
    uint32_t count = 0;
    for (size_t i = 0; i < m->p->nodes; i++) {
        const forest_step *n = &m->v->nodes[i];
        if (n->next[0] != i) m->column_of[n->feature & FOREST_FEATURE] = 1;
    }
    for (size_t i = 0; i < m->p->width; i++)
        if (m->column_of[i] || m->p->picked) m->column_of[i] = ++count;
    m->p->columns = m->p->by_trees ? 0 : count;
    return count <= FOREST_COLUMNS;
}

static int compare_bits_columns(const void *a, const void *b)
{
    const forest_bits_column *x = a, *y = b;
    if (x->column != y->column) return x->column < y->column ? -1 : 1;
    return (x->segment > y->segment) - (x->segment < y->segment);
}

static uint32_t bits_column(const maker *m, uint32_t feature, uint32_t segment)
{
    const forest_bits_column key = {m->column_of[feature] - 1, segment};
    const forest_bits_column *found =
        bsearch(&key, m->s->bit_columns, m->p->bit_columns, sizeof key, compare_bits_columns);
    return (uint32_t)(m->p->columns + (size_t)(found - m->s->bit_columns));
}

/* Lists the segments of features that sets use, sorted; false: out of memory. */
static bool list_bits_columns(maker *m)
{
    forest_params *p = m->p;
    size_t count = 0, kept = 0;
    forest_bits_column *all = mem_calloc(p->sets + 1, sizeof *all);
    m->s->bit_columns = all;
    for (size_t i = 0; all && i < p->nodes; i++) {
        const forest_step *n = &m->v->nodes[i];
        const uint32_t *set = m->v->sets + forest_split_bits(n);
        if (n->next[0] == i || forest_mask_of(n)) continue;
        for (uint32_t k = 0; k < set[1]; k++)
            if (set[FOREST_SET_HEAD + k] || k == 0)
                all[count++] =
                    (forest_bits_column){m->column_of[n->feature & FOREST_FEATURE] - 1, set[0] + k};
    }
    if (count) qsort(all, count, sizeof *all, compare_bits_columns);
    for (size_t i = 0; i < count; i++)
        if (!i || compare_bits_columns(&all[i - 1], &all[i])) all[kept++] = all[i];
    p->bit_columns = kept;
    return all != NULL;
}

/* ---- Words ---------------------------------------------------------------------------------- */

/* The bits of word w among exits [from, to). */
static uint32_t bits_of(uint32_t from, uint32_t to, uint32_t w)
{
    const uint32_t first = w * FOREST_WORD, end = first + FOREST_WORD;
    if (from < first) from = first;
    if (to > end) to = end;
    if (from >= to) return 0;
    return (uint32_t)(((UINT64_C(1) << (to - from)) - 1) << (from - first));
}

/* One test for each segment of a set; the last one clears. Returns their number. */
static uint32_t add_set(maker *m, const forest_part_test *t, uint32_t clears)
{
    const uint32_t *set = m->v->sets + t->set, *bits = set + FOREST_SET_HEAD;
    uint32_t count = 0, last = set[1] - 1;
    while (last && !bits[last]) last--;
    for (uint32_t i = 0; i <= last; i++) {
        if (!bits[i] && i < last) continue;
        if (m->write) {
            forest_test *to = &m->s->tests[m->p->tests + count];
            *to = (forest_test){.column = bits_column(m, t->feature, set[0] + i),
                                .clears = i < last ? 0 : clears};
            memcpy(&to->split, &bits[i], sizeof bits[i]);
        }
        count++;
    }
    return count;
}

static uint32_t add_test(maker *m, const forest_part_test *t, uint32_t clears)
{
    if (t->kind == FOREST_SET) return add_set(m, t, clears);
    const uint32_t column = m->p->by_trees ? t->feature : m->column_of[t->feature] - 1;
    if (m->write) m->s->tests[m->p->tests] = (forest_test){t->split, column, clears};
    return 1;
}

static uint32_t add_tests(maker *m, uint32_t w, enum forest_kind kind)
{
    uint32_t count = 0;
    for (size_t i = 0; i < m->part.test_count; i++) {
        const forest_part_test *t = &m->part.tests[i];
        const uint32_t clears = bits_of(t->from, t->to, w);
        if (!clears || t->kind != kind) continue;
        const uint32_t more = add_test(m, t, clears);
        m->p->tests += more;
        count += more;
    }
    m->fits = m->fits && count <= FOREST_MOST_TESTS;
    return count;
}

/* Of few rows: tests for membership of a tree, which has one word. */
static void add_choices(maker *m)
{
    for (size_t i = 0; i < m->part.test_count; i++) {
        const forest_part_test *t = &m->part.tests[i];
        const uint32_t *set = m->v->sets + t->set;
        const uint32_t clears = bits_of(t->from, t->to, 0);
        if (t->kind != FOREST_SET || !clears || !m->fits) continue;
        if (m->write)
            forest_choice_clear(m->s, m->p, m->p->words, t->feature, set, clears);
        else
            m->fits = forest_choice_add(m->s, m->p, t->feature, set);
    }
}

static void add_words(maker *m, forest_tree *tree)
{
    const size_t count = m->part.exit_count;
    tree->word = (uint32_t)m->p->words;
    tree->words = (uint32_t)((count + FOREST_WORD - 1) / FOREST_WORD);
    tree->whole = m->part.whole;
    tree->table = tree->tables = 0;
    if (m->p->by_trees) add_choices(m);
    for (uint32_t w = 0; w < tree->words; w++) {
        forest_word word = {.first = (uint32_t)m->p->tests};
        for (int kind = 0; kind < (m->p->by_trees ? FOREST_SET : FOREST_KINDS); kind++)
            word.counts[kind] = add_tests(m, w, (enum forest_kind)kind);
        for (size_t i = 0; m->write && i < FOREST_WORD; i++) {
            const size_t exit = w * FOREST_WORD + i;
            m->s->exits[m->p->words * FOREST_WORD + i] =
                m->part.exits[exit < count ? exit : count - 1];
        }
        if (m->write) m->s->words[m->p->words] = word;
        m->p->words++;
    }
}

/* ---- Tables --------------------------------------------------------------------------------- */

/* The weights of a leaf, of which there may be one of target 0 in the leaf itself. */
static size_t leaf_shares(const forest_share **out, forest_share *own, const maker *m, uint32_t at)
{
    const forest_step *leaf = &m->v->nodes[at];
    uint32_t k;
    *own = (forest_share){.value = (double)leaf->split};
    *out = own;
    if (m->p->targets == 1 && !m->p->ranked) return 1;
    memcpy(&k, &leaf->split, sizeof k);
    *out = m->v->weights + m->v->ranges[k];
    return m->v->ranges[k + 1] - m->v->ranges[k];
}

/* All leaves must have weights of the same targets, each once. */
static bool fits_tables(const maker *m)
{
    const forest_share *first, *other;
    forest_share own, its;
    if (!m->part.whole) return false;
    const size_t count = leaf_shares(&first, &own, m, m->part.exits[0]);
    if (!count || count > FOREST_MOST_TABLES) return false;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (first[i].target == first[k].target) return false;
    for (size_t i = 1; i < m->part.exit_count; i++) {
        if (leaf_shares(&other, &its, m, m->part.exits[i]) != count) return false;
        for (size_t k = 0; k < count; k++)
            if (other[k].target != first[k].target) return false;
    }
    return true;
}

static void add_tables(maker *m, forest_tree *tree)
{
    const forest_share *shares;
    forest_share own;
    const size_t values = (size_t)tree->words * FOREST_WORD;
    tree->table = (uint32_t)m->p->tables;
    tree->tables = (uint32_t)leaf_shares(&shares, &own, m, m->part.exits[0]);
    for (size_t k = 0; k < tree->tables; k++, m->p->tables++, m->p->values += values) {
        if (!m->write) continue;
        const size_t to = m->p->values;
        (void)leaf_shares(&shares, &own, m, m->part.exits[0]);
        m->s->tables[m->p->tables] = (forest_table){shares[k].target, (uint32_t)m->p->values};
        for (size_t i = 0; i < values; i++) {
            const size_t last = m->part.exit_count - 1;
            (void)leaf_shares(&shares, &own, m, m->part.exits[i < last ? i : last]);
            if (m->p->ranked)
                m->s->wide_values[to + i] = shares[k].value;
            else
                m->s->values[to + i] = (float)shares[k].value;
        }
    }
}

/* ---- Lanes ---------------------------------------------------------------------------------- */

static uint32_t most_tests(const maker *m, size_t group, int kind)
{
    uint32_t most = 0;
    for (size_t i = group * FOREST_GROUP; i < m->p->words && i < (group + 1) * FOREST_GROUP; i++) {
        const uint32_t count = m->s->words[i].counts[kind];
        most = count > most ? count : most;
    }
    return most;
}

static void put_lane(forest_lanes *lanes, size_t lane, const forest_test *tests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        lanes[i].split[lane] = tests[i].split;
        lanes[i].column[lane] = tests[i].column;
        lanes[i].clears[lane] = tests[i].clears;
    }
}

/* Tests of FOREST_GROUP trees side by side. Trees with fewer tests have some that clear nothing. */
static bool make_lanes(maker *m)
{
    forest_params *p = m->p;
    forest_sweeps *s = m->s;
    p->groups = (p->words + FOREST_GROUP - 1) / FOREST_GROUP;
    s->groups = mem_calloc(p->groups, sizeof *s->groups);
    if (!s->groups) return false;
    for (size_t g = 0; g < p->groups; g++) {
        s->groups[g].first = (uint32_t)p->lanes;
        for (int kind = 0; kind < FOREST_KINDS; kind++)
            p->lanes += s->groups[g].counts[kind] = most_tests(m, g, kind);
    }
    s->lanes = mem_calloc(p->lanes + 1, sizeof *s->lanes);
    if (!s->lanes) return false;
    for (size_t i = 0; i < p->words; i++) {
        const forest_word *g = &s->groups[i / FOREST_GROUP], *w = &s->words[i];
        forest_lanes *to = s->lanes + g->first;
        const forest_test *tests = s->tests + w->first;
        for (int kind = 0; kind < FOREST_KINDS; kind++) {
            put_lane(to, i % FOREST_GROUP, tests, w->counts[kind]);
            to += g->counts[kind];
            tests += w->counts[kind];
        }
    }
    memset(s->words, 0, p->words * sizeof *s->words);
    p->tests = 0;
    return true;
}

/* ---- All of it ------------------------------------------------------------------------------ */

/* Counts or writes everything; false: it is too much, or would not be faster than walks. */
static bool pass(maker *m)
{
    forest_params *p = m->p;
    bool whole = true, tables = p->join < FOREST_MIN && !p->by_trees;
    p->words = p->tests = p->tables = p->values = 0;
    m->fits = true;
    if (!m->write) p->choices = 0;
    for (size_t i = 0; i < p->roots; i++) {
        forest_tree *tree = &m->s->trees[i];
        forest_part_take(&m->part, m->v, m->leaves, tree->root);
        tables = tables && fits_tables(m);
        add_words(m, tree);
        whole = whole && tree->whole;
        if (tables && (m->tables || !m->write)) add_tables(m, tree);
    }
    if (!m->write) m->tables = tables;
    if (!m->tables) p->tables = p->values = 0;
    if (!m->fits || p->words > UINT32_MAX / FOREST_WORD || p->tests > UINT32_MAX ||
        p->values > UINT32_MAX)
        return false;
    p->whole = whole;
    if (!m->write && !forest_choices_place(m->s, p)) return false;
    return whole || !p->by_trees || p->level >= CPU_AVX512;
}

static bool write_all(maker *m)
{
    const forest_params *p = m->p;
    forest_sweeps *s = m->s;
    s->columns = mem_calloc(p->columns + 1, sizeof *s->columns);
    s->words = mem_calloc(p->words, sizeof *s->words);
    s->tests = mem_calloc(p->tests + 1, sizeof *s->tests);
    s->exits = mem_calloc(p->words, FOREST_WORD * sizeof *s->exits);
    s->choice_words = mem_calloc(p->choice_words + 1, sizeof *s->choice_words);
    s->tables = mem_calloc(p->tables + 1, sizeof *s->tables);
    s->values = p->ranked ? NULL : mem_calloc(p->values + 1, sizeof *s->values);
    s->wide_values = p->ranked ? mem_calloc(p->values + 1, sizeof *s->wide_values) : NULL;
    if (!s->columns || !s->words || !s->tests || !s->exits || !s->tables || !s->choice_words ||
        (!s->values && !s->wide_values))
        return false;
    for (size_t i = 0; p->columns && i < p->width; i++)
        if (m->column_of[i]) s->columns[m->column_of[i] - 1] = (uint32_t)i;
    memset(s->choice_words, 0xFF, p->choice_words * sizeof *s->choice_words);
    m->write = true;
    (void)pass(m);
    return !p->by_trees || make_lanes(m);
}

static void make_none(forest_sweeps *s, forest_params *p)
{
    p->columns = p->bit_columns = p->words = p->tests = p->tables = p->values = 0;
    p->choices = p->choice_words = 0;
    p->whole = false;
    for (size_t i = 0; i < p->roots; i++)
        s->trees[i] = (forest_tree){.root = s->trees[i].root, .depth = s->trees[i].depth};
}

bool forest_sweeps_make(forest_sweeps *s, forest_params *p, const forest_view *v)
{
    maker *m = mem_calloc(1, sizeof *m);
    bool made = false;
    s->trees = mem_calloc(p->roots, sizeof *s->trees);
    s->choices = mem_calloc(FOREST_MOST_CHOICES, sizeof *s->choices);
    if (m) {
        *m = (maker){.s = s, .p = p, .v = v};
        m->leaves = mem_calloc(p->nodes, sizeof *m->leaves);
        m->column_of = mem_calloc(p->width, sizeof *m->column_of);
        made = s->trees && s->choices && m->leaves && m->column_of;
    }
    if (made) {
        memcpy(s->trees, v->trees, p->roots * sizeof *s->trees);
        forest_count_leaves(m->leaves, v);
        /* Without vectors a walk is faster than all tests of one row. */
        const bool wanted = !p->by_trees || p->level > CPU_PORTABLE;
        const bool fits = wanted && number_columns(m);
        made = !fits || p->by_trees || list_bits_columns(m);
        if (made && fits && p->bit_columns <= FOREST_COLUMNS && pass(m))
            made = write_all(m);
        else
            make_none(s, p);
    }
    if (m) mem_free(m->leaves);
    if (m) mem_free(m->column_of);
    mem_free(m);
    return made;
}

void forest_sweeps_free(forest_sweeps *s)
{
    void *const arrays[] = {s->columns, s->bit_columns,  s->exits,  s->words,  s->groups,
                            s->tests,   s->lanes,        s->tables, s->values, s->wide_values,
                            s->choices, s->choice_words, s->trees};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) mem_free(arrays[i]);
}
