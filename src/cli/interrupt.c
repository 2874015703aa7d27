/* SPDX-License-Identifier: Apache-2.0 */
/* A flag set by the first SIGINT; a later one goes to the handler that was there before, which
 * removes temporaries and dies. One that follows at once is the same request: `timeout` and others
 * send the signal to the process and again to its group. */
#include "cli/interrupt.h"

#include <signal.h>
#include <string.h>
#include <time.h>

enum { SAME_REQUEST_MS = 300 };

static volatile sig_atomic_t requested;
static struct timespec requested_at; /* written and read in the handler only */
static struct sigaction previous;

static long elapsed_ms(const struct timespec *from)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - from->tv_sec) * 1000 + (now.tv_nsec - from->tv_nsec) / 1000000;
}

static void on_interrupt(int number)
{
    if (!requested) {
        requested = 1;
        clock_gettime(CLOCK_MONOTONIC, &requested_at);
        return;
    }
    if (elapsed_ms(&requested_at) < SAME_REQUEST_MS) return;
    sigaction(SIGINT, &previous, NULL);
    raise(number);
}

void interrupt_install(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &previous);
    if (previous.sa_handler == SIG_IGN) sigaction(SIGINT, &previous, NULL); /* a background job */
}

bool interrupt_requested(void)
{
    return requested != 0;
}

bool interrupt_cancelled(void *user)
{
    (void)user;
    return interrupt_requested();
}
