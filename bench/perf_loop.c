/* SPDX-License-Identifier: Apache-2.0 */
/* What one iteration of the measured loop costs beyond the engine's run: `bench.perf_loop MODEL
 * [RUNS]`. Bare runs and the loop alternate in slices; both medians per run are printed. */
#include <stdio.h>
#include <stdlib.h>

#include "base/system.h"
#include "perf/perf.h"

enum { SLICES = 40 };

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static pgy_status bare(double *ns, pgy_engine *e, const pgy_tensor_map *feed,
                       const pgy_perf_options *o, pgy_error *err)
{
    perf_lane *lane = NULL;
    pgy_status st = perf_lane_create(&lane, e, feed, o, err);
    const int64_t begin = clock_ns();
    for (int64_t i = 0; !st && i < o->iterations; i++)
        st = pgy_context_execute(perf_lane_context(lane), err);
    *ns = (double)(clock_ns() - begin) / (double)o->iterations;
    perf_lane_destroy(lane);
    return st;
}

static pgy_status looped(double *ns, pgy_engine *e, const pgy_tensor_map *feed,
                         const pgy_perf_options *o, pgy_error *err)
{
    pgy_perf_trace *t = NULL;
    const pgy_status st = pgy_perf_measure(&t, NULL, e, feed, o, err);
    if (!st) *ns = pgy_perf_wall_ms(t) * 1e6 / (double)pgy_perf_trace_count(t);
    pgy_perf_trace_destroy(t);
    return st;
}

int main(int argc, char **argv)
{
    pgy_perf_options o = pgy_perf_options_default();
    double bare_ns[SLICES], loop_ns[SLICES];
    pgy_model *model = NULL;
    pgy_engine *e = NULL;
    pgy_tensor_map *feed = NULL;
    pgy_error err = {0};
    const pgy_build_config c = {.size = sizeof c, .threads = 1};
    if (argc < 2) return 2;
    o.warm_up_ms = o.duration_s = 0;
    o.iterations = (argc > 2 ? atoll(argv[2]) : 1000000) / SLICES;
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = pgy_engine_build(&e, model, &c, &err);
    if (!st) st = pgy_perf_inputs(&feed, e, 0, NULL, 0, &err);
    for (int i = 0; !st && i < SLICES; i++) {
        st = bare(&bare_ns[i], e, feed, &o, &err);
        if (!st) st = looped(&loop_ns[i], e, feed, &o, &err);
    }
    if (st) fprintf(stderr, "%s\n", err.text);
    qsort(bare_ns, SLICES, sizeof *bare_ns, ascending);
    qsort(loop_ns, SLICES, sizeof *loop_ns, ascending);
    if (!st)
        printf(
            "bare %.1f ns, loop %.1f ns, overhead %.1f ns per run (medians of %d slices of %lld)\n",
            bare_ns[SLICES / 2], loop_ns[SLICES / 2], loop_ns[SLICES / 2] - bare_ns[SLICES / 2],
            SLICES, (long long)o.iterations);
    pgy_tensor_map_destroy(feed);
    pgy_engine_release(e);
    pgy_model_destroy(model);
    return st != PGY_OK;
}
