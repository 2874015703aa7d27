/* SPDX-License-Identifier: Apache-2.0 */
/* A flag set by the first SIGINT; the handler that was there before (which removes temporaries and
 * dies) gets the second. */
#include "cli/interrupt.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t requested;
static struct sigaction previous;

static void on_interrupt(int number)
{
    (void)number;
    requested = 1;
    sigaction(SIGINT, &previous, NULL);
}

void interrupt_install(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &previous);
}

bool interrupt_requested(void)
{
    return requested != 0;
}
