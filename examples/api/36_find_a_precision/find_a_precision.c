/* SPDX-License-Identifier: Apache-2.0 */
/* Searches how many of the first layers of a model must compute in float32, if the others may
 * compute in float16, for each output to stay within a tolerance. Then it names the tensor with the
 * largest error: pass the errors to pgy_debug_precision_options to take the worst layers first.
 *
 *     find_a_precision digits.onnx 1e-4
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <polygraphy/polygraphy.h>

#define CANDIDATE "find_a_precision_candidate.plan"

/* What the judge compares with: the inputs, and the outputs of an engine in float32. */
typedef struct golden {
    pgy_tensor_map *inputs, *outputs;
    double tolerance;
} golden;

static pgy_status run_engine(pgy_tensor_map *outputs, pgy_engine *engine, const pgy_tensor_map *inputs, pgy_error *err)
{
    pgy_context *context = NULL;
    pgy_status st = pgy_context_create(&context, engine, NULL, err);
    if (!st) st = pgy_context_run(context, inputs, outputs, err);
    pgy_context_destroy(context);
    return st;
}

/* Inputs of ones; dynamic dimensions are 1. */
static pgy_status make_inputs(pgy_tensor_map *out, const pgy_engine *engine, pgy_error *err)
{
    const pgy_metadata *inputs = pgy_engine_inputs(engine);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_metadata_count(inputs); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(inputs, i);
        int64_t shape[8];
        pgy_tensor *t = NULL;
        for (int32_t d = 0; d < info->rank && d < 8; d++) shape[d] = info->shape[d] < 0 ? 1 : info->shape[d];
        st = pgy_tensor_create(&t, PGY_F32, (size_t)info->rank, shape, err);
        for (size_t k = 0; !st && k < pgy_tensor_count(t); k++) ((float *)pgy_tensor_data(t))[k] = 1;
        if (!st) st = pgy_tensor_map_set(out, info->name, t, err);
        pgy_tensor_release(t);
    }
    return st;
}

static pgy_status make_golden(golden *g, pgy_model *model, pgy_error *err)
{
    pgy_engine *engine = NULL;
    pgy_status st = pgy_engine_build(&engine, model, NULL, err);
    if (!st) st = pgy_tensor_map_create(&g->inputs, err);
    if (!st) st = pgy_tensor_map_create(&g->outputs, err);
    if (!st) st = make_inputs(g->inputs, engine, err);
    if (!st) st = run_engine(g->outputs, engine, g->inputs, err);
    pgy_engine_release(engine);
    return st;
}

static bool is_near(const pgy_tensor *a, const pgy_tensor *b, double tolerance)
{
    bool near = a && b && pgy_tensor_count(a) == pgy_tensor_count(b);
    for (size_t i = 0; near && i < pgy_tensor_count(a); i++)
        near = fabs((double)((const float *)pgy_tensor_data(a))[i] - (double)((const float *)pgy_tensor_data(b))[i]) <= tolerance;
    return near; /* a NaN is not near anything */
}

/* The check: runs the plan of the trial. */
static pgy_status judge(bool *passed, const char *candidate, void *user, pgy_error *err)
{
    const golden *g = user;
    pgy_engine *engine = NULL;
    pgy_tensor_map *outputs = NULL;
    pgy_status st = pgy_engine_open(&engine, candidate, err);
    if (!st) st = pgy_tensor_map_create(&outputs, err);
    if (!st) st = run_engine(outputs, engine, g->inputs, err);
    *passed = !st;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(g->outputs); i++) {
        const char *name = pgy_tensor_map_name(g->outputs, i);
        *passed = *passed && is_near(pgy_tensor_map_find(outputs, name), pgy_tensor_map_find(g->outputs, name), g->tolerance);
    }
    pgy_tensor_map_destroy(outputs);
    pgy_engine_release(engine);
    return st;
}

static pgy_status search(pgy_model *model, golden *g, pgy_error *err)
{
    const pgy_build_config config = {.size = sizeof config, .fp16 = true, .constraints = PGY_CONSTRAINTS_OBEY};
    const pgy_debug_precision_options how = {.size = sizeof how, .config = &config};
    const pgy_debug_check check = {.size = sizeof check, .judge = judge, .user = g};
    pgy_debug_options o = pgy_debug_options_default();
    pgy_debug_session *session = NULL;
    pgy_debug_precision found = {0};
    o.check = &check;
    o.candidate = CANDIDATE;
    pgy_status st = pgy_debug_session_create(&session, &o, err);
    if (!st) st = pgy_debug_precision_find(&found, session, model, &how, err);
    if (!st && !found.found) printf("not even float32 in all %zu layers is exact enough\n", found.layer_count);
    if (!st && found.found) printf("the first %zu of %zu layers need float32:", found.count, found.layer_count);
    for (size_t i = 0; !st && i < found.name_count; i++) printf(" %s", found.names[i]);
    if (!st && found.found) printf("\n");
    pgy_debug_precision_free(&found);
    pgy_debug_session_destroy(session);
    return st;
}

static pgy_status print_worst(pgy_model *model, pgy_error *err)
{
    const pgy_build_config config = {.size = sizeof config, .fp16 = true};
    pgy_debug_errors_options o = {.size = sizeof o, .runner = "trt", .reference = "opref"};
    pgy_backend_options *options = NULL;
    pgy_debug_errors errors = {0};
    size_t worst = 0;
    pgy_status st = pgy_backend_options_create(&options, pgy_backend_find("trt"), err);
    if (!st) st = pgy_engine_runner_configure(options, &config, err);
    o.runner_options = options;
    if (!st) st = pgy_debug_errors_measure(&errors, model, &o, err);
    for (size_t i = 1; i < errors.count; i++)
        if (errors.items[i].error > errors.items[worst].error) worst = i;
    if (!st) printf("the worst of %zu tensors is %s\n", errors.count, errors.items[worst].name);
    pgy_debug_errors_free(&errors);
    pgy_backend_options_destroy(options);
    return st;
}

int main(int argc, char **argv)
{
    pgy_error err = {0};
    pgy_model *model = NULL;
    golden g = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: %s MODEL TOLERANCE\n", argv[0]);
        return 2;
    }
    g.tolerance = strtod(argv[2], NULL);
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = make_golden(&g, model, &err);
    if (!st) st = search(model, &g, &err);
    if (!st) st = print_worst(model, &err);
    pgy_tensor_map_destroy(g.inputs);
    pgy_tensor_map_destroy(g.outputs);
    pgy_model_destroy(model);
    if (st) fprintf(stderr, "%s\n", err.text);
    return st ? 1 : 0;
}
