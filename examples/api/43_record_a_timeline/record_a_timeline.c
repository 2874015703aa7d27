/* SPDX-License-Identifier: Apache-2.0 */
/* Records a timeline of building and running a model, writes it, and prints the longest layer.
 *
 *     record_a_timeline model.onnx timeline.json.gz
 */
#include <stdio.h>
#include <string.h>

#include <polygraphy/polygraphy.h>

static pgy_status build_and_run(pgy_model *model, pgy_error *err)
{
    pgy_perf_options o = pgy_perf_options_default();
    pgy_engine *engine = NULL;
    pgy_tensor_map *feed = NULL;
    pgy_perf_trace *times = NULL;
    o.warm_up_ms = 1;
    o.duration_s = 0;
    pgy_trace_phase_begin("build");
    pgy_status st = pgy_engine_build(&engine, model, NULL, err);
    pgy_trace_phase_end();
    if (!st) st = pgy_perf_inputs(&feed, engine, 0, NULL, 0, err);
    if (!st) st = pgy_perf_measure(&times, NULL, engine, feed, &o, err);
    pgy_perf_trace_destroy(times);
    pgy_tensor_map_destroy(feed);
    pgy_engine_release(engine);
    return st;
}

static void print_longest(const pgy_trace *t)
{
    pgy_trace_event longest = {0};
    for (size_t i = 0; i < pgy_trace_event_count(t); i++) {
        const pgy_trace_event e = pgy_trace_event_at(t, i);
        if (!strcmp(e.category, "layer") && e.duration_ns > longest.duration_ns) longest = e;
    }
    if (longest.name) printf("longest layer: %s, %.3f us\n", longest.name, (double)longest.duration_ns / 1e3);
}

int main(int argc, char **argv)
{
    pgy_error err = {0};
    pgy_model *model = NULL;
    pgy_trace *trace = NULL;
    if (argc != 3) return 2;
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = pgy_trace_start(NULL, &err);
    if (!st) st = build_and_run(model, &err);
    if (!st) st = pgy_trace_stop(&trace, &err);
    if (!st) st = pgy_trace_describe(trace, "record_a_timeline", NULL, argv[1], &err);
    if (!st) st = pgy_trace_save(argv[2], trace, &err);
    if (!st) print_longest(trace);
    if (st) fprintf(stderr, "%s\n", err.text);
    pgy_trace_destroy(trace);
    pgy_model_destroy(model);
    return st != PGY_OK;
}
