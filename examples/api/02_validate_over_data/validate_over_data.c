/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one runner over a data set of saved inputs and checks every output for NaN and infinity. It
 * also reads the outputs itself and counts the digits that were classified with a probability above
 * one half.
 *
 *     validate_over_data model.onnx inputs.json
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

/* Rows of a [batch, classes] float output whose largest value is over one half. */
static size_t count_sure(pgy_view v)
{
    const float *p = pgy_view_data(v);
    size_t sure = 0, classes = (size_t)v.shape[1];
    for (int64_t i = 0; i < v.shape[0]; i++) {
        float best = p[0];
        for (size_t k = 1; k < classes; k++) best = p[k] > best ? p[k] : best;
        sure += best > 0.5f;
        p += classes;
    }
    return sure;
}

static pgy_status run_all(pgy_runner *r, pgy_data_loader *loader, size_t *sure, size_t *total, pgy_error *err)
{
    for (;;) {
        pgy_tensor_map *feed = NULL, *outputs = NULL;
        pgy_status st = pgy_data_loader_next(&feed, loader, err);
        if (st || !feed) return st;
        st = pgy_runner_infer(&outputs, r, feed, err);
        if (!st) {
            pgy_view probabilities = pgy_tensor_view(pgy_tensor_map_find(outputs, "probabilities"));
            *sure += count_sure(probabilities);
            *total += (size_t)probabilities.shape[0];
        }
        pgy_tensor_map_destroy(outputs);
        pgy_tensor_map_destroy(feed);
        if (st) return st;
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s model.onnx inputs.json\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_model_source source;
    pgy_runner *runner = NULL;
    pgy_data_loader *loader = NULL;
    const char *path = argv[2];
    size_t sure = 0, total = 0;

    pgy_status st = pgy_source_from_path(&source, argv[1], &err);
    if (!st) st = pgy_runner_create(&runner, pgy_backend_find("opref"), &source, NULL, "reference", &err);
    if (!st) st = pgy_runner_activate(runner, &err);
    if (!st) st = pgy_file_loader_create(&loader, &path, 1, &err);
    if (!st) st = run_all(runner, loader, &sure, &total, &err);

    if (st) fprintf(stderr, "error: %s\n", err.text);
    else printf("%zu of %zu digits were classified with a probability over one half\n", sure, total);
    pgy_data_loader_destroy(loader);
    pgy_runner_destroy(runner);
    return st || total == 0;
}
