/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one byte in several steps become one table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/quantized_case.h"

static void run_product(const char *op, const char *operands, pgy_dtype dtype)
{
    model_builder b = start_quantised("3, 40", dtype);
    builder_node(&b, "Sigmoid", "xd", "s");
    quantise(&b, "s", "t", 0.0039f, dtype, dtype == PGY_U8 ? 0 : -128);
    builder_node(&b, op, operands, "v");
    end_quantised(&b, "v", 0.0123f, dtype, 7);
    expect_y(&b, "QuantizeLinear Lookup DequantizeLinear");
}

static void test_fuse_lookups__a_byte_times_its_table(void **state)
{
    (void)state;
    run_product("Mul", "xd td", PGY_U8);
    run_product("Mul", "td xd", PGY_I8);
    run_product("Add", "xd td", PGY_I8);
}

/* Gelu by its definition, each step in bytes. */
static void test_fuse_lookups__gelu_in_steps_is_one_table(void **state)
{
    (void)state;
    model_builder b = start_quantised("3, 40", PGY_U8);
    grid(&b, "c1s", 0.00787f, "c1z", PGY_U8, 0);
    bytes(&b, "c1", PGY_U8, 0, NULL, 127, 0);
    builder_node(&b, "DequantizeLinear", "c1 c1s c1z", "c1d");
    grid(&b, "c2s", 0.00393f, "c2z", PGY_U8, 0);
    bytes(&b, "c2", PGY_U8, 1, (const int64_t[]){1}, 127, 0);
    builder_node(&b, "DequantizeLinear", "c2 c2s c2z", "c2d");
    builder_node(&b, "Erf", "xd", "e");
    quantise(&b, "e", "p", 0.0079f, PGY_U8, 127);
    builder_node(&b, "Add", "pd c1d", "f");
    quantise(&b, "f", "q", 0.0081f, PGY_U8, 0);
    builder_node(&b, "Mul", "xd qd", "g");
    quantise(&b, "g", "r", 0.0123f, PGY_U8, 17);
    builder_node(&b, "Mul", "c2d rd", "h");
    end_quantised(&b, "h", 0.0067f, PGY_U8, 20);
    expect_y(&b, "QuantizeLinear Lookup DequantizeLinear");
}

/* A constant that the model quantises is one, too. */
static void test_fuse_lookups__a_quantised_constant(void **state)
{
    (void)state;
    model_builder b = start_quantised("3, 40", PGY_U8);
    scalar(&b, "one", 0.9f);
    quantise(&b, "one", "c", 0.0078f, PGY_U8, 3);
    builder_node(&b, "Erf", "xd", "e");
    quantise(&b, "e", "p", 0.0079f, PGY_U8, 127);
    builder_node(&b, "Add", "pd cd", "s");
    end_quantised(&b, "s", 0.0223f, PGY_U8, 100);
    expect_y(&b, "QuantizeLinear Lookup DequantizeLinear");
}

/* A sum with a number for each column depends on more than a byte. */
static void test_fuse_lookups__constants_of_columns_stay(void **state)
{
    (void)state;
    model_builder b = start_quantised("3, 40", PGY_U8);
    grid(&b, "cs", 0.0078f, "cz", PGY_U8, 0);
    bytes(&b, "c", PGY_U8, 1, (const int64_t[]){40}, 0, 3);
    builder_node(&b, "DequantizeLinear", "c cs cz", "cd");
    builder_node(&b, "Add", "xd cd", "s");
    end_quantised(&b, "s", 0.0223f, PGY_U8, 100);
    expect_y(&b, "QuantizeLinear QLinearAdd DequantizeLinear");
}

/* A factor that only scales the grid changes no byte; one that does not makes a table. */
static void test_fuse_lookups__a_table_that_changes_nothing(void **state)
{
    static const float FACTORS[] = {0.125f, 0.2f};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        model_builder b = start_quantised("3, 40", PGY_I8);
        scalar(&b, "factor", FACTORS[i]);
        quantise(&b, "factor", "c", FACTORS[i] / 255, PGY_I8, -128);
        builder_node(&b, "Mul", "xd cd", "s");
        end_quantised(&b, "s", 0.017f * 0.125f, PGY_I8, -3);
        expect_y(&b,
                 i ? "QuantizeLinear Lookup DequantizeLinear" : "QuantizeLinear DequantizeLinear");
    }
}

static void test_fuse_lookups__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_fuse_lookups)) skip();
    test_fuse_lookups__gelu_in_steps_is_one_table(state);
    test_fuse_lookups__a_table_that_changes_nothing(state);
    refuse_allocations_of(NULL);
}
