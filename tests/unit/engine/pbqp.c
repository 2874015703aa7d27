/* SPDX-License-Identifier: Apache-2.0 */
/* The solver of dependent choices, against trying everything. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/select/pbqp.h"

static uint32_t random_next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Every fifth pair cannot be, but for that of two states 0. */
static void random_edge(pbqp *p, uint32_t a, uint32_t b, size_t rows, size_t columns,
                        uint32_t *seed)
{
    double costs[64];
    for (size_t i = 0; i < rows * columns; i++)
        costs[i] = i && random_next(seed) % 5 == 0 ? PBQP_NEVER : random_next(seed) % 100;
    assert_true(pbqp_add_edge(p, a, b, costs));
}

static pbqp *random_problem(arena *memory, size_t *counts, size_t nodes, uint32_t density,
                            uint32_t *seed)
{
    pbqp *p = pbqp_create(memory);
    assert_non_null(p);
    for (size_t i = 0; i < nodes; i++) {
        double costs[4];
        uint32_t index;
        counts[i] = 1 + random_next(seed) % 4;
        for (size_t k = 0; k < counts[i]; k++) costs[k] = random_next(seed) % 100;
        assert_true(pbqp_add_node(p, &index, counts[i], costs));
        assert_int_equal(index, i);
    }
    for (uint32_t i = 0; i < nodes; i++)
        for (uint32_t k = 0; k < nodes; k++)
            if (i != k && random_next(seed) % 100 < density)
                random_edge(p, i, k, counts[i], counts[k], seed);
    return p;
}

static double best_of_all(const pbqp *p, const size_t *counts, size_t nodes)
{
    uint32_t states[16] = {0};
    double best = PBQP_NEVER;
    for (size_t digit = 0; digit < nodes;) {
        const double cost = pbqp_cost(p, states);
        if (cost < best) best = cost;
        for (digit = 0; digit < nodes && ++states[digit] == counts[digit]; digit++)
            states[digit] = 0;
    }
    return best;
}

static void test_pbqp__finds_the_best_of_small_problems(void **state)
{
    uint32_t seed = 1;
    (void)state;
    for (int round = 0; round < 300; round++) {
        arena memory = {0};
        size_t counts[16];
        uint32_t states[16] = {0};
        const size_t nodes = 1 + random_next(&seed) % 6;
        pbqp *p = random_problem(&memory, counts, nodes, (uint32_t)round % 60, &seed);
        assert_true(pbqp_solve(p, states));
        assert_true(pbqp_cost(p, states) == best_of_all(p, counts, nodes));
        arena_deinit(&memory);
    }
}

/* A chain whose links have branches that meet again: reductions alone solve it. */
static void test_pbqp__finds_the_best_of_long_chains_of_blocks(void **state)
{
    enum { NODES = 400, STATES = 3 };
    arena memory = {0};
    uint32_t seed = 7, index;
    uint32_t states[NODES] = {0};
    double best[STATES] = {0};
    (void)state;
    pbqp *p = pbqp_create(&memory);
    assert_non_null(p);
    double costs[NODES][STATES], links[NODES][STATES * STATES], skips[NODES][STATES * STATES];
    for (uint32_t i = 0; i < NODES; i++) {
        for (int k = 0; k < STATES; k++) costs[i][k] = random_next(&seed) % 50;
        assert_true(pbqp_add_node(p, &index, STATES, costs[i]));
        for (int k = 0; k < STATES * STATES; k++) {
            links[i][k] = random_next(&seed) % 50;
            skips[i][k] = random_next(&seed) % 50;
        }
        if (i) assert_true(pbqp_add_edge(p, i - 1, i, links[i]));
        if (i >= 2 && i % 2 == 0) assert_true(pbqp_add_edge(p, i - 2, i, skips[i]));
    }
    assert_true(pbqp_solve(p, states));
    /* The same by dynamic programming over blocks of two links and the skip around them. */
    for (int k = 0; k < STATES; k++) best[k] = costs[0][k];
    for (uint32_t i = 2; i < NODES; i += 2) {
        double next[STATES];
        for (int k = 0; k < STATES; k++) {
            next[k] = PBQP_NEVER;
            for (int j = 0; j < STATES; j++)
                for (int m = 0; m < STATES; m++) {
                    const double cost = best[j] + links[i - 1][j * STATES + m] + costs[i - 1][m] +
                                        links[i][m * STATES + k] + skips[i][j * STATES + k];
                    if (cost < next[k]) next[k] = cost;
                }
            next[k] += costs[i][k];
        }
        for (int k = 0; k < STATES; k++) best[k] = next[k];
    }
    double least = PBQP_NEVER; /* the last node hangs on the chain alone */
    for (int k = 0; k < STATES; k++)
        for (int j = 0; j < STATES; j++) {
            const double cost = best[k] + links[NODES - 1][k * STATES + j] + costs[NODES - 1][j];
            if (cost < least) least = cost;
        }
    assert_true(pbqp_cost(p, states) == least);
    arena_deinit(&memory);
}

static void test_pbqp__is_never_worse_than_the_first_guess(void **state)
{
    uint32_t seed = 3;
    (void)state;
    for (int round = 0; round < 20; round++) {
        arena memory = {0};
        size_t counts[200];
        uint32_t states[200] = {0};
        pbqp *p = random_problem(&memory, counts, 60, 30, &seed);
        const double guess = pbqp_cost(p, states);
        assert_true(pbqp_solve(p, states));
        assert_true(pbqp_cost(p, states) <= guess);
        assert_true(pbqp_cost(p, states) < PBQP_NEVER);
        arena_deinit(&memory);
    }
}

/* Edges in both directions and several between two nodes are one. */
static void test_pbqp__adds_up_edges_between_the_same_nodes(void **state)
{
    arena memory = {0};
    uint32_t a, b, states[2] = {0, 0};
    const double free_states[2] = {0, 0}, ab[4] = {5, 1, 9, 9}, ba[4] = {0, 0, 7, 0};
    (void)state;
    pbqp *p = pbqp_create(&memory);
    assert_non_null(p);
    assert_true(pbqp_add_node(p, &a, 2, free_states));
    assert_true(pbqp_add_node(p, &b, 2, free_states));
    assert_true(pbqp_add_edge(p, a, b, ab));
    assert_true(pbqp_add_edge(p, b, a, ba));
    assert_true(pbqp_solve(p, states));
    /* 0,0: 5+0; 0,1: 1+7; 1,0: 9+0; 1,1: 9+0 */
    assert_int_equal(states[0], 0);
    assert_int_equal(states[1], 0);
    assert_true(pbqp_cost(p, states) == 5);
    arena_deinit(&memory);
}
