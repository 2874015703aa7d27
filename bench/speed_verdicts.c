/* SPDX-License-Identifier: Apache-2.0 */
/* How often a comparison of speeds is right on a busy machine: `bench.speed_verdicts [TRIALS]
 * [SECONDS]`. Two runners do the same work, or the second does 3 % more, while another process
 * loads a core at random. Prints how many trials claim a slowdown. */
#include <polygraphy/bench.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system.h"

static volatile double sink;

/* user: the number of steps of a chain of multiplications. */
static pgy_status work(const pgy_tensor_map *feed, pgy_tensor_map *out, void *user, pgy_error *err)
{
    const long *steps = user;
    double v = 1;
    (void)feed, (void)out, (void)err;
    for (long i = 0; i < *steps; i++) v = v * 1.0000001 + 1e-9;
    sink = v;
    return PGY_OK;
}

static pgy_status no_inputs(pgy_tensor_map **out, void *user, pgy_error *err)
{
    (void)user;
    return pgy_tensor_map_create(out, err);
}

/* Loads a core for up to 0.2 s, then rests as long at most. */
static void disturb(void)
{
    for (;;) {
        const int64_t end = clock_ns() + rand() % 200000000;
        while (clock_ns() < end) sink = sink * 1.0000001;
        usleep((unsigned)rand() % 200000);
    }
}

static pgy_status open_side(pgy_bench_side *s, const char *name, long *steps, pgy_error *err)
{
    const pgy_data_loader_functions data = {.size = sizeof data, .next = no_inputs};
    *s = (pgy_bench_side){.name = name};
    pgy_status st = pgy_runner_create_callback(&s->runner, name, NULL, work, steps, err);
    if (!st) st = pgy_data_loader_create(&s->data, &data, NULL, err);
    return st;
}

static pgy_status try_once(pgy_bench_outcome *out, long steps[2], const pgy_bench_options *o,
                           pgy_error *err)
{
    pgy_bench_side sides[2] = {{0}};
    pgy_bench *b = NULL;
    pgy_bench_verdict v = {0};
    pgy_status st = open_side(&sides[0], "a", &steps[0], err);
    if (!st) st = open_side(&sides[1], "b", &steps[1], err);
    if (!st) st = pgy_bench_measure(&b, sides, 2, o, err);
    if (!st) st = pgy_bench_judge(&v, b, 1, 0, err);
    if (!st) *out = v.outcome;
    pgy_bench_destroy(b);
    for (int i = 0; i < 2; i++) {
        pgy_runner_destroy(sides[i].runner);
        pgy_data_loader_destroy(sides[i].data);
    }
    return st;
}

static pgy_status count(const char *what, double ratio, int trials, pgy_bench_options o,
                        pgy_error *err)
{
    int found[3] = {0};
    pgy_status st = PGY_OK;
    for (int i = 0; !st && i < trials; i++) {
        long steps[2] = {20000, (long)(20000 * ratio)};
        pgy_bench_outcome outcome = PGY_BENCH_NO_DIFFERENCE;
        o.seed = (uint64_t)i;
        st = try_once(&outcome, steps, &o, err);
        found[outcome]++;
    }
    if (!st)
        printf("%-22s %d trials: slower %d, faster %d, no difference shown %d\n", what, trials,
               found[PGY_BENCH_SLOWER], found[PGY_BENCH_FASTER], found[PGY_BENCH_NO_DIFFERENCE]);
    return st;
}

int main(int argc, char **argv)
{
    const int trials = argc > 1 ? atoi(argv[1]) : 100;
    pgy_bench_options o = pgy_bench_options_default();
    pgy_error err = {0};
    o.duration_s = argc > 2 ? atof(argv[2]) : 1;
    o.slices = 20;
    o.warm_up_ms = 5;
    const pid_t other = fork();
    if (other == 0) disturb();
    pgy_status st = count("3 % more work", 1.03, trials, o, &err);
    if (!st) st = count("the same work", 1, trials, o, &err);
    if (st) fprintf(stderr, "%s\n", err.text);
    if (other > 0) {
        kill(other, SIGKILL);
        waitpid(other, NULL, 0);
    }
    return st != PGY_OK;
}
