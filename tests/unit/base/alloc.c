/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"

static void test_alloc__size_zero_gives_a_pointer(void **state)
{
    (void)state;
    void *a = mem_alloc(0), *b = mem_calloc(0, 8), *c = mem_realloc(NULL, 0);
    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(c);
    mem_free(a);
    mem_free(b);
    mem_free(c);
    mem_free(NULL);
}

static void test_alloc__overflow_is_refused(void **state)
{
    (void)state;
    assert_null(mem_calloc(SIZE_MAX / 2, 3));
    assert_null(mem_realloc_array(NULL, SIZE_MAX / 2, 3));
    assert_null(mem_strndup("", SIZE_MAX));
    size_t size = 7;
    assert_false(size_mul(&size, SIZE_MAX / 2 + 1, 2));
    assert_false(size_add(&size, SIZE_MAX, 1));
    assert_int_equal(size, 7);
    assert_true(size_mul(&size, 6, 7));
    assert_int_equal(size, 42);
    assert_true(size_add(&size, SIZE_MAX, 0));
    assert_true(size == SIZE_MAX);
    int64_t i = 7;
    assert_false(i64_mul(&i, INT64_MIN, -1));
    assert_false(i64_add(&i, INT64_MAX, 1));
    assert_false(i64_add(&i, INT64_MIN, -1));
    assert_int_equal(i, 7);
    assert_true(i64_mul(&i, -6, 7));
    assert_int_equal(i, -42);
    assert_true(i64_add(&i, INT64_MIN, INT64_MAX));
    assert_int_equal(i, -1);
}

static void test_alloc__hostile_size_is_null(void **state)
{
    (void)state;
    assert_null(mem_alloc(SIZE_MAX / 4));
    assert_null(mem_alloc_aligned(64, SIZE_MAX / 4));
}

static void test_alloc__calloc_is_zeroed(void **state)
{
    (void)state;
    unsigned char *p = mem_calloc(100, 10);
    for (int i = 0; i < 1000; i++) assert_int_equal(p[i], 0);
    mem_free(p);
}

/* The last page stays as it was, and so do contents. */
static void test_alloc__pages_get_ready_for_writing(void **state)
{
    enum { SIZE = 1 << 20, PAGE = 4096 };
    unsigned char resident[3] = {0};
    char *p = mem_alloc_block(SIZE);
    (void)state;
    assert_non_null(p);
    p[PAGE] = 5;
    mem_ready(p + PAGE, PAGE + 1);
    mem_ready(p, 0);
    assert_int_equal(p[PAGE], 5);
    const bool is_read = mincore(p + PAGE, 3 * PAGE, resident) == 0;
#ifdef MADV_POPULATE_WRITE
    if (is_read && madvise(p, PAGE, MADV_POPULATE_WRITE) == 0) assert_int_equal(resident[1] & 1, 1);
#endif
    if (is_read) assert_int_equal(resident[2] & 1, 0);
    mem_free_block(p, SIZE);
}

static void test_alloc__aligned(void **state)
{
    (void)state;
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        void *p = mem_alloc_aligned(alignment, 3);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % alignment, 0);
        mem_free(p);
    }
}

/* Small blocks move by a copy, large ones by their pages. */
static void test_alloc__aligned_blocks_grow(void **state)
{
    (void)state;
    for (size_t alignment = 16; alignment <= 4096; alignment *= 4) {
        unsigned char *p = mem_realloc_aligned(NULL, alignment, 1);
        assert_non_null(p);
        p[0] = 1;
        for (size_t size = 2; size <= (size_t)1 << 23; size *= 2) {
            p = mem_realloc_aligned(p, alignment, size);
            assert_non_null(p);
            assert_int_equal((uintptr_t)p % alignment, 0);
            for (size_t i = 1; i < size / 2; i *= 2) assert_int_equal(p[i - 1], 1 + (i - 1) % 251);
            for (size_t i = size / 2; i < size; i++) p[i] = (unsigned char)(1 + i % 251);
        }
        mem_free(p);
    }
}

static void test_alloc__strings(void **state)
{
    (void)state;
    char *a = mem_strdup("abc"), *b = mem_strndup("abcdef", 2), *c = mem_strndup(NULL, 0);
    assert_string_equal(a, "abc");
    assert_string_equal(b, "ab");
    assert_string_equal(c, "");
    mem_free(a);
    mem_free(b);
    mem_free(c);
}

static void test_alloc__grow_doubles_and_keeps(void **state)
{
    (void)state;
    int *items = NULL;
    size_t capacity = 0;
    assert_true(mem_grow((void **)&items, &capacity, 1, sizeof *items));
    assert_int_equal(capacity, 8);
    for (int i = 0; i < 8; i++) items[i] = i;
    assert_true(mem_grow((void **)&items, &capacity, 9, sizeof *items));
    assert_int_equal(capacity, 16);
    assert_true(mem_grow((void **)&items, &capacity, 1000, sizeof *items));
    assert_int_equal(capacity, 1000);
    assert_int_equal(items[7], 7);
    const int *before = items;
    assert_false(mem_grow((void **)&items, &capacity, SIZE_MAX, sizeof *items));
    assert_ptr_equal(items, before);
    assert_int_equal(capacity, 1000);
    mem_free(items);
}

static void test_alloc__the_nth_fails(void **state)
{
    (void)state;
    if (!mem_fail_nth(3)) skip();
    void *a = mem_alloc(1), *b = mem_calloc(1, 1), *c = mem_strdup("x"), *d = mem_alloc(1);
    assert_non_null(a);
    assert_non_null(b);
    assert_null(c);
    assert_non_null(d);
    mem_free(a);
    mem_free(b);
    mem_free(d);
    assert_true(mem_fail_nth(1));
    assert_null(mem_alloc_aligned(64, 64));
    assert_true(mem_fail_nth(1));
    assert_true(mem_fail_nth(0));
    a = mem_realloc(NULL, 5);
    assert_non_null(a);
    mem_free(a);
}
