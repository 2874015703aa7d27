/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fold_text.h"

static pgy_gs_graph *with_constant(const pgy_gs_attr *attrs, size_t count)
{
    pgy_gs_graph *g = text_graph();
    pgy_gs_node *n = text_node(g, "Constant", "k", "", "c");
    for (size_t i = 0; i < count; i++) text_attr(n, attrs[i]);
    text_node(g, "Add", "add", "x c", "o");
    text_io(g, "x", "o");
    return g;
}

static void check(pgy_gs_attr a, const char *wanted)
{
    pgy_gs_graph *g = with_constant(&a, 1);
    fold(g);
    assert_value(g, "c", wanted);
    assert_node(g, "k", "Constant( -> )");
    pgy_gs_destroy(g);
}

static void test_fold_lower__numbers_have_the_types_of_onnx(void **state)
{
    (void)state;
    static const float floats[] = {1.5f, -2};
    static const int64_t ints[] = {3, 4};
    check(pgy_gs_attr_float("value_float", 1.5f), "float32 (): 1.5");
    check(pgy_gs_attr_floats("value_floats", floats, 2), "float32 (2): 1.5 -2");
    check(pgy_gs_attr_floats("value_floats", floats, 0), "float32 (0):");
    check(pgy_gs_attr_int("value_int", 3), "int64 (): 3");
    check(pgy_gs_attr_ints("value_ints", ints, 2), "int64 (2): 3 4");
}

static void test_fold_lower__tensors_are_shared(void **state)
{
    (void)state;
    static const int64_t shape[] = {2};
    pgy_tensor *values = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_tensor_create(&values, PGY_F32, 1, shape, &err), PGY_OK);
    ((float *)pgy_tensor_data(values))[1] = 7;
    const pgy_gs_attr a = pgy_gs_attr_tensor("value", values);
    pgy_gs_graph *g = with_constant(&a, 1);
    pgy_tensor_release(values);
    const pgy_onnx_tensor *record = pgy_gs_find_attr(pgy_gs_find_node(g, "k"), "value")->value->t;
    fold(g);
    assert_value(g, "c", "float32 (2): 0 7");
    assert_ptr_equal(pgy_gs_find_tensor(g, "c")->stored, record);
    pgy_gs_destroy(g);
}

static void test_fold_lower__texts(void **state)
{
    (void)state;
    static const char *const words[] = {"ab", "c"};
    const pgy_gs_attr list = pgy_gs_attr_texts("value_strings", words, 2);
    pgy_gs_graph *g = with_constant(&list, 1);
    pgy_tensor *values = NULL;
    pgy_error err = {0};
    fold(g);
    pgy_gs_tensor *c = pgy_gs_find_tensor(g, "c");
    assert_int_equal(c->dtype, PGY_STRING);
    assert_int_equal(pgy_gs_values(&values, c, &err), PGY_OK);
    const pgy_string *items = pgy_tensor_data(values);
    assert_int_equal(pgy_tensor_count(values), 2);
    assert_memory_equal(items[0].data, "ab", 2);
    assert_memory_equal(items[1].data, "c", 1);
    pgy_tensor_release(values);
    pgy_gs_destroy(g);
}

static void test_fold_lower__malformed_ones_stay_with_a_warning(void **state)
{
    (void)state;
    const pgy_gs_attr two[] = {pgy_gs_attr_int("value_int", 1),
                               pgy_gs_attr_float("value_float", 1)};
    const pgy_gs_attr wrong = pgy_gs_attr_int("value_float", 1);
    static text_log log;
    for (size_t i = 0; i < 3; i++) {
        pgy_gs_graph *g = i == 0 ? with_constant(two, 2) : with_constant(&wrong, i == 1);
        pgy_gs_fold_options o = pgy_gs_fold_options_default();
        o.partitioning = PGY_GS_PARTITION_RECURSIVE;
        text_log_open(&log);
        fold_with(g, o);
        assert_non_null(strstr(str_text(&log.text), "node 'k' (Constant)"));
        text_log_close(&log);
        assert_variable(g, "c");
        assert_node(g, "k", "Constant( -> c)");
        pgy_gs_destroy(g);
    }
}

static void test_fold_lower__values_of_a_call_stay(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph(), *f = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_gs_function(&f, g, "F", NULL, &err), PGY_OK);
    assert_int_equal(pgy_gs_add_parameter(f, "v", NULL, &err), PGY_OK);
    text_attr(text_node(f, "Constant", "k", "", "c"),
              pgy_gs_attr_ref("value_float", "v", PGY_ATTR_FLOAT));
    text_node(f, "Add", "add", "x c", "y");
    text_io(f, "x", "y");
    fold(g);
    assert_node(f, "k", "Constant( -> c)");
    assert_variable(f, "c");
    pgy_gs_destroy(g);
}
