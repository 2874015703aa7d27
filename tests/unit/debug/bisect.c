/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "debug/bisect.h"

/* The number at which a search ends up, if numbers from `first` on fail (or, upward, up to it). */
static size_t found(size_t count, size_t first, bool downward, size_t *visits)
{
    bisection b = bisection_start(count, false, downward);
    size_t bad = downward ? count : 0;
    *visits = 0;
    for (bool more = true; more; ++*visits) {
        const bool passed = downward ? b.index < first : b.index > first;
        if (!passed) bad = b.index;
        more = bisection_next(&b, passed);
    }
    return bad;
}

static void test_bisect__finds_the_border(void **state)
{
    (void)state;
    for (size_t count = 2; count < 70; count++) {
        for (size_t first = 1; first < count; first++) {
            size_t visits, steps = 0;
            while (((size_t)1 << steps) < count) steps++;
            assert_int_equal(found(count, first, true, &visits), first);
            assert_true(visits <= steps);
            assert_int_equal(found(count, first, false, &visits), first);
            assert_true(visits <= steps);
        }
    }
}

static void test_bisect__linear_visits_all(void **state)
{
    (void)state;
    bisection b = bisection_start(3, true, true);
    assert_int_equal(b.index, 2);
    assert_int_equal(bisection_remaining(&b), 3);
    assert_true(bisection_next(&b, true));
    assert_int_equal(b.index, 1);
    assert_true(bisection_next(&b, false));
    assert_int_equal(b.index, 0);
    assert_int_equal(bisection_remaining(&b), 1);
    assert_false(bisection_next(&b, true));
    b = bisection_start(2, true, false);
    assert_int_equal(b.index, 0);
    assert_true(bisection_next(&b, false));
    assert_int_equal(b.index, 1);
    assert_false(bisection_next(&b, false));
}

static void test_bisect__remaining_is_the_logarithm(void **state)
{
    (void)state;
    bisection b = bisection_start(8, false, true);
    assert_int_equal(bisection_remaining(&b), 3);
    assert_int_equal(b.index, 4);
    assert_true(bisection_next(&b, false));
    assert_int_equal(bisection_remaining(&b), 2);
    b = bisection_start(5, false, false);
    assert_int_equal(bisection_remaining(&b), 3);
    assert_int_equal(b.index, 2);
}
