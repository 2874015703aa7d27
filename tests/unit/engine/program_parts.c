/* SPDX-License-Identifier: Apache-2.0 */
/* Into how many parts a step is cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/program/program.h"

enum { MANY = 60000 };

static void test_program_parts__a_step_has_work_for_its_threads(void **state)
{
    (void)state;
    const kernel k = {.name = "made up"};
    assert_int_equal(program_parts(&k, 2000, MANY, 4), 1); /* too short to share */
    assert_int_equal(program_parts(&k, 1e9, MANY, 1), 1);
    assert_int_equal(program_parts(&k, 1e9, 1, 4), 1);
    assert_int_equal(program_parts(&k, 5000, MANY, 4), 4);
    assert_int_equal(program_parts(&k, 40000, MANY, 4), 10); /* of 4 us */
    assert_int_equal(program_parts(&k, 1e9, MANY, 4), 16);
    assert_int_equal(program_parts(&k, 1e9, 7, 4), 7); /* as many as the kernel allows */
}

/* Products and attention may be cut finer, so that all threads end at nearly the same time. */
static void test_program_parts__long_steps_may_have_more(void **state)
{
    (void)state;
    const kernel k = {.name = "made up", .flags = KERNEL_SHORT_PARTS};
    assert_int_equal(program_parts(&k, 400000, MANY, 4), 16); /* of 25 us */
    assert_int_equal(program_parts(&k, 800000, MANY, 4), 32);
    assert_int_equal(program_parts(&k, 850000, MANY, 4), 32);
    assert_int_equal(program_parts(&k, 1e9, MANY, 4), 64);
    assert_int_equal(program_parts(&k, 1e9, 33, 4), 33);
    assert_int_equal(program_parts(&k, 40000, MANY, 4), 10);
}

/* The 16-bit adapter converts operands for each part, so its kernels are not cut finer. */
static void test_program_parts__adapters_of_16_bits_have_few(void **state)
{
    (void)state;
    size_t products = 0;
    const kernel *k;
    for (size_t i = 0; (k = kernel_at(i)); i++) {
        const bool wrapped = k->flags & KERNEL_WIDENS;
        products += !wrapped && k->flags & KERNEL_SHORT_PARTS;
        assert_false(wrapped && k->flags & KERNEL_SHORT_PARTS);
    }
    assert_true(products > 0);
}
