/* SPDX-License-Identifier: Apache-2.0 */
/* Packed weights are made once and live as long as somebody needs them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/packing.h"

enum { COUNT = 24, THREADS = 4, ROUNDS = 200 };

static const int64_t SHAPE[] = {COUNT};

/* What a packing counts and does. */
typedef struct filling {
    atomic_int calls;
    atomic_int failures; /* calls that fail first */
} filling;

static bool twice(void *to, const kernel_problem *u, const void *user)
{
    filling *f = (filling *)user;
    const float *from = u->inputs[0].data;
    atomic_fetch_add(&f->calls, 1);
    sched_yield();
    if (atomic_fetch_sub(&f->failures, 1) > 0) return false;
    for (size_t i = 0; i < COUNT; i++) ((float *)to)[i] = 2 * from[i];
    return true;
}

static packed_table *make_table(void)
{
    packed_table *t = packed_table_create();
    assert_non_null(t);
    return t;
}

static kernel_problem problem_of(packed_table *t, const float *data, const void *source)
{
    return (kernel_problem){
        .packed = t,
        .input_count = 1,
        .inputs = {{.dtype = PGY_F32, .rank = 1, .shape = SHAPE, .data = data, .source = source}}};
}

static kernel_packing packing_of(filling *f, const char *form, uint64_t number)
{
    return (kernel_packing){.form = form,
                            .numbers = {number},
                            .inputs = 1,
                            .size_bytes = COUNT * sizeof(float),
                            .fill = twice,
                            .user = f};
}

static void pack(kernel_plan *out, const kernel_problem *u, const kernel_packing *how)
{
    pgy_error err = {0};
    *out = (kernel_plan){0};
    if (kernel_pack(out, u, how, &err)) fail_msg("%s", err.text);
    assert_int_equal(out->packed_bytes, how->size_bytes);
    assert_int_equal((uintptr_t)out->packed % 64, 0);
}

static void test_packing__equal_packings_share_a_piece(void **state)
{
    (void)state;
    float x[COUNT] = {1, 2, 3}, y[COUNT] = {4};
    filling f = {0};
    packed_table *t = make_table();
    const kernel_problem of_x = problem_of(t, x, x), of_y = problem_of(t, y, y);
    const kernel_packing how = packing_of(&f, "a", 7), other = packing_of(&f, "a", 8),
                         form = packing_of(&f, "b", 7);
    kernel_plan p[5];
    pack(&p[0], &of_x, &how);
    pack(&p[1], &of_x, &how);
    assert_int_equal(f.calls, 1);
    assert_ptr_equal(p[0].packed, p[1].packed);
    assert_true(((float *)p[1].packed)[2] == 6);
    pack(&p[2], &of_x, &other);
    pack(&p[3], &of_x, &form);
    pack(&p[4], &of_y, &how);
    assert_int_equal(f.calls, 4);
    assert_true(((float *)p[4].packed)[0] == 8);
    assert_int_equal(packed_table_count(t).pieces, 4);
    assert_int_equal(packed_table_count(t).bytes, 4 * sizeof x);
    kernel_plan_deinit(&p[0]);
    assert_int_equal(packed_table_count(t).pieces, 4);
    packed_table_release(t); /* pieces that are in use keep it */
    assert_true(((float *)p[1].packed)[0] == 2);
    for (size_t i = 1; i < 5; i++) kernel_plan_deinit(&p[i]);
}

static void test_packing__a_piece_ends_with_its_last_user(void **state)
{
    (void)state;
    float x[COUNT] = {1};
    filling f = {0};
    packed_table *t = make_table();
    const kernel_problem u = problem_of(t, x, x);
    const kernel_packing how = packing_of(&f, "a", 0);
    kernel_plan p;
    for (int i = 1; i < 3; i++) {
        pack(&p, &u, &how);
        assert_int_equal(f.calls, i);
        kernel_plan_deinit(&p);
        assert_int_equal(packed_table_count(t).pieces, 0);
    }
    packed_table_release(t);
}

static void test_packing__unknown_elements_are_compared(void **state)
{
    (void)state;
    float x[COUNT] = {1}, same[COUNT] = {1}, y[COUNT] = {2};
    filling f = {0};
    packed_table *t = make_table();
    const kernel_packing how = packing_of(&f, "a", 0);
    const kernel_problem of_x = problem_of(t, x, NULL), of_same = problem_of(t, same, NULL),
                         of_y = problem_of(t, y, NULL);
    kernel_plan p[3];
    pack(&p[0], &of_x, &how);
    pack(&p[1], &of_same, &how);
    pack(&p[2], &of_y, &how);
    assert_int_equal(f.calls, 2);
    assert_ptr_equal(p[0].packed, p[1].packed);
    for (size_t i = 0; i < 3; i++) kernel_plan_deinit(&p[i]);
    packed_table_release(t);
}

static void test_packing__bytes_of_other_kernels_are_found_again(void **state)
{
    (void)state;
    packed_table *t = make_table();
    kernel_plan p[3] = {{0}};
    for (size_t i = 0; i < 3; i++) {
        p[i].packed = mem_alloc_aligned(64, 100);
        assert_non_null(p[i].packed);
        p[i].packed_bytes = 100;
        memset(p[i].packed, i == 2 ? 5 : 3, 100);
        assert_int_equal(packed_table_adopt(t, &p[i], NULL), PGY_OK);
    }
    assert_ptr_equal(p[0].packed, p[1].packed);
    assert_int_equal(((char *)p[2].packed)[99], 5);
    assert_int_equal(packed_table_count(t).pieces, 2);
    for (size_t i = 0; i < 3; i++) kernel_plan_deinit(&p[i]);
    packed_table_release(t);
}

static void test_packing__without_a_table_the_plan_owns_the_bytes(void **state)
{
    (void)state;
    float x[COUNT] = {1};
    filling f = {0};
    const kernel_problem u = problem_of(NULL, x, x);
    const kernel_packing how = packing_of(&f, "a", 0);
    kernel_plan p;
    pack(&p, &u, &how);
    assert_null(p.piece);
    kernel_plan_deinit(&p);
}

static void test_packing__a_failure_leaves_nothing(void **state)
{
    (void)state;
    float x[COUNT] = {1};
    filling f = {.failures = 1};
    packed_table *t = make_table();
    const kernel_problem u = problem_of(t, x, x);
    const kernel_packing how = packing_of(&f, "a", 0);
    kernel_plan p = {0};
    pgy_error err = {0};
    assert_int_equal(kernel_pack(&p, &u, &how, &err), PGY_E_MEMORY);
    assert_null(p.packed);
    assert_int_equal(packed_table_count(t).pieces, 0);
    pack(&p, &u, &how);
    kernel_plan_deinit(&p);
    packed_table_release(t);
}

/* ---- Threads -------------------------------------------------------------------------------- */

typedef struct shared {
    packed_table *table;
    float x[COUNT];
    filling filling;
    atomic_int wrong;
} shared;

static void *pack_often(void *user)
{
    shared *s = user;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        const kernel_problem u = problem_of(s->table, s->x, s->x);
        const kernel_packing how = packing_of(&s->filling, "a", i % 3);
        kernel_plan p = {0};
        if (kernel_pack(&p, &u, &how, NULL)) continue; /* one of the planned failures */
        if (((float *)p.packed)[COUNT - 1] != 2 * s->x[COUNT - 1]) atomic_store(&s->wrong, 1);
        kernel_plan_deinit(&p);
    }
    return NULL;
}

static void test_packing__threads_wait_for_each_other(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    shared s = {.table = make_table(), .filling = {.failures = 9}};
    s.x[COUNT - 1] = 21;
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, pack_often, &s), 0);
    for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(s.wrong, 0);
    assert_int_equal(packed_table_count(s.table).pieces, 0);
    packed_table_release(s.table);
}
