/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "base/cancel.h"
#include "base/child.h"
#include "base/file.h"
#include "base/system.h"

static void test_cancel__check(void **state)
{
    (void)state;
    pgy_error err = {0};
    assert_int_equal(cancel_check(&err), PGY_OK);
    assert_int_equal(cancel_check_after(PGY_E_SHAPE, &err), PGY_E_SHAPE);
    pgy_cancel();
    assert_true(pgy_is_cancelled());
    assert_int_equal(cancel_check(&err), PGY_E_CANCELLED);
    assert_int_equal(cancel_check_after(PGY_OK, &err), PGY_E_CANCELLED);
    pgy_cancel_reset();
    assert_false(pgy_is_cancelled());
    assert_int_equal(cancel_check(&err), PGY_OK);
}

static void count_and_cancel(size_t i, void *user)
{
    atomic_size_t *count = user;
    (void)i;
    if (atomic_fetch_add(count, 1) == 2) pgy_cancel();
}

static void test_cancel__loops_leave_tasks_out(void **state)
{
    (void)state;
    enum { TASKS = 100000 };
    atomic_size_t count = 0;
    parallel_for_until_cancelled(TASKS, count_and_cancel, &count);
    assert_true(atomic_load(&count) < TASKS);
    count = 0;
    parallel_for(TASKS, count_and_cancel, &count);
    assert_int_equal(atomic_load(&count), TASKS);
    pgy_cancel_reset();
}

static void test_cancel__sleep_ends(void **state)
{
    (void)state;
    const int64_t start = clock_ns();
    pgy_cancel();
    cancel_sleep_ms(60000);
    pgy_cancel_reset();
    assert_true(clock_ns() - start < 10000000000);
}

static void test_cancel__nothing_is_saved(void **state)
{
    (void)state;
    pgy_error err = {0};
    const char *path = scratch("kept");
    assert_int_equal(file_write_all(path, "old", 3, &err), PGY_OK);
    pgy_cancel();
    const pgy_status st = file_write_all(path, "new", 3, &err);
    pgy_cancel_reset();
    assert_int_equal(st, PGY_E_CANCELLED);
    str text = {0};
    assert_int_equal(file_read(&text, path, &err), PGY_OK);
    assert_string_equal(str_text(&text), "old");
    str_deinit(&text);
}

/* ---- Child processes ------------------------------------------------------------------------ */

static pid_t start_sleeper(child_tie *tie)
{
    child_tie_open(tie);
    const pid_t child = fork();
    if (child) return child;
    if (tie->near >= 0) close(tie->near);
    for (;;) pause();
}

/* A process that is killed takes along the child that is tied to it: the child has the writing end
 * of a pipe, which ends with it. */
static void test_cancel__tie_survives_kill(void **state)
{
    (void)state;
    int ends[2];
    char byte;
    child_tie tie;
    assert_int_equal(pipe(ends), 0);
    const pid_t parent = fork();
    if (parent == 0) {
        const pid_t child = start_sleeper(&tie);
        child_tie_to(&tie, child, SIGKILL);
        kill(getpid(), SIGKILL);
    }
    close(ends[1]);
    waitpid(parent, NULL, 0);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}

static void test_cancel__children_are_ended_and_reaped(void **state)
{
    (void)state;
    int status = 0;
    child_tie tie;
    const pid_t child = start_sleeper(&tie);
    child_register(child, SIGKILL);
    child_tie_to(&tie, child, SIGKILL);
    assert_false(child_reap(child, false, &status));
    child_end_all();
    assert_true(child_reap(child, true, &status));
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    child_tie_close(&tie);
}

static void test_cancel__end_goes_from_term_to_kill(void **state)
{
    (void)state;
    for (int stubborn = 0; stubborn < 2; stubborn++) {
        int status = 0, ends[2];
        char byte;
        assert_int_equal(pipe(ends), 0);
        const pid_t child = fork();
        if (child == 0) {
            if (stubborn) signal(SIGTERM, SIG_IGN);
            if (write(ends[1], "", 1) != 1) _exit(1);
            for (;;) pause();
        }
        assert_int_equal(read(ends[0], &byte, 1), 1); /* it has made its settings */
        child_end(child);
        child_reap(child, true, &status);
        assert_int_equal(WTERMSIG(status), stubborn ? SIGKILL : SIGTERM);
        close(ends[0]);
        close(ends[1]);
    }
}
