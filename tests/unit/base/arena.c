/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/alloc.h"
#include "base/arena.h"

static void test_arena__aligned_zeroed_and_apart(void **state)
{
    (void)state;
    arena a = {0};
    unsigned char *previous_end = NULL;
    for (size_t size = 0; size < 3000; size += 7) {
        unsigned char *p = arena_alloc(&a, size);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < size; i++) assert_int_equal(p[i], 0);
        memset(p, 0xAB, size);
        assert_true(p != previous_end || size == 0 || p >= previous_end);
        previous_end = p + size;
    }
    assert_true(a.used_bytes >= 3000u * 3000 / 14 - 3000);
    arena_deinit(&a);
    assert_null(a.head);
    assert_int_equal(a.used_bytes, 0);
    arena_deinit(&a);
}

static void test_arena__large_block_leaves_the_small_one_in_use(void **state)
{
    (void)state;
    arena a = {0};
    char *small = arena_alloc(&a, 16);
    char *large = arena_alloc(&a, 10 << 20);
    char *next = arena_alloc(&a, 16);
    assert_non_null(large);
    assert_ptr_equal(next, small + 16);
    large[(10 << 20) - 1] = 1;
    arena_deinit(&a);
}

static void test_arena__reset_gives_zeroed_memory_again(void **state)
{
    (void)state;
    arena a = {0};
    arena_reset(&a);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 40; i++) {
            unsigned char *p = arena_alloc(&a, 700);
            assert_non_null(p);
            for (int k = 0; k < 700; k++) assert_int_equal(p[k], 0);
            memset(p, 0xff, 700);
        }
        arena_reset(&a);
        assert_int_equal(a.used_bytes, 0);
    }
    arena_deinit(&a);
}

static void test_arena__strings(void **state)
{
    (void)state;
    arena a = {0};
    assert_non_null(arena_alloc(&a, 1));
    assert_string_equal(arena_strdup(&a, "hello"), "hello");
    assert_string_equal(arena_strndup(&a, "hello", 4), "hell");
    assert_string_equal(arena_strndup(&a, NULL, 0), "");
    assert_string_equal(arena_printf(&a, "%s-%05d", "x", 42), "x-00042");
    char *wide = arena_printf(&a, "%10000d", 7);
    assert_non_null(wide);
    assert_int_equal(strlen(wide), 10000);
    arena_deinit(&a);
}

static void test_arena__refuses_overflow_and_no_memory(void **state)
{
    (void)state;
    arena a = {0};
    assert_null(arena_alloc(&a, SIZE_MAX));
    assert_null(arena_alloc(&a, SIZE_MAX - 32));
    assert_null(arena_alloc_array(&a, SIZE_MAX / 2, 3));
    assert_null(arena_strndup(&a, "x", SIZE_MAX));
    assert_int_equal(a.used_bytes, 0);
    if (mem_fail_nth(1)) assert_null(arena_alloc(&a, 8));
    int *items = arena_alloc_array(&a, 100, sizeof *items);
    assert_non_null(items);
    assert_int_equal(items[99], 0);
    arena_deinit(&a);
}
