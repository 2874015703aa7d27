/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/child.h"
#include "base/file.h"

/* `timeout` and others send a signal to the process and again to its group. Signals within
 * SAME_REQUEST_MS count as one request. */
enum { GRACE_MS = 100, SAME_REQUEST_MS = 40 };
/* A loop that holds the program gets this long to hear the request. */
enum { HELD_MS = 3000 };

static atomic_int requested;      /* the first signal, or 0 */
static atomic_llong requested_ms; /* when it came, or 0 */
static timer_t timer;
static bool has_timer;
static const struct itimerspec GRACE = {.it_value = {.tv_nsec = GRACE_MS * 1000000L}};

static long long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000 + 1;
}

/* Process 1 of a container does not die of unhandled signals, so _exit follows raise. */
static _Noreturn void die(int number)
{
    sigset_t one;
    child_end_all(); /* first, so that children write no more files into temporary folders */
    file_temp_remove_all();
    signal(number, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, number);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    raise(number);
    _exit(128 + number);
}

/* Writes the log's message with functions that a signal handler may call. */
static void say_interrupted(void)
{
    static const char LINE[] = "\n[!] Interrupted.\n";
    const size_t skip =
        isatty(STDERR_FILENO) ? 0 : 1; /* on a terminal the cursor may be inside a line */
    if (write(STDERR_FILENO, LINE + skip, sizeof LINE - 1 - skip) < 0) return;
}

static void on_timer(int unused)
{
    const int number = atomic_load(&requested);
    (void)unused;
    if (!number || cancel_was_heard()) return;
    if (cancel_is_held() && now_ms() - atomic_load(&requested_ms) < HELD_MS &&
        timer_settime(timer, 0, &GRACE, NULL) == 0)
        return;
    say_interrupted();
    die(number);
}

static void on_signal(int number)
{
    const int saved = errno;
    const long long now = now_ms();
    long long first = 0;
    if (!atomic_compare_exchange_strong(&requested_ms, &first, now)) {
        if (now - first >= SAME_REQUEST_MS) die(number);
        return;
    }
    atomic_store(&requested, number);
    pgy_cancel();
    if (!has_timer || timer_settime(timer, 0, &GRACE, NULL)) die(number);
    errno = saved;
}

void interrupt_install(void)
{
    static const int NUMBERS[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    struct sigaction action = {.sa_handler = on_timer}, old;
    sigset_t alarm;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    sigfillset(&action.sa_mask);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    has_timer = sigaction(SIGALRM, &action, NULL) == 0 &&
                pthread_sigmask(SIG_UNBLOCK, &alarm, NULL) == 0 &&
                timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
    action.sa_handler = on_signal;
    for (size_t i = 0; i < sizeof NUMBERS / sizeof NUMBERS[0]; i++)
        if (sigaction(NUMBERS[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(NUMBERS[i], &action, NULL);
}

bool interrupt_requested(void)
{
    return atomic_load(&requested) != 0;
}

void interrupt_finish(void)
{
    const int number = atomic_load(&requested);
    if (number) die(number);
}
