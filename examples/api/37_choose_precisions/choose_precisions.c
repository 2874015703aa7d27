/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the layers of a model that may compute in float16, checks the model in which they do, and
 * saves it.
 *
 *     choose_precisions model.onnx inputs.json typed.onnx
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static void show(const pgy_precision *p)
{
    const pgy_precision_summary *sum = pgy_precision_summarize(p);
    printf("%zu of %zu layers are float16 after %zu trials\n", sum->narrow, sum->layers, sum->trials);
    for (size_t i = 0; i < pgy_precision_layer_count(p); i++) {
        const pgy_precision_layer *layer = pgy_precision_layer_at(p, i);
        printf("    %s: %s\n", layer->name, layer->narrow ? "float16" : "float32");
    }
    for (size_t i = 0; i < pgy_precision_point_count(p); i++) {
        const pgy_precision_point *point = pgy_precision_point_at(p, i);
        printf("    %llu bytes: error %.2g\n", (unsigned long long)point->bytes, point->error);
    }
}

static pgy_status check_and_save(pgy_precision *p, const char *path, pgy_error *err)
{
    const pgy_backend *const runtimes[] = {pgy_backend_find_trait(PGY_BACKEND_BUILDS_PLANS)};
    pgy_model *typed = NULL;
    pgy_status st = pgy_precision_settle(&typed, p, runtimes, 1, err);
    if (!st) st = pgy_model_save(typed, path, NULL, err);
    if (!st) printf("%s has error %.2g in the emulation, and passes in the engine\n", path, pgy_precision_summarize(p)->promised_error);
    pgy_model_destroy(typed);
    return st;
}

int main(int argc, char **argv)
{
    pgy_error err = {0};
    pgy_model *model = NULL;
    pgy_data_loader *data = NULL;
    pgy_precision *p = NULL;
    if (argc != 4) {
        fprintf(stderr, "usage: %s MODEL INPUTS OUTPUT\n", argv[0]);
        return 2;
    }
    const char *const inputs[] = {argv[2]};
    pgy_precision_options o = pgy_precision_options_default();
    o.limit = 0.005;
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = pgy_file_loader_create(&data, inputs, 1, &err);
    if (!st) st = pgy_precision_search(&p, model, data, &o, &err);
    if (!st) show(p);
    if (!st) st = check_and_save(p, argv[3], &err);
    pgy_precision_destroy(p);
    pgy_data_loader_destroy(data);
    pgy_model_destroy(model);
    if (st) fprintf(stderr, "%s\n", err.text);
    return st ? 1 : 0;
}
