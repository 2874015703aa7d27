/* SPDX-License-Identifier: Apache-2.0 */
/* Operators from outside: what they may do, and what becomes of those that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <polygraphy/operator.h>

#include "ops/op.h"

static void load(const char *file)
{
    static bool loaded;
    pgy_error err = {0};
    if (loaded) return;
    loaded = true;
    assert_int_equal(pgy_operators_load(file, &err), PGY_OK);
}

/* Runs an operator of domain `broken` on a float32 tensor of shape [3]. */
static pgy_status run(const char *name, pgy_error *err)
{
    load(TEST_BINARY_DIR "/operators/broken.so");
    const op_def *def = op_find("broken", name, 1);
    assert_non_null(def);
    const op_node node = {.def = def, .name = "n", .opset = 1, .input_count = 1, .output_count = 1};
    const bool wanted = true;
    const int64_t shape[1] = {3};
    op_tensor in = {.dtype = PGY_F32}, out = {0};
    assert_int_equal(pgy_tensor_create(&in.value, PGY_F64, 1, shape, NULL), PGY_OK);
    const op_host host = {0};
    const pgy_status st = op_run(&node, &in, &out, &wanted, &host, err);
    op_tensor_release(&in);
    op_tensor_release(&out);
    return st;
}

static void test_plugin__another_shape_than_inferred_is_an_error(void **state)
{
    (void)state;
    pgy_error err = {0};
    assert_int_equal(run("Liar", &err), PGY_E_SHAPE);
    assert_non_null(strstr(err.text, "Liar 'n': the operator computes output 0 in another shape"));
}

static void test_plugin__text_of_the_operator_names_the_node(void **state)
{
    (void)state;
    pgy_error err = {0};
    assert_int_equal(run("Refuses", &err), PGY_E_BACKEND);
    assert_string_equal(err.text, "Refuses 'n': not today");
}

static void test_plugin__negative_sizes_are_refused(void **state)
{
    (void)state;
    pgy_error err = {0};
    assert_int_not_equal(run("Shrinks", &err), PGY_OK);
    assert_non_null(strstr(err.text, "Shrinks 'n'"));
}

static void test_plugin__version_before_the_first_is_unknown(void **state)
{
    (void)state;
    load(TEST_BINARY_DIR "/operators/broken.so");
    assert_null(op_find("broken", "Liar", 0));
    assert_null(op_find("elsewhere", "Liar", 1));
    assert_non_null(op_find("broken", "Liar", 9));
}

static void test_plugin__a_library_without_the_symbol_is_refused(void **state)
{
    (void)state;
    pgy_error err = {0};
    assert_int_not_equal(pgy_operators_load("libm.so.6", &err), PGY_OK);
    assert_non_null(strstr(err.text, "library of operators 'libm.so.6'"));
    assert_non_null(strstr(err.text, PGY_OPERATOR_SYMBOL));
}
