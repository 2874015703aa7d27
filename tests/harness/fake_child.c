/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/fake_device.h"

enum { NOT_STARTED = 3 };

bool fake_survives(void (*f)(void *user), void *user)
{
    int status = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        signal(SIGABRT, SIG_DFL);
        if (!freopen("/dev/null", "w", stderr)) _exit(NOT_STARTED);
        f(user);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child) abort();
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_STARTED) abort();
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
