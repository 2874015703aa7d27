/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the layers of a network with those of the engine, where convolution, bias and activation
 * are one layer (vertical fusion) and reformats are separate steps. It also shows the engine
 * inspector, and the memory that tensors share.
 *
 *     fusions_and_memory net.plan
 */
#include <stdio.h>
#include <string.h>

#include <polygraphy/polygraphy.h>

enum { DEPTH = 4, CHANNELS = 16, SIZE = 32 };

static pgy_status add_weights(pgy_value **out, pgy_network *net, size_t rank, const int64_t *shape, pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_layer *constant = NULL;
    pgy_status st = pgy_tensor_create(&t, PGY_F32, rank, shape, err);
    for (size_t i = 0; !st && i < pgy_tensor_count(t); i++) ((float *)pgy_tensor_data(t))[i] = (float)(i % 13) / 100;
    if (!st) st = pgy_network_add_constant(&constant, net, t, err);
    pgy_tensor_release(t);
    if (!st) *out = constant->outputs[0];
    return st;
}

/* A chain of convolutions with bias and ReLU. */
static pgy_status make_model(pgy_model **out, size_t *layer_count, pgy_error *err)
{
    static const int64_t DIMS[] = {1, CHANNELS, SIZE, SIZE}, KERNEL[] = {CHANNELS, CHANNELS, 3, 3}, BIAS[] = {CHANNELS};
    pgy_network *net = NULL;
    pgy_value *x = NULL;
    pgy_status st = pgy_network_create(&net, "chain", err);
    if (!st) st = pgy_network_add_input(&x, net, "x", PGY_F32, 4, DIMS, err);
    for (int i = 0; !st && i < DEPTH; i++) {
        pgy_convolution p = {.window = {.pre_padding = {1, 1}, .post_padding = {1, 1}}};
        pgy_layer *convolution = NULL, *relu = NULL;
        st = add_weights(&p.kernel, net, 4, KERNEL, err);
        if (!st) st = add_weights(&p.bias, net, 1, BIAS, err);
        if (!st) st = pgy_network_add_convolution(&convolution, net, x, &p, err);
        if (!st) st = pgy_network_add_activation(&relu, net, convolution->outputs[0], PGY_ACTIVATION_RELU, 0, 0, err);
        if (!st) x = relu->outputs[0];
    }
    if (!st) st = pgy_network_mark_output(net, x, err);
    for (size_t i = 0; !st && i < pgy_network_layer_count(net); i++)
        if (pgy_network_layer_at(net, i)->type != PGY_LAYER_CONSTANT) ++*layer_count;
    if (!st) st = pgy_network_to_model(out, net, err);
    pgy_network_destroy(net);
    return st;
}

/* @return the number of the plan's layers that are not reformats */
static size_t print_layers(const pgy_plan_profile *profile)
{
    size_t count = 0;
    for (size_t i = 0; i < profile->layer_count; i++) {
        const pgy_plan_layer *layer = &profile->layers[i];
        const bool moves = strcmp(layer->type, "Reorder") == 0 || strcmp(layer->type, "Copy") == 0;
        printf("  %-40s %-12s by %s\n", layer->name, layer->type, layer->tactic ? layer->tactic : "the reference");
        count += !moves;
    }
    return count;
}

/* The engine inspector uses TensorRT's field names. Its detail depends on the profiling verbosity
 * of the build. */
static pgy_status inspect(bool *found, const pgy_plan *plan, pgy_error *err)
{
    char *text = NULL;
    const pgy_status st = pgy_plan_inspect(&text, plan, PGY_INSPECT_JSON, err);
    if (st) return st;
    *found = strstr(text, "\"Layers\"") && strstr(text, "\"TacticName\"");
    printf("the inspector's first lines: %.200s ...\n", text);
    pgy_text_free(text);
    return PGY_OK;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s net.plan\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_model *model = NULL;
    pgy_plan *plan = NULL;
    const pgy_build_config config = {.size = sizeof config, .profiling_verbosity = PGY_VERBOSITY_DETAILED};
    size_t before = 0, after = 0;
    bool inspected = false;
    uint64_t arena = 0;
    const uint64_t all = (uint64_t)DEPTH * CHANNELS * SIZE * SIZE * sizeof(float);
    pgy_status st = make_model(&model, &before, &err);
    if (!st) st = pgy_plan_build(argv[1], model, &config, &err);
    if (!st) st = pgy_plan_open(&plan, argv[1], &err);
    if (!st) after = print_layers(pgy_plan_profile_at(plan, 0));
    if (!st) st = inspect(&inspected, plan, &err);
    if (!st) arena = pgy_plan_profile_at(plan, 0)->arena_bytes;
    if (st) fprintf(stderr, "error: %s\n", err.text);
    else
        printf("%zu layers became %zu; all that they compute is %llu KiB, in %llu KiB of memory\n", before, after, (unsigned long long)all / 1024,
               (unsigned long long)arena / 1024);
    pgy_plan_close(plan);
    pgy_model_destroy(model);
    return st || !inspected || after == 0 || after >= before || arena >= all;
}
