/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command and prints what it cost: `bench.launch COMMAND [ARGUMENT...]`. One line on
 * standard output: wall, user and system seconds, peak resident KiB, page faults, exit status (128
 * + signal). The command's own output is thrown away. A program of its own because a child's peak
 * includes that of the process it was forked from: a script's interpreter would hide a small
 * program. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system.h"

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static void become(char **command)
{
    const int nothing = open("/dev/null", O_RDWR);
    if (nothing >= 0) {
        dup2(nothing, 0);
        dup2(nothing, 1);
        if (!getenv("BENCH_STDERR")) dup2(nothing, 2);
    }
    execvp(command[0], command);
    _exit(127);
}

int main(int argc, char **argv)
{
    struct rusage used;
    int status;
    if (argc < 2) return 2;
    const int64_t start = clock_ns();
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) become(argv + 1);
    if (wait4(child, &status, 0, &used) != child) return 1;
    const double wall = (double)(clock_ns() - start) * 1e-9;
    printf("%.6f %.6f %.6f %ld %ld %d\n", wall, seconds(used.ru_utime), seconds(used.ru_stime),
           used.ru_maxrss, used.ru_minflt + used.ru_majflt,
           WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}
