/* SPDX-License-Identifier: Apache-2.0 */
/* The next run reuses the buffers of a context, so copy results that you want to keep. A runner
 * returns a new map for each run, so its results need no copy.
 *
 *     keep_results
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

/* y = 2 x */
static pgy_status make_engine(pgy_engine **out, pgy_error *err)
{
    static const int64_t SHAPE[] = {3};
    pgy_network *net = NULL;
    pgy_value *x = NULL;
    pgy_layer *twice = NULL;
    pgy_model *model = NULL;
    pgy_status st = pgy_network_create(&net, "twice", err);
    if (!st) st = pgy_network_add_input(&x, net, "x", PGY_F32, 1, SHAPE, err);
    if (!st) st = pgy_network_add_elementwise(&twice, net, x, x, PGY_ELEMENTWISE_SUM, err);
    if (!st) st = pgy_network_rename_tensor(net, twice->outputs[0], "y", err);
    if (!st) st = pgy_network_mark_output(net, twice->outputs[0], err);
    if (!st) st = pgy_network_to_model(&model, net, err);
    if (!st) st = pgy_engine_build(out, model, NULL, err);
    pgy_model_destroy(model);
    pgy_network_destroy(net);
    return st;
}

/* Runs twice into the same buffer, and reads the first result after the second run. */
static pgy_status run_twice(bool *right, pgy_context *context, pgy_error *err)
{
    const int64_t shape[] = {3};
    float input[3] = {1, 2, 3}, buffer[3];
    pgy_view first = pgy_view_of(buffer, PGY_F32, 1, shape);
    pgy_tensor *kept = NULL;
    pgy_status st = pgy_context_set_input(context, "x", input, sizeof input, err);
    if (!st) st = pgy_context_set_output(context, "y", buffer, sizeof buffer, err);
    if (!st) st = pgy_context_execute(context, err);
    if (!st) st = pgy_tensor_copy(&kept, first, err); /* a deep copy */
    for (int i = 0; i < 3; i++) input[i] = 10;
    if (!st) st = pgy_context_execute(context, err);
    const float *view = pgy_view_data(first), *copy = st ? NULL : pgy_tensor_data(kept);
    *right = copy && copy[0] == 2 && copy[2] == 6 && view[0] == 20 && view[2] == 20;
    if (copy) printf("the view of the first result: %g %g %g; the copy: %g %g %g\n", view[0], view[1], view[2], copy[0], copy[1], copy[2]);
    pgy_tensor_release(kept);
    return st;
}

int main(void)
{
    pgy_error err = {0};
    pgy_engine *engine = NULL;
    pgy_context *context = NULL;
    bool right = false;
    pgy_status st = make_engine(&engine, &err);
    if (!st) st = pgy_context_create(&context, engine, NULL, &err);
    if (!st) st = run_twice(&right, context, &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    pgy_context_destroy(context);
    pgy_engine_release(engine);
    return st || !right;
}
