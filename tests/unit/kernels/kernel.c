/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel table's arithmetic on layouts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <polygraphy/operator.h>

#include "kernels/extent.h"

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

static bool is_listed(const kernel *k, const char *domain, const char *op)
{
    const kernel *found;
    for (size_t i = 0; (found = kernel_for(domain, op, i)); i++)
        if (found == k) return true;
    return false;
}

static void test_kernel__every_one_is_found_by_its_operators_and_its_name(void **state)
{
    (void)state;
    const kernel *k;
    for (size_t i = 0; (k = kernel_at(i)); i++) {
        char words[4096], *rest = words;
        assert_true(strlen(k->ops) < sizeof words);
        strcpy(words, k->ops);
        for (char *word; (word = strtok_r(rest, " ", &rest));) {
            char *colon = strchr(word, ':');
            if (colon) *colon = 0;
            if (!is_listed(k, colon ? word : "", colon ? colon + 1 : word))
                fail_msg("%s is not found by operator '%s'", k->name, colon ? colon + 1 : word);
        }
        assert_ptr_equal(kernel_find(k->name, k->version), k);
        assert_null(kernel_find(k->name, (uint16_t)(k->version + 1)));
    }
}

/* Ties go to the first kernel, so the order is part of the choice. */
static void test_kernel__those_of_an_operator_come_in_the_order_of_all(void **state)
{
    (void)state;
    size_t found = 0;
    for (size_t i = 0; kernel_at(i); i++)
        if (kernel_at(i) == kernel_for("", "MatMul", found)) found++;
    assert_true(found > 1);
    assert_null(kernel_for("", "MatMul", found));
}

static const kernel *outside_tactic(const char *name)
{
    for (size_t i = 0; kernel_at(i); i++)
        if (strcmp(kernel_at(i)->name, name) == 0) return kernel_at(i);
    return NULL;
}

static void test_kernel__tactics_from_outside_state_their_extent(void **state)
{
    (void)state;
    _Alignas(64) uint64_t params[9] = {8, (uint64_t)1 << 32 | 1, [8] = 25};
    const kernel_claim claim = {.params = params,
                                .params_bytes = sizeof params,
                                .present = 3,
                                .input_count = 1,
                                .output_count = 1};
    kernel_extent e;
    assert_int_equal(pgy_operators_load(TEST_BINARY_DIR "/operators/counted.so", NULL), PGY_OK);
    const kernel *k = outside_tactic("test:Count/counted");
    assert_non_null(k);
    assert_true(kernel_extent_of(&e, k, &claim));
    assert_int_equal(e.tensors[0], 100);
    assert_int_equal(e.tensors[1], 100);
    assert_int_equal(e.workspace, 64);
    params[8] = 100;
    assert_false(kernel_extent_of(&e, k, &claim));
    assert_string_equal(e.why, "the plug-in refuses them");
    params[0] = 9;
    assert_false(kernel_extent_of(&e, k, &claim));
    assert_string_equal(e.why, "size of the parameters");
    params[0] = 8;
    k = outside_tactic("test:Count/older");
    assert_non_null(k);
    assert_true(kernel_extent_of(&e, k, &claim));
}

/* Parameters in plans are proved by nothing else. */
static void test_kernel__all_state_what_they_touch(void **state)
{
    (void)state;
    const kernel *k;
    size_t count = 0;
    for (; (k = kernel_at(count)); count++)
        if (!k->accept || !k->prepare || !k->extent || !k->run == !k->enqueue)
            fail_msg("%s lacks a function", k->name);
    assert_true(count > 50);
}

static void test_kernel__all_refuse_parameters_of_another_size(void **state)
{
    (void)state;
    static const _Alignas(64) unsigned char params[1];
    const kernel *k;
    for (size_t i = 0; (k = kernel_at(i)); i++)
        for (size_t bytes = 0; bytes < 2; bytes++) {
            kernel_extent e;
            const kernel_claim claim = {.self = k, .params = params, .params_bytes = bytes};
            if (kernel_extent_of(&e, k, &claim)) fail_msg("%s takes %zu bytes", k->name, bytes);
        }
}

static void test_kernel__sizes_that_overflow_stay_too_much(void **state)
{
    (void)state;
    const uint64_t sizes[] = {3, 1, 4}, strides[] = {8, UINT64_MAX, 2}, none[] = {3, 0, 4};
    assert_true(extent_mul(1ull << 32, 1ull << 31) == 1ull << 63);
    assert_true(extent_mul(1ull << 32, 1ull << 32) == EXTENT_TOO_MUCH);
    assert_true(extent_mul(EXTENT_TOO_MUCH, 0) == EXTENT_TOO_MUCH);
    assert_true(extent_add(EXTENT_TOO_MUCH - 1, 2) == EXTENT_TOO_MUCH);
    assert_true(extent_round_up(EXTENT_TOO_MUCH - 3, 64) == EXTENT_TOO_MUCH);
    assert_int_equal(extent_round_up(65, 64), 128);
    assert_true(extent_size(-1) == EXTENT_TOO_MUCH);
    assert_int_equal(extent_reach(sizes, strides, 3), 2 * 8 + 3 * 2 + 1);
    assert_int_equal(extent_reach(none, strides, 3), 0);
    assert_true(extent_reach(strides, sizes, 2) == EXTENT_TOO_MUCH);
}
