/* SPDX-License-Identifier: Apache-2.0 */
/* What a round of a thread team costs, by number of threads: bench.rounds THREADS...
 * A part spins for as long as the head of the column says; prints microseconds of a round, best and
 * median of slices of 2000 rounds, less the spinning. */
#include <stdio.h>
#include <stdlib.h>

#include "base/system.h"
#include "kernels/team.h"

enum { ROUNDS = 2000, SLICES = 31 };

typedef struct job {
    team *team;
    int64_t spin_ns;
    uint32_t parts;
} job;

static void rounds(size_t thread, size_t size, void *user)
{
    const job *j = user;
    (void)size;
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t part;
        if (!team_share_begin(j->team, thread)) return;
        while (team_share_next(j->team, thread, j->parts, &part))
            for (const int64_t end = clock_ns() + j->spin_ns; j->spin_ns && clock_ns() < end;)
                continue;
    }
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(job *j, uint32_t each)
{
    double us[SLICES];
    for (int i = 0; i < SLICES; i++) {
        const int64_t start = clock_ns();
        team_run(j->team, true, rounds, j);
        us[i] = (double)(clock_ns() - start) / 1e3 / ROUNDS - (double)(j->spin_ns * each) / 1e3;
    }
    qsort(us, SLICES, sizeof *us, ascending);
    printf(" | %7.3f (%.3f)", us[SLICES / 2], us[0]);
}

int main(int argc, char **argv)
{
    static const int64_t SPINS[] = {0, 1000, 5000};
    printf("threads | empty | 1 us | 5 us | four parts each: empty | 1 us | 5 us\n");
    for (int i = 1; i < argc; i++) {
        job j = {0};
        pgy_error err = {0};
        const size_t threads = (size_t)strtoul(argv[i], NULL, 10);
        if (team_create(&j.team, threads, &err)) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        printf("%7zu", threads);
        for (uint32_t each = 1; each <= 4; each += 3)
            for (size_t k = 0; k < sizeof SPINS / sizeof *SPINS; k++) {
                j.spin_ns = SPINS[k];
                j.parts = each * (uint32_t)threads;
                measure(&j, each);
            }
        printf("\n");
        team_destroy(j.team);
    }
    return 0;
}
