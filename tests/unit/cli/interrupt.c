/* SPDX-License-Identifier: Apache-2.0 */
/* A child gets SIGINT and works on; how far it comes is what it writes into a pipe. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"
#include "cli/interrupt.h"

enum { LONGER_THAN_GRACE_MS = 160 };

static int to_parent;

static void say(const char *text)
{
    if (write(to_parent, text, strlen(text)) < 0) _exit(99);
}

/* A computation that does not look at the request; a signal wakes it early. */
static void work(void)
{
    struct timespec left = {.tv_nsec = LONGER_THAN_GRACE_MS * 1000000L};
    while (nanosleep(&left, &left)) continue;
}

static void expect(void (*child)(void), const char *wanted)
{
    char text[16] = "";
    int ends[2], status = 0;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (!pid) {
        to_parent = ends[1];
        close(STDERR_FILENO);
        signal(SIGINT, SIG_DFL); /* it is ignored where the tests run in the background */
        interrupt_install();
        child();
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    const ssize_t n = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    assert_true(n >= 0);
    assert_string_equal(text, wanted);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

static void does_not_hear(void)
{
    raise(SIGINT);
    work();
    say("ran on");
}

static void test_interrupt__ends_the_program_soon(void **state)
{
    (void)state;
    expect(does_not_hear, "");
}

/* The report follows however late the loop ends and however long the report takes. */
static void reports(void)
{
    cancel_hold();
    raise(SIGINT);
    work();
    say("loop ");
    cancel_release();
    work();
    say("report");
    interrupt_finish();
}

static void test_interrupt__waits_for_a_report(void **state)
{
    (void)state;
    expect(reports, "loop report");
}

static void is_interrupted_later(void)
{
    cancel_hold();
    cancel_release();
    does_not_hear();
}

static void test_interrupt__a_later_request_counts(void **state)
{
    (void)state;
    expect(is_interrupted_later, "");
}

static void gets_two(void)
{
    cancel_hold();
    raise(SIGINT);
    work();
    say("one ");
    raise(SIGINT);
    say("two");
}

static void test_interrupt__a_second_request_ends_at_once(void **state)
{
    (void)state;
    expect(gets_two, "one ");
}
