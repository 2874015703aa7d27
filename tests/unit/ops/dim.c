/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic dimensions: canonical form, exactness, order, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ops/dim.h"

static dim_table table;

static int group_setup(void **state)
{
    (void)state;
    table = (dim_table){0};
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    dim_table_deinit(&table);
    return 0;
}

static dim sym(const char *name)
{
    return dim_symbol(&table, name);
}

static dim num(int64_t v)
{
    return dim_const(v);
}

static void expect(dim d, const char *text)
{
    str s = {0};
    dim_print(&s, d);
    assert_string_equal(str_text(&s), text);
    str_deinit(&s);
}

static void test_dim__equal_sums_are_one_pointer(void **state)
{
    (void)state;
    const dim n = sym("N");
    const dim a = dim_add(&table, dim_mul(&table, n, num(2)), num(1));
    const dim b = dim_add(&table, dim_add(&table, num(1), n), n);
    assert_true(dim_equal(a, b));
    assert_ptr_equal(a.expr, b.expr);
    expect(a, "2*N + 1");
    expect(dim_sub(&table, a, b), "0");
    assert_true(dim_is_const(dim_sub(&table, a, b)));
}

static void test_dim__products_expand(void **state)
{
    (void)state;
    const dim n = sym("N"), s = sym("S");
    expect(dim_mul(&table, dim_add(&table, n, num(1)), dim_sub(&table, n, num(1))), "N*N - 1");
    expect(dim_mul(&table, dim_mul(&table, s, n), num(64)), "64*N*S");
    expect(dim_mul(&table, n, num(0)), "0");
    expect(dim_neg(&table, dim_add(&table, n, num(3))), "-N - 3");
}

static void test_dim__exact_division(void **state)
{
    (void)state;
    const dim n = sym("N"), s = sym("S");
    const dim all = dim_mul(&table, dim_mul(&table, n, s), num(768));
    expect(dim_div_floor(&table, all, dim_mul(&table, n, num(64))), "12*S");
    expect(dim_div_floor(&table, all, dim_mul(&table, s, n)), "768");
    const dim sum = dim_add(&table, s, num(1));
    expect(dim_div_floor(&table, dim_mul(&table, sum, dim_add(&table, n, num(2))), sum), "N + 2");
    expect(dim_div_floor(&table, dim_add(&table, dim_mul(&table, n, num(6)), num(4)), num(2)),
           "3*N + 2");
    expect(dim_div_floor(&table, num(0), n), "0");
}

static void test_dim__floors_are_canonical(void **state)
{
    (void)state;
    const dim h = sym("H");
    const dim once =
        dim_add(&table, dim_div_floor(&table, dim_sub(&table, h, num(1)), num(2)), num(1));
    expect(once, "floor((H + 1)/2)");
    const dim twice =
        dim_add(&table, dim_div_floor(&table, dim_sub(&table, once, num(1)), num(2)), num(1));
    expect(twice, "floor((H + 3)/4)");
    expect(dim_div_floor(&table, dim_add(&table, dim_mul(&table, h, num(4)), num(3)), num(8)),
           "floor(H/2)");
    expect(dim_div_floor(&table, dim_add(&table, dim_mul(&table, h, num(5)), num(7)), num(2)),
           "2*H + floor((H + 1)/2) + 3");
    expect(dim_div_ceil(&table, h, num(2)), "floor((H + 1)/2)");
    expect(dim_div_floor(&table, num(-7), num(2)), "-4");
    expect(dim_div_ceil(&table, num(-7), num(2)), "-3");
    expect(dim_mod(&table, num(-7), num(3)), "2");
    expect(dim_mod(&table, dim_mul(&table, h, num(6)), num(3)), "0");
}

static void test_dim__division_by_zero_is_unknown(void **state)
{
    (void)state;
    const dim d = dim_div_floor(&table, sym("N"), num(0));
    assert_true(dim_is_unknown(d));
    assert_string_equal(dim_why(d), "division by zero");
    assert_true(dim_is_unknown(dim_mod(&table, num(5), num(0))));
}

static void test_dim__overflow_is_unknown(void **state)
{
    (void)state;
    assert_true(dim_is_unknown(dim_mul(&table, num(INT64_MAX), num(2))));
    assert_true(dim_is_unknown(dim_add(&table, num(INT64_MAX), num(1))));
    assert_true(dim_is_unknown(dim_neg(&table, num(INT64_MIN))));
    assert_true(dim_is_unknown(dim_div_floor(&table, num(INT64_MIN), num(-1))));
    assert_true(dim_is_unknown(dim_mul(&table, dim_mul(&table, sym("N"), num(INT64_MAX)), num(3))));
    const dim low = dim_add(&table, sym("N"), num(INT64_MIN));
    expect(dim_div_floor(&table, low, num(3)), "floor((N + 1)/3) - 3074457345618258603");
}

static void test_dim__growth_ends_in_unknown(void **state)
{
    (void)state;
    dim sum = num(0), product = num(1);
    char name[8] = "s00";
    for (int i = 0; i < 40; i++) {
        name[1] = (char)('0' + i / 10);
        name[2] = (char)('0' + i % 10);
        sum = dim_add(&table, sum, sym(name));
        product = dim_mul(&table, product, dim_add(&table, sym(name), num(1)));
    }
    str text = {0};
    dim_print(&text, sum);
    dim_print(&text, product);
    assert_true(text.size < 2000);
    str_deinit(&text);
    dim nested = sym("N");
    for (int i = 0; i < 40; i++)
        nested = dim_min(&table, dim_mul(&table, nested, sym("M")), sym("K"));
    dim_print(&text, nested);
    assert_true(text.size < 2000);
    str_deinit(&text);
}

static void test_dim__unknowns_are_all_different(void **state)
{
    (void)state;
    const dim a = dim_unknown(&table, "first"), b = dim_unknown(&table, NULL);
    assert_false(dim_equal(a, b));
    assert_true(dim_equal(a, a));
    assert_false(dim_differ(a, b));
    assert_string_equal(dim_why(a), "first");
    assert_null(dim_why(b));
    assert_null(dim_why(sym("N")));
    expect(dim_sub(&table, a, a), "0");
}

static void test_dim__order(void **state)
{
    (void)state;
    const dim n = sym("N"), m = sym("M"), u = dim_unknown(&table, NULL);
    assert_true(dim_differ(n, dim_add(&table, n, num(1))));
    assert_true(dim_differ(dim_add(&table, n, num(2)), num(1)));
    assert_false(dim_differ(n, num(1)));
    assert_true(dim_differ(n, num(-1)));
    assert_false(dim_differ(u, num(-1)));
    assert_true(dim_is_positive(dim_add(&table, n, num(1))));
    assert_false(dim_is_positive(n));
    assert_false(dim_is_positive(dim_add(&table, u, num(1))));
    expect(dim_max(&table, dim_add(&table, n, num(2)), n), "N + 2");
    expect(dim_min(&table, dim_add(&table, n, num(2)), n), "N");
    expect(dim_max(&table, num(3), num(-3)), "3");
    assert_true(dim_equal(dim_min(&table, n, m), dim_min(&table, m, n)));
    expect(dim_min(&table, n, num(5)), "Min(5, N)");
    assert_true(dim_is_positive(dim_max(&table, num(1), u)));
}

static void test_dim__capped(void **state)
{
    (void)state;
    const dim n = sym("N");
    assert_true(dim_is_capped(dim_min(&table, n, num(512)), n));
    assert_true(dim_is_capped(dim_min(&table, num(1), n), n));
    assert_false(dim_is_capped(dim_min(&table, num(0), n), n));
    assert_false(dim_is_capped(dim_min(&table, n, sym("M")), n)); /* M may be 0 */
    assert_false(dim_is_capped(dim_max(&table, n, num(512)), n));
    assert_false(dim_is_capped(n, n));
}

static void test_dim__knows_what_holds_an_unknown(void **state)
{
    (void)state;
    const dim u = dim_unknown(&table, NULL), n = sym("N");
    assert_true(dim_has_unknown(u));
    assert_true(dim_has_unknown(dim_div_floor(&table, dim_add(&table, u, n), num(3))));
    assert_true(dim_has_unknown(dim_min(&table, n, dim_mul(&table, u, n))));
    assert_false(dim_has_unknown(dim_div_floor(&table, n, num(3))));
    assert_false(dim_has_unknown(num(3)));
}

static void test_dim__upper_limits(void **state)
{
    (void)state;
    int64_t most = -1;
    const dim n = sym("N"), u = dim_unknown_upto(&table, NULL, num(10)),
              w = dim_unknown_upto(&table, NULL, dim_add(&table, u, num(2)));
    assert_false(dim_upper(&most, n));
    assert_false(dim_upper(&most, dim_unknown(&table, NULL)));
    assert_false(dim_upper(&most, dim_unknown_upto(&table, NULL, n)));
    assert_false(dim_upper(&most, dim_add(&table, u, n)));
    assert_true(dim_upper(&most, num(7)) && most == 7);
    assert_true(dim_upper(&most, u) && most == 10);
    assert_true(dim_upper(&most, w) && most == 12);
    assert_true(dim_upper(&most, dim_sub(&table, dim_mul(&table, u, num(3)), w)) && most == 30);
    assert_true(dim_upper(&most, dim_mul(&table, u, w)) && most == 120);
    assert_true(dim_upper(&most, dim_div_floor(&table, w, num(5))) && most == 2);
    assert_true(dim_upper(&most, dim_min(&table, n, num(4))) && most == 4);
    assert_true(dim_upper(&most, dim_max(&table, w, num(40))) && most == 40);
    assert_false(dim_upper(&most, dim_max(&table, n, num(4))));
    assert_true(dim_upper(&most, dim_sub(&table, num(5), n)) && most == 5);
    assert_true(dim_upper(&most, num(-3)) && most == 0);
}

static void test_dim__unknowns_cost_nothing_where_only_numbers_matter(void **state)
{
    (void)state;
    dim_table t = {.numbers_only = true};
    const dim a = dim_unknown_upto(&t, "why", num(5)), b = dim_unknown(&t, "why");
    assert_true(dim_is_unknown(a) && dim_is_unknown(b));
    assert_false(dim_equal(a, b) || dim_equal(a, a));
    assert_true(dim_is_unknown(dim_sub(&t, a, a)));
    assert_true(dim_is_unknown(dim_mul(&t, a, num(3))));
    assert_int_equal(dim_add(&t, num(3), num(4)).value, 7);
    assert_int_equal(t.terms.count, 0);
    assert_false(t.failed);
    dim_table_deinit(&t);
}

static void test_dim__numbers_do_not_touch_the_table(void **state)
{
    (void)state;
    dim_table t = {0};
    const dim a = dim_const(7), b = dim_const(-2);
    assert_int_equal(dim_add(&t, a, b).value, 5);
    assert_int_equal(dim_sub(&t, a, b).value, 9);
    assert_int_equal(dim_mul(&t, a, b).value, -14);
    assert_int_equal(dim_div_floor(&t, a, b).value, -4);
    assert_int_equal(dim_div_ceil(&t, a, b).value, -3);
    assert_int_equal(dim_mod(&t, a, b).value, -1);
    assert_int_equal(dim_min(&t, a, b).value, -2);
    assert_int_equal(dim_max(&t, a, b).value, 7);
    assert_int_equal(dim_neg(&t, a).value, -7);
    assert_int_equal(t.terms.count, 0);
    assert_true(dim_is_unknown(dim_add(&t, dim_const(INT64_MAX), a)));
    dim_table_deinit(&t);
}
