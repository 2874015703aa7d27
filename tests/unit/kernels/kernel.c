/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel table's arithmetic on layouts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kernel.h"

static void test_kernel__blocked_tensors_are_padded(void **state)
{
    (void)state;
    const int64_t shape[4] = {2, 19, 3, 5};
    kernel_tensor t = {.dtype = PGY_F32, .rank = 4, .shape = shape};
    assert_int_equal(kernel_count(&t), 2 * 19 * 15);
    assert_int_equal(kernel_size_bytes(&t), 2 * 19 * 15 * 4);
    t.layout = KERNEL_BLOCKED_8;
    assert_int_equal(kernel_size_bytes(&t), 2 * 24 * 15 * 4);
    t.layout = KERNEL_BLOCKED_16;
    assert_int_equal(kernel_size_bytes(&t), 2 * 32 * 15 * 4);
    const kernel_tensor scalar = {.dtype = PGY_I4, .rank = 0};
    assert_int_equal(kernel_count(&scalar), 1);
    assert_int_equal(kernel_size_bytes(&scalar), 1);
}

static void test_kernel__unknown_ones_are_not_found(void **state)
{
    (void)state;
    assert_null(kernel_for("", "NoSuchOperator", 0));
    assert_null(kernel_for("elsewhere", "Conv", 0));
    assert_null(kernel_find("no_such_kernel", 1));
}
