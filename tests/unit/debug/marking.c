/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "debug/marking.h"

/* Runs a search in which numbers from `border` on pass; returns the number of trials. */
static size_t run(marking *m, size_t most, bool linear, size_t border)
{
    size_t trials = 0;
    *m = marking_start(most, linear);
    for (bool more = true; more; trials++) {
        assert_true(m->count <= most);
        assert_true(marking_remaining(m) >= 0);
        more = marking_next(m, m->count >= border);
    }
    return trials;
}

static void test_marking__bisection_finds_the_border(void **state)
{
    (void)state;
    for (size_t most = 1; most < 70; most++) {
        size_t steps = 0;
        while (((size_t)1 << steps) < most + 1) steps++;
        for (size_t border = 1; border <= most; border++) {
            marking m;
            assert_true(run(&m, most, false, border) <= steps + 1);
            assert_true(m.passed);
            assert_int_equal(m.good, border);
        }
    }
}

static void test_marking__linear_search_finds_the_border(void **state)
{
    (void)state;
    for (size_t most = 1; most < 20; most++)
        for (size_t border = 0; border <= most; border++) {
            marking m;
            assert_int_equal(run(&m, most, true, border), border + 1);
            assert_true(m.passed);
            assert_int_equal(m.good, border);
        }
}

/* If all layers fail, bisection is over after one trial. */
static void test_marking__nothing_passes(void **state)
{
    (void)state;
    marking m;
    assert_int_equal(run(&m, 9, false, 10), 1);
    assert_false(m.passed);
    assert_int_equal(run(&m, 9, true, 10), 10);
    assert_false(m.passed);
}

/* The numbers of the original, for 10 layers of which the first 7 are needed. */
static void test_marking__order_of_the_original(void **state)
{
    (void)state;
    static const size_t ORDER[] = {10, 5, 8, 6, 7};
    static const int64_t LEFT[] = {4, 4, 3, 2, 1};
    marking m = marking_start(10, false);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(m.count, ORDER[i]);
        assert_int_equal(marking_remaining(&m), LEFT[i]);
        assert_int_equal(marking_next(&m, m.count >= 7), i < 4);
    }
    assert_int_equal(m.good, 7);
}
