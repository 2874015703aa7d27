/* SPDX-License-Identifier: Apache-2.0 */
/* Observes a running engine: the time of each layer (IProfiler), intermediate tensors (debug
 * tensors) and kept errors (IErrorRecorder). It also observes the progress of a build
 * (IProgressMonitor).
 *
 *     watch_a_run
 */
#include <stdio.h>
#include <string.h>

#include <polygraphy/polygraphy.h>

/* y = relu(x) * x, with relu(x) marked for debugging */
static pgy_status make_model(pgy_network **out, pgy_model **model, pgy_error *err)
{
    static const int64_t DIMS[] = {4};
    pgy_value *x = NULL;
    pgy_layer *relu = NULL, *product = NULL;
    pgy_status st = pgy_network_create(out, "watched", err);
    if (!st) st = pgy_network_add_input(&x, *out, "x", PGY_F32, 1, DIMS, err);
    if (!st) st = pgy_network_add_activation(&relu, *out, x, PGY_ACTIVATION_RELU, 0, 0, err);
    if (!st) st = pgy_network_rename_tensor(*out, relu->outputs[0], "positive", err);
    if (!st) st = pgy_network_mark_debug(*out, relu->outputs[0], err);
    if (!st) st = pgy_network_add_elementwise(&product, *out, relu->outputs[0], x, PGY_ELEMENTWISE_PROD, err);
    if (!st) st = pgy_network_rename_tensor(*out, product->outputs[0], "y", err);
    if (!st) st = pgy_network_mark_output(*out, product->outputs[0], err);
    if (!st) st = pgy_network_to_model(model, *out, err);
    return st;
}

/* ---- Listeners ---- */

typedef struct seen {
    size_t phases, layers, tensors;
    float positive[4];
} seen;

static void phase_starts(void *user, const char *phase, const char *parent, size_t step_count)
{
    ((seen *)user)->phases++;
    printf("phase %s%s%s, %zu steps\n", phase, parent ? " of " : "", parent ? parent : "", step_count);
}

static bool step_is_done(void *user, const char *phase, size_t step)
{
    (void)user;
    (void)phase;
    (void)step;
    return true; /* false would end the build */
}

static void layer_ran(void *user, const char *name, double ms)
{
    ((seen *)user)->layers++;
    printf("layer %s: %.4f ms\n", name, ms);
}

static bool tensor_is_there(void *user, const char *name, pgy_view value)
{
    seen *s = user;
    s->tensors++;
    printf("tensor %s: %zu elements\n", name, pgy_view_count(value));
    if (strcmp(name, "positive") == 0 && pgy_view_size_bytes(value) == sizeof s->positive) memcpy(s->positive, pgy_view_data(value), sizeof s->positive);
    return true;
}

/* ---- The program ---- */

static pgy_status build(pgy_engine **out, seen *s, pgy_error *err)
{
    const pgy_progress_monitor monitor = {.size = sizeof monitor, .user = s, .start = phase_starts, .step = step_is_done};
    pgy_network *net = NULL;
    pgy_model *model = NULL;
    pgy_status st = make_model(&net, &model, err);
    if (!st) {
        pgy_build_config config = {.size = sizeof config, .monitor = &monitor};
        config.debug_tensors.count = pgy_network_debug_tensors(net, &config.debug_tensors.items);
        config.debug_tensors.given = true;
        st = pgy_engine_build(out, model, &config, err);
    }
    pgy_model_destroy(model);
    pgy_network_destroy(net);
    return st;
}

static pgy_status watch(bool *right, pgy_context *context, seen *s, pgy_error *err)
{
    const float x[4] = {-1, 2, -3, 4};
    float y[4] = {0};
    const pgy_profiler profiler = {.size = sizeof profiler, .user = s, .layer = layer_ran};
    const pgy_debug_listener listener = {.size = sizeof listener, .user = s, .tensor = tensor_is_there};
    pgy_status st = pgy_context_set_profiler(context, &profiler, true, err);
    if (!st) st = pgy_context_set_debug_listener(context, &listener, err);
    if (!st) st = pgy_context_set_input(context, "x", x, sizeof x, err);
    if (!st) st = pgy_context_set_output(context, "y", y, sizeof y, err);
    if (!st) st = pgy_context_execute(context, err);
    *right = !st && y[0] == 0 && y[1] == 4 && y[3] == 16 && s->positive[0] == 0 && s->positive[1] == 2 && s->positive[3] == 4;
    return st;
}

int main(void)
{
    pgy_error err = {0};
    pgy_engine *engine = NULL;
    pgy_context *context = NULL;
    pgy_error_recorder *recorder = NULL;
    seen s = {0};
    bool right = false, recorded = false;
    pgy_status st = build(&engine, &s, &err);
    if (!st) st = pgy_context_create(&context, engine, NULL, &err);
    if (!st) st = pgy_error_recorder_create(&recorder, 0, &err);
    if (!st) pgy_context_set_error_recorder(context, recorder);
    if (!st) st = watch(&right, context, &s, &err);
    if (!st) { /* a mistake, which is kept */
        pgy_error kept = {0};
        recorded = pgy_context_set_input(context, "z", "", 0, NULL) != PGY_OK && pgy_error_recorder_at(&kept, recorder, 0) != PGY_OK;
        printf("kept: %s\n", kept.text);
    }
    if (st) fprintf(stderr, "error: %s\n", err.text);
    pgy_error_recorder_release(recorder);
    pgy_context_destroy(context);
    pgy_engine_release(engine);
    return st || !right || !recorded || !s.layers || s.tensors != 1 || !s.phases;
}
