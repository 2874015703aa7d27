/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines: what recording costs, and how long files of a million events take.
 *
 *     bench.trace [MODEL [FOLDER]]
 *
 * Runs with and without a recording alternate, in pairs; the difference of the medians is divided by
 * the number of layers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <polygraphy/polygraphy.h>

#include "base/file.h"
#include "base/system.h"

enum { EVENTS = 1000000, PAIRS = 60, RUNS = 11 };

static void fail(const pgy_error *err)
{
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

/* ---- Writing -------------------------------------------------------------------------------- */

static pgy_trace *make_million(void)
{
    static const char ARGS[] = "{\"layer_id\":7,\"op\":\"FusedConv\",\"nodes\":[\"conv1\",\"relu1\"],\"kernel\":\"conv_f32_direct_avx512\",\"bytes_in\":4096}";
    const pgy_trace_row row = {10, 1, "runner 0: bench", "layers"};
    pgy_trace *t = NULL;
    pgy_error err = {0};
    size_t index = 0;
    if (pgy_trace_create(&t, &err) || pgy_trace_add_row(&index, t, &row, &err)) fail(&err);
    for (int64_t i = 0; i < EVENTS; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer %d", (int)(i % 100));
        const pgy_trace_event e = {.kind = PGY_TRACE_SLICE, .name = name, .category = "layer", .row = index, .start_ns = i * 25000,
                                   .duration_ns = 24000, .has_run = true, .run = i / 100};
        if (pgy_trace_add(t, &e, ARGS, &err)) fail(&err);
    }
    pgy_trace_sort(t);
    return t;
}

static void time_writing(const char *folder)
{
    static const char *const NAMES[] = {"million.json", "million.json.gz", "million.pftrace", "million.pftrace.gz"};
    pgy_trace *t = make_million();
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        char path[4096];
        pgy_error err = {0};
        uint64_t bytes = 0;
        int64_t best = INT64_MAX;
        snprintf(path, sizeof path, "%s/%s", folder, NAMES[i]);
        for (int round = 0; round < 3; round++) {
            const int64_t start = clock_ns();
            if (pgy_trace_save(path, t, &err)) fail(&err);
            if (clock_ns() - start < best) best = clock_ns() - start;
        }
        if (file_size(&bytes, path, &err)) fail(&err);
        printf("%-20s %8d events %8.1f MB %7.3f s\n", NAMES[i], EVENTS, (double)bytes / 1e6, (double)best * 1e-9);
        remove(path);
    }
    pgy_trace_destroy(t);
}

/* ---- Recording ------------------------------------------------------------------------------ */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Times of the engine's runs in a short loop, recorded or not; what recording does between runs does not count. */
static size_t run_us(double *out, pgy_engine *e, const pgy_tensor_map *feed)
{
    pgy_perf_options o = pgy_perf_options_default();
    pgy_perf_trace *t = NULL;
    pgy_error err = {0};
    o.warm_up_ms = o.duration_s = 0;
    o.iterations = RUNS;
    if (pgy_perf_measure(&t, NULL, e, feed, &o, &err)) fail(&err);
    for (size_t i = 1; i < RUNS; i++) out[i - 1] = pgy_perf_time(pgy_perf_trace_at(t, i), PGY_PERF_COMPUTE) * 1e3;
    pgy_perf_trace_destroy(t);
    return RUNS - 1;
}

static size_t count_layers(const pgy_trace *t)
{
    size_t n = 0;
    for (size_t i = 0; i < pgy_trace_event_count(t); i++) {
        const pgy_trace_event e = pgy_trace_event_at(t, i);
        n += !strcmp(e.category, "layer") && e.run == 0;
    }
    return n;
}

static void time_recording(const char *path)
{
    static double without[PAIRS * RUNS], with[PAIRS * RUNS], unused[RUNS];
    pgy_model *model = NULL;
    pgy_engine *engine = NULL;
    pgy_tensor_map *feed = NULL;
    pgy_trace *t = NULL;
    pgy_error err = {0};
    if (pgy_model_load(&model, path, NULL, &err) || pgy_engine_build(&engine, model, NULL, &err) ||
        pgy_perf_inputs(&feed, engine, 0, NULL, 0, &err) || pgy_trace_start(NULL, &err))
        fail(&err);
    (void)run_us(unused, engine, feed);
    size_t counts[2] = {0};
    for (int i = 0; i < PAIRS; i++)
        for (int k = 0; k < 2; k++) {
            const int records = (i + k) % 2;
            pgy_trace_pause(!records);
            counts[records] += run_us((records ? with : without) + counts[records], engine, feed);
        }
    pgy_trace_pause(false);
    if (pgy_trace_stop(&t, &err)) fail(&err);
    const size_t layers = count_layers(t);
    qsort(without, counts[0], sizeof *without, ascending);
    qsort(with, counts[1], sizeof *with, ascending);
    const double a = without[counts[0] / 2], b = with[counts[1] / 2];
    printf("%s: %zu layers, median run %.2f us without and %.2f us with a recording: %+.2f %%\n", path_basename(path), layers, a, b,
           (b / a - 1) * 100);
    printf("  that is %+.3f us per layer of %.2f us; a slice on an empty range: %s ns\n", (b - a) / (double)(layers ? layers : 1),
           a / (double)(layers ? layers : 1), pgy_trace_fact(t, "overhead_ns_per_slice"));
    pgy_trace_destroy(t);
    pgy_tensor_map_destroy(feed);
    pgy_engine_release(engine);
    pgy_model_destroy(model);
}

int main(int argc, char **argv)
{
    if (argc > 1) time_recording(argv[1]);
    time_writing(argc > 2 ? argv[2] : "/tmp");
    return 0;
}
