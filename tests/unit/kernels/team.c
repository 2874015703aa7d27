/* SPDX-License-Identifier: Apache-2.0 */
/* The thread team: every part of every round is done once, and rounds do not overlap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "kernels/kernel.h"
#include "kernels/team.h"

enum { THREADS = 4, TASKS = 300, STEPS = 20, MOST_PARTS = 3 * THREADS };

typedef struct relay {
    team *team;
    int64_t cells[STEPS + 1][MOST_PARTS];
    atomic_int calls, alone, wrong;
} relay;

static uint32_t parts_of(int step)
{
    return 1 + (uint32_t)step * 7 % MOST_PARTS;
}

/* The sum over the step before: a part that runs too early, or not at all, gives another one. */
static int64_t sum_of(const relay *r, int step)
{
    int64_t sum = 1;
    for (uint32_t i = 0; i < parts_of(step); i++) sum += r->cells[step][i] % 1000;
    return sum;
}

static void pass_on(size_t thread, size_t size, void *user)
{
    relay *r = user;
    (void)size;
    atomic_fetch_add(&r->calls, 1);
    for (int step = 0; step < STEPS; step++) {
        uint32_t part;
        if (step % 3 == 2 && team_alone(r->team, thread)) {
            atomic_fetch_add(&r->alone, 1);
            if (thread || r->cells[step][0] != sum_of(r, step - 1)) atomic_fetch_add(&r->wrong, 1);
        }
        if (!team_share_begin(r->team, thread)) return;
        while (team_share_next(r->team, thread, parts_of(step + 1), &part))
            r->cells[step + 1][part] += sum_of(r, step);
    }
}

static void check_relay(const relay *r)
{
    assert_int_equal(atomic_load(&r->wrong), 0);
    assert_int_equal(atomic_load(&r->alone), STEPS / 3);
    for (int step = 0; step < STEPS; step++)
        for (uint32_t i = 0; i < parts_of(step + 1); i++)
            assert_int_equal(r->cells[step + 1][i], sum_of(r, step));
}

/* Each task has its own data, and they are spoilt when it has ended: whoever comes late must not
 * touch them. */
static void run_relay(size_t threads)
{
    team *t = NULL;
    assert_int_equal(team_create(&t, threads, NULL), PGY_OK);
    assert_int_equal(team_size(t), threads);
    for (int i = 0; i < TASKS; i++) {
        relay *r = test_calloc(1, sizeof *r);
        r->team = t;
        team_run(t, i % 2, pass_on, r);
        assert_in_range(atomic_load(&r->calls), 1, threads);
        check_relay(r);
        memset(r, 0xff, sizeof *r);
        test_free(r);
    }
    team_destroy(t);
}

static void test_team__rounds_do_not_overlap(void **state)
{
    (void)state;
    run_relay(1);
    run_relay(2);
    run_relay(THREADS); /* more than processors on small machines */
}

/* Waits in part 0 until another thread has taken part 1. */
static void meet(size_t thread, size_t size, void *user)
{
    relay *r = user;
    uint32_t part;
    (void)size;
    if (!team_share_begin(r->team, thread)) return;
    while (team_share_next(r->team, thread, 2, &part)) {
        atomic_fetch_add(&r->calls, 1);
        while (atomic_load(&r->calls) < 2) usleep(100);
    }
}

static void test_team__sleepers_wake_up(void **state)
{
    (void)state;
    relay r = {0};
    assert_int_equal(team_create(&r.team, 2, NULL), PGY_OK);
    for (int i = 0; i < 3; i++) {
        usleep(20000); /* longer than anybody spins */
        atomic_store(&r.calls, 0);
        team_run(r.team, true, meet, &r);
        assert_int_equal(atomic_load(&r.calls), 2);
    }
    usleep(20000);
    team_destroy(r.team);
    team_destroy(NULL);
}

/* The caller comes late to the first round, in which another thread does all parts. */
static void come_late(size_t thread, size_t size, void *user)
{
    relay *r = user;
    uint32_t part;
    (void)size;
    for (int round = 0; round < 2; round++) {
        if (!team_share_begin(r->team, thread)) return;
        if (thread == 0 && round == 0) {
            for (int i = 0; i < 5000 && !atomic_load(&r->alone); i++) usleep(1000);
            atomic_fetch_add(&r->calls, atomic_load(&r->alone));
        }
        while (team_share_next(r->team, thread, 2, &part))
            if (round == 1) atomic_store(&r->alone, 1);
    }
}

static void test_team__rounds_end_without_the_caller(void **state)
{
    (void)state;
    relay r = {0};
    assert_int_equal(team_create(&r.team, 2, NULL), PGY_OK);
    team_run(r.team, true, come_late, &r);
    assert_int_equal(atomic_load(&r.calls), 1);
    team_destroy(r.team);
}

/* The second thread comes, and stays away from all shares: nobody waits for it. */
static void stay_away(size_t thread, size_t size, void *user)
{
    relay *r = user;
    (void)size;
    if (thread) {
        atomic_fetch_add(&r->calls, 1);
        return;
    }
    pass_on(thread, size, user);
}

static void count(size_t thread, size_t size, void *user)
{
    (void)thread, (void)size;
    atomic_fetch_add((atomic_int *)user, 1);
    usleep(2000);
}

static void test_team__a_short_task_lets_others_sleep(void **state)
{
    (void)state;
    team *t = NULL;
    atomic_int calls = 0;
    assert_int_equal(team_create(&t, 2, NULL), PGY_OK);
    usleep(200000);
    team_run(t, false, count, &calls);
    assert_int_equal(atomic_load(&calls), 1);
    team_destroy(t);
}

static void test_team__nobody_waits_for_a_thread_without_parts(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        relay r = {0};
        assert_int_equal(team_create(&r.team, 2, NULL), PGY_OK);
        team_run(r.team, true, stay_away, &r);
        check_relay(&r);
        team_destroy(r.team);
    }
}

static void test_team__shares_are_even_and_complete(void **state)
{
    (void)state;
    for (size_t items = 0; items < 40; items++) {
        for (uint32_t parts = 1; parts < 9; parts++) {
            size_t next = 0;
            for (uint32_t part = 0; part < parts; part++) {
                size_t from, to;
                kernel_share(&from, &to, items, part, parts);
                assert_int_equal(from, next);
                assert_true(to - from == items / parts || to - from == items / parts + 1);
                next = to;
            }
            assert_int_equal(next, items);
            size_t from, to;
            kernel_share(&from, &to, items, parts / 2, parts);
            assert_int_equal(from, items * (parts / 2) / parts);
        }
    }
}
