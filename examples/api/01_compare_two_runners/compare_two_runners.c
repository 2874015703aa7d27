/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a model in ONNX Runtime and in the float64 reference, and saves the results.
 *
 *     compare_two_runners model.onnx results.json
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static pgy_status add_runner(pgy_runner **out, const char *backend, const char *path, pgy_error *err)
{
    pgy_model_source source;
    pgy_status st = pgy_source_from_path(&source, path, err);
    return st ? st : pgy_runner_create(out, pgy_backend_find(backend), &source, NULL, NULL, err);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s model.onnx results.json\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_runner *runners[2] = {NULL, NULL};
    pgy_data_loader *loader = NULL;
    pgy_results *results = NULL;
    pgy_accuracy_results *accuracy = NULL;
    bool passed = false;

    /* Generated inputs for two iterations, with the numbers that NVIDIA's Polygraphy generates by default. */
    pgy_random_options random = pgy_random_options_default();
    random.iterations = 2;
    pgy_run_options run = pgy_run_options_default();
    pgy_judge_options judge = pgy_judge_options_default();

    pgy_log_open_console();
    pgy_status st = add_runner(&runners[0], "onnxrt", argv[1], &err);
    if (!st) st = add_runner(&runners[1], "opref", argv[1], &err);
    if (!st) st = pgy_random_loader_create(&loader, &random, &err);
    run.loader = loader;
    if (!st) st = pgy_infer_all(&results, runners, 2, &run, &err);
    if (!st) st = pgy_results_save(results, argv[2], &err);
    if (!st) st = pgy_compare_accuracy(&accuracy, &passed, (const pgy_results *const *)&results, 1, &judge, &err);

    if (st) fprintf(stderr, "error: %s\n", err.text);
    else printf("the runners %s\n", passed ? "agree" : "disagree");
    pgy_accuracy_results_destroy(accuracy);
    pgy_results_destroy(results);
    pgy_data_loader_destroy(loader);
    pgy_runner_destroy(runners[0]);
    pgy_runner_destroy(runners[1]);
    return st || !passed;
}
