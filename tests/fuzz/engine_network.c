/* SPDX-License-Identifier: Apache-2.0 */
/* A small network made of the bytes runs in the engine, and in the reference; what comes out must
 * be the same but for rounding. Most networks have few layers and one thread, so that many are
 * tried; the length of the input says which are large, and which run on two threads. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/context/context.h"
#include "evaluate/execute.h"
#include "harness/random_network.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static pgy_status run_reference(pgy_model *model, const pgy_tensor_map *feed, pgy_tensor_map *out,
                                pgy_error *err)
{
    pgy_graph *g = NULL;
    graph_plan plan = {0};
    const execute_limits limits = {0};
    pgy_status st = pgy_graph_import(&g, model, err);
    if (!st) st = plan_build(&plan, g, err);
    if (!st) st = pgy_graph_infer_shapes(g, NULL, err);
    if (!st) st = execute_graph(&plan, g, feed, out, false, &limits, err);
    pgy_graph_destroy(g);
    graph_plan_deinit(&plan);
    return st;
}

enum { FEW_LAYERS = 4, ONE_IS_LARGE = 16, ONE_HAS_THREADS = 5 };

static pgy_status run_engine(pgy_tensor_map **feed, pgy_model *model, byte_source *source,
                             uint32_t threads, pgy_tensor_map *out, pgy_error *err)
{
    const pgy_build_config config = {
        .size = sizeof config, .threads = threads, .has_optimization_level = true};
    engine *e = NULL;
    context *c = NULL;
    pgy_status st = engine_build(&e, model, &config, err);
    if (!st) st = context_create(&c, e, threads, err);
    if (!st) *feed = random_feed(source, engine_inputs(e));
    if (!st) st = context_run(c, *feed, out, NULL, err);
    context_destroy(c);
    engine_release(e);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    byte_source source = {.data = data, .size = size, .state = size};
    const bool is_large = size % ONE_IS_LARGE == ONE_IS_LARGE - 1;
    const uint32_t threads = size % ONE_HAS_THREADS == ONE_HAS_THREADS - 1 ? 2 : 1;
    pgy_model *model = random_network_below(&source, is_large ? RANDOM_MAX_LAYERS : FEW_LAYERS);
    pgy_tensor_map *feed = NULL, *got = NULL, *wanted = NULL;
    pgy_error err = {0};
    if (!model) __builtin_trap();
    pgy_status st = pgy_tensor_map_create(&got, &err);
    if (!st) st = pgy_tensor_map_create(&wanted, &err);
    if (!st) st = run_engine(&feed, model, &source, threads, got, &err);
    if (!st) st = run_reference(model, feed, wanted, &err);
    if (st) {
        fprintf(stderr, "%s\n", err.text);
        __builtin_trap();
    }
    for (size_t i = 0; i < pgy_tensor_map_count(wanted); i++)
        if (!(largest_error(pgy_tensor_map_at(got, i), pgy_tensor_map_at(wanted, i)) < 1e-2))
            __builtin_trap();
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(got);
    pgy_tensor_map_destroy(wanted);
    pgy_model_destroy(model);
    return 0;
}
