/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines: what recording costs, and how long files of a million events take.
 *
 *     bench.trace [MODEL [FOLDER]]
 *
 * Slices of runs with and without a recording of the same engine alternate, in pairs; the median of
 * the pairs' differences has an interval. The first engine is a chain of layers of 20 to 40 us on one
 * thread. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <polygraphy/polygraphy.h>

#include "base/file.h"
#include "base/system.h"
#include "base/tracer.h"
#include "perf/perf.h"

enum { EVENTS = 1000000, PAIRS = 400, RUNS = 10 };

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

static int64_t processor_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void time_writing(const char *folder)
{
    static const char *const NAMES[] = {"million.json", "million.json.gz", "million.pftrace", "million.pftrace.gz"};
    pgy_trace *t = make_million();
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        char path[4096];
        pgy_error err = {0};
        uint64_t bytes = 0;
        int64_t best = INT64_MAX, least = INT64_MAX;
        snprintf(path, sizeof path, "%s/%s", folder, NAMES[i]);
        for (int round = 0; round < 3; round++) {
            const int64_t start = clock_ns(), had = processor_ns();
            if (pgy_trace_save(path, t, &err)) fail(&err);
            if (clock_ns() - start < best) best = clock_ns() - start;
            if (processor_ns() - had < least) least = processor_ns() - had;
        }
        if (file_size(&bytes, path, &err)) fail(&err);
        printf("%-20s %8d events %8.1f MB %7.3f s, %7.3f s of a processor\n", NAMES[i], EVENTS, (double)bytes / 1e6, (double)best * 1e-9,
               (double)least * 1e-9);
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

/* Times of the quickest run of a slice: other work on the machine only makes runs slower. */
typedef struct slice_us {
    double run; /* the engine alone, as in the trace's slice of the run */
    double all; /* with what recording does before and behind it */
} slice_us;

static slice_us time_slice(pgy_context *c)
{
    slice_us best = {INFINITY, INFINITY};
    pgy_error err = {0};
    for (int i = 0; i < RUNS; i++) {
        const int64_t before = clock_ns();
        tracer_set_checks(false);
        const uint32_t run = tracer_is_on() ? tracer_run_begin("bench") : TRACE_NONE;
        const int64_t start = clock_ns();
        if (pgy_context_execute(c, &err)) fail(&err);
        const int64_t end = clock_ns();
        tracer_run_end(run, start, end, false);
        best.run = fmin(best.run, (double)(end - start) / 1e3);
        best.all = fmin(best.all, (double)(clock_ns() - before) / 1e3);
    }
    return best;
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

static double median(double *v, size_t count)
{
    qsort(v, count, sizeof *v, ascending);
    return v[count / 2];
}

/* The interval of the median that 95 % of resampled lists of pairs give. */
static void bootstrap(double out[2], const double *v, size_t count)
{
    enum { RESAMPLES = 2000 };
    static double medians[RESAMPLES], drawn[PAIRS];
    uint64_t state = 1;
    for (int i = 0; i < RESAMPLES; i++) {
        for (size_t k = 0; k < count; k++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            drawn[k] = v[(state >> 33) % count];
        }
        medians[i] = median(drawn, count);
    }
    qsort(medians, RESAMPLES, sizeof *medians, ascending);
    out[0] = medians[RESAMPLES / 40];
    out[1] = medians[RESAMPLES - 1 - RESAMPLES / 40];
}

/* A chain of products and activations of about the same size. */
static pgy_model *make_chain(void)
{
    enum { LAYERS = 8, ROWS = 40, SIZE = 256 };
    static const int64_t INPUT[] = {ROWS, SIZE}, WEIGHTS[] = {SIZE, SIZE};
    static float data[SIZE * SIZE];
    pgy_network *net = NULL;
    pgy_model *model = NULL;
    pgy_value *x = NULL;
    pgy_error err = {0};
    pgy_status st = pgy_network_create(&net, "chain", &err);
    for (size_t i = 0; i < SIZE * SIZE; i++) data[i] = (float)((int)(i * 7919 % 31) - 15) / 150;
    if (!st) st = pgy_network_add_input(&x, net, "x", PGY_F32, 2, INPUT, &err);
    for (int i = 0; !st && i < LAYERS; i++) {
        pgy_tensor *w = NULL;
        pgy_layer *constant = NULL, *product = NULL, *softmax = NULL;
        st = pgy_tensor_wrap(&w, data, PGY_F32, 2, WEIGHTS, NULL, NULL, &err);
        if (!st) st = pgy_network_add_constant(&constant, net, w, &err);
        pgy_tensor_release(w);
        if (!st) st = pgy_network_add_matrix_multiply(&product, net, x, PGY_MATRIX_NONE, constant->outputs[0], PGY_MATRIX_NONE, &err);
        if (!st) x = product->outputs[0];
        if (!st && i % 2) st = pgy_network_add_softmax(&softmax, net, x, 2, &err); /* so that products do not fold into one */
        if (softmax) x = softmax->outputs[0];
    }
    if (!st) st = pgy_network_mark_output(net, x, &err);
    if (!st) st = pgy_network_to_model(&model, net, &err);
    if (st) fail(&err);
    pgy_network_destroy(net);
    return model;
}

/* Both sides, the median of the pairs' differences with its interval, and what that is per layer. */
static void print_pairs(const char *what, double *without, double *with, size_t layers)
{
    static double percent[PAIRS];
    double interval[2];
    for (int i = 0; i < PAIRS; i++) percent[i] = (with[i] / without[i] - 1) * 100;
    bootstrap(interval, percent, PAIRS);
    const double a = median(without, PAIRS), b = median(with, PAIRS), change = median(percent, PAIRS);
    printf("  %-30s %9.2f us without, %9.2f us with a recording; pair by pair %+.2f %% (95 %%: %+.2f to %+.2f %%), %+.3f us per layer\n", what, a, b,
           change, interval[0], interval[1], a * change / 100 / (double)layers);
}

/* Both sides run in one context: two contexts differ by where their memory lies. */
static void time_recording(const char *path, int threads)
{
    static double without[2][PAIRS], with[2][PAIRS];
    pgy_model *model = path ? NULL : make_chain();
    pgy_engine *engine = NULL;
    pgy_tensor_map *feed = NULL;
    perf_lane *lane = NULL;
    pgy_trace *t = NULL;
    pgy_error err = {0};
    const pgy_perf_options o = pgy_perf_options_default();
    const pgy_build_config config = {.size = sizeof config, .threads = threads};
    if (path && pgy_model_load(&model, path, NULL, &err)) fail(&err);
    if (pgy_engine_build(&engine, model, &config, &err) || pgy_perf_inputs(&feed, engine, 0, NULL, 0, &err) || pgy_trace_start(NULL, &err) ||
        perf_lane_create(&lane, engine, feed, &o, &err))
        fail(&err);
    (void)time_slice(perf_lane_context(lane));
    for (int i = 0; i < PAIRS; i++)
        for (int k = 0; k < 2; k++) {
            const int records = (i + k) % 2;
            pgy_trace_pause(!records);
            const slice_us us = time_slice(perf_lane_context(lane));
            (records ? with : without)[0][i] = us.run;
            (records ? with : without)[1][i] = us.all;
        }
    pgy_trace_pause(false);
    perf_lane_destroy(lane);
    if (pgy_trace_stop(&t, &err)) fail(&err);
    const size_t layers = count_layers(t) ? count_layers(t) : 1;
    printf("%s: %zu layers, threads %d, %s; %d pairs of slices of %d runs, of which the quickest counts; a slice on an empty range, as in the file: %.4s ns\n",
           path ? path_basename(path) : "chain", layers, threads, cpu_level_name(cpu_features()), PAIRS, RUNS,
           pgy_trace_fact(t, "overhead_ns_per_slice"));
    print_pairs("run", without[0], with[0], layers);
    print_pairs("run and what is around it", without[1], with[1], layers);
    printf("  a layer takes %.2f us\n", without[0][PAIRS / 2] / (double)layers);
    pgy_trace_destroy(t);
    pgy_tensor_map_destroy(feed);
    pgy_engine_release(engine);
    pgy_model_destroy(model);
}

int main(int argc, char **argv)
{
    time_recording(NULL, 1);
    for (int threads = 1; argc > 1 && threads < 3; threads++) time_recording(argv[1], threads);
    time_writing(argc > 2 ? argv[2] : "/tmp");
    return 0;
}
