/* SPDX-License-Identifier: Apache-2.0 */
/* A product by the transposed matrix of a large weight that another node reads, too, as by an
 * embedding's table: it reads the weight itself, which is then stored once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/passes/pass.h"
#include "harness/pass_case.h"

/* Rows of a table of 5000 x `columns` numbers, which i chooses; t is the transposed table. */
static model_builder start_table(int64_t columns)
{
    const int64_t shape[] = {5000, columns};
    model_builder b = builder_start(18);
    pgy_tensor *table = NULL;
    builder_input(&b, "s", PGY_F32, "3");
    builder_attr_int(&b, builder_node(&b, "Cast", "s", "i"), "to", 7);
    assert_int_equal(pgy_tensor_create(&table, PGY_F32, 2, shape, NULL), PGY_OK);
    for (size_t k = 0; k < pgy_tensor_count(table); k++)
        ((float *)pgy_tensor_data(table))[k] = (float)(k * 7919 % 65521) / 65521 - 0.5f;
    builder_initializer(&b, "table", table);
    pgy_tensor_release(table);
    builder_node(&b, "Transpose", "table", "t");
    return b;
}

static void test_tied_weights__a_product_reads_the_table(void **state)
{
    (void)state;
    model_builder b = start_table(64);
    builder_node(&b, "Gather", "table i", "g");
    builder_node(&b, "MatMul", "g t", "y");
    expect_y(&b, "Cast Gather FusedMatMul");
    b = start_table(64);
    builder_node(&b, "Gather", "table i", "g");
    builder_node(&b, "Gemm", "g t", "y");
    expect_y(&b, "Cast Gather FusedMatMul");
}

static void test_tied_weights__a_weight_of_its_own_stays_transposed(void **state)
{
    (void)state;
    model_builder b = start_table(64);
    builder_input(&b, "x", PGY_F32, "2, 64");
    builder_node(&b, "MatMul", "x t", "p");
    builder_attr_int(&b, builder_node(&b, "Gather", "p i", "y"), "axis", 1);
    expect_y(&b, "Cast MatMul Gather");
}

static void test_tied_weights__a_small_table_is_transposed(void **state)
{
    (void)state;
    model_builder b = start_table(16);
    builder_node(&b, "Gather", "table i", "g");
    builder_node(&b, "MatMul", "g t", "y");
    expect_y(&b, "Cast Gather MatMul");
}
