/* SPDX-License-Identifier: Apache-2.0 */
/* Times a model on the built-in engine: the report of trtexec, and the layer that takes longest.
 *
 *     measure_a_model model.onnx
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static pgy_status print_slowest(pgy_engine *engine, const pgy_tensor_map *feed, const pgy_perf_options *o,
                                pgy_error *err)
{
    pgy_perf_profile *p = NULL;
    const pgy_status st = pgy_perf_profile_layers(&p, engine, feed, o, err);
    if (st) return st;
    const pgy_perf_layer *slowest = NULL;
    for (size_t i = 0; i < pgy_perf_profile_count(p); i++)
        if (!slowest || pgy_perf_profile_at(p, i)->total_ms > slowest->total_ms) slowest = pgy_perf_profile_at(p, i);
    if (slowest) printf("slowest of %zu layers: %s\n", pgy_perf_profile_count(p), slowest->name);
    pgy_perf_profile_destroy(p);
    return PGY_OK;
}

static pgy_status measure(pgy_model *model, pgy_error *err)
{
    pgy_perf_options o = pgy_perf_options_default();
    pgy_engine *engine = NULL;
    pgy_tensor_map *feed = NULL;
    pgy_perf_trace *trace = NULL;
    char *text = NULL;
    o.warm_up_ms = 10;
    o.duration_s = 0.05;
    pgy_status st = pgy_engine_build(&engine, model, NULL, err);
    if (!st) st = pgy_perf_inputs(&feed, engine, 0, NULL, 0, err);
    if (!st) st = pgy_perf_measure(&trace, NULL, engine, feed, &o, err);
    if (!st) st = pgy_perf_text(&text, trace, NULL, err);
    if (!st) fputs(text, stdout);
    if (!st) st = print_slowest(engine, feed, &o, err);
    pgy_text_free(text);
    pgy_perf_trace_destroy(trace);
    pgy_tensor_map_destroy(feed);
    pgy_engine_release(engine);
    return st;
}

int main(int argc, char **argv)
{
    pgy_error err = {0};
    pgy_model *model = NULL;
    if (argc != 2) return 2;
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = measure(model, &err);
    if (st) fprintf(stderr, "%s\n", err.text);
    pgy_model_destroy(model);
    return st != PGY_OK;
}
