/* SPDX-License-Identifier: Apache-2.0 */
/* Gives a model 2:4 sparsity, strips its weights, and fills them with random numbers. The result
 * has the same structure, but not the original weights. Each result is compared with the model
 * before.
 *
 *     weights_and_differences model.onnx
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static pgy_status count_sparse(size_t *sparse, size_t *count, pgy_model *model, pgy_error *err)
{
    pgy_graph *graph = NULL;
    const pgy_sparse_weight *weights = NULL;
    *sparse = *count = 0;
    pgy_status st = pgy_graph_import(&graph, model, err);
    if (!st) st = pgy_graph_sparse_weights(&weights, count, graph, err);
    for (size_t i = 0; !st && i < *count; i++) {
        bool holds = false;
        st = pgy_sparse_weight_holds(&holds, &weights[i], err);
        *sparse += holds;
    }
    pgy_graph_destroy(graph);
    return st;
}

static pgy_status compare(const char *title, pgy_model *before, pgy_model *after, pgy_error *err)
{
    pgy_diff *diff = NULL;
    char *text = NULL;
    pgy_status st = pgy_diff_create(&diff, before, after, NULL, err);
    if (!st) st = pgy_diff_text(&text, diff, NULL, err);
    if (!st) printf("---- %s: %s\n%s\n", title, pgy_diff_is_equal(diff, false) ? "equal" : "not equal", text);
    pgy_text_free(text);
    pgy_diff_destroy(diff);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s model.onnx\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_model *model = NULL, *pruned = NULL, *stripped = NULL, *filled = NULL;
    size_t before = 0, after = 0, count = 0, taken = 0, given = 0;
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = count_sparse(&before, &count, model, &err);
    if (!st) st = pgy_model_prune(&pruned, model, &err);
    if (!st) st = count_sparse(&after, &count, pruned, &err);
    if (!st) printf("sparse weights of %zu: %zu before, %zu after\n", count, before, after);
    if (!st) st = compare("pruned", model, pruned, &err);
    if (!st) st = pgy_model_strip_weights(&stripped, &taken, model, NULL, &err);
    if (!st) st = pgy_model_reconstruct_weights(&filled, &given, stripped, NULL, &err);
    if (!st) printf("%zu weights stripped, %zu filled\n", taken, given);
    if (!st) st = compare("filled", model, filled, &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    pgy_model_destroy(filled);
    pgy_model_destroy(stripped);
    pgy_model_destroy(pruned);
    pgy_model_destroy(model);
    return st || after != count || taken != given;
}
