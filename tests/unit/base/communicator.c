/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that are threads: what they read of each other, and how a meeting fails. */
#include "support.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/cancel.h"
#include "base/communicator.h"
#include "base/system.h"

enum { MOST = 8 };

/* What one thread does; `st` and `err` are what became of it. */
typedef struct rank {
    pgy_communicator *c;
    int64_t index;
    void (*act)(struct rank *r);
    communicator_call call;
    int64_t value, sum;
    size_t self, count;
    pgy_status st;
    pgy_error err;
    pthread_t thread;
} rank;

static void add_up(const void *const *data, size_t count, size_t self, void *user)
{
    rank *r = user;
    r->sum = 0;
    for (size_t i = 0; i < count; i++) r->sum = 10 * r->sum + *(const int64_t *)data[i];
    r->self = self;
    r->count = count;
}

static void meet(rank *r)
{
    r->st = communicator_meet(&r->call, &r->value, add_up, r, &r->err);
}

static void *run_thread(void *user)
{
    rank *r = user;
    r->st = pgy_communicator_enter(r->c, r->index, &r->err);
    if (!r->st) r->act(r);
    pgy_communicator_leave();
    return NULL;
}

static rank *start(pgy_communicator *c, void (*act)(rank *r))
{
    static rank all[MOST];
    memset(all, 0, sizeof all);
    for (int64_t i = 0; i < pgy_communicator_ranks(c); i++)
        all[i] = (rank){.c = c,
                        .index = i,
                        .act = act,
                        .value = i + 1,
                        .call = {.members = (UINT64_C(1) << pgy_communicator_ranks(c)) - 1,
                                 .name = "all_reduce"}};
    return all;
}

static void join(rank *all)
{
    const int64_t count = pgy_communicator_ranks(all[0].c);
    for (int64_t i = 0; i < count; i++)
        assert_int_equal(pthread_create(&all[i].thread, NULL, run_thread, &all[i]), 0);
    for (int64_t i = 0; i < count; i++) pthread_join(all[i].thread, NULL);
}

static pgy_communicator *create(int64_t ranks)
{
    pgy_communicator *c = NULL;
    pgy_error err = {0};
    if (pgy_communicator_create(&c, ranks, &err)) fail_msg("%s", err.text);
    return c;
}

static void test_communicator__all_meet(void **state)
{
    (void)state;
    pgy_communicator *c = create(4);
    for (int round = 0; round < 3; round++) {
        rank *all = start(c, meet);
        join(all);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(all[i].st, PGY_OK);
            assert_int_equal(all[i].sum, 1234);
            assert_int_equal(all[i].self, i);
        }
    }
    assert_null(pgy_communicator_failure(c));
    pgy_communicator_destroy(c);
}

static void meet_often(rank *r)
{
    for (int i = 0; !r->st && i < 2000; i++) {
        r->value = (r->index + i) % 10;
        r->call.place = (uint64_t)i;
        meet(r);
        const int64_t wanted = i % 10 * 100 + (i + 1) % 10 * 10 + (i + 2) % 10;
        if (!r->st && r->sum != wanted) r->st = PGY_E_INTERNAL;
    }
}

static void test_communicator__many_meetings(void **state)
{
    (void)state;
    pgy_communicator *c = create(3);
    rank *all = start(c, meet_often);
    join(all);
    for (size_t i = 0; i < 3; i++) assert_int_equal(all[i].st, PGY_OK);
    pgy_communicator_destroy(c);
}

/* Two groups at the same time, and then all. */
static void meet_in_groups(rank *r)
{
    r->call.members = r->index % 2 ? 10 : 5;
    meet(r);
    if (!r->st && (r->count != 2 || r->sum != (r->index % 2 ? 24 : 13))) r->st = PGY_E_INTERNAL;
    r->call.members = 15;
    if (!r->st) meet(r);
}

static void test_communicator__groups(void **state)
{
    (void)state;
    pgy_communicator *c = create(4);
    rank *all = start(c, meet_in_groups);
    join(all);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(all[i].st, PGY_OK);
        assert_int_equal(all[i].sum, 1234);
    }
    pgy_communicator_destroy(c);
}

static void expect_failure(rank *all, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].st) {
            assert_int_equal(all[i].st, PGY_E_DEVICE);
            assert_string_equal(all[i].err.text, text);
        }
    assert_string_equal(pgy_communicator_failure(all[0].c), text);
}

static void test_communicator__mismatches(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {
        "rank 0 calls all_reduce with 0 bytes, but rank 1 calls all_reduce with 8 bytes: all ranks "
        "must come to the same collectives with the same attributes, types and sizes",
        "rank 0 calls all_reduce with 0 bytes, but rank 1 calls all_gather with 0 bytes: all ranks "
        "must come to the same collectives with the same attributes, types and sizes",
        "rank 0 calls all_reduce with 0 bytes, but rank 1 calls all_reduce with 0 bytes: all ranks "
        "must come to the same collectives with the same attributes, types and sizes"};
    for (size_t i = 0; i < 7; i++) {
        pgy_communicator *c = create(2);
        rank *all = start(c, meet);
        communicator_call *call = &all[1].call;
        if (i == 0) call->bytes = 8;
        if (i == 1) call->name = "all_gather";
        if (i == 1) call->operation = 1;
        if (i == 2) call->reduction = 1;
        if (i == 3) call->type = 1;
        if (i == 4) call->root = 1;
        if (i == 5) call->place = 1;
        if (i == 6) call->on_device = true;
        join(all);
        assert_int_equal(all[0].st, PGY_E_DEVICE);
        assert_int_equal(all[1].st, PGY_E_DEVICE);
        expect_failure(all, 2, TEXTS[i < 2 ? i : 2]);
        pgy_communicator_destroy(c);
    }
}

/* Groups that wait for each other in a circle. */
static void meet_in_circle(rank *r)
{
    static const uint64_t MEMBERS[] = {3, 6, 5};
    r->call.members = MEMBERS[r->index];
    meet(r);
}

static void test_communicator__circle(void **state)
{
    (void)state;
    pgy_communicator *c = create(3);
    rank *all = start(c, meet_in_circle);
    join(all);
    for (size_t i = 0; i < 3; i++) assert_int_equal(all[i].st, PGY_E_DEVICE);
    pgy_communicator_destroy(c);
}

static void meet_but_for_2(rank *r)
{
    if (r->index != 2) meet(r);
}

static void test_communicator__missing_rank(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        pgy_communicator *c = create(3);
        rank *all = start(c, meet_but_for_2);
        join(all);
        assert_int_equal(all[0].st, PGY_E_DEVICE);
        assert_int_equal(all[1].st, PGY_E_DEVICE);
        assert_int_equal(all[2].st, PGY_OK);
        assert_non_null(strstr(pgy_communicator_failure(c),
                               " waits in all_reduce, but rank 2 has ended its run without it"));
        pgy_communicator_destroy(c);
    }
}

static void fail_in_2(rank *r)
{
    if (r->index == 2)
        pgy_communicator_fail(r->c, "rank 2: no memory");
    else
        meet(r);
    if (r->index == 2) meet(r); /* a failed communicator stays so */
}

static void test_communicator__failure(void **state)
{
    (void)state;
    pgy_communicator *c = create(3);
    rank *all = start(c, fail_in_2);
    join(all);
    for (size_t i = 0; i < 3; i++) assert_int_equal(all[i].st, PGY_E_DEVICE);
    expect_failure(all, 3, "rank 2: no memory");
    pgy_communicator_fail(c, "another");
    assert_string_equal(pgy_communicator_failure(c), "rank 2: no memory");
    pgy_communicator_destroy(c);
}

/* The others wait until the request comes; none hangs. */
static void cancel_in_1(rank *r)
{
    if (r->index == 1) {
        nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
        pgy_cancel();
        while (!cancel_requested()) {
        }
        nanosleep(&(struct timespec){.tv_nsec = 150000000}, NULL);
        return;
    }
    const int64_t begin = clock_ns();
    meet(r);
    if (clock_ns() - begin > 5000000000) r->st = PGY_E_INTERNAL;
}

static void test_communicator__cancel(void **state)
{
    (void)state;
    pgy_communicator *c = create(3);
    rank *all = start(c, cancel_in_1);
    join(all);
    pgy_cancel_reset();
    if (all[0].st != PGY_E_CANCELLED) fail_msg("%s", all[0].err.text);
    assert_int_equal(all[2].st, PGY_E_CANCELLED);
    pgy_communicator_destroy(c);
}

static void test_communicator__wrong_calls(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_communicator *c = NULL;
    int64_t rank_of_thread;
    assert_int_equal(pgy_communicator_create(&c, 0, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "0 ranks; expected 1 to 64");
    assert_int_equal(pgy_communicator_create(&c, 65, &err), PGY_E_ARGUMENT);
    c = create(2);
    assert_int_equal(pgy_communicator_enter(c, 2, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "rank 2 does not exist: there are 2");
    assert_int_equal(pgy_communicator_enter(c, 1, &err), PGY_OK);
    assert_ptr_equal(communicator_current(&rank_of_thread), c);
    assert_int_equal(rank_of_thread, 1);
    assert_int_equal(pgy_communicator_enter(c, 0, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "this thread is a rank already");
    pgy_communicator_leave();
    assert_null(communicator_current(&rank_of_thread));
    pgy_communicator_leave();
    pgy_communicator_destroy(c);
    pgy_communicator_destroy(NULL);
}

typedef struct kept {
    int stops, ends;
} kept;

static void stop(void *state)
{
    ((kept *)state)->stops++;
}

static void end(void *state)
{
    ((kept *)state)->ends++;
}

static void test_communicator__attachment(void **state)
{
    (void)state;
    kept a = {0}, b = {0};
    pgy_communicator *c = create(1);
    assert_null(communicator_attached(c));
    communicator_attach(c, &(communicator_attachment){.state = &a, .stop = stop, .destroy = end});
    assert_ptr_equal(communicator_attached(c), &a);
    const communicator_attachment second = {.state = &b, .stop = stop, .destroy = end};
    assert_ptr_equal(communicator_attach(c, &second), &a); /* the first one stays */
    assert_int_equal(b.ends, 1);
    b = (kept){0};
    pgy_communicator_fail(c, "x");
    pgy_communicator_fail(c, "y");
    assert_int_equal(a.stops, 1);
    pgy_communicator_destroy(c);
    assert_int_equal(a.ends, 1);
    c = create(1);
    pgy_communicator_fail(c, "x");
    communicator_attach(c, &(communicator_attachment){.state = &b, .stop = stop, .destroy = end});
    assert_int_equal(b.stops, 1);
    pgy_communicator_destroy(c);
    assert_int_equal(b.ends, 1);
}
