/* SPDX-License-Identifier: Apache-2.0 */
/* A custom layer: loads the operator SoftClip of ../../operators/soft_clip.c, adds it to a network
 * with its field, builds the network and runs it.
 *
 *     plug_ins soft_clip.so
 */
#include <math.h>
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static pgy_status make_model(pgy_model **out, pgy_error *err)
{
    static const int64_t DIMS[] = {-1};
    const pgy_plugin_field field = {.name = "limit", .kind = PGY_FIELD_FLOAT, .f = 2};
    pgy_network *net = NULL;
    pgy_value *x = NULL;
    pgy_layer *clip = NULL;
    pgy_status st = pgy_network_create(&net, "clipped", err);
    if (!st) st = pgy_network_add_input(&x, net, "x", PGY_F32, 1, DIMS, err);
    if (!st) st = pgy_network_add_plugin(&clip, net, "example", "SoftClip", &x, 1, 1, &field, 1, err);
    if (!st) st = pgy_network_rename_tensor(net, clip->outputs[0], "y", err);
    if (!st) st = pgy_network_mark_output(net, clip->outputs[0], err);
    if (!st) st = pgy_network_to_model(out, net, err);
    pgy_network_destroy(net);
    return st;
}

static pgy_status run(bool *right, pgy_engine *engine, pgy_error *err)
{
    const float x[] = {-100, -1, 0, 1, 100};
    const int64_t shape[] = {5};
    float y[5];
    pgy_context *context = NULL;
    pgy_status st = pgy_context_create(&context, engine, NULL, err);
    if (!st) st = pgy_context_set_input_shape(context, "x", 1, shape, err);
    if (!st) st = pgy_context_set_input(context, "x", x, sizeof x, err);
    if (!st) st = pgy_context_set_output(context, "y", y, sizeof y, err);
    if (!st) st = pgy_context_execute(context, err);
    *right = !st;
    for (int i = 0; !st && i < 5; i++) {
        printf("%g -> %g\n", (double)x[i], (double)y[i]);
        if (fabs((double)y[i] - 2 * tanh((double)x[i] / 2)) > 1e-5) *right = false;
    }
    pgy_context_destroy(context);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s soft_clip.so\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_model *model = NULL;
    pgy_engine *engine = NULL;
    bool right = false;
    pgy_status st = pgy_operators_load(argv[1], &err);
    if (!st) st = make_model(&model, &err);
    if (!st) st = pgy_engine_build(&engine, model, NULL, &err);
    if (!st) st = run(&right, engine, &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    pgy_engine_release(engine);
    pgy_model_destroy(model);
    return st || !right;
}
