/* SPDX-License-Identifier: Apache-2.0 */
/* The thread team: every thread runs every task, barriers order writes. */
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

enum { THREADS = 4, ROUNDS = 300, STEPS = 20 };

typedef struct relay {
    team *team;
    int64_t cells[STEPS + 1][THREADS];
    atomic_int calls, wrong;
} relay;

/* Each step sums the whole step before: one thread that runs ahead gives another sum. */
static void pass_on(size_t thread, size_t size, void *user)
{
    relay *r = user;
    atomic_fetch_add(&r->calls, 1);
    r->cells[0][thread] = (int64_t)thread + 1;
    for (int step = 0; step < STEPS; step++) {
        team_barrier(r->team, thread);
        int64_t sum = 0;
        for (size_t i = 0; i < size; i++) sum += r->cells[step][i] % 1000;
        r->cells[step + 1][thread] = sum;
    }
    team_barrier(r->team, thread);
    for (size_t i = 0; i < size; i++)
        if (r->cells[STEPS][i] != r->cells[STEPS][0]) atomic_fetch_add(&r->wrong, 1);
}

static void run_relay(size_t threads)
{
    static relay r;
    team *t = NULL;
    assert_int_equal(team_create(&t, threads, NULL), PGY_OK);
    assert_int_equal(team_size(t), threads);
    for (int i = 0; i < ROUNDS; i++) {
        memset(&r, 0, sizeof r);
        r.team = t;
        team_run(t, pass_on, &r);
        assert_int_equal(atomic_load(&r.calls), (int)threads);
        assert_int_equal(atomic_load(&r.wrong), 0);
    }
    team_destroy(t);
}

static void test_team__barriers_keep_steps_apart(void **state)
{
    (void)state;
    run_relay(1);
    run_relay(2);
    run_relay(THREADS); /* more than processors on small machines */
}

static void count(size_t thread, size_t size, void *user)
{
    (void)thread, (void)size;
    atomic_fetch_add((atomic_int *)user, 1);
}

static void test_team__sleepers_wake_up(void **state)
{
    (void)state;
    team *t = NULL;
    atomic_int calls = 0;
    assert_int_equal(team_create(&t, 2, NULL), PGY_OK);
    for (int i = 1; i <= 3; i++) {
        usleep(20000); /* longer than anybody spins */
        team_run(t, count, &calls);
        assert_int_equal(atomic_load(&calls), 2 * i);
    }
    usleep(20000);
    team_destroy(t);
    team_destroy(NULL);
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
        }
    }
}
