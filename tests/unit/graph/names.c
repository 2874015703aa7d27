/* SPDX-License-Identifier: Apache-2.0 */
/* Free names: a free one stays, a taken one gets the next free number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/names.h"

static bool is_taken(const char *name, const void *user)
{
    return strmap_has(user, name);
}

static void expect_name(const char *stem, uint64_t *next, const strmap *taken, const char *wanted)
{
    str name = {0};
    str_append(&name, stem);
    name_make_free(&name, next, is_taken, taken);
    assert_string_equal(str_text(&name), wanted);
    str_deinit(&name);
}

static void test_names__made_free(void **state)
{
    (void)state;
    static int item;
    static const char *const TAKEN[] = {"x", "x_0", "x_1", "x_3"};
    strmap taken = {0};
    uint64_t next = 0;
    for (size_t i = 0; i < 4; i++) assert_true(strmap_put(&taken, TAKEN[i], &item));
    expect_name("y", &next, &taken, "y");
    assert_int_equal(next, 0); /* a free name takes no number */
    expect_name("x", &next, &taken, "x_2");
    expect_name("x", &next, &taken, "x_4");
    assert_int_equal(next, 5);
    strmap_deinit(&taken);
}

static void test_names__numbered(void **state)
{
    (void)state;
    strmap taken = {0};
    uint64_t next = 7;
    str name = {0};
    str_append(&name, "layer");
    name_number(&name, &next, is_taken, &taken);
    assert_string_equal(str_text(&name), "layer_7");
    assert_int_equal(next, 8);
    str_deinit(&name);
}
