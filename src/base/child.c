/* SPDX-License-Identifier: Apache-2.0 */
/* The tie is a pipe. The kernel signals the owner of its reading end, the child, when the last
 * writing end is closed, and only this process has a writing end. So the child need not cooperate,
 * whatever program it runs. */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- The tie -------------------------------------------------------------------------------- */

void child_tie_open(child_tie *t)
{
    int ends[2];
    *t = (child_tie){-1, -1};
    if (pipe2(ends, O_CLOEXEC)) return;
    *t = (child_tie){.near = ends[1], .far = ends[0]};
}

void child_tie_to(child_tie *t, pid_t child, int number)
{
    if (t->far < 0) return;
    if (fcntl(t->far, F_SETSIG, number) == 0 && fcntl(t->far, F_SETOWN, child) == 0)
        (void)fcntl(t->far, F_SETFL, O_ASYNC);
    close(t->far);
    t->far = -1;
}

void child_tie_close(child_tie *t)
{
    if (t->near >= 0) close(t->near);
    if (t->far >= 0) close(t->far);
    *t = (child_tie){-1, -1};
}

/* ---- The table ------------------------------------------------------------------------------ */

enum { TABLE_SIZE = 256 };

/* A fork copies this table. So a slot counts only if `parent` is this process; other slots are
 * copies of the parent's. */
static struct {
    _Atomic pid_t child, parent;
    atomic_int number;
    atomic_bool is_group;
} table[TABLE_SIZE];

static void put(pid_t child, int number, bool is_group)
{
    const pid_t self = getpid();
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        pid_t known = atomic_load(&table[i].child);
        if (known && atomic_load(&table[i].parent) == self) continue;
        if (!atomic_compare_exchange_strong(&table[i].child, &known, child)) continue;
        atomic_store(&table[i].number, number);
        atomic_store(&table[i].is_group, is_group);
        atomic_store(&table[i].parent, self);
        return;
    }
}

void child_register(pid_t child, int number)
{
    put(child, number, false);
}

void child_register_group(pid_t child, int number)
{
    put(child, number, true);
}

static void forget(pid_t child)
{
    const pid_t self = getpid();
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        pid_t known = child;
        if (atomic_load(&table[i].parent) == self &&
            atomic_compare_exchange_strong(&table[i].child, &known, 0))
            return;
    }
}

/* Unregisters the child before the kernel can reuse its process number. */
bool child_reap(pid_t child, bool wait, int *status)
{
    siginfo_t info = {0};
    int failed;
    do failed = waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT | (wait ? 0 : WNOHANG));
    while (failed && errno == EINTR);
    if (!failed && info.si_pid == 0) return false;
    forget(child);
    while (waitpid(child, status, 0) < 0 && errno == EINTR) continue;
    return true;
}

/* Waits a moment; false: the child still runs. */
static bool ends_soon(pid_t child)
{
    enum { MOMENT_MS = 100 };
    for (int i = 0; i < MOMENT_MS; i++) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT | WNOHANG) || info.si_pid)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return false;
}

void child_end(pid_t child)
{
    kill(child, SIGTERM);
    if (!ends_soon(child)) kill(child, SIGKILL);
}

/* The child is not reaped yet, so no other group can have its number. */
void child_end_group(pid_t child, int number)
{
    kill(-child, number);
    ends_soon(child);
    kill(-child, SIGKILL);
}

void child_end_all(void)
{
    const pid_t self = getpid();
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        const pid_t child = atomic_load(&table[i].child);
        if (child > 0 && atomic_load(&table[i].parent) == self)
            kill(atomic_load(&table[i].is_group) ? -child : child, atomic_load(&table[i].number));
    }
}
