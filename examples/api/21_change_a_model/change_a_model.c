/* SPDX-License-Identifier: Apache-2.0 */
/* Changes a model as a network: lists its layers, replaces each ReLU by a GELU, renames a layer,
 * adds the largest class as an output, and saves, builds and runs the result.
 *
 *     change_a_model digits.onnx changed.onnx
 */
#include <stdio.h>
#include <string.h>

#include <polygraphy/polygraphy.h>

static void list_layers(const pgy_network *net)
{
    for (size_t i = 0; i < pgy_network_layer_count(net); i++) {
        const pgy_layer *layer = pgy_network_layer_at(net, i);
        const pgy_value *v = layer->output_count ? layer->outputs[0] : NULL;
        printf("%2zu %-16s %-12s %s %s\n", i, pgy_layer_type_name(layer->type), layer->name, pgy_dtype_name(layer->precision), v ? v->name : "");
    }
}

/* Makes all layers except `but` read v in place of the layer's output. */
static pgy_status give_instead(pgy_network *net, const pgy_layer *layer, pgy_value *v, const pgy_layer *but, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_network_layer_count(net); i++) {
        pgy_layer *user = pgy_network_layer_at(net, i);
        for (size_t k = 0; !st && user != but && k < user->input_count; k++)
            if (user->inputs[k] == layer->outputs[0]) st = pgy_layer_set_input(user, k, v, err);
    }
    return st;
}

static pgy_status replace_relus(pgy_network *net, size_t *count, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_network_layer_count(net); i++) {
        pgy_layer *relu = pgy_network_layer_at(net, i), *gelu = NULL;
        if (relu->type != PGY_LAYER_ACTIVATION || strcmp(relu->nodes[0]->op_type, "Relu") != 0) continue;
        st = pgy_network_add_activation(&gelu, net, relu->inputs[0], PGY_ACTIVATION_GELU_ERF, 0, 0, err);
        if (!st) st = give_instead(net, relu, gelu->outputs[0], gelu, err);
        if (!st) st = pgy_network_remove_layer(net, relu, err);
        if (!st) i--;
        ++*count;
    }
    return st;
}

/* Adds the largest class of the first output. */
static pgy_status add_top(pgy_network *net, pgy_error *err)
{
    pgy_layer *top = NULL;
    pgy_value *scores = pgy_network_output_at(net, 0);
    pgy_status st = pgy_network_add_topk(&top, net, scores, PGY_TOPK_MAX, 1, PGY_AXIS(1), PGY_I32, err);
    if (!st) st = pgy_layer_set_name(top, "largest", err);
    if (!st) st = pgy_network_rename_tensor(net, top->outputs[1], "class", err);
    if (!st) st = pgy_network_mark_output(net, top->outputs[1], err);
    return st;
}

static pgy_status run(bool *right, pgy_model *model, pgy_error *err)
{
    pgy_engine *engine = NULL;
    pgy_context *context = NULL;
    pgy_tensor_map *feed = NULL, *outputs = NULL;
    pgy_tensor *x = NULL;
    pgy_status st = pgy_engine_build(&engine, model, NULL, err);
    if (!st) st = pgy_context_create(&context, engine, NULL, err);
    if (!st) st = pgy_tensor_map_create(&feed, err);
    if (!st) st = pgy_tensor_map_create(&outputs, err);
    if (!st) {
        const pgy_tensor_info *info = pgy_metadata_at(pgy_engine_inputs(engine), 0);
        int64_t shape[8];
        for (int32_t i = 0; i < info->rank && i < 8; i++) shape[i] = info->shape[i] < 0 ? 1 : info->shape[i];
        st = pgy_tensor_create(&x, info->dtype, (size_t)info->rank, shape, err);
        if (!st) st = pgy_tensor_map_set(feed, info->name, x, err);
    }
    if (!st) st = pgy_context_run(context, feed, outputs, err);
    const pgy_tensor *top = st ? NULL : pgy_tensor_map_find(outputs, "class");
    if (top) {
        const pgy_tensor *scores = pgy_tensor_map_at(outputs, 0);
        const float *s = pgy_tensor_data(scores);
        const int32_t found = *(const int32_t *)pgy_tensor_data(top);
        *right = pgy_tensor_dtype(top) == PGY_I32;
        for (size_t i = 0; i < pgy_tensor_count(scores); i++)
            if (s[i] > s[found]) *right = false;
        printf("class %d of %zu\n", found, pgy_tensor_count(scores));
    }
    pgy_tensor_release(x);
    pgy_tensor_map_destroy(outputs);
    pgy_tensor_map_destroy(feed);
    pgy_context_destroy(context);
    pgy_engine_release(engine);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s digits.onnx changed.onnx\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_model *model = NULL, *changed = NULL;
    pgy_network *net = NULL;
    size_t replaced = 0;
    bool right = false;
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = pgy_network_from_model(&net, model, &err);
    if (!st) list_layers(net);
    if (!st) st = replace_relus(net, &replaced, &err);
    if (!st) st = add_top(net, &err);
    if (!st) puts("becomes");
    if (!st) list_layers(net);
    if (!st) st = pgy_network_to_model(&changed, net, &err);
    if (!st) st = pgy_model_save(changed, argv[2], NULL, &err);
    if (!st) st = run(&right, changed, &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    pgy_model_destroy(changed);
    pgy_network_destroy(net);
    pgy_model_destroy(model);
    return st || !right || !replaced;
}
