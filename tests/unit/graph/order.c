/* SPDX-License-Identifier: Apache-2.0 */
/* Topological order of numbers: valid orders stay, needs come first, cycles are named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/order.h"

enum { NO_NEED = 99 };

/* needs[i]: up to two needs of item i. */
static void fill(order *o, const size_t (*needs)[2], size_t count)
{
    assert_int_equal(order_init(o, count, NULL), PGY_OK);
    for (size_t i = 0; i < count; i++) {
        order_open(o, i);
        for (size_t k = 0; k < 2; k++)
            if (needs[i][k] != NO_NEED) assert_int_equal(order_need(o, needs[i][k], NULL), PGY_OK);
    }
}

static void expect_settled(const order *o, const size_t *wanted)
{
    for (size_t i = 0; i < o->count; i++) assert_int_equal(o->settled[i], wanted[i]);
}

static void test_order__valid_order_stays(void **state)
{
    (void)state;
    static const size_t NEEDS[][2] = {
        {NO_NEED, NO_NEED}, {NO_NEED, NO_NEED}, {0, NO_NEED}, {2, 1}, {1, NO_NEED}};
    static const size_t WANTED[] = {0, 1, 2, 3, 4}, BY_LEVEL[] = {0, 1, 2, 4, 3};
    static const size_t LEVELS[] = {0, 0, 1, 2, 1};
    order o;
    fill(&o, NEEDS, 5);
    assert_int_equal(order_settle(&o, NULL), PGY_OK);
    expect_settled(&o, WANTED);
    for (size_t i = 0; i < 5; i++) assert_int_equal(o.level[i], LEVELS[i]);
    assert_int_equal(order_by_level(&o, NULL), PGY_OK);
    expect_settled(&o, BY_LEVEL);
    order_deinit(&o);
}

static void test_order__needs_move_forward(void **state)
{
    (void)state;
    static const size_t NEEDS[][2] = {
        {3, 1}, {3, NO_NEED}, {NO_NEED, NO_NEED}, {4, NO_NEED}, {NO_NEED, NO_NEED}};
    static const size_t WANTED[] = {4, 3, 1, 0, 2};
    order o;
    fill(&o, NEEDS, 5);
    assert_int_equal(order_settle(&o, NULL), PGY_OK);
    expect_settled(&o, WANTED);
    order_deinit(&o);
}

static void test_order__cycle_is_named(void **state)
{
    (void)state;
    /* 0 needs 1, 1 needs 3, 3 needs 2, 2 needs 1: each of 1, 2, 3 is needed by the next. */
    static const size_t NEEDS[][2] = {{1, NO_NEED}, {3, NO_NEED}, {1, NO_NEED}, {2, NO_NEED}};
    static const size_t WANTED[] = {1, 2, 3};
    order o;
    fill(&o, NEEDS, 4);
    assert_int_equal(order_settle(&o, NULL), PGY_E_FORMAT);
    assert_int_equal(o.cycle_length, 3);
    for (size_t i = 0; i < 3; i++) assert_int_equal(o.cycle[i], WANTED[i]);
    order_deinit(&o);
}

typedef struct closing {
    size_t items[4], needs[4], count;
} closing;

static void note_closing(size_t item, size_t need, void *user)
{
    closing *c = user;
    assert_true(c->count < 4);
    c->items[c->count] = item;
    c->needs[c->count++] = need;
}

static void test_order__walk_goes_on_behind_cycles(void **state)
{
    (void)state;
    /* Two cycles: item 0 needs itself; 1 and 2 need each other. */
    static const size_t NEEDS[][2] = {{0, NO_NEED}, {2, NO_NEED}, {1, 3}, {NO_NEED, NO_NEED}};
    static const size_t WANTED[] = {0, 3, 2, 1};
    closing found = {0};
    order o;
    fill(&o, NEEDS, 4);
    o.on_cycle = note_closing;
    o.user = &found;
    assert_int_equal(order_settle(&o, NULL), PGY_OK);
    expect_settled(&o, WANTED);
    assert_int_equal(found.count, 2);
    assert_int_equal(found.items[0], 0);
    assert_int_equal(found.needs[0], 0);
    assert_int_equal(found.items[1], 2);
    assert_int_equal(found.needs[1], 1);
    order_deinit(&o);
}

/* The walk keeps its own stack. */
static void test_order__long_chain(void **state)
{
    (void)state;
    enum { COUNT = 1000000 };
    order o;
    assert_int_equal(order_init(&o, COUNT, NULL), PGY_OK);
    for (size_t i = 0; i < COUNT; i++) {
        order_open(&o, i);
        if (i + 1 < COUNT) assert_int_equal(order_need(&o, i + 1, NULL), PGY_OK);
    }
    assert_int_equal(order_settle(&o, NULL), PGY_OK);
    assert_int_equal(o.settled[0], COUNT - 1);
    assert_int_equal(o.level[0], COUNT - 1);
    order_deinit(&o);
}
