/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

static void test_named__keeps_order_and_replaces_in_place(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor_map *m = NULL, *copy = NULL;
    pgy_tensor *a = tensor_of(PGY_F32, DIMS(1), NULL), *b = tensor_of(PGY_F32, DIMS(2), NULL);
    expect_ok(pgy_tensor_map_create(&m, &err), &err);
    expect_ok(pgy_tensor_map_set(m, "z", a, &err), &err);
    expect_ok(pgy_tensor_map_set(m, "a", b, &err), &err);
    expect_ok(pgy_tensor_map_set(m, "z", b, &err), &err);
    expect_ok(pgy_tensor_map_set(m, "z", b, &err), &err);
    assert_int_equal(pgy_tensor_map_count(m), 2);
    assert_string_equal(pgy_tensor_map_name(m, 0), "z");
    assert_ptr_equal(pgy_tensor_map_at(m, 0), b);
    assert_ptr_equal(pgy_tensor_map_find(m, "a"), b);
    assert_null(pgy_tensor_map_find(m, "missing"));
    expect_ok(pgy_tensor_map_copy(&copy, m, &err), &err);
    pgy_tensor_map_destroy(m);
    pgy_tensor_release(a);
    pgy_tensor_release(b);
    assert_int_equal(pgy_tensor_count(pgy_tensor_map_at(copy, 1)), 2);
    pgy_tensor_map_clear(copy);
    assert_int_equal(pgy_tensor_map_count(copy), 0);
    expect_ok(pgy_tensor_map_adopt(copy, "again", tensor_of(PGY_I8, DIMS(1), NULL), &err), &err);
    pgy_tensor_map_destroy(copy);
    pgy_tensor_map_destroy(NULL);
}
