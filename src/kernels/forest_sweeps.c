/* SPDX-License-Identifier: Apache-2.0 */
/* Makes what sweeps over the upper parts of trees need (forest.h). Everything is made
 * twice: first counted, then written. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/forest.h"

enum { MOST_EXITS = FOREST_MOST_WORDS * FOREST_WORD };

/* Exits of a tree that is swept as a whole, and of the upper part of a larger one: where walking on
 * becomes faster. */
typedef struct part_size {
    uint32_t whole, upper;
} part_size;

static const part_size SIZES[] = {
    [CPU_PORTABLE] = {64, 32}, [CPU_AVX2] = {128, 64}, [CPU_AVX512] = {256, 64}};

/* A test of an upper part; failing, it clears exits [from, to). */
typedef struct part_test {
    forest_test test;
    uint32_t feature, from, to;
    bool missing;
} part_test;

/* The upper part of one tree. */
typedef struct part {
    part_test tests[MOST_EXITS];
    uint32_t exits[MOST_EXITS];
    size_t test_count, exit_count;
    bool whole;
} part;

typedef struct maker {
    forest_sweeps *s;
    forest_params *p;
    const forest_view *v;
    uint32_t *leaves;    /* below each node, at most MOST_EXITS + 1 */
    uint32_t *column_of; /* column + 1 of a feature */
    bool write, tables;
    part part;
} maker;

/* ---- Parts ---------------------------------------------------------------------------------- */

typedef struct test_sides {
    float split;
    uint32_t pass, fail; /* nodes */
    bool missing;
} test_sides;

/* Gives a test as `x <= split`; false: it cannot be one. */
static bool read_test(test_sides *out, const forest_step *n)
{
    const uint32_t mode = n->feature >> FOREST_MODE_BIT & 7;
    const bool missing = n->feature >> FOREST_MISSING_BIT;
    if (isnan(n->split)) return false;
    *out = (test_sides){n->split, n->next[1], n->next[0], missing};
    if (mode == FOREST_LEQ) return true;
    if (mode == FOREST_GTE && n->split > -INFINITY) out->split = nextafterf(n->split, -INFINITY);
    if (mode != FOREST_GT && (mode != FOREST_GTE || n->split == -INFINITY)) return false;
    /* not <= : the sides change, also for NaN */
    *out = (test_sides){out->split, n->next[0], n->next[1], !missing};
    return true;
}

/* Takes the nodes below `at` into the part, up to `room` exits. It is at most MOST_EXITS deep, as
 * each call leaves room for the other side. */
static void take_nodes(maker *m, uint32_t at, uint32_t room)
{
    const forest_step *n = &m->v->nodes[at];
    part *own = &m->part;
    test_sides t;
    const bool leaf = n->next[0] == at;
    if (leaf || room < 2 || !read_test(&t, n)) {
        own->exits[own->exit_count++] = at;
        own->whole = own->whole && leaf;
        return;
    }
    const uint32_t most[] = {m->leaves[t.pass], m->leaves[t.fail]};
    uint32_t pass = most[0] < room / 2 ? most[0] : room / 2;
    const uint32_t fail = most[1] < room - pass ? most[1] : room - pass;
    pass = most[0] < room - fail ? most[0] : room - fail;
    part_test test = {.test = {.split = t.split},
                      .feature = n->feature & FOREST_FEATURE,
                      .from = (uint32_t)own->exit_count,
                      .missing = t.missing};
    take_nodes(m, t.pass, pass);
    test.to = (uint32_t)own->exit_count;
    take_nodes(m, t.fail, fail);
    own->tests[own->test_count++] = test;
}

static void take_part(maker *m, uint32_t root)
{
    const uint32_t leaves = m->leaves[root];
    const part_size size =
        m->p->by_trees ? (part_size){FOREST_WORD, FOREST_WORD} : SIZES[m->p->level];
    m->part.test_count = m->part.exit_count = 0;
    m->part.whole = true;
    take_nodes(m, root, leaves <= size.whole ? leaves : size.upper);
}

static void count_leaves(maker *m)
{
    for (size_t i = m->p->nodes; i-- > 0;) {
        const forest_step *n = &m->v->nodes[i];
        const uint32_t sum = n->next[0] == i ? 1 : m->leaves[n->next[0]] + m->leaves[n->next[1]];
        m->leaves[i] = sum <= MOST_EXITS ? sum : MOST_EXITS + 1;
    }
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

static uint32_t add_tests(maker *m, uint32_t w, bool missing)
{
    uint32_t count = 0;
    for (size_t i = 0; i < m->part.test_count; i++) {
        const part_test *t = &m->part.tests[i];
        const uint32_t clears = bits_of(t->from, t->to, w);
        if (!clears || t->missing != missing) continue;
        if (m->write)
            m->s->tests[m->p->tests] = (forest_test){
                t->test.split, m->p->by_trees ? t->feature : m->column_of[t->feature] - 1, clears};
        m->p->tests++;
        count++;
    }
    return count;
}

static void add_words(maker *m, forest_tree *tree)
{
    const size_t count = m->part.exit_count;
    tree->word = (uint32_t)m->p->words;
    tree->words = (uint32_t)((count + FOREST_WORD - 1) / FOREST_WORD);
    tree->whole = m->part.whole;
    tree->table = tree->tables = 0;
    for (uint32_t w = 0; w < tree->words; w++) {
        forest_word word = {.first = (uint32_t)m->p->tests};
        word.plain = add_tests(m, w, false);
        word.missing = add_tests(m, w, true);
        for (size_t i = 0; m->write && i < FOREST_WORD; i++) {
            const size_t exit = w * FOREST_WORD + i;
            m->s->exits[m->p->words * FOREST_WORD + i] =
                m->part.exits[exit < count ? exit : count - 1];
        }
        if (m->write) m->s->words[m->p->words] = word;
        m->p->words++;
    }
}

/* Marks the features that tests use: column_of becomes the number of the column + 1. */
static bool number_columns(maker *m)
{
    uint32_t count = 0;
    for (size_t i = 0; i < m->p->nodes; i++) {
        const forest_step *n = &m->v->nodes[i];
        if (n->next[0] != i) m->column_of[n->feature & FOREST_FEATURE] = 1;
    }
    for (size_t i = 0; i < m->p->width; i++)
        if (m->column_of[i]) m->column_of[i] = ++count;
    m->p->columns = m->p->by_trees ? 0 : count;
    return count <= FOREST_COLUMNS;
}

/* ---- Tables --------------------------------------------------------------------------------- */

/* The weights of a leaf, of which there may be one of target 0 in the leaf itself. */
static size_t leaf_shares(const forest_share **out, forest_share *own, const maker *m, uint32_t at)
{
    const forest_step *leaf = &m->v->nodes[at];
    uint32_t k;
    *own = (forest_share){.value = (double)leaf->split};
    *out = own;
    if (m->p->targets == 1) return 1;
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
        float *to = m->s->values + m->p->values;
        (void)leaf_shares(&shares, &own, m, m->part.exits[0]);
        m->s->tables[m->p->tables] = (forest_table){shares[k].target, (uint32_t)m->p->values};
        for (size_t i = 0; i < values; i++) {
            const size_t last = m->part.exit_count - 1;
            (void)leaf_shares(&shares, &own, m, m->part.exits[i < last ? i : last]);
            to[i] = (float)shares[k].value;
        }
    }
}

/* ---- Lanes ---------------------------------------------------------------------------------- */

static uint32_t most_tests(const maker *m, size_t group, bool missing)
{
    uint32_t most = 0;
    for (size_t i = group * FOREST_GROUP; i < m->p->words && i < (group + 1) * FOREST_GROUP; i++) {
        const uint32_t count = missing ? m->s->words[i].missing : m->s->words[i].plain;
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
        s->groups[g] =
            (forest_word){(uint32_t)p->lanes, most_tests(m, g, false), most_tests(m, g, true)};
        p->lanes += s->groups[g].plain + s->groups[g].missing;
    }
    s->lanes = mem_calloc(p->lanes + 1, sizeof *s->lanes);
    if (!s->lanes) return false;
    for (size_t i = 0; i < p->words; i++) {
        const forest_word *g = &s->groups[i / FOREST_GROUP], *w = &s->words[i];
        forest_lanes *to = s->lanes + g->first;
        put_lane(to, i % FOREST_GROUP, s->tests + w->first, w->plain);
        put_lane(to + g->plain, i % FOREST_GROUP, s->tests + w->first + w->plain, w->missing);
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
    bool whole = true, tables = p->join < FOREST_MIN && !p->by_trees && !p->ranked;
    p->words = p->tests = p->tables = p->values = 0;
    for (size_t i = 0; i < p->roots; i++) {
        forest_tree *tree = &m->s->trees[i];
        take_part(m, tree->root);
        tables = tables && fits_tables(m);
        add_words(m, tree);
        whole = whole && tree->whole;
        if (tables && (m->tables || !m->write)) add_tables(m, tree);
    }
    if (!m->write) m->tables = tables;
    if (!m->tables) p->tables = p->values = 0;
    if (p->words > UINT32_MAX / FOREST_WORD || p->tests > UINT32_MAX || p->values > UINT32_MAX)
        return false;
    p->whole = whole;
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
    s->tables = mem_calloc(p->tables + 1, sizeof *s->tables);
    s->values = mem_calloc(p->values + 1, sizeof *s->values);
    if (!s->columns || !s->words || !s->tests || !s->exits || !s->tables || !s->values)
        return false;
    for (size_t i = 0; p->columns && i < p->width; i++)
        if (m->column_of[i]) s->columns[m->column_of[i] - 1] = (uint32_t)i;
    m->write = true;
    (void)pass(m);
    return !p->by_trees || make_lanes(m);
}

static void make_none(forest_sweeps *s, forest_params *p)
{
    p->columns = p->words = p->tests = p->tables = p->values = 0;
    p->whole = false;
    for (size_t i = 0; i < p->roots; i++)
        s->trees[i] = (forest_tree){.root = s->trees[i].root, .depth = s->trees[i].depth};
}

bool forest_sweeps_make(forest_sweeps *s, forest_params *p, const forest_view *v)
{
    maker *m = mem_calloc(1, sizeof *m);
    bool made = false;
    s->trees = mem_calloc(p->roots, sizeof *s->trees);
    if (m) {
        *m = (maker){.s = s, .p = p, .v = v};
        m->leaves = mem_calloc(p->nodes, sizeof *m->leaves);
        m->column_of = mem_calloc(p->width, sizeof *m->column_of);
        made = s->trees && m->leaves && m->column_of;
    }
    if (made) {
        memcpy(s->trees, v->trees, p->roots * sizeof *s->trees);
        count_leaves(m);
        /* Without vectors a walk is faster than all tests of one row. */
        const bool wanted = !p->by_trees || p->level > CPU_PORTABLE;
        if (wanted && number_columns(m) && pass(m))
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
    void *const arrays[] = {s->columns, s->exits,  s->words,  s->groups, s->tests,
                            s->lanes,   s->tables, s->values, s->trees};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) mem_free(arrays[i]);
}
