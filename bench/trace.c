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

enum { EVENTS = 1000000, PAIRS = 400, WARM = 20 };

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

static double run_us(pgy_context *c, const pgy_tensor_map *feed, pgy_tensor_map *outputs)
{
    pgy_error err = {0};
    const int64_t start = clock_ns();
    if (pgy_context_run(c, feed, outputs, &err)) fail(&err);
    return (double)(clock_ns() - start) / 1e3;
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
    static double without[PAIRS], with[PAIRS];
    pgy_model *model = NULL;
    pgy_engine *engine = NULL;
    pgy_context *c = NULL;
    pgy_tensor_map *feed = NULL, *outputs = NULL;
    pgy_trace *t = NULL;
    pgy_error err = {0};
    if (pgy_model_load(&model, path, NULL, &err) || pgy_engine_build(&engine, model, NULL, &err) ||
        pgy_context_create(&c, engine, NULL, &err) || pgy_perf_inputs(&feed, engine, 0, NULL, 0, &err) ||
        pgy_tensor_map_create(&outputs, &err) || pgy_trace_start(NULL, &err))
        fail(&err);
    for (int i = 0; i < WARM; i++) (void)run_us(c, feed, outputs);
    for (int i = 0; i < PAIRS; i++)
        for (int k = 0; k < 2; k++) {
            const int records = (i + k) % 2;
            pgy_trace_pause(!records);
            (records ? with : without)[i] = run_us(c, feed, outputs);
        }
    pgy_trace_pause(false);
    if (pgy_trace_stop(&t, &err)) fail(&err);
    const size_t layers = count_layers(t);
    qsort(without, PAIRS, sizeof *without, ascending);
    qsort(with, PAIRS, sizeof *with, ascending);
    const double a = without[PAIRS / 2], b = with[PAIRS / 2];
    printf("%s: %zu layers, median run %.2f us without and %.2f us with a recording: %+.2f %%\n", path_basename(path), layers, a, b,
           (b / a - 1) * 100);
    printf("  that is %+.3f us per layer of %.2f us; a slice on an empty range: %s ns\n", (b - a) / (double)(layers ? layers : 1),
           a / (double)(layers ? layers : 1), pgy_trace_fact(t, "overhead_ns_per_slice"));
    pgy_trace_destroy(t);
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(outputs);
    pgy_context_destroy(c);
    pgy_engine_release(engine);
    pgy_model_destroy(model);
}

int main(int argc, char **argv)
{
    if (argc > 1) time_recording(argv[1]);
    time_writing(argc > 2 ? argv[2] : "/tmp");
    return 0;
}
