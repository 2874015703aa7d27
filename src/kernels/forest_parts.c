/* SPDX-License-Identifier: Apache-2.0 */
/* The upper parts of trees that are swept: their tests and exits. */
#include <math.h>

#include "kernels/forest.h"

/* Exits of a tree that is swept as a whole, and of the upper part of a larger one: where walking on
 * becomes faster. */
typedef struct part_size {
    uint32_t whole, upper;
} part_size;

static const part_size SIZES[] = {
    [CPU_PORTABLE] = {64, 32}, [CPU_AVX2] = {128, 64}, [CPU_AVX512] = {256, 64}};

typedef struct test_sides {
    float split;
    uint32_t pass, fail; /* nodes */
    enum forest_kind kind;
} test_sides;

/* Gives a test as `x <= split` or as membership; false: it cannot be one. */
static bool read_test(test_sides *out, const forest_step *n)
{
    const uint32_t mask = forest_mask_of(n), compares = mask & ~(uint32_t)FOREST_NAN;
    const bool missing = mask & FOREST_NAN;
    *out = (test_sides){n->split, n->next[1], n->next[0], missing ? FOREST_MISSING : FOREST_PLAIN};
    if (!mask) out->kind = FOREST_SET;
    if (!mask || compares == (FOREST_LESS | FOREST_EQUAL)) return true;
    /* not <= : the sides change, also for NaN */
    *out = (test_sides){n->split, n->next[0], n->next[1], missing ? FOREST_PLAIN : FOREST_MISSING};
    if (compares == FOREST_GREATER) return true;
    out->split = nextafterf(n->split, -INFINITY);
    return compares == (FOREST_GREATER | FOREST_EQUAL) && n->split > -INFINITY;
}

typedef struct taker {
    forest_part *part;
    const forest_view *v;
    const uint32_t *leaves;
} taker;

/* Takes the nodes below `at` into the part, up to `room` exits. It is at most FOREST_MOST_EXITS
 * deep, as each call leaves room for the other side. */
static void take_nodes(taker *m, uint32_t at, uint32_t room)
{
    const forest_step *n = &m->v->nodes[at];
    forest_part *own = m->part;
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
    forest_part_test test = {.split = t.split,
                             .set = forest_split_bits(n),
                             .feature = n->feature & FOREST_FEATURE,
                             .from = (uint32_t)own->exit_count,
                             .kind = t.kind};
    take_nodes(m, t.pass, pass);
    test.to = (uint32_t)own->exit_count;
    take_nodes(m, t.fail, fail);
    own->tests[own->test_count++] = test;
}

void forest_part_take(forest_part *own, const forest_view *v, const uint32_t *leaves, uint32_t root)
{
    taker m = {own, v, leaves};
    const part_size size =
        v->p->by_trees ? (part_size){FOREST_WORD, FOREST_WORD} : SIZES[v->p->level];
    own->test_count = own->exit_count = 0;
    own->whole = true;
    take_nodes(&m, root, leaves[root] <= size.whole ? leaves[root] : size.upper);
}

void forest_count_leaves(uint32_t *leaves, const forest_view *v)
{
    for (size_t i = v->p->nodes; i-- > 0;) {
        const forest_step *n = &v->nodes[i];
        const uint32_t sum = n->next[0] == i ? 1 : leaves[n->next[0]] + leaves[n->next[1]];
        leaves[i] = sum <= FOREST_MOST_EXITS ? sum : FOREST_MOST_EXITS + 1;
    }
}
